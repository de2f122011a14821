"""When wrenches of a log were measured: gaps, frozen sensors, and a time offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import (
    BalanceSeries,
    Rows,
    SoleViews,
    runs,
    sliding,
)
from equipoise.identification.statics import (
    FEET,
    centre_of_pressure,
    total_wrench,
)
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.parts import Side

# Rows farther from a wrench than so many of its usual intervals, and than this [s],
# have none.
FAR_INTERVALS, FAR_SECONDS = 3.0, 0.03
# A wrench that stays exactly the same while the CoM goes farther than this [m], for
# longer than this [s], is a sensor that was silent.
FROZEN_DISTANCE, FROZEN_SECONDS = 0.002, 0.1
# More than this fraction of a log without wrenches is too much.
MOST_LOST = 0.5
# Offsets are searched up to this, in steps of this [s].
MOST_OFFSET, STEP = 0.5, 0.01
# Feet stand as long as they move against each other by less than this [m/s].
FEET_SPEED = 0.03
# The CoM moves if it is faster than this [m/s], for at least this long [s].
MOVING, LEAST_SECONDS = 0.01, 0.5
# Both curves are smoothed twice over this [s]: accelerations are slopes of slopes.
SMOOTHING = 0.4
# The curves must correlate by this, and the shift must reduce the misfit by more than
# chance does once in a hundred times (χ²), with one independent row in each window.
LEAST_CORRELATION, LEAST_GAIN = 0.9, 6.6
MOST_ROWS = 20_000


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
        wrenches[name] = MeasuredWrench(own.frame, own.time[good], own.values[good])
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


def time_offset(log: BalanceSeries) -> float | None:
    """Return the delay of wrenches against joints [s]; None if not identifiable.

    While both feet stand, the centre of pressure is at c - c̈ h / g, with the CoM c at
    height h. The two curves are shifted onto each other where the CoM moves; constant
    differences do not count. Steps are not used: walking alone is not sufficient.
    """
    time, views = log.time, log.views
    if len(time) < 3:
        return None
    rows, segment = _moving(time, views)
    if len(rows) == 0:
        return None
    once = sliding(time, views.com_in_level, SMOOTHING)
    acceleration = sliding(time, once.slope, SMOOTHING).slope[rows, :2]
    centre = sliding(time, once.mean, SMOOTHING).mean[rows]
    expected = centre[:, :2] - acceleration * centre[:, 2:] / STANDARD_GRAVITY
    expected = _centred(expected, segment)
    soles = {side: views.sole_in_level[side][rows] for side in FEET}
    smooth = {}
    for side in FEET:
        half = sliding(time, log.wrenches[side], SMOOTHING).mean
        smooth[side] = sliding(time, half, SMOOTHING).mean
    offsets = np.arange(-MOST_OFFSET, MOST_OFFSET + 0.5 * STEP, STEP)
    scores = np.array(
        [
            _correlation(soles, smooth, time, time[rows] + late, expected, segment)
            for late in offsets
        ]
    )
    best = int(np.argmax(scores))
    if scores[best] < LEAST_CORRELATION or best in (0, len(offsets) - 1):
        return None
    misfit = 1.0 - scores**2
    at_zero = misfit[int(np.argmin(np.abs(offsets)))]
    independent = len(rows) * float(np.median(np.diff(time))) / SMOOTHING
    if (at_zero / max(misfit[best], 1e-12) - 1.0) * independent < LEAST_GAIN:
        return 0.0
    before, peak, after = scores[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    shift = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
    return float(offsets[best] + STEP * shift)


def _moving(time: Array, views: SoleViews) -> tuple[Rows, Rows]:
    """Return rows in which the CoM moves over standing feet, and their segments."""
    left, right = (views.sole_in_level[side][:, :3, 3] for side in FEET)
    feet = np.linalg.norm(sliding(time, left - right, SMOOTHING).slope, axis=1)
    speed = np.linalg.norm(sliding(time, views.com_in_level, SMOOTHING).slope, axis=1)
    # neither smoothing nor shifting may reach into a step
    reach = MOST_OFFSET + SMOOTHING
    steps = np.append(0, np.cumsum(feet >= FEET_SPEED))
    first = np.searchsorted(time, time - reach, side="left")
    last = np.searchsorted(time, time + reach, side="right")
    good = (steps[last] == steps[first]) & (speed > MOVING)
    starts, ends = runs(good[1:] != good[:-1])
    number = np.repeat(np.arange(len(starts)), ends - starts)
    long = time[ends - 1] - time[starts] >= LEAST_SECONDS
    rows = np.flatnonzero(good & long[number])[:MOST_ROWS]
    return rows, np.unique(number[rows], return_inverse=True)[1]


def _correlation(
    sole_in_level: Mapping[Side, Array],
    wrenches: Mapping[Side, Array],
    time: Array,
    taken_at: Array,
    expected: Array,
    segment: Rows,
) -> float:
    """Return the correlation of the expected with the shifted measured pressure."""
    shifted = {
        side: np.stack(
            [np.interp(taken_at, time, column) for column in wrenches[side].T], axis=1
        )
        for side in FEET
    }
    pressure = centre_of_pressure(total_wrench(sole_in_level, shifted))
    pressure = _centred(pressure, segment)
    size = float(np.sqrt(np.sum(pressure**2) * np.sum(expected**2)))
    return float(np.sum(pressure * expected)) / size if size > 0.0 else 0.0


def _centred(values: Array, segment: Rows) -> Array:
    """Return values less the mean of their segment."""
    counts = np.bincount(segment)
    means = np.stack([np.bincount(segment, column) / counts for column in values.T], 1)
    return np.asarray(values - means[segment])
