"""Centre of mass and ground wrench of a log, row by row, as seen from the soles.

And the delay of the one against the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.statics import (
    FEET,
    centre_of_pressure,
    level_frames,
    sole_tilt,
    total_wrench,
)
from equipoise.kinematics.batch import Floats
from equipoise.kinematics.com import com, com_jacobian
from equipoise.kinematics.stance import sole_pose
from equipoise.log.recordings.leg_odometry import to_transforms
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import BASE_Q, BASE_V, configurations
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Offsets are searched up to this, in steps of this [s].
MOST_OFFSET, STEP = 0.5, 0.01
# Feet stand as long as they move against each other by less than this [m/s].
FEET_SPEED = 0.03
# The CoM moves if it is faster than this [m/s], for at least this long [s].
MOVING, LEAST_SECONDS = 0.01, 0.5
# Both curves are smoothed twice over this [s]: accelerations are slopes of slopes.
SMOOTHING = 0.4
# The curves must correlate by this, and the shift must explain them better by more than
# chance does once in a hundred times (half of χ²).
LEAST_CORRELATION, LEAST_EVIDENCE = 0.9, 3.3
# A joint moves the CoM as the model says to this fraction of it; other errors of the
# centre of pressure have one of these sizes [m].
MODEL_ERROR, PRESSURE_NOISES = 0.1, (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
MOST_ROWS = 20_000

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SoleViews:
    """Kinematics of n rows of a log as seen from the soles, whatever the base's pose.

    The level frame is that of :mod:`equipoise.identification.statics`.

    Attributes:
        com_in_level: The model's centre of mass [m], shape (n, 3).
        com_in_sole: The same in each sole's frame [m], by side, shape (n, 3).
        sole_in_level: Transforms from sole to level frame, by side, shape (n, 4, 4).
        tilt: Angle between the soles' normals [rad], shape (n,).
        base_in_level: Transforms from the robot's root to the level frame, (n, 4, 4).
    """

    com_in_level: Array
    com_in_sole: Mapping[Side, Array]
    sole_in_level: Mapping[Side, Array]
    tilt: Array
    base_in_level: Array


def sole_views(robot: Robot, q: Array, up_in_base: Array | None = None) -> SoleViews:
    """Return rows of a log as seen from the robot's two soles.

    Args:
        robot: The robot.
        q: Configurations, at any pose of the base, shape (n, nq).
        up_in_base: Direction against gravity in the base's axes, shape (n, 3); that of
            the soles' normals if None.
    """
    centre = np.asarray(com(robot, q), dtype=np.float64)
    soles = {side: sole_pose(robot, q, side) for side in FEET}
    base = to_transforms(q[:, :BASE_Q])
    up = None
    if up_in_base is not None:
        up = np.einsum("nij,nj->ni", base[:, :3, :3], up_in_base)
    inverse = np.linalg.inv(level_frames(soles["left"], soles["right"], up))
    return SoleViews(
        _moved(inverse, centre),
        {side: _moved(np.linalg.inv(pose), centre) for side, pose in soles.items()},
        {side: inverse @ pose for side, pose in soles.items()},
        sole_tilt(soles),
        inverse @ base,
    )


@dataclass(frozen=True, eq=False)
class BalanceSeries:
    """Rows of a log, in SI units and the soles' frames.

    Attributes:
        source: The log, for messages.
        robot: Its robot.
        time: Increasing [s], shape (n,).
        positions: Joint positions [rad or m], shape (n, nj).
        views: Its rows as seen from the soles.
        wrenches: Wrench of the ground by sensor, about and in its frame [N, Nm], shape
            (n, 6). Sensors called left and right are at the soles, all others are in
            ``plates``.
        plates: Transforms from force plates to the base, by sensor, shape (n, 4, 4).
        missing_std: Standard deviations of what sensors do not measure, by sensor,
            shape (n, 6) [N, Nm].
        up_in_base: Direction against gravity in the base's axes where it is that of
            ``views``, shape (n, 3); None: the soles' normals.
    """

    source: Path | str
    robot: Robot
    time: Array
    positions: Array
    views: SoleViews
    wrenches: Mapping[str, Array]
    plates: Mapping[str, Array] = field(default_factory=dict)
    missing_std: Mapping[str, Array] = field(default_factory=dict)
    up_in_base: Array | None = None

    @cached_property
    def sensor_in_level(self) -> dict[str, Array]:
        """Transforms from sensor to level frame, by sensor, shape (n, 4, 4)."""
        views = self.views
        return {
            name: views.base_in_level @ self.plates[name]
            if name in self.plates
            else views.sole_in_level["left" if name == "left" else "right"]
            for name in self.wrenches
        }

    @cached_property
    def total(self) -> Array:
        """Sum of all wrenches in the level frame [N, Nm], shape (n, 6)."""
        return total_wrench(self.sensor_in_level, self.wrenches)


def _moved(transform: Floats, points: Array) -> Array:
    turned = np.einsum("nij,nj->ni", transform[:, :3, :3], points)
    return np.asarray(turned + transform[:, :3, 3])


class Sliding(NamedTuple):
    """Lines through the rows around each row, shape (n, k) each.

    Attributes:
        mean: Mean of these rows.
        slope: Slope of the best line [1/s]; zero where a row is alone.
        line: Value of that line at the row itself: right where a window is not centred.
    """

    mean: Array
    slope: Array
    line: Array


def sliding(time: Array, values: Array, window_s: float) -> Sliding:
    """Return mean, slope and line of the rows within half a window of each row.

    Noise and steps of encoders are averaged out without a lag; rows may have any
    spacing.

    Args:
        time: Increasing [s], shape (n,).
        values: Shape (n, k).
        window_s: Width of the window [s].
    """
    first = np.searchsorted(time, time - 0.5 * window_s, side="left")
    last = np.searchsorted(time, time + 0.5 * window_s, side="right")

    def within(rows: Array) -> Array:
        sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
        return np.asarray(sums[last] - sums[first])

    count = (last - first).astype(np.float64)[:, None]
    since = (time - time.mean())[:, None]
    # sums of differences from the middle lose fewer digits
    middle = values.mean(axis=0)
    centred = values - middle
    sum_t, sum_x = within(since), within(centred)
    spread = count * within(since**2) - sum_t**2
    lean = count * within(since * centred) - sum_t * sum_x
    alone = spread <= 1e-12 * count**2 * window_s**2
    slope = np.where(alone, 0.0, lean / np.where(alone, 1.0, spread))
    mean = sum_x / count + middle
    return Sliding(mean, slope, mean + slope * (since - sum_t / count))


def runs(changes: NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """Return first rows of runs, and the rows after them, (k,) each.

    ``changes`` says between which of n rows a run ends, shape (n - 1,).
    """
    bounds = np.flatnonzero(np.concatenate([[True], changes, [True]]))
    return bounds[:-1], bounds[1:]


def time_offset(log: BalanceSeries) -> float | None:
    """Return the delay of wrenches against joints [s]; None if not identifiable.

    While both feet stand, the centre of pressure is at c - c̈ h / g, with the CoM c at
    height h. The two curves are shifted onto each other where the CoM moves; constant
    differences, and those that depend on the posture, do not count. Steps are not used:
    walking alone is not sufficient.
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
    places = {name: own[rows] for name, own in log.sensor_in_level.items()}
    smooth = {}
    for name, own in log.wrenches.items():
        half = sliding(time, own, SMOOTHING).mean
        smooth[name] = sliding(time, half, SMOOTHING).mean
    offsets = np.arange(-MOST_OFFSET, MOST_OFFSET + 0.5 * STEP, STEP)

    def shifted(late: float) -> Array:
        return _pressure(places, smooth, time, time[rows] + late, segment)

    # of rows that smoothing makes alike one counts
    every = max(1, round(SMOOTHING / float(np.median(np.diff(time)))))
    spread = _model_errors(log, rows, segment)[::every]
    off = np.array([(shifted(late) - expected)[::every] for late in offsets])
    evidence, best = max(
        (
            (found, int(np.argmax(found)))
            for found in (_evidence(off, spread, noise) for noise in PRESSURE_NOISES)
        ),
        key=lambda pair: pair[0][pair[1]],
    )
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


def _centred(values: Array, segment: Rows) -> Array:
    """Return values less the mean of their segment."""
    counts = np.bincount(segment)
    means = np.stack([np.bincount(segment, column) / counts for column in values.T], 1)
    return np.asarray(values - means[segment])
