"""By how much a log's wrenches come later than its joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.measuring.balance_series import (
    SoleViews,
    centre_of_pressure,
    total_wrench,
)
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.measuring.sliding import sliding
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.parts import Side

# Offsets are looked for up to this, in steps of this [s].
MOST_OFFSET, STEP = 0.5, 0.01
# Feet stand as long as they move against each other by less than this [m/s].
FEET_SPEED = 0.03
# The CoM moves if it is faster than this [m/s], for at least this long [s].
MOVING, LEAST_SECONDS = 0.01, 0.5
# Both curves are smoothed twice over this [s]: accelerations are slopes of slopes.
SMOOTHING = 0.4
# The curves must be as like as this, and the shift must make the misfit smaller than
# chance does once in a hundred times (χ²), with one independent row in each window.
LEAST_LIKENESS, LEAST_GAIN = 0.9, 6.6
MOST_ROWS = 20_000

Rows = NDArray[np.int64]


def time_offset(
    time: Array, views: SoleViews, wrenches: Mapping[Side, Array]
) -> float | None:
    """Return how late the wrenches are [s], negative if early; None if untold.

    While both feet stand, the centre of pressure is at c - c̈ h / g, with the CoM c at
    height h. The two curves are laid on each other where the CoM moves; where they lie
    matters not. Steps are not used: a walk alone does not tell.

    Args:
        time: Increasing [s], shape (n,).
        views: Of its rows, by the joints.
        wrenches: At the same times, about and in the soles' frames, shape (n, 6).
    """
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
    here = views.rows(rows)
    smooth = {side: _smooth(time, wrenches[side]) for side in FEET}
    offsets = np.arange(-MOST_OFFSET, MOST_OFFSET + 0.5 * STEP, STEP)
    scores = np.array(
        [
            _likeness(here, smooth, time, time[rows] + late, expected, segment)
            for late in offsets
        ]
    )
    best = int(np.argmax(scores))
    if scores[best] < LEAST_LIKENESS or best in (0, len(offsets) - 1):
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
    apart = (
        views.sole_in_level["left"][:, :3, 3] - views.sole_in_level["right"][:, :3, 3]
    )
    feet = np.linalg.norm(sliding(time, apart, SMOOTHING).slope, axis=1)
    speed = np.linalg.norm(sliding(time, views.com_in_level, SMOOTHING).slope, axis=1)
    # neither smoothing nor shifting may reach into a step
    reach = MOST_OFFSET + SMOOTHING
    steps = np.append(0, np.cumsum(feet >= FEET_SPEED))
    first = np.searchsorted(time, time - reach, side="left")
    last = np.searchsorted(time, time + reach, side="right")
    good = (steps[last] == steps[first]) & (speed > MOVING)
    change = np.append(True, good[1:] != good[:-1])
    number = np.cumsum(change) - 1
    starts = np.flatnonzero(change)
    ends = np.append(starts[1:], len(time)) - 1
    long = time[ends] - time[starts] >= LEAST_SECONDS
    rows = np.flatnonzero(good & long[number])[:MOST_ROWS]
    segment = np.unique(number[rows], return_inverse=True)[1]
    return np.asarray(rows, dtype=np.int64), np.asarray(segment, dtype=np.int64)


def _smooth(time: Array, values: Array) -> Array:
    return sliding(time, sliding(time, values, SMOOTHING).mean, SMOOTHING).mean


def _likeness(
    views: SoleViews,
    wrenches: Mapping[Side, Array],
    time: Array,
    taken_at: Array,
    expected: Array,
    segment: Rows,
) -> float:
    """Return the correlation of expected with measured pressure, taken later."""
    shifted = {
        side: np.stack(
            [np.interp(taken_at, time, column) for column in wrenches[side].T], axis=1
        )
        for side in FEET
    }
    pressure = _centred(centre_of_pressure(total_wrench(views, shifted)), segment)
    size = float(np.sqrt(np.sum(pressure**2) * np.sum(expected**2)))
    return float(np.sum(pressure * expected)) / size if size > 0.0 else 0.0


def _centred(values: Array, segment: Rows) -> Array:
    """Return values less the mean of their segment."""
    counts = np.bincount(segment)
    means = np.stack([np.bincount(segment, column) / counts for column in values.T], 1)
    return np.asarray(values - means[segment])
