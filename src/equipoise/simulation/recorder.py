"""From what went round the control loop to a run, with its surroundings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.control.signals import ImuReading, Measurement, State, Support, Target
from equipoise.kinematics.blocks import Blocks
from equipoise.kinematics.com import com
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, Terrain
from equipoise.log.run import Measured, Run
from equipoise.log.surroundings import Block, Surroundings
from equipoise.robot.mesh import Mesh
from equipoise.robot.parts import Side
from equipoise.rotations import quaternion_from_rotation
from equipoise.simulation.loop import Records
from equipoise.simulation.measures import foot_wrench, zmp, zmp_margin
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.world import Box, Wall, World

# Fields of a target that are logged under their own names.
PLANNED = ("com", "com_velocity", "com_acceleration", "dcm", "zmp")
# Which feet carry the robot, by the number that a log has for it.
SUPPORTS: tuple[Support, ...] = ("both", "left", "right")
SIDES: tuple[Side, ...] = get_args(Side)


def make_run(world: World, records: Records, sensors: SensorSuite | None = None) -> Run:
    """Return a run from what went round the control loop, still without a summary.

    Args:
        world: The robot and all that it met.
        records: States, targets, commands, measurements.
        sensors: Those that measured, if there were any: where they are.
    """
    robot, trace = world.robot, records.trace
    positions, forces = trace.contact_position, trace.contact_force
    point = zmp(positions, forces)
    margin = zmp_margin(positions, forces)
    wrenches = {}
    for side in robot.soles:
        wrench = foot_wrench(robot, trace.q, world.contacts, positions, forces, side)
        wrenches[side] = np.concatenate([wrench.force, wrench.torque], axis=-1)
    centre = np.asarray(com(robot, trace.q), dtype=np.float64)
    measured = None
    if sensors is not None and records.measurements:
        measured = _measured(records.measurements, sensors)
    return Run(
        robot=robot,
        time=trace.time,
        q=trace.q,
        v=trace.v,
        a=trace.a,
        torque=trace.torque,
        contact_names=tuple(contact.name for contact in world.contacts),
        contact_position=positions,
        contact_force=forces,
        foot_wrench=wrenches,
        com=centre,
        zmp=point.position,
        supported=point.supported,
        zmp_margin=margin.distance,
        references=_wanted(records.targets),
        boxes=trace.boxes,
        events=(),
        summary={},
        surroundings=surroundings_of(world, centre),
        commands=records.commands._asdict(),
        measured=measured,
        estimates=_estimates(records.estimates) if measured is not None else {},
    )


def _wanted(targets: Sequence[Target]) -> dict[str, Array]:
    """Return what was wanted, by the names of a run's references.

    What was not planned at some times is NaN there; a CoM that was not is left out.
    Accelerations of soles are left out, too: they follow from the twists.
    """
    wanted = {"joint_position": np.array([target.position for target in targets])}
    for name in ("velocity", "torque"):
        values = np.array([getattr(target, name) for target in targets])
        if values.any():
            wanted[f"joint_{name}"] = values
    planned: dict[str, list[ArrayLike | None]] = {
        name: [getattr(target, name) for target in targets] for name in PLANNED
    }
    for side in SIDES:
        soles = [(target.soles or {}).get(side) for target in targets]
        planned[f"{side}_sole"] = [
            None if pose is None else [*pose[:3, 3], *_quaternion(pose[:3, :3])]
            for pose in soles
        ]
        planned[f"{side}_sole_twist"] = [
            (target.sole_twists or {}).get(side) for target in targets
        ]
    planned["torso"] = [
        None if target.torso is None else _quaternion(target.torso)
        for target in targets
    ]
    planned["support"] = [
        None if target.support is None else float(SUPPORTS.index(target.support))
        for target in targets
    ]
    if any(row is None for row in planned["com"]):
        # a CoM error is that of the whole run
        del planned["com"]
    for name, rows in planned.items():
        known = next((row for row in rows if row is not None), None)
        if known is not None:
            unknown = np.full(np.shape(known), np.nan)
            wanted[name] = np.array([unknown if row is None else row for row in rows])
    return wanted


def _quaternion(rotation: Array) -> Array:
    """Return the quaternion xyzw of a rotation, of both signs the one with w ≥ 0."""
    xyzw = quaternion_from_rotation(rotation)
    return xyzw if xyzw[3] >= 0.0 else -xyzw


def _measured(rows: Sequence[Measurement], sensors: SensorSuite) -> Measured:
    """Return what the sensors measured, one row for each state."""
    return Measured(
        time=np.array([row.time for row in rows]),
        position=np.array([row.position for row in rows]),
        velocity=np.array([row.velocity for row in rows]),
        feet={
            side: np.array([np.concatenate(row.feet[side]) for row in rows])
            for side in rows[0].feet
        },
        feet_at=sensors.feet.at,
        **{
            name: np.array([getattr(row.imu, name) for row in rows])
            for name in ImuReading._fields
        },
        imu_frame=sensors.imu.frame,
        transform_imu_to_frame=sensors.imu.transform_imu_to_frame,
    )


def _estimates(states: Sequence[State]) -> dict[str, Array]:
    """Return what an estimator made of the measurements, if there was one."""
    if not states:
        return {}
    return {name: np.array([getattr(s, name) for s in states]) for name in "qv"}


# Ground that is shown beyond where the robot was, as shares of its longest limb; planes
# cost nothing.
MARGIN, PLANE_MARGIN = 1.5, 8.0
MOST_CELLS = 48


def surroundings_of(world: World, com: Array) -> Surroundings:
    """Return what is around a robot.

    Args:
        world: The robot and all that it meets.
        com: Where its centre of mass was [m], shape (n, 3).
    """
    plane = isinstance(world.terrain, Flat | Slope)
    margin = (PLANE_MARGIN if plane else MARGIN) * world.robot.longest_limb
    low, high = com[:, :2].min(axis=0) - margin, com[:, :2].max(axis=0) + margin
    return Surroundings(
        ground_mesh(world.terrain, low, high),
        tuple(_block(wall) for wall in world.walls),
        tuple(_block(box) for box in world.boxes),
    )


def ground_mesh(terrain: Terrain, low: Array, high: Array) -> Mesh:
    """Return the ground over a rectangle.

    Planes, stairs and blocks are exact; other ground is sampled.

    Args:
        terrain: The ground.
        low: Least x and y [m], shape (2,).
        high: Greatest x and y [m], shape (2,).
    """
    y = np.array([low[1], high[1]])
    match terrain:
        case Flat() | Slope():
            x = np.array([low[0], high[0]])
        case Stairs():
            return _stairs_mesh(terrain, low, high)
        case Blocks():
            x, y = (
                np.concatenate([[a], terrain.lines, [b]]).clip(a, b)
                for a, b in zip(low, high, strict=True)
            )
            x, y = np.unique(x), np.unique(y)
        case _:
            cell = max(float(np.max(high - low)) / MOST_CELLS, 1e-6)
            if isinstance(terrain, HeightField):
                cell = max(cell, terrain.cell)
            counts = [max(math.ceil(span / cell), 1) for span in high - low]
            x = np.linspace(low[0], high[0], counts[0] + 1)
            y = np.linspace(low[1], high[1], counts[1] + 1)
    grid_x, grid_y = np.meshgrid(x, y, indexing="ij")
    heights = terrain.height(grid_x, grid_y)
    return _grid_mesh(np.stack([grid_x, grid_y, heights], axis=-1))


def _stairs_mesh(stairs: Stairs, low: Array, high: Array) -> Mesh:
    """Return the outline of stairs, drawn out along y."""
    risers = stairs.start + stairs.tread * np.arange(stairs.count)
    risers = risers[(risers > low[0]) & (risers < high[0])]
    x = np.concatenate([[low[0]], np.repeat(risers, 2), [high[0]]])
    # a tread's height is that of its middle
    edges = np.concatenate([[low[0]], risers, [high[0]]])
    middles = 0.5 * (edges[1:] + edges[:-1])
    z = np.repeat(stairs.height(middles, np.zeros_like(middles)), 2)
    outline = np.stack([x, np.zeros_like(x), z], axis=-1)
    sides = [outline + np.array([0.0, y, 0.0]) for y in (low[1], high[1])]
    return _grid_mesh(np.stack(sides, axis=1))


def _grid_mesh(points: Array) -> Mesh:
    """Return the triangles of a grid of points, shape (nx, ny, 3), seen from above."""
    nx, ny, _ = points.shape
    place = np.arange(nx * ny, dtype=np.int32).reshape(nx, ny)
    a, b = place[:-1, :-1], place[1:, :-1]
    c, d = place[1:, 1:], place[:-1, 1:]
    triangles = np.concatenate(
        [np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)], axis=2
    )
    return Mesh(points.reshape(-1, 3).astype(np.float32), triangles.reshape(-1, 3))


def _block(block: Wall | Box) -> Block:
    half = 0.5 * block.yaw
    turn = [0.0, 0.0, math.sin(half), math.cos(half)]
    return Block(np.concatenate([block.centre, turn]), np.array(block.size))
