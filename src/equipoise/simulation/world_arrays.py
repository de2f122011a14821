"""A world as the plain arrays that kernels are given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.kinematics.batch import tree_arrays
from equipoise.robot.description import Array
from equipoise.simulation.actuation import Actuation, mode_number
from equipoise.simulation.obstacles import Box, Wall
from equipoise.simulation.world import World

if TYPE_CHECKING:
    from equipoise.kernels.scene import PointArrays, PushArrays
    from equipoise.kernels.tree import TreeArrays

# Bristles of dry friction bend by this much before they give way [rad or m].
BRISTLE_BEND = 1e-4
# A box is pushed no more stiffly than its mass can follow in a step: implicit contact
# of the robot meets it as a wall, so that its own share must stay below its mass.
BOX_SHARE = 0.25


class WorldArrays(NamedTuple):
    """What :class:`~equipoise.kernels.rollout.Rollout` needs.

    Attributes:
        tree: The robot's bodies, then boxes.
        nq: Length of a configuration, boxes included.
        drives: Parameters of joints by slot, each (nbodies, 3).
        points: What can touch what: robot's points on the ground, then on each block,
            then corners of boxes on the ground and on walls.
        pushes: Forces from outside.
    """

    tree: TreeArrays
    nq: int
    drives: dict[int, Array]
    points: PointArrays
    pushes: PushArrays


def world_arrays(world: World, dt: float) -> WorldArrays:
    """Lay out a world for kernels that make steps of ``dt`` [s]."""
    model = world.robot.model
    for name, joint in zip(list(model.names)[2:], list(model.joints)[2:], strict=True):
        if joint.nv != 1:
            raise EquipoiseError(
                f"joint '{name}' of {world.robot.name} has {joint.nv} degrees of "
                "freedom; the native engine moves joints of one (the engine mujoco "
                "also ball joints)"
            )
    tree = _with_boxes(world)
    return WorldArrays(
        tree,
        world.robot.nq + 7 * len(world.boxes),
        _drives(world.actuation, tree),
        _points(world, dt),
        _pushes(world),
    )


def _with_boxes(world: World) -> TreeArrays:
    """Return the robot's tree with a floating body for each box."""
    from equipoise.kernels.joints import FLOATING

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


def _drives(actuation: Actuation, tree: TreeArrays) -> dict[int, Array]:
    """Return parameters of joints; those of the base and of boxes are never used."""
    from equipoise.kernels import articulated as slot
    from equipoise.kernels.joints import SPHERICAL

    def rows(*columns: Array) -> Array:
        table = np.zeros((len(tree.parent), 3))
        for number, column in enumerate(columns):
            table[joints, number] = column[dof]
        return table

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
            actuation.stiffness * servo,
            actuation.damping * servo,
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
            actuation.effort_limit, actuation.velocity_limit, actuation.disturbance
        ),
        slot.P_STOP: rows(actuation.lower, actuation.upper),
        slot.P_MODE: rows(1.0 * fixed, 1.0 * paced, 1.0 * ~(fixed | paced)),
    }


def _points(world: World, dt: float) -> PointArrays:
    from equipoise.kernels.scene import PointArrays
    from equipoise.kernels.touch import GROUND

    material = world.material
    figures = np.array(
        [
            material.stiffness,
            material.damping,
            material.static_friction,
            material.dynamic_friction,
        ]
    )
    first_box = world.robot.model.njoints
    body, position = place_in_bodies(
        world, [(point.link, point.position_in_link) for point in world.contacts]
    )
    bodies, positions = [body], [position]
    materials = [np.tile(figures, (len(body), 1))]
    surfaces = [np.full(len(body), GROUND)]
    blocks: list[Wall | Box] = [*world.walls, *world.boxes]
    for number in range(len(blocks)):
        bodies.append(body)
        positions.append(position)
        softened = figures.copy()
        if number >= len(world.walls):
            box = world.boxes[number - len(world.walls)]
            share = (
                BOX_SHARE
                * box.mass
                / (dt * (material.damping + dt * material.stiffness))
            )
            softened[:2] *= min(1.0, share)
        materials.append(np.tile(softened, (len(body), 1)))
        surfaces.append(np.full(len(body), number))
    for number, box in enumerate(world.boxes):
        for surface in (GROUND, *range(len(world.walls))):
            bodies.append(np.full(8, first_box + number))
            positions.append(box.corners)
            materials.append(np.tile(figures, (8, 1)))
            surfaces.append(np.full(8, surface))
    fixed = len(world.walls)
    return PointArrays(
        np.concatenate(bodies).astype(np.int32),
        np.concatenate(positions),
        np.concatenate(materials),
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


def _pushes(world: World) -> PushArrays:
    from equipoise.kernels.scene import PushArrays

    body, point = place_in_bodies(
        world, [(push.link, push.point_in_link) for push in world.pushes]
    )
    return PushArrays(
        body.astype(np.int32),
        point,
        np.array([push.force_in_world for push in world.pushes]).reshape(-1, 3),
        np.array(
            [(push.start, push.start + push.duration) for push in world.pushes]
        ).reshape(-1, 2),
    )


def place_in_bodies(
    world: World, places: list[tuple[str, Array]]
) -> tuple[NDArray[np.int32], Array]:
    """Return bodies (n,) and positions in their axes (n, 3) of points of links."""
    bodies = np.zeros(len(places), dtype=np.int32)
    positions = np.zeros((len(places), 3))
    for number, (link, position_in_link) in enumerate(places):
        bodies[number], positions[number] = world.in_body(link, position_in_link)
    return bodies, positions
