"""Convex polygons in the plane."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array

DIRECTIONS = 16


def convex_hull(points: Array) -> Array:
    """Return the convex hull of points in the plane, counter-clockwise.

    Points on the edges are left out. Points on a line give its two ends, equal
    points give one.

    Args:
        points: Shape (n, 2), n ≥ 1.
    """
    ordered = np.unique(_without_inner(np.asarray(points, dtype=np.float64)), axis=0)
    if len(ordered) < 3:
        return ordered
    lower, upper = _half_hull(ordered), _half_hull(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def _without_inner(points: Array) -> Array:
    """Drop points that are well inside the hull, so that few remain to sort.

    What is inside the polygon of the extreme points in a few directions cannot be
    a corner of the hull (Akl and Toussaint).
    """
    if len(points) < 4 * DIRECTIONS:
        return points
    angle = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    corners = points[np.argmax(points @ directions.T, axis=0)]
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.column_stack([-edges[:, 1], edges[:, 0]])
    depth = points @ normals.T - np.sum(corners * normals, axis=1)
    degenerate = np.all(edges == 0.0, axis=1)
    inside = np.all((depth > 0.0) | degenerate, axis=1)
    return np.asarray(points[~inside])


def _half_hull(points: Array) -> list[Array]:
    """Return one monotone chain of the hull (Andrew's algorithm)."""
    chain: list[Array] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0.0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def area(polygon: Array) -> float:
    """Return the area of a counter-clockwise polygon [m²]; 0 below three corners."""
    if len(polygon) < 3:
        return 0.0
    x, y = polygon.T
    return 0.5 * float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def signed_distance(polygon: Array, points: Array) -> Array:
    """Return the distance of points to the boundary of a convex polygon [m].

    Args:
        polygon: Counter-clockwise, shape (k, 2), k ≥ 1; one corner is a point, two are
            a segment, neither of which has an inside.
        points: Shape (2,) or (m, 2).

    Returns:
        Distances, positive inside and negative outside, shape () or (m,).
    """
    edges = np.roll(polygon, -1, axis=0) - polygon
    lengths_squared = np.einsum("ki,ki->k", edges, edges)
    from_corners = points[..., None, :] - polygon
    along = np.einsum("...ki,ki->...k", from_corners, edges)
    fraction = along / np.where(lengths_squared > 0.0, lengths_squared, 1.0)
    offsets = from_corners - np.clip(fraction, 0, 1)[..., None] * edges
    distance = np.sqrt(np.einsum("...ki,...ki->...k", offsets, offsets)).min(axis=-1)
    if len(polygon) < 3:
        return np.asarray(-distance)
    left_of = (
        edges[:, 0] * from_corners[..., 1] - edges[:, 1] * from_corners[..., 0]
    ).min(axis=-1)
    return np.asarray(np.where(left_of >= 0.0, distance, -distance))


def simplify(polygon: Array, corners: int, area_loss: float) -> Array:
    """Drop the corners that matter least, keeping length and width.

    Args:
        polygon: Convex, counter-clockwise, shape (k, 2).
        corners: As many may remain in any case.
        area_loss: Fraction of the whole area that each further drop may cost.

    Returns:
        A convex polygon inside the given one.
    """
    kept = polygon
    whole = area(polygon)
    while len(kept) > 4:
        before, after = np.roll(kept, 1, axis=0), np.roll(kept, -1, axis=0)
        loss = np.array(
            [0.5 * _turn(a, b, c) for a, b, c in zip(before, kept, after, strict=True)]
        )
        for extremes in (kept.argmin(axis=0), kept.argmax(axis=0)):
            loss[extremes] = np.inf
        least = int(np.argmin(loss))
        if len(kept) <= corners and loss[least] > area_loss * whole:
            break
        kept = np.delete(kept, least, axis=0)
    return kept
