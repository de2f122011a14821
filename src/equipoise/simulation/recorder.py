"""From states to a run: centre of mass, ZMP and foot wrenches computed along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.control.signals import (
    ImuReading,
    Measurement,
    State,
    Support,
    Target,
)
from equipoise.kinematics.com import com
from equipoise.kinematics.pose_arrays import quaternion_of
from equipoise.log.measured import Measured
from equipoise.log.run import Event, Run
from equipoise.robot.parts import Side
from equipoise.simulation.loop import Records
from equipoise.simulation.measures import foot_wrench, zmp, zmp_margin
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.surroundings import surroundings_of
from equipoise.simulation.world import World

# Fields of a target that are logged under their own names.
PLANNED = ("com", "com_velocity", "com_acceleration", "dcm", "zmp")
# Which feet carry the robot, by the number that a log has for it.
SUPPORTS: tuple[Support, ...] = ("both", "left", "right")
SIDES: tuple[Side, ...] = get_args(Side)


def make_run(
    world: World,
    records: Records,
    *,
    events: Iterable[Event] = (),
    summary: Mapping[str, Any],
    sensors: SensorSuite | None = None,
) -> Run:
    """Return a run from what went round the control loop.

    Args:
        world: The robot and all that it met.
        records: States, targets, commands, measurements.
        events: What happened.
        summary: Results.
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
        events=tuple(events),
        summary=summary,
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
            None if pose is None else [*pose[:3, 3], *quaternion_of(pose[:3, :3])]
            for pose in soles
        ]
        planned[f"{side}_sole_twist"] = [
            (target.sole_twists or {}).get(side) for target in targets
        ]
    planned["torso"] = [
        None if target.torso is None else quaternion_of(target.torso)
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
