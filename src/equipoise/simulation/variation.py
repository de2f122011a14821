"""How the robots of a fleet differ from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.com import com as com_of
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import mode_number
from equipoise.simulation.world import World

if TYPE_CHECKING:
    from equipoise.kernels.program import Inertias
    from equipoise.kernels.tree import TreeArrays

# Fields whose arrays are by link, and the shape of one robot's.
LINK_SHAPES: dict[str, tuple[int, ...]] = {"mass": (), "com": (3,), "inertia": (3, 3)}
# Fields that must be positive, and those that must be zero or more.
POSITIVE = ("mass", "contact_stiffness")
NOT_NEGATIVE = (
    "static_friction",
    "dynamic_friction",
    "contact_damping",
    "stiffness",
    "damping",
    "delay",
    "push_duration",
)
# As of other actuation [s].
LONGEST_DELAY = 1.0
# Of inertias from files, relative to their size.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Variation:
    """What differs from robot to robot in a fleet of n; None where all are alike.

    Attributes:
        mass: Masses of links by name [kg], shape (n,) each. The inertia of a link
            scales with its mass unless it is given.
        com: Centres of mass of links in link coordinates by name [m], (n, 3) each.
        inertia: Inertias of links about their centres of mass in link axes by name
            [kg m²], shape (n, 3, 3) each.
        static_friction: Coefficient of friction at rest, shape (n,).
        dynamic_friction: Coefficient of friction while slipping, shape (n,); it keeps
            its ratio to the static one unless given.
        contact_stiffness: Stiffness of a contact point [N/m], shape (n,).
        contact_damping: Damping of a contact point [N s/m], shape (n,); it keeps its
            fraction of critical unless given.
        stiffness: Servo gains kp [Nm/rad or N/m], shape (n, nv - 6) or (n, 1).
        damping: Servo gains kd [Nm s/rad or N s/m], shape (n, nv - 6) or (n, 1).
        delay: From command to actuator [s], shape (n,), in whole time steps.
        push_force: Forces of the world's pushes in world axes [N], (n, npushes, 3).
        push_start: When they begin [s], shape (n, npushes).
        push_duration: How long they last [s], shape (n, npushes).
        terrain: What each robot stands on, n of them; one object may stand there many
            times. Height fields have all the same shape.
    """

    mass: Mapping[str, ArrayLike] = field(default_factory=dict)
    com: Mapping[str, ArrayLike] = field(default_factory=dict)
    inertia: Mapping[str, ArrayLike] = field(default_factory=dict)
    static_friction: ArrayLike | None = None
    dynamic_friction: ArrayLike | None = None
    contact_stiffness: ArrayLike | None = None
    contact_damping: ArrayLike | None = None
    stiffness: ArrayLike | None = None
    damping: ArrayLike | None = None
    delay: ArrayLike | None = None
    push_force: ArrayLike | None = None
    push_start: ArrayLike | None = None
    push_duration: ArrayLike | None = None
    terrain: Sequence[Terrain] | None = None

    def of_robots(self, robots: Sequence[int] | NDArray[np.int32]) -> Variation:
        """Return the same for some of the robots only."""
        rows = np.asarray(robots, dtype=np.intp)
        changed: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None:
                continue
            if item.name == "terrain":
                changed[item.name] = [value[row] for row in rows]
            elif item.name in LINK_SHAPES:
                changed[item.name] = {k: np.asarray(v)[rows] for k, v in value.items()}
            else:
                changed[item.name] = np.asarray(value)[rows]
        return replace(self, **changed)

    def checked(self, world: World, count: int) -> Variation:
        """Return the same with float64 arrays whose shapes and values are right.

        Raises:
            ShapeError: If an array is for another number of robots: which.
            NameNotFoundError: If there is no such link.
            EquipoiseError: If a value is impossible.
        """
        joints, pushes = world.robot.nv - 6, len(world.pushes)
        shapes: dict[str, list[tuple[int, ...]]] = {
            "stiffness": [(count, joints), (count, 1)],
            "damping": [(count, joints), (count, 1)],
            "push_force": [(count, pushes, 3)],
            "push_start": [(count, pushes)],
            "push_duration": [(count, pushes)],
        }
        changed: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None:
                continue
            if item.name == "terrain":
                if len(value) != count:
                    raise ShapeError(
                        f"variation: terrain has {len(value)} entries; {count} robots "
                        "need one each"
                    )
                for robot, terrain in enumerate(value):
                    if not hasattr(terrain, "surface"):
                        raise EquipoiseError(
                            f"variation: terrain of robot {robot} is "
                            f"{type(terrain).__name__}; a terrain is needed, say Flat()"
                        )
            elif item.name in LINK_SHAPES:
                wanted = [(count, *LINK_SHAPES[item.name])]
                if not isinstance(value, Mapping):
                    raise ShapeError(
                        f"variation: {item.name} is {type(value).__name__}; arrays by "
                        "link name are needed"
                    )
                for link, values in value.items():
                    if link not in world.robot.description.link_by_name:
                        raise NameNotFoundError(
                            "link",
                            link,
                            world.robot.description.link_by_name,
                            world.robot.name,
                        )
                    name = f"{item.name}['{link}']"
                    rows = _checked(name, item.name, values, wanted)
                    changed.setdefault(item.name, {})[link] = rows
            else:
                wanted = shapes.get(item.name, [(count,)])
                changed[item.name] = _checked(item.name, item.name, value, wanted)
        result = replace(self, **changed)
        servos = world.actuation.mode == mode_number("servo")
        has_gains = self.stiffness is not None or self.damping is not None
        if has_gains and not servos.any():
            raise EquipoiseError(
                "variation: stiffness and damping are gains of servos, and no joint of "
                "this world is in servo mode"
            )
        result._refuse_materials(world, count)
        return result

    def _refuse_materials(self, world: World, count: int) -> None:
        """Refuse dynamic friction above static friction."""
        rows = self.materials(world, count)
        if rows is None or (rows[:, 3] <= rows[:, 2]).all():
            return
        robot = int(np.argmax(rows[:, 3] > rows[:, 2]))
        raise EquipoiseError(
            f"variation: dynamic_friction of robot {robot} is {rows[robot, 3]:g}, "
            f"above its static_friction of {rows[robot, 2]:g}"
        )

    def materials(self, world: World, count: int) -> Array | None:
        """Return stiffness, damping, static and dynamic friction, (n, 4), or None."""
        given = (
            self.contact_stiffness,
            self.contact_damping,
            self.static_friction,
            self.dynamic_friction,
        )
        if all(value is None for value in given):
            return None
        base = world.material
        rows = np.tile(
            [base.stiffness, base.damping, base.static_friction, base.dynamic_friction],
            (count, 1),
        )
        if self.contact_stiffness is not None:
            rows[:, 0] = self.contact_stiffness
            rows[:, 1] = base.damping * np.sqrt(rows[:, 0] / base.stiffness)
        if self.static_friction is not None:
            rows[:, 2] = self.static_friction
            ratio = base.dynamic_friction / max(base.static_friction, 1e-12)
            rows[:, 3] = ratio * rows[:, 2]
        if self.contact_damping is not None:
            rows[:, 1] = self.contact_damping
        if self.dynamic_friction is not None:
            rows[:, 3] = self.dynamic_friction
        return rows

    def inertias(self, world: World, tree: TreeArrays, count: int) -> Inertias | None:
        """Return masses, CoMs and inertias of all bodies, or None if none differ.

        A body is its link and all that is fixed to it: what a link gains or loses is
        added to the body's mass, first moment and inertia about the body's origin.
        """
        from equipoise.kernels.program import Inertias

        links = sorted({*self.mass, *self.com, *self.inertia})
        if not links:
            return None
        mass = np.tile(tree.mass, (count, 1))
        moment = np.tile(tree.mass[:, None] * tree.com, (count, 1, 1))
        about_origin = np.tile(
            tree.inertia + _steiner(tree.mass, tree.com), (count, 1, 1, 1)
        )
        for link in links:
            old = _inertial(world.robot, link)
            body, _ = world.in_body(link, np.zeros(3))
            turn, shift = world.placement(link)
            for sign, (m, c, inertia) in (
                (-1.0, _rows(old, count)),
                (1.0, self._of_link(link, old, count)),
            ):
                at = c @ turn.T + shift
                mass[:, body] += sign * m
                moment[:, body] += sign * m[:, None] * at
                about_origin[:, body] += sign * (
                    turn @ inertia @ turn.T + _steiner(m, at)
                )
        com = moment / np.where(mass > 0.0, mass, 1.0)[..., None]
        return Inertias(mass, com, about_origin - _steiner(mass, com))

    def centres_of_mass(self, robot: Robot, q: Array) -> Array:
        """Return the CoM of each robot in the world [m], shape (n, 3).

        Args:
            robot: The robot that they differ from.
            q: Their configurations, shape (n, nq).
        """
        mass = np.full(len(q), robot.mass)
        # most often all stand alike: one configuration does for them
        rows = q[0] if (q == q[0]).all() else q
        alike = np.asarray(com_of(robot, rows), dtype=np.float64)
        moment = robot.mass * np.broadcast_to(alike, (len(q), 3))
        for link in sorted({*self.mass, *self.com}):
            found = np.asarray(frame_pose(robot, rows, link), dtype=np.float64)
            pose = np.broadcast_to(found, (len(q), 4, 4))
            old = _inertial(robot, link)
            for sign, (m, c, _) in (
                (-1.0, _rows(old, len(q))),
                (1.0, self._of_link(link, old, len(q))),
            ):
                at = np.einsum("nij,nj->ni", pose[:, :3, :3], c) + pose[:, :3, 3]
                mass += sign * m
                moment += sign * m[:, None] * at
        return np.asarray(moment / mass[:, None])

    def _of_link(self, link: str, old: Inertial, count: int) -> tuple[Array, ...]:
        mass, com, inertia = _rows(old, count)
        if link in self.mass:
            mass = np.asarray(self.mass[link])
            if old.mass > 0.0:
                inertia = inertia * (mass / old.mass)[:, None, None]
        if link in self.com:
            com = np.asarray(self.com[link])
        if link in self.inertia:
            inertia = np.asarray(self.inertia[link])
        return mass, com, inertia

    def terrains(self) -> tuple[list[Terrain], NDArray[np.int32]] | None:
        """Return the different terrains, and which each robot stands on; or None."""
        if self.terrain is None:
            return None
        numbers: dict[int, int] = {}
        different: list[Terrain] = []
        for terrain in self.terrain:
            if id(terrain) not in numbers:
                numbers[id(terrain)] = len(different)
                different.append(terrain)
        which = np.array([numbers[id(terrain)] for terrain in self.terrain], np.int32)
        return different, which


def _inertial(robot: Robot, link: str) -> Inertial:
    return robot.description.link_by_name[link].inertial or Inertial(
        0.0, np.zeros(3), np.zeros((3, 3))
    )


def _rows(inertial: Inertial, count: int) -> tuple[Array, Array, Array]:
    return (
        np.full(count, inertial.mass),
        np.tile(inertial.com_in_link, (count, 1)),
        np.tile(inertial.inertia_in_link, (count, 1, 1)),
    )


def _steiner(mass: Array, com: Array) -> Array:
    """Return what masses (…) away from the origin by (…, 3) add to the inertia."""
    square = np.einsum("...i,...i->...", com, com)[..., None, None] * np.eye(3)
    shifted = square - com[..., :, None] * com[..., None, :]
    return np.asarray(mass[..., None, None] * shifted)


def _checked(
    name: str, kind: str, values: ArrayLike, shapes: list[tuple[int, ...]]
) -> Array:
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"variation: {name} is not an array of numbers") from error
    if rows.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise ShapeError(
            f"variation: {name} has shape {rows.shape}; {wanted} is needed, one row a "
            "robot"
        )
    bad = ~np.isfinite(rows)
    if kind in POSITIVE:
        bad |= rows <= 0.0
    elif kind in NOT_NEGATIVE:
        bad |= rows < 0.0
    if kind == "delay":
        bad |= rows > LONGEST_DELAY
    if kind == "inertia" and not bad.any():
        turned = np.swapaxes(rows, 1, 2)
        size = np.abs(rows).max(axis=(1, 2))
        bad[:, 0, 0] = np.abs(rows - turned).max(axis=(1, 2)) > ROUNDING * size
        bad[:, 0, 0] |= np.linalg.eigvalsh(rows)[:, 0] < -ROUNDING * size
    if bad.any():
        robot = int(np.argwhere(bad)[0][0])
        must = "positive" if kind in POSITIVE else "finite"
        must = "0 or more" if kind in NOT_NEGATIVE else must
        must = "symmetric and not negative" if kind == "inertia" else must
        must = f"from 0 to {LONGEST_DELAY:g} s" if kind == "delay" else must
        raise EquipoiseError(
            f"variation: {name} of robot {robot} is {rows[robot]}; it must be {must}"
        )
    return rows
