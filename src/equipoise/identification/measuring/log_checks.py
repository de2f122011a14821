"""Whether a log fits its robot: names of joints, units, signs, weight and frames.

And whether its wrenches are there: gaps and frozen sensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, suggest
from equipoise.identification.measuring.balance_series import (
    SoleViews,
    runs,
)
from equipoise.kinematics.com import com_jacobian
from equipoise.log.recordings.match_to_robot import degrees_reason
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations, degree_names
from equipoise.robot.model import Robot

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
LONGEST_LIST = 12
# Joints that the log lacks may be so far from where they are held [deg].
HELD_DEGREES = 10.0
# Units that may be given, in rad, m, N and Nm.
UNITS: dict[str, dict[str, float]] = {
    "angle": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "length": {"m": 1.0, "mm": 1e-3},
    "force": {"N": 1.0, "kgf": STANDARD_GRAVITY},
    "torque": {"Nm": 1.0, "Nmm": 1e-3, "kgfm": STANDARD_GRAVITY},
}
# A sliding joint, or a base, farther away than this many limbs is not in metres.
FAR_LIMBS = 10.0
# Rows farther from a wrench than so many of its usual intervals, and than this [s],
# have none.
FAR_INTERVALS, FAR_SECONDS = 3.0, 0.03
# A wrench that stays exactly the same while the CoM goes farther than this [m], for
# longer than this [s], is a sensor that was silent.
FROZEN_DISTANCE, FROZEN_SECONDS = 0.002, 0.1
# More than this fraction of a log without wrenches is too much.
MOST_LOST = 0.5
FRAME_HINT = "name the frame that they are in: wrench_frames={NAME: FRAME}"


def check_joint_names(recording: Recording, robot: Robot) -> tuple[str, ...]:
    """Refuse a log that lacks a joint of a leg.

    Returns:
        Names of other joints that are likely misspelt, a sentence each.

    Raises:
        EquipoiseError: Naming the joints that are missing and the nearest that the
            log has.
    """
    names = degree_names(robot)
    strange = [name for name in recording.joints if name not in names]
    lacking = [name for name in names if name not in recording.joints]
    legs = {joint for leg in robot.legs.values() for joint in leg.joints}
    needed = [name for name in lacking if name in legs]
    if needed:
        listed = ", ".join(f"'{name}'{suggest(name, strange)}" for name in needed)
        shown = ", ".join(list(recording.joints)[:LONGEST_LIST])
        more = ", …" if len(recording.joints) > LONGEST_LIST else ""
        raise EquipoiseError(
            f"{recording.source}: has no {listed}: all leg joints of {robot.name} are "
            f"needed; its joints are: {shown}{more}"
        )
    return tuple(
        f"the log has no '{name}'{suggest(name, strange)}"
        for name in lacking
        if suggest(name, strange)
    )


def held_joints_notice(
    recording: Recording, robot: Robot, positions: Array
) -> tuple[str, ...]:
    """Return a sentence on what joints that the log lacks do to the centre of mass.

    ``positions`` are those of all joints, shape (n, nv - 6).
    """
    names = degree_names(robot)
    held = [at for at, name in enumerate(names) if name not in recording.joints]
    if not held:
        return ()
    q = configurations(robot, np.array([AT_ORIGIN]), positions[:1])
    lever = np.asarray(com_jacobian(robot, q[0]))[:, 6:][:, held]
    moved = 1e3 * np.deg2rad(HELD_DEGREES) * float(np.linalg.norm(lever))
    return (
        f"{len(held)} joints are not in the log: were each {HELD_DEGREES:.0f}° from "
        f"where it is held, the centre of mass would be {moved:.1f} mm off (root of "
        "the sum of squares)",
    )


def in_si(recording: Recording, robot: Robot, units: Mapping[str, str]) -> Recording:
    """Return a recording in rad, m, N and Nm.

    Args:
        recording: The log as it was read.
        robot: Its robot.
        units: Units of its numbers where they are others: ``{"angle": "deg"}``,
            ``"length": "mm"``, ``"force": "kgf"``, ``"torque": "Nmm"`` or ``"kgfm"``.

    Raises:
        EquipoiseError: If a unit is unknown, or joints seem to be in degrees or
            millimetres and ``units`` does not say so.
    """
    known = "; ".join(f"{kind}: {', '.join(own)}" for kind, own in UNITS.items())
    factor = {}
    for kind, choices in UNITS.items():
        unit = units.get(kind, next(iter(choices)))
        if unit not in choices:
            raise EquipoiseError(f"unknown unit '{unit}' of {kind}; units are {known}")
        factor[kind] = choices[unit]
    for kind in units:
        if kind not in UNITS:
            raise EquipoiseError(f"unknown kind of unit '{kind}'; units are {known}")
    joints = {
        name: values * factor["length" if name in robot.sliding_joints else "angle"]
        for name, values in recording.joints.items()
    }
    scale = np.repeat([factor["force"], factor["torque"]], 3)
    # torques by a centre of pressure are a length times a force
    by_pressure = np.repeat([factor["force"], factor["force"] * factor["length"]], 3)
    wrenches = {
        name: own._replace(
            values=own.values * (by_pressure if own.by_pressure else scale)
        )
        for name, own in recording.wrenches.items()
    }
    base = recording.base_pose
    if base is not None:
        base = base * np.append([factor["length"]] * 3, [1.0] * 4)
    found = replace(recording, joints=joints, wrenches=wrenches, base_pose=base)
    _check_joint_units(found, robot, units)
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
        "millimetres (units={'length': 'mm'}); its position is not used here"
    )


def unit_hint(kind: str, unit: str) -> str:
    """Return how to give a unit."""
    return f"if so, give the unit: units={{'{kind}': '{unit}'}}"


def _check_joint_units(
    recording: Recording, robot: Robot, units: Mapping[str, str]
) -> None:
    reason = degrees_reason(recording, robot)
    if reason is not None and units.get("angle") == "deg":
        raise EquipoiseError(
            f"{recording.source}: joint positions do not fit {robot.name} even as "
            f"degrees: {reason}"
        )
    if reason is not None:
        raise EquipoiseError(
            f"{recording.source}: joint positions look like degrees: {reason}; "
            f"{unit_hint('angle', 'deg')}"
        )
    for name in degree_names(robot):
        if name not in robot.sliding_joints or name not in recording.joints:
            continue
        middle = float(np.median(np.abs(recording.joints[name])))
        if middle > FAR_LIMBS * robot.longest_limb:
            raise EquipoiseError(
                f"{recording.source}: sliding joint '{name}' is {middle:.0f} m out, "
                f"which looks like millimetres; {unit_hint('length', 'mm')}"
            )


def finite_wrenches(recording: Recording, notices: list[str]) -> Recording:
    """Return a recording without wrenches that are not numbers; refuse many of them."""
    wrenches = {}
    for name, own in recording.wrenches.items():
        good = np.asarray(np.isfinite(own.values).all(axis=1))
        lost = int(np.count_nonzero(~good))
        text = f"{lost} of {len(good)} samples of wrench '{name}' are not numbers"
        if lost > MOST_LOST * len(good):
            raise EquipoiseError(f"{recording.source}: {text}")
        if lost:
            notices.append(f"{text} and are left out")
        wrenches[name] = own._replace(time=own.time[good], values=own.values[good])
    return replace(recording, wrenches=wrenches)


def measured_rows(
    recording: Recording, views: SoleViews, notices: list[str]
) -> NDArray[np.bool_]:
    """Return which rows have a wrench measured near them, (n,); refuse few of them."""
    time = recording.time
    usable = np.ones(len(time), dtype=np.bool_)
    for name, own in recording.wrenches.items():
        good = ~(_far(time, own.time) | _frozen(recording, views, own))
        lost = int(np.count_nonzero(~good))
        text = (
            f"wrench '{name}' is missing, or stays the same while the robot moves, in "
            f"{lost} of {len(time)} rows"
        )
        if lost > MOST_LOST * len(time):
            raise EquipoiseError(f"{recording.source}: {text}")
        if lost:
            notices.append(f"{text}: they are left out")
        usable &= good
    return usable


def _far(time: Array, own: Array) -> NDArray[np.bool_]:
    """Return which times lie in a gap of other times, or before or after them."""
    steps = np.diff(own)
    usual = float(np.median(steps)) if len(steps) else 0.0
    most = max(FAR_SECONDS, FAR_INTERVALS * usual)
    after = np.searchsorted(own, time)
    before = own[np.maximum(after - 1, 0)]
    next_one = own[np.minimum(after, len(own) - 1)]
    nearest = np.minimum(np.abs(time - before), np.abs(next_one - time))
    return np.asarray(nearest > most)


def _frozen(
    recording: Recording, views: SoleViews, own: MeasuredWrench
) -> NDArray[np.bool_]:
    """Return which rows have an old wrench, and another pose than when it was new."""
    frozen = np.zeros(len(recording.time), dtype=np.bool_)
    first, end = runs(np.any(own.values[1:] != own.values[:-1], axis=1))
    since, until = own.time[first], own.time[end - 1]
    long = until - since >= FROZEN_SECONDS
    begins = np.searchsorted(recording.time, since[long])
    ends = np.searchsorted(recording.time, until[long], side="right")
    for begin, past in zip(begins.tolist(), ends.tolist(), strict=True):
        for centre in views.com_in_sole.values():
            away = np.linalg.norm(centre[begin:past] - centre[begin:][:1], axis=1)
            frozen[begin:past] |= np.logical_or.accumulate(away > FROZEN_DISTANCE)
    return frozen
