"""A robot and all that it meets, as plain data: what both engines are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.terrain import Flat, Terrain
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Actuation, actuation_of
from equipoise.simulation.contacts import (
    ContactPoint,
    Material,
    default_material,
    sole_points,
)

# [kg]
HEAVIEST_PAYLOAD = 1e5
# A push from the side lasts so long [s], and has at most this impulse [N s].
PUSH_DURATION = 0.1
LARGEST_IMPULSE = 1e6
# No pair of materials has more.
LARGEST_FRICTION = 10.0


@dataclass(frozen=True, eq=False)
class Push:
    """A force on a link for a while.

    Attributes:
        link: Link name.
        force_in_world: [N], shape (3,).
        start: When it begins [s].
        duration: How long it lasts [s].
        point_in_link: Where it acts, in link coordinates [m], shape (3,).
    """

    link: str
    force_in_world: Array
    start: float
    duration: float
    point_in_link: Array = field(default_factory=lambda: frozen_array(np.zeros(3)))

    def __post_init__(self) -> None:
        """Keep the arrays read-only and refuse what is not a force."""
        for name in ("force_in_world", "point_in_link"):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.shape != (3,) or not np.isfinite(values).all():
                raise EquipoiseError(
                    f"the {name} of a push must be three finite numbers"
                )
            object.__setattr__(self, name, frozen_array(values))
        if not math.isfinite(self.start):
            raise EquipoiseError("a push must have a finite start")
        if not (math.isfinite(self.duration) and self.duration >= 0.0):
            raise EquipoiseError(
                f"a push of {self.duration:g} s: its duration must be 0 or more"
            )


@dataclass(frozen=True, eq=False)
class World:
    """A robot, where it can touch, what it stands on, and its actuators.

    Attributes:
        robot: The robot.
        terrain: What it stands on.
        contacts: Points of the robot that can touch.
        material: What touching is like, for all points and surfaces.
        actuation: Actuators of the joints.
        walls: Fixed blocks.
        boxes: Blocks that can be pushed.
        pushes: Forces from outside.
        gravity: Downwards [m/s²].
    """

    robot: Robot
    terrain: Terrain
    contacts: tuple[ContactPoint, ...]
    material: Material
    actuation: Actuation
    walls: tuple[Wall, ...] = ()
    boxes: tuple[Box, ...] = ()
    pushes: tuple[Push, ...] = ()
    gravity: float = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        """Check that names and shapes belong to this robot."""
        links = self.robot.description.link_by_name
        items: list[ContactPoint | Push] = [*self.contacts, *self.pushes]
        for item in items:
            if item.link not in links:
                raise NameNotFoundError("link", item.link, links, self.robot.name)
        joints = self.robot.nv - 6
        if len(self.actuation.mode) != joints:
            raise EquipoiseError(
                f"actuation is for {len(self.actuation.mode)} degrees of freedom; the "
                f"joints of {self.robot.name} have {joints}"
            )
        if not math.isfinite(self.gravity):
            raise EquipoiseError("gravity must be finite")

    @cached_property
    def _frames(self) -> dict[str, pin.Frame]:
        """Frames of the links by name."""
        frames = self.robot.model.frames
        return {f.name: f for f in frames if f.type == pin.FrameType.BODY}

    def placement(self, link: str) -> tuple[Array, Array]:
        """Return rotation (3, 3) and origin [m] of a link in its moving body."""
        pose = self._frames[link].placement
        return np.array(pose.rotation), np.array(pose.translation)

    def in_body(self, link: str, position_in_link: Array) -> tuple[int, Array]:
        """Return the moving body of a link, and a point of the link in its axes [m].

        The body is Pinocchio's joint index.
        """
        frame = self._frames[link]
        return int(frame.parentJoint), frame.placement.act(position_in_link)


def make_world(
    robot: Robot,
    terrain: Terrain | None = None,
    *,
    contacts: tuple[ContactPoint, ...] | None = None,
    material: Material | None = None,
    actuation: Actuation | None = None,
    walls: tuple[Wall, ...] = (),
    boxes: tuple[Box, ...] = (),
    pushes: tuple[Push, ...] = (),
    gravity: float = STANDARD_GRAVITY,
) -> World:
    """Return a world for a robot; what is not given comes from the robot.

    Args:
        robot: The robot.
        terrain: Flat ground unless given.
        contacts: The corners of its soles unless given.
        material: :func:`~equipoise.simulation.contacts.default_material` unless given.
        actuation: Servos (:func:`~equipoise.simulation.actuation.actuation_of`) unless
            given.
        walls: Fixed blocks.
        boxes: Blocks that can be pushed.
        pushes: Forces from outside.
        gravity: Downwards [m/s²].
    """
    return World(
        robot,
        Flat() if terrain is None else terrain,
        sole_points(robot) if contacts is None else tuple(contacts),
        default_material(robot) if material is None else material,
        actuation_of(robot) if actuation is None else actuation,
        tuple(walls),
        tuple(boxes),
        tuple(pushes),
        gravity,
    )


def with_payload(robot: Robot, payload: Mapping[str, float]) -> Robot:
    """Return a robot that carries more mass, at the centres of mass of its links.

    Args:
        robot: The robot.
        payload: Mass added by link name [kg].

    Raises:
        NameNotFoundError: If the robot has no such link.
        EquipoiseError: If a mass is not positive and finite.
    """
    inertials: dict[str, Inertial] = {}
    links = robot.description.link_by_name
    for name, mass in payload.items():
        if name not in links:
            raise NameNotFoundError("link", name, links, robot.name)
        if not 0.0 < mass <= HEAVIEST_PAYLOAD:
            raise EquipoiseError(
                f"payload of '{name}' is {mass:g} kg; it must be positive, and at most "
                f"{HEAVIEST_PAYLOAD:g} kg"
            )
        old = links[name].inertial or Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
        inertials[name] = replace(old, mass=old.mass + mass)
    return robot.with_inertials(inertials)


def with_friction(world: World, friction: float) -> World:
    """Return a world on which everything slips sooner, or later.

    Args:
        world: The world.
        friction: Tangential over normal force at which a point begins to slip; while it
            slips, friction stays the same fraction of that as before.

    Raises:
        EquipoiseError: If the coefficient is negative or that of no material.
    """
    if not 0.0 <= friction <= LARGEST_FRICTION:
        raise EquipoiseError(
            f"a coefficient of friction of {friction:g}; it must be from 0 to "
            f"{LARGEST_FRICTION:g}"
        )
    old = world.material
    ratio = old.dynamic_friction / old.static_friction if old.static_friction else 1.0
    material = replace(old, static_friction=friction, dynamic_friction=ratio * friction)
    return replace(world, material=material)


def horizontal_push(
    robot: Robot,
    impulse: float,
    direction: float,
    start: float,
    *,
    link: str | None = None,
    duration: float = PUSH_DURATION,
) -> Push:
    """Return a push from the side, at the centre of mass of a link.

    Args:
        robot: The robot.
        impulse: Force times duration [N s].
        direction: Where it pushes, about the world's z [rad]: 0 forward, π/2 left.
        start: When it begins [s].
        link: Link name; the torso unless given, or the root link if there is none.
        duration: How long it lasts [s].

    Raises:
        NameNotFoundError: If the robot has no such link.
        EquipoiseError: If impulse, direction, start or duration is impossible.
    """
    if not 0.0 < impulse <= LARGEST_IMPULSE:
        raise EquipoiseError(
            f"a push of {impulse:g} N s; it must be positive, and at most "
            f"{LARGEST_IMPULSE:g} N s"
        )
    if not math.isfinite(direction):
        raise EquipoiseError("a push must have a finite direction")
    if not start >= 0.0:
        raise EquipoiseError(f"a push at {start:g} s; it must begin at 0 s or later")
    if not duration > 0.0:
        raise EquipoiseError(f"a push of {duration:g} s; it must last longer than 0 s")
    link = pushed_link(robot, link)
    inertial = robot.description.link_by_name[link].inertial
    point = np.zeros(3) if inertial is None else inertial.com_in_link
    force = impulse / duration
    along = np.array([math.cos(direction), math.sin(direction), 0.0])
    return Push(link, force * along, start, duration, point)


def pushed_link(robot: Robot, link: str | None = None) -> str:
    """Return the link that is pushed: the torso unless given, or the root link.

    Raises:
        NameNotFoundError: If the robot has no such link.
    """
    if link is None:
        torso = robot.limbs.get("torso")
        return robot.description.root if torso is None else torso.end_link
    links = robot.description.link_by_name
    if link not in links:
        raise NameNotFoundError("link", link, links, robot.name)
    return link


@dataclass(frozen=True, eq=False)
class Wall:
    """A block that stays where it is.

    Attributes:
        centre: In the world [m], shape (3,).
        size: Edge lengths along its own x, y, z [m], shape (3,).
        yaw: Turn about the world's z [rad].
    """

    centre: Array
    size: Array
    yaw: float = 0.0

    def __post_init__(self) -> None:
        """Keep the arrays read-only, and refuse blocks without volume."""
        _check_block(self, "wall")


@dataclass(frozen=True, eq=False)
class Box:
    """A solid block that stands on the ground and can be pushed.

    Attributes:
        centre: In the world at the start [m], shape (3,).
        size: Edge lengths along its own x, y, z [m], shape (3,).
        mass: [kg].
        yaw: Turn about the world's z at the start [rad].
        material: What touching it is like, for its corners on ground and walls and for
            the robot; the world's material unless given.
    """

    centre: Array
    size: Array
    mass: float
    yaw: float = 0.0
    material: Material | None = None

    def __post_init__(self) -> None:
        """Keep the arrays read-only, and refuse boxes without volume or mass."""
        _check_block(self, "box")
        if not (np.isfinite(self.mass) and self.mass > 0.0):
            raise EquipoiseError(
                f"a box of {self.mass:g} kg: its mass must be positive"
            )

    @property
    def inertia(self) -> Array:
        """About the centre, in box axes [kg m²], shape (3, 3)."""
        square = self.size**2
        return np.diag(self.mass / 12.0 * (square.sum() - square))

    @property
    def corners(self) -> Array:
        """In box axes, about the centre [m], shape (8, 3)."""
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
        return 0.5 * signs * self.size


def _check_block(block: Wall | Box, kind: str) -> None:
    for name in ("centre", "size"):
        values = np.asarray(getattr(block, name), dtype=np.float64)
        if values.shape != (3,) or not np.isfinite(values).all():
            raise EquipoiseError(f"the {name} of a {kind} must be three finite numbers")
        object.__setattr__(block, name, frozen_array(values))
    if block.size.min() <= 0.0:
        raise EquipoiseError(f"the edges of a {kind} must be longer than zero")
    if not np.isfinite(block.yaw):
        raise EquipoiseError(f"the yaw of a {kind} must be finite")
