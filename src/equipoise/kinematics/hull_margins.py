"""How far inside convex hulls points are, for many hulls at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array

# Points nearer than this are one [m].
SAME_POINT = 1e-9
# Numbers that are held at a time.
MOST_NUMBERS = 2_000_000


def hull_margins(corners: Array, counted: NDArray[np.bool_], points: Array) -> Array:
    """Return distances of points to the edges of convex hulls, positive inside [m].

    Outside it is the distance to the line through the edge that the point is farthest
    beyond: beside a corner less than the distance to the hull. Where nothing counts it
    is zero; one corner and a line have no inside.

    Args:
        corners: Corners of n hulls, in any order [m], shape (n, k, 2).
        counted: Which of them count, shape (n, k).
        points: One for each hull [m], shape (n, 2).

    Returns:
        Shape (n,).
    """
    distance = np.zeros(len(corners))
    step = max(1, MOST_NUMBERS // max(1, corners.shape[1] ** 3))
    for first in range(0, len(corners), step):
        rows = slice(first, first + step)
        distance[rows] = _margins(corners[rows], counted[rows], points[rows])
    return distance


def _margins(corners: Array, counted: NDArray[np.bool_], point: Array) -> Array:
    """Find edges: lines through two corners with all others on one side."""
    along = corners[:, None, :, :] - corners[:, :, None, :]  # from corner i to j
    length = np.linalg.norm(along, axis=-1)
    apart = (length > SAME_POINT) & counted[:, :, None] & counted[:, None, :]
    across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
    across /= np.where(apart, length, 1.0)[..., None]

    def beyond(others: Array) -> Array:
        """Return how far others (n, m, 2) are left of each line, (n, k, k, m)."""
        offset = others[:, None, :, :] - corners[:, :, None, :]
        return np.asarray(np.einsum("nijc,nimc->nijm", across, offset))

    left = np.where(counted[:, None, None, :], beyond(corners), 0.0)
    edge = apart & (left >= -SAME_POINT).all(axis=-1)
    inside = np.where(edge, beyond(point[:, None])[..., 0], np.inf)
    nearest = inside.min(axis=(1, 2), initial=np.inf)
    flat = (left <= SAME_POINT).all(axis=-1) & edge  # all on one line
    degenerate = flat.any(axis=(1, 2)) | ~np.isfinite(nearest)
    margin = np.where(degenerate, np.minimum(nearest, 0.0), nearest)
    return np.asarray(np.where(np.isfinite(margin), margin, 0.0))
