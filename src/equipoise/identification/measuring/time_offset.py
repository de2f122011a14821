"""Delay of the wrenches of a log against its joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.measuring.balance_series import (
    FEET_SPEED,
    BalanceSeries,
    Rows,
    SoleViews,
    near,
    runs,
    sliding,
)
from equipoise.identification.measuring.slow_motion import level_momentum
from equipoise.identification.statics import FEET, centre_of_pressure, total_wrench
from equipoise.kinematics.com import com_jacobian
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import BASE_V, configurations

# Offsets are searched up to this, in steps of this [s].
MOST_OFFSET, STEP = 0.5, 0.01
# They carry the same load, to this fraction of it.
SAME_LOAD = 0.1
# The CoM moves if it is faster than this [m/s], for at least this long [s].
MOVING, LEAST_SECONDS = 0.01, 0.5
# Both curves are smoothed twice over this; momentum has its rate over that [s].
SMOOTHING, RATE_WINDOW = 0.4, 0.2
# The curves must correlate by this, and the shift must explain them better by more than
# chance does once in a hundred times (half of χ²).
LEAST_CORRELATION, LEAST_EVIDENCE = 0.9, 3.3
# A joint moves the CoM as the model says to this fraction of it; other errors of the
# centre of pressure have one of these sizes, as fractions of the CoM's height.
MODEL_ERROR, PRESSURE_NOISES = 0.1, (5e-4, 1.5e-3, 5e-3, 1.5e-2)
MOST_ROWS = 20_000

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def time_offset(log: BalanceSeries) -> float | None:
    """Return the delay of wrenches against joints [s]; None if not identifiable.

    While both feet stand, the centre of pressure follows from the model's weight and
    rate of momentum. The two curves are shifted onto each other where the CoM moves;
    constant differences, and those that a wrong model makes, do not count. Steps are
    not used: walking alone is not sufficient.
    """
    time, views = log.time, log.views
    if len(time) < 3:
        return None
    load = sliding(time, log.total[:, 2:3], SMOOTHING).mean[:, 0]
    rows, segment = _moving(time, views, load)
    if len(rows) == 0:
        return None
    expected = centre_of_pressure(_smooth(time, model_wrench(log))[rows])
    expected = _centred(expected, segment)
    places = {name: own[rows] for name, own in log.sensor_in_level.items()}
    smooth = {name: _smooth(time, own) for name, own in log.wrenches.items()}
    offsets = np.arange(-MOST_OFFSET, MOST_OFFSET + 0.5 * STEP, STEP)

    def shifted(late: float) -> Array:
        return _pressure(places, smooth, time, time[rows] + late, segment)

    height = max(float(np.median(views.com_in_level[:, 2])), 1e-9)
    # of rows that smoothing makes alike one counts
    every = max(1, round(SMOOTHING / float(np.median(np.diff(time)))))
    # a wrong weight, or offset of it, stretches the curve
    spread = np.hstack([_model_errors(log, rows, segment), MODEL_ERROR * expected])
    spread = spread[::every]
    off = np.array([(shifted(late) - expected)[::every] for late in offsets])
    noises = [part * height for part in PRESSURE_NOISES]
    evidence = max((_evidence(off, spread, own) for own in noises), key=np.max)
    best = int(np.argmax(evidence))
    alike = _correlation(shifted(float(offsets[best])), expected)
    if alike < LEAST_CORRELATION or best in (0, len(offsets) - 1):
        return None
    at_zero = evidence[int(np.argmin(np.abs(offsets)))]
    if evidence[best] - at_zero < LEAST_EVIDENCE:
        return 0.0
    before, peak, after = evidence[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    shift = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
    return float(offsets[best] + STEP * shift)


def _model_errors(log: BalanceSeries, rows: Rows, segment: Rows) -> Array:
    """Return CoM errors that a wrong model would make, one standard deviation, (n, k).

    Each joint moves the CoM by more or less than the model says, by a fraction. Such
    errors depend on the posture, and must not be taken for a delay.
    """
    smooth = _centred(sliding(log.time, log.positions, SMOOTHING).mean[rows], segment)
    q = configurations(log.robot, np.array([AT_ORIGIN]), log.positions[rows[:1]])
    lever = np.linalg.norm(com_jacobian(log.robot, q[0])[:, BASE_V:], axis=0)
    return np.asarray(MODEL_ERROR * smooth * lever)


def _evidence(off: Array, spread: Array, noise: float) -> Array:
    """Return the log evidence of each of k shifts, shape (k,).

    Args:
        off: Differences of the centre of pressure [m], shape (k, n, 2).
        spread: Errors of the model [m], shape (n, j): C = σ² I + S Sᵀ.
        noise: Standard deviation σ of other errors [m].
    """
    left, sizes, _ = np.linalg.svd(spread, full_matrices=False)
    gain = sizes**2 / (sizes**2 + noise**2)
    inner = np.einsum("nj,kna->kja", left, off)
    squares = np.sum(off**2, axis=(1, 2)) - np.einsum("j,kja->k", gain, inner**2)
    size = len(spread) * np.log(noise**2) + np.sum(np.log1p((sizes / noise) ** 2))
    return np.asarray(-0.5 * squares / noise**2 - size)


def _moving(time: Array, views: SoleViews, load: Array) -> tuple[Rows, Rows]:
    """Return rows in which the CoM moves over standing feet, and their segments.

    ``load`` is the ground's vertical force [N], shape (n,): who tips does not stand.
    """
    left, right = (views.sole_in_level[side][:, :3, 3] for side in FEET)
    feet = np.linalg.norm(sliding(time, left - right, SMOOTHING).slope, axis=1)
    speed = np.linalg.norm(sliding(time, views.com_in_level, SMOOTHING).slope, axis=1)
    # neither smoothing nor shifting may reach into a step
    strange = (feet >= FEET_SPEED) | ~(np.abs(load / np.median(load) - 1.0) < SAME_LOAD)
    # windows at the ends are not centred
    inner = (time > time[0] + SMOOTHING) & (time < time[-1] - SMOOTHING)
    good = inner & ~near(time, strange, MOST_OFFSET + SMOOTHING) & (speed > MOVING)
    starts, ends = runs(good[1:] != good[:-1])
    number = np.repeat(np.arange(len(starts)), ends - starts)
    long = time[ends - 1] - time[starts] >= LEAST_SECONDS
    rows = np.flatnonzero(good & long[number])[:MOST_ROWS]
    return rows, np.unique(number[rows], return_inverse=True)[1]


def _pressure(
    sensor_in_level: Mapping[str, Array],
    wrenches: Mapping[str, Array],
    time: Array,
    taken_at: Array,
    segment: Rows,
) -> Array:
    """Return the centre of pressure of shifted wrenches, less its segments' means."""
    shifted = {
        name: np.stack([np.interp(taken_at, time, column) for column in own.T], axis=1)
        for name, own in wrenches.items()
    }
    pressure = centre_of_pressure(total_wrench(sensor_in_level, shifted))
    return _centred(pressure, segment)


def _correlation(pressure: Array, expected: Array) -> float:
    size = float(np.sqrt(np.sum(pressure**2) * np.sum(expected**2)))
    return float(np.sum(pressure * expected)) / size if size > 0.0 else 0.0


def model_wrench(log: BalanceSeries) -> Array:
    """Return what the ground must do to the model by Newton and Euler, (n, 6).

    In the level frame [N, Nm], on soles that stand.
    """
    wrench = sliding(log.time, level_momentum(log), RATE_WINDOW).slope
    weight, centre = log.robot.mass * STANDARD_GRAVITY, log.views.com_in_level
    wrench[:, 2] += weight
    wrench[:, 3] += weight * centre[:, 1]
    wrench[:, 4] -= weight * centre[:, 0]
    return wrench


def _smooth(time: Array, values: Array) -> Array:
    for _ in range(2):
        values = sliding(time, values, SMOOTHING).line
    return values


def _centred(values: Array, segment: Rows) -> Array:
    """Return values less the mean of their segment."""
    counts = np.bincount(segment)
    means = np.stack([np.bincount(segment, column) / counts for column in values.T], 1)
    return np.asarray(values - means[segment])
