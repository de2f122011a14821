"""What measures the ground's wrench in a log: sensors at the soles, or force plates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import BalanceSeries
from equipoise.identification.measuring.log_checks import FRAME_HINT
from equipoise.identification.measuring.plates import (
    PlacedPlates,
    placed_plates,
    plate_names,
)
from equipoise.identification.statics import FEET, centre_of_pressure
from equipoise.log.recordings.match_to_robot import FootSensor, foot_sensors
from equipoise.log.recordings.recording import ALL_SIX, Recording
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side, Sole

# Standard deviation of lateral forces that are not measured, as a fraction of the load:
# feet push against each other as far as friction lets them.
FRICTION = 0.3
# A uniform distribution has the standard deviation of its width over this.
UNIFORM = float(np.sqrt(12.0))


class Sensed(NamedTuple):
    """Wrenches at a log's times, and what they are by.

    Attributes:
        wrenches: By sensor, about and in its frame [N, Nm], shape (n, 6).
        missing_std: Standard deviations of what is not measured, likewise.
        plates: Where force plates are; None for sensors at the soles.
        names: Wrenches of the log that are used.
    """

    wrenches: dict[str, Array]
    missing_std: dict[str, Array]
    plates: PlacedPlates | None
    names: tuple[str, ...]


def sensed_wrenches(
    recording: Recording,
    robot: Robot,
    q_at_origin: Array,
    plate_at: Mapping[str, Sequence[float]],
    notices: list[str],
) -> Sensed:
    """Return the wrenches that carry a robot on both feet.

    Sensors of both feet are used where there are some, unless ``plate_at`` says that
    there are plates.

    Args:
        recording: The log, in SI units.
        robot: The robot.
        q_at_origin: Configurations with the root at the origin, shape (n, nq).
        plate_at: As for :func:`~.plates.placed_plates`.
        notices: Receives what was assumed, corrected and left out.

    Raises:
        EquipoiseError: If a foot is not measured; names what the log has.
    """
    for side in FEET:
        if side not in robot.soles:
            raise EquipoiseError(f"{robot.name} has no {side} sole to stand on")
    plates = plate_names(recording, robot, plate_at)
    own = {k: w for k, w in recording.wrenches.items() if k not in plates}
    feet = foot_sensors(replace(recording, wrenches=own), robot, q_at_origin, notices)
    if plates and (plate_at or set(feet) != set(FEET)):
        if feet:
            names = ", ".join(f"'{sensor.name}'" for sensor in feet.values())
            notices.append(f"{names} is not used: the force plates carry both feet")
        placed = placed_plates(recording, robot, q_at_origin, plates, plate_at, notices)
        missing = {
            name: _missing_of_plate(placed, name, robot)
            for name, given in placed.measured.items()
            if given != ALL_SIX
        }
        return Sensed(placed.wrenches, missing, placed, plates)
    if plate_at:
        raise EquipoiseError(
            f"{recording.source}: plate_at is given, but the log has no wrench of a "
            f"force plate; its wrenches are: {_listed(recording)}"
        )
    if plates:
        names = ", ".join(f"'{name}'" for name in plates)
        notices.append(
            f"{names} is not used: the feet have sensors of their own (plate_at=(x, y, "
            "z, yaw) takes the plate instead)"
        )
    _check_both(recording, robot, feet)
    wrenches: dict[str, Array] = {}
    missing = {}
    for side in FEET:
        sensor = feet[side]
        wrenches[side] = sensor.values
        if sensor.measured != ALL_SIX:
            wrenches[side], missing[side] = _completed(sensor, robot.soles[side])
    _say_missing(feet, robot, notices)
    return Sensed(wrenches, missing, None, tuple(own.name for own in feet.values()))


def _listed(recording: Recording) -> str:
    known = [f"'{n}' in '{w.frame}'" for n, w in recording.wrenches.items()]
    return ", ".join(known) or "none"


def _check_both(
    recording: Recording, robot: Robot, feet: Mapping[Side, FootSensor]
) -> None:
    for side in FEET:
        if side not in feet:
            raise EquipoiseError(
                f"{recording.source}: no wrench is in a frame of the {side} leg of "
                f"{robot.name}; its wrenches are: {_listed(recording)}; {FRAME_HINT}"
            )


def _completed(sensor: FootSensor, sole: Sole) -> tuple[Array, Array]:
    """Return wrenches with what is expected where nothing is measured, and its std."""
    values = np.array(sensor.values)
    load = np.abs(values[:, 2])
    length, width = sole.size
    centre = sole.polygon_in_sole.mean(axis=0)
    expected = np.outer(values[:, 2], [0.0, 0.0, 1.0, centre[1], -centre[0], 0.0])
    friction = FRICTION * np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.5 * length])
    unknown = np.array([0.0, 0.0, 0.0, width / UNIFORM, length / UNIFORM, 0.0])
    lacks = ~np.array(sensor.measured)
    values[:, lacks] = expected[:, lacks]
    return values, np.outer(load, np.where(lacks, friction + unknown, 0.0))


def with_expected_pressure(log: BalanceSeries) -> BalanceSeries:
    """Return a log in which feet that give F_z only press where the model expects it.

    What is not measured must not speak against the model: the centre of pressure is put
    below the model's CoM as far as the soles reach.
    """
    blind = [
        side
        for side in FEET
        if side in log.missing_std and np.any(log.missing_std[side][:, 3:5])
    ]
    if not blind:
        return log
    away = log.views.com_in_level[:, :2] - centre_of_pressure(log.total)
    load = np.maximum(sum(log.wrenches[side][:, 2] for side in blind), 1e-9)
    away = np.column_stack([away, np.zeros(len(away))])
    away *= (log.total[:, 2] / load)[:, None]
    wrenches = dict(log.wrenches)
    for side in blind:
        polygon = log.robot.soles[side].polygon_in_sole
        back = log.views.sole_in_level[side][:, :3, :3]
        moved = np.einsum("nji,nj->ni", back, away)[:, :2] + polygon.mean(axis=0)
        moved = np.clip(moved, polygon.min(axis=0), polygon.max(axis=0))
        own = np.array(wrenches[side])
        own[:, 3], own[:, 4] = own[:, 2] * moved[:, 1], -own[:, 2] * moved[:, 0]
        wrenches[side] = own
    return replace(log, wrenches=wrenches)


def _missing_of_plate(placed: PlacedPlates, name: str, robot: Robot) -> Array:
    load = np.abs(placed.wrenches[name][:, 2])
    width = robot.longest_limb * FRICTION
    scale = FRICTION * np.array([1.0, 1.0, 0.0, 0.0, 0.0, width])
    return np.outer(load, np.where(placed.measured[name], 0.0, scale))


def _say_missing(
    feet: Mapping[Side, FootSensor], robot: Robot, notices: list[str]
) -> None:
    partial = {side: own for side, own in feet.items() if own.measured != ALL_SIX}
    if not partial:
        return
    names = ", ".join(f"'{own.name}'" for own in partial.values())
    if all(all(own.measured[2:5]) for own in partial.values()):
        notices.append(
            f"{names} gives vertical force and centre of pressure: lateral forces are "
            "not measured, so that the floor is taken to be level to 1 mrad"
        )
        return
    length, width = robot.soles["left"].size
    notices.append(
        f"{names} gives the vertical force only: where it acts under a foot is unknown "
        f"(± {1e3 * length / UNIFORM:.0f} mm along, ± {1e3 * width / UNIFORM:.0f} mm "
        "across the sole, one standard deviation, the same in all poses), and so is "
        "the centre of mass; sensors with six axes or insoles determine it"
    )
