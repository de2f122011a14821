"""Centre of mass and ground wrench of a log, row by row, as seen from the soles."""

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
    level_frames,
    sole_tilt,
    total_wrench,
)
from equipoise.kinematics.batch import Floats
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.log.recordings.leg_odometry import to_transforms
from equipoise.robot.joint_coordinates import BASE_Q
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Feet stand as long as they move against each other by less than this [m/s].
FEET_SPEED = 0.03

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


def near(time: Array, rows: NDArray[np.bool_], distance_s: float) -> NDArray[np.bool_]:
    """Return which rows are within a time of some of the given rows, shape (n,)."""
    count = np.append(0, np.cumsum(rows))
    first = np.searchsorted(time, time - distance_s, side="left")
    last = np.searchsorted(time, time + distance_s, side="right")
    return np.asarray(count[last] != count[first])
