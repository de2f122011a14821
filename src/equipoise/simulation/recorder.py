"""From states to a run: centre of mass, ZMP and foot wrenches computed along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.control.signals import Target
from equipoise.kinematics.com import com
from equipoise.log.run import Event, Run
from equipoise.robot.description import Array
from equipoise.simulation.loop import Records
from equipoise.simulation.measures import foot_wrench, zmp, zmp_margin
from equipoise.simulation.surroundings import surroundings_of
from equipoise.simulation.world import World

# A robot has fallen when its CoM is below this share of its height at the start, or
# its base is tilted by more than this against the start [rad].
FALLEN_HEIGHT = 0.6
FALLEN_TILT = 1.0


def make_run(
    world: World,
    records: Records,
    *,
    events: Iterable[Event] = (),
    summary: Mapping[str, Any],
) -> Run:
    """Return a run from what went round the control loop.

    Args:
        world: The robot and all that it met.
        records: States, targets, commands, measurements.
        events: What happened.
        summary: Results.
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
        events=tuple(events),
        summary=summary,
        surroundings=surroundings_of(world, centre),
    )


def _wanted(targets: Sequence[Target]) -> dict[str, Array]:
    """Return what was wanted, by the names of a run's references."""
    wanted = {"joint_position": np.array([target.position for target in targets])}
    if targets[0].com is not None:
        wanted["com"] = np.array([target.com for target in targets])
    return wanted


def time_of_fall(world: World, start: Array, time: Array, q: Array) -> float | None:
    """Return when a robot had fallen [s], or None if it had not.

    Args:
        world: The robot and what it stands on.
        start: Configuration in which it stood, shape (nq,).
        time: [s], shape (n,).
        q: Configurations, shape (n, nq).
    """
    fallen = np.flatnonzero(has_fallen(world, start, q))
    return float(time[fallen[0]]) if len(fallen) else None


def has_fallen(world: World, start: Array, q: Array) -> NDArray[np.bool_]:
    """Return whether a robot lies, in configurations (…, nq); shape (…)."""
    low = com_height(world, q) < FALLEN_HEIGHT * com_height(world, start)
    # the direction of the base that pointed upwards at the start
    up_in_base = _third_row(start[3:7])
    tilt = np.arccos(np.clip(_third_row(q[..., 3:7]) @ up_in_base, -1.0, 1.0))
    return np.asarray(low | (tilt > FALLEN_TILT))


def com_height(world: World, q: Array) -> Array:
    """Return the height of the CoM above the ground below it [m], shape (…)."""
    centre = np.asarray(com(world.robot, q))
    ground = world.terrain.height(centre[..., 0], centre[..., 1])
    return np.asarray(centre[..., 2] - ground)


def _third_row(xyzw: Array) -> Array:
    """Return the world's z-axis in axes turned by quaternions (…, 4)."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    row = [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
    return np.moveaxis(np.array(row), 0, -1)
