"""Means and slopes within a window that slides over a log, of any spacing of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array


class Sliding(NamedTuple):
    """Straight lines through the rows around each row.

    Attributes:
        mean: Shape (n, k).
        slope: Change in a second, shape (n, k); zero where a row is alone.
    """

    mean: Array
    slope: Array


def sliding(time: Array, values: Array, window_s: float) -> Sliding:
    """Return mean and slope of the rows within half a window of each row.

    Noise and steps of encoders are averaged out, a lag there is not.

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
