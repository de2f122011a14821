"""The convex polygon in which the ground can push, and points beyond it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.anatomy.geometry import convex_hull

# A point so near to the polygon is in it [m].
EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Support:
    """The convex polygon in which the ground can push.

    Attributes:
        corners: Counter-clockwise [m], shape (k, 2).
        along: From each corner to the next [m], shape (k, 2).
        outwards: Normals of the edges, shape (k, 2).
    """

    corners: Array
    along: Array
    outwards: Array

    def nearest(self, point: Array) -> Array:
        """Return the point of the polygon that is nearest to a point, shape (2,)."""
        if self._beyond(point).max() <= 0.0:
            return point
        away = point - self.corners
        square = np.maximum((self.along * self.along).sum(axis=1), 1e-12)
        part = np.clip((self.along * away).sum(axis=1) / square, 0.0, 1.0)
        on_edges = self.corners + part[:, None] * self.along
        off = point - on_edges
        return np.asarray(on_edges[(off * off).sum(axis=1).argmin()])

    def excess(self, point: Array, margin: float) -> Array:
        """Return by how much a point should be farther inside [m], shape (2,).

        Args:
            point: The point [m], shape (2,).
            margin: How far from the edge it should be [m].

        Returns:
            A vector away from the polygon: zero with that margin or more, as long as
            the margin at the edge.
        """
        beyond = self._beyond(point)
        nearest = int(beyond.argmax())
        if beyond[nearest] <= 0.0:
            return np.asarray(
                max(beyond[nearest] + margin, 0.0) * self.outwards[nearest]
            )
        off = point - self.nearest(point)
        return np.asarray(off * (1.0 + margin / max(float(np.sqrt(off @ off)), 1e-9)))

    def excess_along(self, start: Array, point: Array, margin: float) -> Array:
        """Return by how much a point should be farther back on its way [m], shape (2,).

        It is zero with that margin or more.

        Args:
            start: Where the way begins, inside [m], shape (2,).
            point: The point [m], shape (2,).
            margin: How far from the edge it should be [m].
        """
        gone = self.part_of_way(start, point, 0.1 * margin, margin)
        return np.asarray((point - start) * max(1.0 - 1.0 / max(gone, 1e-9), 0.0))

    def with_cut_corners(self, length: float) -> Support:
        """Return the polygon without its corners.

        Args:
            length: How much of each edge is cut at a corner, at most [m]; and at most
                a third of the edge.
        """
        size = np.maximum(np.sqrt((self.along * self.along).sum(axis=1)), 1e-9)
        cut = np.minimum(length, size / 3.0)[:, None] * self.along / size[:, None]
        after = self.corners + cut
        before = self.corners - np.roll(cut, 1, axis=0)
        return support_of(np.concatenate((before, after)))

    def holds(self, point: Array) -> bool:
        """Return whether a point is in it."""
        return float(self._beyond(point).max()) <= EDGE

    def clipped(self, normal: Array, most: float) -> Support | None:
        """Return the part that is at most so far along a direction; None if no area is.

        Args:
            normal: The direction, of length one, shape (2,).
            most: How far, from the origin [m].
        """
        ahead = self.corners @ normal - most
        if ahead.max() <= 0.0:
            return self
        if ahead.min() > 0.0:
            return None
        after = np.roll(ahead, -1)
        crosses = (ahead > 0.0) != (after > 0.0)
        part = ahead[crosses] / (ahead[crosses] - after[crosses])
        cuts = self.corners[crosses] + part[:, None] * self.along[crosses]
        left = support_of(np.concatenate((self.corners[ahead <= 0.0], cuts)))
        return left if len(left.corners) > 2 else None

    def room(self, point: Array, way: Array) -> float:
        """Return how far ahead the edge is [m]; 0 beyond an edge that is ahead.

        Args:
            point: The point [m], shape (2,).
            way: Direction, of length one, shape (2,).
        """
        towards = self.outwards @ way
        ahead = towards > 1e-9
        if not ahead.any():
            return 0.0
        return max(float((-self._beyond(point)[ahead] / towards[ahead]).min()), 0.0)

    def part_of_way(
        self, start: Array, point: Array, least: float, margin: float = 0.0
    ) -> float:
        """Return which part of the way to the edge a point has gone; 1 at the edge.

        Args:
            start: Where the way begins [m], shape (2,).
            point: The point [m], shape (2,).
            least: How long the way to an edge is at least [m].
            margin: How far inside the edge the way ends [m].
        """
        room = np.maximum(-self._beyond(start) - margin, least)
        gone = (self.outwards * (point - start)).sum(axis=1)
        return float((gone / room).max())

    def _beyond(self, point: Array) -> Array:
        """Return how far a point is beyond each edge [m], shape (k,)."""
        return np.asarray(((point - self.corners) * self.outwards).sum(axis=1))


def length_of(vector: Array) -> float:
    """Return the length of a short vector, faster than NumPy does."""
    return math.sqrt(float(vector @ vector))


def support_of(points: Array) -> Support:
    """Return the polygon around points, shape (n, 2) [m]."""
    corners = convex_hull(points)
    along = np.concatenate((corners[1:], corners[:1])) - corners
    lengths = np.maximum(np.sqrt((along * along).sum(axis=1)), 1e-9)
    outwards = np.stack((along[:, 1], -along[:, 0]), axis=1) / lengths[:, None]
    return Support(corners, along, outwards)
