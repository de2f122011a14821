"""Whether wrenches can be the ground's on feet: signs, weight, frames, sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import BalanceSeries
from equipoise.identification.measuring.log_checks import (
    FAR_LIMBS,
    FRAME_HINT,
    unit_hint,
)
from equipoise.identification.statics import FEET, centre_of_pressure, total_wrench
from equipoise.robot.anatomy.geometry import convex_hull, signed_distance
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

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
# On plates the centre of pressure is within the feet, to this fraction of a sole.
BESIDE = 0.2
# Feet are exchanged where the centre of pressure then follows the CoM this much better,
# which moves across by at least this fraction of the feet's distance; or, where it does
# not move, where it is this far away, and this much nearer when they are exchanged.
FOLLOWS_BETTER, MOVES_ACROSS = 0.5, 0.03
FAR_ACROSS, MUCH_NEARER = 0.2, 0.3


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
    if outside <= BESIDE * longest:
        return
    text = (
        f"{log.source}: the force plates' centre of pressure is {outside:.3g} m beside "
        "the feet"
    )
    if outside > FAR_LIMBS * log.robot.longest_limb:
        raise EquipoiseError(
            f"{text}: torques look like Nmm; {unit_hint('torque', 'Nmm')}"
        )
    raise EquipoiseError(
        f"{text}: where the plate is in the world of the base's pose is needed: "
        "plate_at=(x, y, z, yaw)"
    )


def check_sides(log: BalanceSeries, rows: NDArray[np.bool_]) -> None:
    """Refuse feet whose wrenches only fit when left and right are exchanged.

    ``rows`` are those in which the robot stands still, shape (n,).
    """
    if log.plates:
        return
    places = {side: log.views.sole_in_level[side][rows] for side in FEET}
    exchanged = {"left": log.wrenches["right"], "right": log.wrenches["left"]}
    exchanged = {side: own[rows] for side, own in exchanged.items()}
    centre = log.views.com_in_level[rows, :2]
    across = np.mean(places["left"][:, :2, 3] - places["right"][:, :2, 3], axis=0)
    width = float(np.linalg.norm(across))
    along = across / max(width, 1e-9)
    as_logged = (centre_of_pressure(log.total[rows]) - centre) @ along
    other = (centre_of_pressure(total_wrench(places, exchanged)) - centre) @ along
    moved = float(np.std(centre @ along))
    if moved > MOVES_ACROSS * width:
        wrong = np.std(other) < FOLLOWS_BETTER * np.std(as_logged)
    else:
        near, far = abs(float(np.median(other))), abs(float(np.median(as_logged)))
        wrong = far > FAR_ACROSS * width and near < MUCH_NEARER * far
    if wrong:
        before, after = (
            1e3 * float(np.sqrt(np.mean(own**2))) for own in (as_logged, other)
        )
        raise EquipoiseError(
            f"{log.source}: the wrenches of the feet seem to be exchanged: as logged "
            f"the centre of pressure is {before:.0f} mm beside the model's centre of "
            f"mass, with left and right exchanged {after:.0f} mm; name the frames that "
            "they are in: wrench_frames={NAME: FRAME}"
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
            f"{text}: forces look like kilograms; {unit_hint('force', 'kgf')}"
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
            f"{text}: torques look like Nmm; {unit_hint('torque', 'Nmm')}"
        )
    raise EquipoiseError(
        f"{text}: its wrenches are not about the frame that the log names; {FRAME_HINT}"
    )
