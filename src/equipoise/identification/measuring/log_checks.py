"""Whether a log fits its robot: names of joints, units, signs, weight and frames.

And whether its wrenches are there: gaps and frozen sensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, suggest
from equipoise.identification.measuring.balance_series import (
    BalanceSeries,
    SoleViews,
    runs,
)
from equipoise.identification.statics import FEET, centre_of_pressure
from equipoise.log.recordings.match_to_robot import degrees_reason, slides
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.robot.anatomy.geometry import convex_hull, signed_distance
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

LONGEST_LIST = 12
# Units that may be given, in rad, m, N and Nm.
UNITS: dict[str, dict[str, float]] = {
    "angle": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "length": {"m": 1.0, "mm": 1e-3},
    "force": {"N": 1.0, "kgf": STANDARD_GRAVITY},
    "torque": {"Nm": 1.0, "Nmm": 1e-3, "kgfm": STANDARD_GRAVITY},
}
# A sliding joint, or a base, farther away than this many limbs is not in metres.
FAR_LIMBS = 10.0
# The feet carry the model's weight to this fraction.
WEIGHT_TOLERANCE = 0.25
# A sensor that shows less than this fraction of the weight all the time is dead.
DEAD = 1e-3
# A foot whose force is downward by more than this fraction of the weight has a wrong
# sign.
DOWNWARD = -0.05
# Lateral over vertical force: more than the first slips, the second is suspicious.
MOST_LATERAL, MUCH_LATERAL = 1.0, 0.2
# Feet shorter than this fraction of the longest limb are checked as if that long.
SHORTEST_SOLE = 0.1
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
    sliding = slides(robot)
    joints = {
        name: values * factor["length" if name in sliding else "angle"]
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


def check_alive(log: BalanceSeries) -> None:
    """Refuse a log in which a foot's sensor, or all plates, show nothing."""
    weight = log.robot.mass * STANDARD_GRAVITY
    largest = {
        name: float(np.abs(own[:, :3]).max()) for name, own in log.wrenches.items()
    }
    for name, force in largest.items():
        if force < DEAD * weight and name not in log.plates:
            raise EquipoiseError(
                f"{log.source}: the wrench of the {name} foot is zero all the time: "
                "both feet must be measured"
            )
    if max(largest.values()) < DEAD * weight:
        raise EquipoiseError(f"{log.source}: the force plates show zero all the time")


def check_wrenches(
    log: BalanceSeries, rows: NDArray[np.bool_], *, free_mass: bool = False
) -> tuple[str, ...]:
    """Refuse wrenches that cannot be the ground's on standing feet.

    ``rows`` are those in which the robot stands still, shape (n,); with ``free_mass``
    it may have any weight.

    Returns:
        Suspicious, but possible values, a sentence each.

    Raises:
        EquipoiseError: With the measured and the expected value, and what to do.
    """
    source, robot = log.source, log.robot
    weight = robot.mass * STANDARD_GRAVITY
    feet: dict[Side, Array] = {
        side: log.wrenches[side][rows] for side in FEET if side in log.wrenches
    }
    for side, own in feet.items():
        _check_direction(source, side, own, weight)
    vertical = log.total[rows, 2]
    if feet:
        vertical = np.sum([own[:, 2] for own in feet.values()], axis=0)
    total = float(np.median(vertical))
    if not free_mass:
        _check_weight(source, robot, total, weight)
    elif total <= 0.0:
        raise EquipoiseError(
            f"{source}: the feet's F_z sum to {total:.1f} N: the robot would weigh "
            "less than nothing"
        )
    for side, own in feet.items():
        _check_pressure(source, robot, side, own)
    if log.plates:
        _check_pressure_of_plates(log, rows)
    lateral = np.median(log.total[rows, :2], axis=0)
    fraction = float(np.linalg.norm(lateral)) / total
    if fraction > MUCH_LATERAL:
        return (
            f"standing still, the lateral force on the feet is {fraction:.0%} of the "
            "weight: the sensors have offsets",
        )
    return ()


