"""Whether wrenches of feet can be what they are said to be: sign, weight, frame."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import centre_of_pressure
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.measuring.units import told
from equipoise.robot.anatomy.geometry import signed_distance
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# The feet carry the model's weight to this share.
WEIGHT_SHARE = 0.25
# A sensor that shows less than this share of the weight all the time is dead.
DEAD = 1e-3
# A foot whose push is down by more than this share of the weight has a wrong sign.
DOWNWARD = -0.05
# Share of the upward force that may push sideways: more slips, this is much.
MOST_SIDEWAYS, MUCH_SIDEWAYS = 1.0, 0.2
# Feet shorter than this share of the longest limb are looked at as if so long.
SHORTEST_SOLE = 0.1
FRAME_HINT = "name the frame that they are in: --wrench-frame NAME=FRAME"


def check_alive(
    source: Path | str, robot: Robot, wrenches: Mapping[Side, Array]
) -> None:
    """Refuse a log in which a foot's sensor shows nothing.

    Args:
        source: The log, for messages.
        robot: The robot.
        wrenches: All that was measured [N, Nm], by side, shape (n, 6).

    Raises:
        EquipoiseError: Naming the foot.
    """
    weight = robot.mass * STANDARD_GRAVITY
    for side in FEET:
        if np.abs(wrenches[side][:, :3]).max() < DEAD * weight:
            raise EquipoiseError(
                f"{source}: the wrench of the {side} foot is zero all the time: both "
                "feet must be measured"
            )


def check_wrenches(
    source: Path | str,
    robot: Robot,
    wrenches: Mapping[Side, Array],
    *,
    free_mass: bool = False,
) -> tuple[str, ...]:
    """Refuse wrenches that cannot be the ground's on standing feet.

    Args:
        source: The log, for messages.
        robot: The robot.
        wrenches: While it stands still, about and in the soles' frames [N, Nm], by
            side, shape (n, 6).
        free_mass: The robot may weigh anything.

    Returns:
        What is odd, but possible, a sentence each.

    Raises:
        EquipoiseError: With what was measured, what was expected, and what to do.
    """
    weight = robot.mass * STANDARD_GRAVITY
    middle = {side: np.median(wrenches[side], axis=0) for side in FEET}
    for side in FEET:
        _check_upright(source, side, wrenches[side], weight)
    total = float(np.median(sum(wrenches[side][:, 2] for side in FEET)))
    if not free_mass:
        _check_weight(source, robot, total, weight)
    elif total <= 0.0:
        raise EquipoiseError(
            f"{source}: the feet's F_z sum to {total:.1f} N: the robot would weigh "
            "less than nothing"
        )
    for side in FEET:
        _check_pressure(source, robot, side, wrenches[side])
    sideways = sum(middle[side][:2] for side in FEET)
    share = float(np.linalg.norm(sideways)) / total
    if share > MUCH_SIDEWAYS:
        return (
            f"standing still, the feet are pushed sideways by {share:.0%} of the "
            "weight: the sensors have offsets",
        )
    return ()


def _check_upright(
    source: Path | str, side: Side, wrench: Array, weight: float
) -> None:
    push = float(np.median(wrench[:, 2]))
    sideways = float(np.median(np.linalg.norm(wrench[:, :2], axis=1)))
    if sideways > MOST_SIDEWAYS * abs(push) and sideways > -DOWNWARD * weight:
        raise EquipoiseError(
            f"{source}: the {side} foot is pushed sideways by {sideways:.1f} N and "
            f"upward by {push:.1f} N: its wrenches are not in the frame that the log "
            f"names; {FRAME_HINT}"
        )
    if push < DOWNWARD * weight:
        raise EquipoiseError(
            f"{source}: the {side} foot is pushed down by {-push:.1f} N while the "
            "other is not: the signs of the two sensors differ, or a frame's z points "
            f"down; {FRAME_HINT}"
        )


def _check_weight(
    source: Path | str, robot: Robot, total: float, weight: float
) -> None:
    ratio = total / weight
    if abs(ratio - 1.0) <= WEIGHT_SHARE:
        return
    said = (
        f"{source}: standing still, the feet's F_z sum to {total:.1f} N, the weight of "
        f"{robot.name} is {weight:.1f} N"
    )
    if abs(ratio * STANDARD_GRAVITY - 1.0) <= WEIGHT_SHARE:
        raise EquipoiseError(
            f"{said}: forces look like kilograms; {told('force', 'kgf')}"
        )
    if ratio < 0.0:
        raise EquipoiseError(f"{said}: it would be negative, the signs are wrong")
    if abs(2.0 * ratio - 1.0) <= WEIGHT_SHARE:
        raise EquipoiseError(
            f"{said}: half of it is missing; are both feet, and all sensors of a foot, "
            "in the log? If the model's mass is wrong: --free-mass"
        )
    raise EquipoiseError(
        f"{said}, {abs(ratio - 1.0):.0%} off (at most {WEIGHT_SHARE:.0%}); if the "
        "model's mass is that wrong: --free-mass"
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
    said = (
        f"{source}: the {side} foot is pressed at ({point[0]:.3g}, {point[1]:.3g}) m "
        f"of its sole's frame, {outside:.3g} m outside of the sole"
    )
    if -float(signed_distance(sole.polygon_in_sole, point / 1e3)) <= 0.1 * longest:
        raise EquipoiseError(f"{said}: torques look like Nmm; {told('torque', 'Nmm')}")
    raise EquipoiseError(
        f"{said}: its wrenches are not about the frame that the log names; {FRAME_HINT}"
    )
