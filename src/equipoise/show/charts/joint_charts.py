"""Joints over time: angles, speeds and torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import NameNotFoundError
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.show.charts.chart import Chart, Series
from equipoise.show.palette import LINES

# More lines than there are colours cannot be told apart.
MOST = len(LINES)
# Axes span at least this much: less is noise.
LEAST_ANGLE, LEAST_SPEED, LEAST_TORQUE = 0.01, 0.01, 0.1


def angle_charts(run: Run, joints: Sequence[str] | None) -> list[Chart]:
    """Return angles against their references, of joints that move most or are named."""
    angles = joint_positions(run.robot, run.q)
    wanted = run.references.get("joint_position")
    return _charts(
        run,
        "joints",
        "Joint angles",
        _unit(run.robot, "rad", "m"),
        angles,
        wanted,
        _chosen(run, joints, np.ptp(angles, axis=0)),
        LEAST_ANGLE,
        "that move most",
        joints is None,
    )


def speed_charts(run: Run, joints: Sequence[str] | None) -> list[Chart]:
    """Return speeds of joints, of the fastest or of those named."""
    speeds = run.v[:, 6:]
    return _charts(
        run,
        "velocity",
        "Joint speeds",
        _unit(run.robot, "rad/s", "m/s"),
        speeds,
        run.references.get("joint_velocity"),
        _chosen(run, joints, np.abs(speeds).max(axis=0)),
        LEAST_SPEED,
        "fastest",
        joints is None,
    )


def torque_charts(run: Run, joints: Sequence[str] | None) -> list[Chart]:
    """Return torques of drives, the largest or those of joints that are named."""
    return _charts(
        run,
        "torques",
        "Joint torques",
        _unit(run.robot, "Nm", "N"),
        run.torque,
        None,
        _chosen(run, joints, np.abs(run.torque).max(axis=0)),
        LEAST_TORQUE,
        "largest",
        joints is None,
    )


def degrees_of(robot: Robot, joints: Sequence[str]) -> list[int]:
    """Return places in v[6:] of joints by name; a ball joint has three.

    Raises:
        NameNotFoundError: If the robot has no such joint.
    """
    names = degree_names(robot)
    places: list[int] = []
    for joint in joints:
        own = [
            n for n, name in enumerate(names) if name in (joint, _trunk(name, joint))
        ]
        if not own:
            raise NameNotFoundError("joint", joint, names, robot.name)
        places += [place for place in own if place not in places]
    return places


def _trunk(name: str, joint: str) -> str | None:
    """Return the joint of a degree of freedom, ``"ball"`` of ``"ball.rx"``."""
    return joint if name.startswith(f"{joint}.") else None


def _chosen(run: Run, joints: Sequence[str] | None, size: Array) -> list[list[int]]:
    """Return places of the joints for each chart, at most as many as colours."""
    if joints is None:
        return [np.argsort(-size, kind="stable")[:MOST].tolist()]
    places = degrees_of(run.robot, joints)
    return [places[at : at + MOST] for at in range(0, len(places), MOST)]


def _charts(
    run: Run,
    key: str,
    title: str,
    unit: str,
    values: Array,
    wanted: Array | None,
    groups: list[list[int]],
    least: float,
    which: str,
    ranked: bool,
) -> list[Chart]:
    names, total = degree_names(run.robot), values.shape[1]
    shown = sum(map(len, groups))
    notes = []
    if ranked and shown < total:
        notes.append(f"the {shown} {which} of {total}")
    if wanted is not None:
        notes.append("dashed: reference")
    if notes:
        title = f"{title} ({'; '.join(notes)})"
    charts = []
    for number, places in enumerate(groups, start=1):
        series = []
        for colour, place in reversed(list(zip(LINES, places, strict=False))):
            name = names[place]
            if wanted is not None:
                label = f"{name}, reference"
                series.append(
                    Series(label, wanted[:, place], f"{colour} dashed", named=False)
                )
            series.append(Series(name, values[:, place], colour))
        own_key = f"{key}-{number}" if len(groups) > 1 else key
        charts.append(
            Chart(own_key, title, unit, run.time, tuple(series), least, run.events)
        )
    return charts


def _unit(robot: Robot, turning: str, sliding: str) -> str:
    slides = any(joint.kind == "prismatic" for joint in robot.description.joints)
    return f"{turning} or {sliding}" if slides else turning
