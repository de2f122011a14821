"""Long lines as the few straight pieces that a page can draw."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array

MOST_PIECES = 1500


def pieces(points: Array, length: float, most: int = MOST_PIECES) -> Array:
    """Return a line as pieces; gaps stay gaps.

    Args:
        points: Shape (n, 3); NaN rows are gaps.
        length: Of a piece [m], about; longer ones where there would be too many.
        most: At most about as many.

    Returns:
        Both ends of each, shape (k, 2, 3).
    """
    if len(points) < 2:
        return np.zeros((0, 2, 3))
    steps = np.nan_to_num(np.linalg.norm(np.diff(points, axis=0), axis=1))
    way = np.insert(np.cumsum(steps), 0, 0.0)
    bucket = np.floor(way / max(length, way[-1] / most, 1e-9))
    there = np.isfinite(points).all(axis=1)
    turns = (np.diff(bucket) > 0) | np.diff(there)
    # both sides of a gap belong to the line
    kept = np.zeros(len(points), dtype=np.bool_)
    kept[[0, -1]] = True
    kept[1:] |= turns
    kept[:-1] |= np.diff(there)
    chosen = points[kept]
    ends = np.stack([chosen[:-1], chosen[1:]], axis=1)
    return ends[np.isfinite(ends).all(axis=(1, 2))]


def dashes(points: Array, length: float, most: int = MOST_PIECES) -> Array:
    """Return a line as dashes with gaps as long as themselves.

    Args:
        points: Shape (n, 3); NaN rows are left out.
        length: Of a dash [m]; longer ones where there would be too many.
        most: At most as many.

    Returns:
        Both ends of each, shape (k, 2, 3).
    """
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 2:
        return np.zeros((0, 2, 3))
    way = np.insert(np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)), 0, 0.0)
    count = int(min(max(way[-1] / (2.0 * length), 1.0), most))
    at = np.linspace(0.0, way[-1], 2 * count)
    along = np.stack([np.interp(at, way, points[:, axis]) for axis in range(3)], axis=1)
    return along.reshape(count, 2, 3)