def _check_pressure_of_plates(log: BalanceSeries, rows: NDArray[np.bool_]) -> None:
    """Refuse plates whose centre of pressure is not between the feet."""
    point = np.median(centre_of_pressure(log.total[rows]), axis=0)
    corners = []
    for side, pose in log.views.sole_in_level.items():
        flat = log.robot.soles[side].polygon_in_sole
        turn, place = pose[rows, :2, :2].mean(axis=0), pose[rows, :2, 3].mean(axis=0)
        corners.append(flat @ turn.T + place)
    hull = convex_hull(np.concatenate(corners))
    outside = -float(signed_distance(hull, point))
    longest = max(*log.robot.soles["left"].size, SHORTEST_SOLE * log.robot.longest_limb)
    if outside <= longest:
        return
    text = (
        f"{log.source}: the force plates' centre of pressure is {outside:.3g} m beside "
        "the feet"
    )
    if outside > FAR_LIMBS * log.robot.longest_limb:
        raise EquipoiseError(
            f"{text}: torques look like Nmm; {_unit_hint('torque', 'Nmm')}"
        )
    raise EquipoiseError(
        f"{text}: where the plate is in the world of the base's pose is needed: "
        "plate_at=(x, y, z, yaw)"
    )


def _unit_hint(kind: str, unit: str) -> str:
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
            f"{_unit_hint('angle', 'deg')}"
        )
    sliding = slides(robot)
    for name in degree_names(robot):
        if name not in sliding or name not in recording.joints:
            continue
        middle = float(np.median(np.abs(recording.joints[name])))
        if middle > FAR_LIMBS * robot.longest_limb:
            raise EquipoiseError(
                f"{recording.source}: sliding joint '{name}' is {middle:.0f} m out, "
                f"which looks like millimetres; {_unit_hint('length', 'mm')}"
            )


def _check_direction(
    source: Path | str, side: Side, wrench: Array, weight: float
) -> None:
    vertical = float(np.median(wrench[:, 2]))
    lateral = float(np.median(np.linalg.norm(wrench[:, :2], axis=1)))
    if lateral > MOST_LATERAL * abs(vertical) and lateral > -DOWNWARD * weight:
        raise EquipoiseError(
            f"{source}: the force on the {side} foot is {lateral:.1f} N lateral and "
            f"{vertical:.1f} N upward: its wrenches are not in the frame that the log "
            f"names; {FRAME_HINT}"
        )
    if vertical < DOWNWARD * weight:
        raise EquipoiseError(
            f"{source}: the {side} foot is pushed down by {-vertical:.1f} N while the "
            "other is not: the signs of the two sensors differ, or a frame's z points "
            f"down; {FRAME_HINT}"
        )


def _check_weight(
    source: Path | str, robot: Robot, total: float, weight: float
) -> None:
    ratio = total / weight
    if abs(ratio - 1.0) <= WEIGHT_TOLERANCE:
        return
    text = (
        f"{source}: standing still, the feet's F_z sum to {total:.1f} N, the weight of "
        f"{robot.name} is {weight:.1f} N"
    )
    if abs(ratio * STANDARD_GRAVITY - 1.0) <= WEIGHT_TOLERANCE:
        raise EquipoiseError(
            f"{text}: forces look like kilograms; {_unit_hint('force', 'kgf')}"
        )
    if ratio < 0.0:
        raise EquipoiseError(f"{text}: it would be negative, the signs are wrong")
    if abs(2.0 * ratio - 1.0) <= WEIGHT_TOLERANCE:
        raise EquipoiseError(
            f"{text}: half of it is missing; are both feet, and all sensors of a foot, "
            "in the log? If the model's mass is wrong: free_mass=True"
        )
    raise EquipoiseError(
        f"{text}, {abs(ratio - 1.0):.0%} off (at most {WEIGHT_TOLERANCE:.0%}); if the "
        "model's mass is that wrong: free_mass=True"
    )


def _check_pressure(
    source: Path | str, robot: Robot, side: Side, wrench: Array
) -> None:
    sole = robot.soles[side]
    loaded = wrench[wrench[:, 2] > 0.5 * np.median(wrench[:, 2])]
    if len(loaded) == 0:
        return
    point = np.median(centre_of_pressure(loaded), axis=0)
    outside = -float(signed_distance(sole.polygon_in_sole, point))
    longest = max(*sole.size, SHORTEST_SOLE * robot.longest_limb)
    if outside <= longest:
        return
    text = (
        f"{source}: the {side} foot's centre of pressure is at ({point[0]:.3g}, "
        f"{point[1]:.3g}) m of its sole's frame, {outside:.3g} m outside of the sole"
    )
    if -float(signed_distance(sole.polygon_in_sole, point / 1e3)) <= 0.1 * longest:
        raise EquipoiseError(
            f"{text}: torques look like Nmm; {_unit_hint('torque', 'Nmm')}"
        )
    raise EquipoiseError(
        f"{text}: its wrenches are not about the frame that the log names; {FRAME_HINT}"
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
