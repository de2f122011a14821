"""A world as the plain arrays that kernels are given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.batch import tree_arrays
from equipoise.simulation.actuation import Actuation, mode_number
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import Box, Wall, World

if TYPE_CHECKING:
    from equipoise.kernels.ground import GroundArrays
    from equipoise.kernels.program import Inertias
    from equipoise.kernels.scene import PointArrays, PushArrays
    from equipoise.kernels.tree import TreeArrays

# Bristles of dry friction bend by this much before they give way [rad or m].
BRISTLE_BEND = 1e-4
# A box is pushed no more stiffly than its mass can follow in a step: implicit contact
# of the robot meets it as a wall, so that its own fraction must stay below its mass.
BOX_FRACTION = 0.25


class WorldArrays(NamedTuple):
    """What :class:`~equipoise.kernels.rollout.Rollout` needs.

    Attributes:
        tree: The robot's bodies, then boxes.
        nq: Length of a configuration, boxes included.
        actuators: Parameters of joints by slot, each (nbodies, 3), or (n, nbodies, 3).
        points: What can touch what: robot's points on the ground, then on each block,
            then corners of boxes on the ground and on walls.
        pushes: Forces from outside.
        inertias: Inertias of bodies, where robots differ.
        terrains: What robots stand on.
        terrain_of: Which of them, shape (n,), where robots differ.
        delay: From command to actuator [steps], shape (n,) or (1,).
    """

    tree: TreeArrays
    nq: int
    actuators: dict[int, Array]
    points: PointArrays
    pushes: PushArrays
    inertias: Inertias | None
    terrains: list[GroundArrays]
    terrain_of: NDArray[np.int32] | None
    delay: NDArray[np.int32]


def world_arrays(
    world: World, dt: float, variation: Variation | None = None, count: int = 1
) -> WorldArrays:
    """Lay out a world for kernels.

    Args:
        world: The robot and all that it meets.
        dt: Time step [s].
        variation: How robots differ, checked.
        count: How many robots.
    """
    variation = variation or Variation()
    model = world.robot.model
    for name, joint in zip(list(model.names)[2:], list(model.joints)[2:], strict=True):
        if joint.nv != 1:
            raise EquipoiseError(
                f"joint '{name}' of {world.robot.name} has {joint.nv} degrees of "
                "freedom; the native engine moves joints of one (the engine mujoco "
                "also ball joints)"
            )
    tree = _with_boxes(world)
    different, terrain_of = variation.terrains() or ([world.terrain], None)
    delay = world.actuation.delay if variation.delay is None else variation.delay
    return WorldArrays(
        tree,
        world.robot.nq + 7 * len(world.boxes),
        _actuators(world.actuation, tree, variation),
        _points(world, dt, variation.materials(world, count)),
        _pushes(world, variation),
        variation.inertias(world, tree, count),
        [ground.arrays() for ground in different],
        terrain_of,
        np.rint(np.atleast_1d(delay) / dt).astype(np.int32),
    )


def _with_boxes(world: World) -> TreeArrays:
    """Return the robot's tree with a floating body for each box."""
    from equipoise.kernels.bodies import FLOATING

    tree = tree_arrays(world.robot)
    count, robot = len(world.boxes), world.robot
    if count == 0:
        return tree
    numbers = np.arange(count, dtype=np.int32)
    return replace(
        tree,
        parent=np.append(tree.parent, np.zeros(count, np.int32)),
        kind=np.append(tree.kind, np.full(count, FLOATING, np.int32)),
        axis=np.vstack([tree.axis, np.zeros((count, 3))]),
        pitch=np.append(tree.pitch, np.zeros(count)),
        idx_q=np.append(tree.idx_q, robot.nq + 7 * numbers),
        idx_v=np.append(tree.idx_v, robot.nv + 6 * numbers),
        placement=np.concatenate([tree.placement, np.tile(np.eye(4), (count, 1, 1))]),
        mass=np.append(tree.mass, [box.mass for box in world.boxes]),
        com=np.vstack([tree.com, np.zeros((count, 3))]),
        inertia=np.concatenate(
            [tree.inertia, [box.inertia for box in world.boxes]], axis=0
        ),
        nv=tree.nv + 6 * count,
    )


