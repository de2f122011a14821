"""Units of a log: told, or found out to be others than they should."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.log.recordings.match_to_robot import degrees_reason, slides
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot

# What may be told, and what one is in rad, m, N and Nm.
UNITS: dict[str, dict[str, float]] = {
    "angle": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "length": {"m": 1.0, "mm": 1e-3},
    "force": {"N": 1.0, "kgf": STANDARD_GRAVITY},
    "torque": {"Nm": 1.0, "Nmm": 1e-3, "kgfm": STANDARD_GRAVITY},
}
# A sliding joint, or a base, farther off than this many limbs is not in metres.
FAR_LIMBS = 10.0


def in_si(recording: Recording, robot: Robot, units: Mapping[str, str]) -> Recording:
    """Return a recording in rad, m, N and Nm.

    Args:
        recording: As it was read.
        robot: Its robot.
        units: What its numbers are in where they are not: ``{"angle": "deg"}``,
            ``"length": "mm"``, ``"force": "kgf"``, ``"torque": "Nmm"`` or ``"kgfm"``.

    Raises:
        EquipoiseError: If there is no such unit, or joints seem to be in degrees or
            millimetres and nobody told so.
    """
    factor = {kind: _factor(kind, units) for kind in UNITS}
    for kind in units:
        if kind not in UNITS:
            raise EquipoiseError(f"there is no unit of '{kind}'; {_choices()}")
    sliding = slides(robot)
    joints = {
        name: values * factor["length" if name in sliding else "angle"]
        for name, values in recording.joints.items()
    }
    scale = np.repeat([factor["force"], factor["torque"]], 3)
    wrenches = {
        name: MeasuredWrench(own.frame, own.time, own.values * scale)
        for name, own in recording.wrenches.items()
    }
    found = replace(recording, joints=joints, wrenches=wrenches)
    _check_angles(found, robot, units)
    _check_lengths(found, robot, units)
    return found


def base_notice(recording: Recording, robot: Robot) -> str | None:
    """Return a sentence if the base's position seems to be in millimetres."""
    if recording.base_pose is None:
        return None
    height = abs(float(np.median(recording.base_pose[:, 2])))
    if height < FAR_LIMBS * robot.longest_limb:
        return None
    return (
        f"the base is {height:.0f} m up by '{recording.base_source}', which looks like "
        "millimetres; it is not used here"
    )


def told(kind: str, unit: str) -> str:
    """Return how a unit is told, for the end of a message."""
    return f"if so, tell it: --units {kind}={unit}"


def _factor(kind: str, units: Mapping[str, str]) -> float:
    choices = UNITS[kind]
    unit = units.get(kind, next(iter(choices)))
    if unit not in choices:
        raise EquipoiseError(f"there is no unit '{unit}' of {kind}; {_choices()}")
    return choices[unit]


def _choices() -> str:
    known = "; ".join(f"{kind}: {', '.join(own)}" for kind, own in UNITS.items())
    return f"units are {known}"


def _check_angles(recording: Recording, robot: Robot, units: Mapping[str, str]) -> None:
    reason = degrees_reason(recording, robot)
    if reason is None:
        return
    if units.get("angle") == "deg":
        raise EquipoiseError(
            f"{recording.source}: joint positions do not fit {robot.name} even as "
            f"degrees: {reason}"
        )
    raise EquipoiseError(
        f"{recording.source}: joint positions look like degrees: {reason}; "
        f"{told('angle', 'deg')}"
    )


def _check_lengths(
    recording: Recording, robot: Robot, units: Mapping[str, str]
) -> None:
    sliding = slides(robot)
    for name in degree_names(robot):
        if name not in sliding or name not in recording.joints:
            continue
        middle = float(np.median(np.abs(recording.joints[name])))
        if middle > FAR_LIMBS * robot.longest_limb:
            raise EquipoiseError(
                f"{recording.source}: sliding joint '{name}' is {middle:.0f} m out, "
                f"which looks like millimetres; {told('length', 'mm')}"
            )
