"""Fewer points for the same picture."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array


def envelope(time: Array, values: Array, buckets: int) -> tuple[Array, Array]:
    """Return the least and the greatest value of each of many spans of time.

    Peaks stay where they are, as high as they are, however many points are left out.

    Args:
        time: Increasing, shape (n,).
        values: Shape (n,); NaN where there is none, which stays a gap.
        buckets: How many spans; at most two points of each are kept.

    Returns:
        Times and values that are kept, in order; all if there are few.
    """
    if len(time) <= 2 * buckets:
        return time, values
    edges = np.linspace(0, len(time), buckets + 1).astype(int)
    # a row for each span; shorter ones repeat their last value
    place = edges[:-1, None] + np.arange(np.diff(edges).max())
    place = np.minimum(place, edges[1:, None] - 1)
    rows = values[place]
    finite = np.isfinite(rows)
    some, gaps = finite.any(axis=1), ~finite.all(axis=1)
    at = [
        np.argmin(np.where(finite, rows, np.inf), axis=1)[some],
        np.argmax(np.where(finite, rows, -np.inf), axis=1)[some],
        np.argmin(finite, axis=1)[gaps],
    ]
    spans = [some, some, gaps]
    kept = [place[span, first] for span, first in zip(spans, at, strict=True)]
    chosen = np.unique(np.concatenate([[0, len(time) - 1], *kept]))
    return time[chosen], values[chosen]


def thin_path(points: Array, distance: float, most: int) -> Array:
    """Return a path without the points that are close to the last one kept.

    Args:
        points: Shape (n, 2); NaN rows are gaps, and stay.
        distance: How close; doubled until few enough points are left.
        most: At most this many points are kept.

    Returns:
        Points that are kept, in order, shape (k, 2).
    """
    kept = points
    while True:
        kept = kept[_apart(kept, distance)]
        if len(kept) <= most:
            return kept
        distance *= 2.0


def _apart(points: Array, distance: float) -> list[int]:
    chosen: list[int] = []
    last = (np.inf, np.inf)
    for at, (x, y) in enumerate(points.tolist()):
        gap, was_gap = x != x or y != y, last[0] != last[0]
        if gap and was_gap:
            continue
        near = abs(x - last[0]) < distance and abs(y - last[1]) < distance
        if not near:
            chosen.append(at)
            last = (np.nan, np.nan) if gap else (x, y)
    return chosen