def _actuators(
    actuation: Actuation, tree: TreeArrays, variation: Variation
) -> dict[int, Array]:
    """Return parameters of joints; those of the base and of boxes are never used."""
    from equipoise.kernels import articulated as slot
    from equipoise.kernels.bodies import SPHERICAL

    def rows(*columns: Array) -> Array:
        lead = np.broadcast_shapes(*(column.shape[:-1] for column in columns))
        table = np.zeros((*lead, len(tree.parent), 3))
        for number, column in enumerate(columns):
            table[..., joints, number] = column[..., dof]
        return table

    def gains(given: ArrayLike | None, usual: Array) -> Array:
        wanted = usual if given is None else np.asarray(given)
        wide = np.broadcast_to(wanted, (*wanted.shape[:-1], len(usual)))
        return np.asarray(wide * servo)

    joints = np.flatnonzero(tree.kind < SPHERICAL)
    joints = joints[joints > 0]
    dof = tree.idx_v[joints] - 6
    mode = actuation.mode
    servo = mode == mode_number("servo")
    fixed = mode == mode_number("position")
    paced = mode == mode_number("velocity")
    dry = actuation.static_friction
    bristle = np.maximum(dry, actuation.coulomb_friction) / BRISTLE_BEND
    soft = np.where(bristle > 0.0, bristle, 1.0)
    return {
        slot.P_GAIN: rows(
            gains(variation.stiffness, actuation.stiffness),
            gains(variation.damping, actuation.damping),
            actuation.rotor_inertia,
        ),
        slot.P_FRICTION: rows(
            actuation.viscous_friction,
            actuation.coulomb_friction,
            np.maximum(dry - actuation.coulomb_friction, 0.0),
        ),
        slot.P_BRISTLE: rows(
            1.0 / np.maximum(actuation.stribeck_speed, 1e-6) ** 2,
            bristle,
            np.where(bristle > 0.0, 1.0 / soft, 0.0),
        ),
        slot.P_LIMIT: rows(
            actuation.torque_limit, actuation.velocity_limit, actuation.disturbance
        ),
        slot.P_STOP: rows(actuation.lower, actuation.upper),
        slot.P_MODE: rows(1.0 * fixed, 1.0 * paced, 1.0 * ~(fixed | paced)),
    }


def _points(world: World, dt: float, materials: Array | None) -> PointArrays:
    from equipoise.kernels.contact import GROUND
    from equipoise.kernels.scene import PointArrays

    base = world.material
    if materials is None:
        materials = np.array(
            [
                [
                    base.stiffness,
                    base.damping,
                    base.static_friction,
                    base.dynamic_friction,
                ]
            ]
        )
    first_box = world.robot.model.njoints
    body, position = place_in_bodies(
        world, [(point.link, point.position_in_link) for point in world.contacts]
    )
    bodies, positions = [body], [position]

    def of_points(rows: Array, count: int) -> Array:
        return np.repeat(rows[:, None], count, axis=1)

    def of_box(box: Box) -> Array:
        own = box.material
        if own is None:
            return materials
        row = own.stiffness, own.damping, own.static_friction, own.dynamic_friction
        return np.tile(row, (len(materials), 1))

    laid = [of_points(materials, len(body))]
    surfaces = [np.full(len(body), GROUND)]
    blocks: list[Wall | Box] = [*world.walls, *world.boxes]
    for number in range(len(blocks)):
        bodies.append(body)
        positions.append(position)
        softened = materials.copy()
        if number >= len(world.walls):
            box = world.boxes[number - len(world.walls)]
            softened = of_box(box).copy()
            stiffness, damping = softened[:, 0], softened[:, 1]
            fraction = BOX_FRACTION * box.mass / (dt * (damping + dt * stiffness))
            softened[:, :2] *= np.minimum(1.0, fraction)[:, None]
        laid.append(of_points(softened, len(body)))
        surfaces.append(np.full(len(body), number))
    for number, box in enumerate(world.boxes):
        for surface in (GROUND, *range(len(world.walls))):
            bodies.append(np.full(8, first_box + number))
            positions.append(box.corners)
            laid.append(of_points(of_box(box), 8))
            surfaces.append(np.full(8, surface))
    fixed = len(world.walls)
    return PointArrays(
        np.concatenate(bodies).astype(np.int32),
        np.concatenate(positions),
        np.concatenate(laid, axis=1),
        np.concatenate(surfaces).astype(np.int32),
        np.array(
            [0 if n < fixed else first_box + n - fixed for n in range(len(blocks))],
            dtype=np.int32,
        ),
        np.array([block.centre for block in blocks]).reshape(-1, 3),
        np.array([0.5 * block.size for block in blocks]).reshape(-1, 3),
        np.array([block.yaw for block in blocks]),
        np.array([_hangs(world, block) for block in blocks], dtype=bool),
    )


def _hangs(world: World, block: Wall | Box) -> bool:
    """Return whether there is room for a foot between a block and the ground."""
    x, y, z = block.centre
    gap = z - 0.5 * block.size[2] - float(world.terrain.height(x, y))
    return bool(gap > 0.1 * block.size[2])


def _pushes(world: World, variation: Variation) -> PushArrays:
    from equipoise.kernels.scene import PushArrays

    body, point = place_in_bodies(
        world, [(push.link, push.point_in_link) for push in world.pushes]
    )

    def own(given: ArrayLike | None, usual: list[Any], *tail: int) -> Array:
        rows = np.asarray([usual] if given is None else given, dtype=np.float64)
        return rows.reshape(len(rows), len(body), *tail)

    start = own(variation.push_start, [push.start for push in world.pushes])
    duration = own(variation.push_duration, [push.duration for push in world.pushes])
    window = np.stack(np.broadcast_arrays(start, start + duration), axis=-1)
    force = own(variation.push_force, [push.force_in_world for push in world.pushes], 3)
    return PushArrays(body.astype(np.int32), point, force, window)


def place_in_bodies(
    world: World, places: list[tuple[str, Array]]
) -> tuple[NDArray[np.int32], Array]:
    """Return bodies (n,) and positions in their axes (n, 3) of points of links."""
    bodies = np.zeros(len(places), dtype=np.int32)
    positions = np.zeros((len(places), 3))
    for number, (link, position_in_link) in enumerate(places):
        bodies[number], positions[number] = world.in_body(link, position_in_link)
    return bodies, positions
