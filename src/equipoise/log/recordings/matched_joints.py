"""A robot's joints out of a recording, by name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, suggest
from equipoise.log.recordings.recording import Recording
from equipoise.robot.joint_coordinates import BASE_V, degree_names
from equipoise.robot.model import Robot

# Fewer of the leg joints than this share: the log is another robot's.
LEAST_MATCHED = 0.5
# Angles so far beyond a limit are no radians [rad], in so many of the joints.
FAR_BEYOND, MANY = 1.0, 0.25
LONGEST_LIST = 8


def matched_positions(recording: Recording, robot: Robot, notices: list[str]) -> Array:
    """Return joint positions in the order of v[6:], shape (n, nv - 6).

    Joints that the log lacks stay at zero, or at the limit nearest to it.

    Args:
        recording: What was measured.
        robot: The robot.
        notices: Gets which joints the log or the robot lacks.

    Raises:
        EquipoiseError: If the log is of another robot, or in degrees.
    """
    names = degree_names(robot)
    _check_robot(recording, robot)
    rest = _rest(robot)
    positions = np.tile(rest, (len(recording.time), 1))
    for at, name in enumerate(names):
        if name in recording.joints:
            positions[:, at] = recording.joints[name]
    reason = degrees_reason(recording, robot)
    if reason:
        raise EquipoiseError(
            f"{recording.source}: joint positions look like degrees: {reason}; radians "
            "are needed"
        )
    missing = [name for name in names if name not in recording.joints]
    if missing:
        notices.append(
            "not in the log, so kept at zero or the limit nearest to it: "
            f"{_listed(missing)}"
        )
    strange = [name for name in recording.joints if name not in names]
    if strange:
        notices.append(f"not joints of {robot.name}, so left out: {_listed(strange)}")
    return positions


def matched_efforts(recording: Recording, robot: Robot, notices: list[str]) -> Array:
    """Return efforts in the order of v[6:], zero where not given, (n, nv - 6)."""
    names = degree_names(robot)
    effort = np.zeros((len(recording.time), robot.nv - BASE_V))
    known = [name for name in names if name in recording.effort]
    for name in known:
        effort[:, names.index(name)] = recording.effort[name]
    if len(known) < len(names):
        who = "any joint" if not known else f"{len(names) - len(known)} joints"
        notices.append(f"the log has no effort of {who}; zero is shown")
    return effort


def _check_robot(recording: Recording, robot: Robot) -> None:
    names = degree_names(robot)
    legs = {
        joint
        for limb in robot.limbs.values()
        if limb.kind == "leg"
        for joint in limb.joints
    }
    needed = [name for name in names if name in legs] or list(names)
    lacking = [name for name in needed if name not in recording.joints]
    matched = len(needed) - len(lacking)
    if lacking and matched < LEAST_MATCHED * len(needed):
        raise EquipoiseError(
            f"{recording.source}: is a log of another robot: of {len(needed)} leg "
            f"joints of {robot.name} it has {matched}; it has no '{lacking[0]}'"
            f"{suggest(lacking[0], recording.joints)}; its joints are: "
            f"{_listed(recording.joints)}"
        )


def degrees_reason(recording: Recording, robot: Robot) -> str | None:
    """Return why angles look like degrees, or None if they do not.

    They do if they are far beyond the limits in many joints.

    Args:
        recording: What was measured.
        robot: The robot.
    """
    beyond, checked = [], 0
    sliding = slides(robot)
    for actuator in robot.actuators:
        limits = np.array([actuator.lower, actuator.upper])
        turns = actuator.joint not in sliding
        if actuator.joint in recording.joints and turns and np.isfinite(limits).all():
            checked += 1
            values = recording.joints[actuator.joint]
            middle = float(np.median(values))
            if not limits[0] - FAR_BEYOND < middle < limits[1] + FAR_BEYOND:
                beyond.append((actuator.joint, middle, limits))
    if not checked or len(beyond) < max(2.0, MANY * checked):
        return None
    name, value, (lower, upper) = beyond[0]
    return (
        f"'{name}' is at {value:.1f}, its limits are {lower:.2f} and {upper:.2f} rad, "
        f"and {len(beyond)} of {checked} joints are as far beyond"
    )


def slides(robot: Robot) -> set[str]:
    """Return the names of the joints that slide: their positions are lengths."""
    model = robot.model
    return {
        name
        for name, joint in zip(model.names, model.joints, strict=True)
        if joint.shortname().removeprefix("JointModel").startswith("P")
    }


def _rest(robot: Robot) -> Array:
    """Return zero for each degree of freedom, or the limit nearest to it."""
    rest = dict.fromkeys(degree_names(robot), 0.0)
    for actuator in robot.actuators:
        if actuator.joint in rest:
            rest[actuator.joint] = min(max(0.0, actuator.lower), actuator.upper)
    return np.array(list(rest.values()))


def _listed(names: Iterable[str]) -> str:
    words = [f"'{name}'" for name in names]
    more = len(words) - LONGEST_LIST
    shown = ", ".join(words[:LONGEST_LIST])
    return f"{shown} and {more} more" if more > 0 else shown
