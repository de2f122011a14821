"""Centre of mass and ground wrench of a log, row by row, as seen from the soles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.statics import FEET, level_frames, sole_tilt
from equipoise.kinematics.batch import Floats
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

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
    """

    com_in_level: Array
    com_in_sole: Mapping[Side, Array]
    sole_in_level: Mapping[Side, Array]
    tilt: Array


def sole_views(robot: Robot, q: Array) -> SoleViews:
    """Return rows of a log, shape (n, nq), as seen from the robot's two soles."""
    centre = np.asarray(com(robot, q), dtype=np.float64)
    soles = {side: sole_pose(robot, q, side) for side in FEET}
    inverse = np.linalg.inv(level_frames(soles["left"], soles["right"]))
    return SoleViews(
        _moved(inverse, centre),
        {side: _moved(np.linalg.inv(pose), centre) for side, pose in soles.items()},
        {side: inverse @ pose for side, pose in soles.items()},
        sole_tilt(soles),
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
        wrenches: Wrench of the ground on each foot, about and in the sole's frame
            [N, Nm], shape (n, 6).
    """

    source: Path | str
    robot: Robot
    time: Array
    positions: Array
    views: SoleViews
    wrenches: Mapping[Side, Array]


def _moved(transform: Floats, points: Array) -> Array:
    turned = np.einsum("nij,nj->ni", transform[:, :3, :3], points)
    return np.asarray(turned + transform[:, :3, 3])


class Sliding(NamedTuple):
    """Mean and slope [1/s] around each row, (n, k); slope zero where a row is alone."""

    mean: Array
    slope: Array


def sliding(time: Array, values: Array, window_s: float) -> Sliding:
    """Return mean and slope of the rows within half a window of each row.

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
    return Sliding(sum_x / count + middle, slope)


def runs(changes: NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """Return first rows of runs, and the rows after them, (k,) each.

    ``changes`` says between which of n rows a run ends, shape (n - 1,).
    """
    bounds = np.flatnonzero(np.concatenate([[True], changes, [True]]))
    return bounds[:-1], bounds[1:]
