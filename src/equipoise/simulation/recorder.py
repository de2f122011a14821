"""From states to a run: centre of mass, ZMP and foot wrenches computed along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.control.signals import Target
from equipoise.kinematics.com import com
from equipoise.log.run import Event, Run
from equipoise.robot.description import Array
from equipoise.simulation.loop import Records
from equipoise.simulation.measures import foot_wrench, zmp, zmp_margin
from equipoise.simulation.surroundings import surroundings_of
from equipoise.simulation.world import World


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
