"""Feet that would step on or cross each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.feet import FootMotion
from equipoise.gait.footsteps import Footsteps, Stride
from equipoise.robot.parts import Side

SAMPLES = 21
TOLERANCE = 1e-9


def check_feet_apart(
    footsteps: Footsteps,
    feet: Mapping[Side, FootMotion],
    polygons: Mapping[Side, Array],
) -> None:
    """Refuse steps whose swing foot passes over the other one, seen from above.

    Raises:
        EquipoiseError: Naming the step, and by how much the feet overlap.
    """
    done: dict[Side, int] = {"left": 0, "right": 0}
    for stride in footsteps.strides:
        side = stride.end.side
        swing = feet[side].swings[done[side]]
        done[side] += 1
        path = swing.at(np.linspace(swing.lift_off, swing.touch_down, SAMPLES))
        standing = _placed(polygons[stride.support.side], stride.support.coordinates)
        gaps = [
            separation(_placed(polygons[side], row), standing)
            for row in path.coordinates
        ]
        if min(gaps) < -TOLERANCE:
            raise EquipoiseError(
                f"step {stride.number}: the {side} foot would come onto the other one "
                f"(soles overlap by {-min(gaps):.3f} m)"
            )
        if _lateral_distance(stride) < -TOLERANCE:
            raise EquipoiseError(
                f"step {stride.number}: the feet would cross, the {side} foot "
                f"{-_lateral_distance(stride):.3f} m on the wrong side of the other one"
            )


def separation(first: Array, second: Array) -> float:
    """Return how far convex polygons are apart along the best line between them [m].

    Never more than their distance; negative if they overlap, by how much one would
    have to move. Points and segments overlap nothing.

    Args:
        first: Corners, shape (k, 2).
        second: Corners, shape (m, 2).
    """
    best = -np.inf
    for polygon in (first, second):
        edges = np.roll(polygon, -1, axis=0) - polygon
        lengths = np.linalg.norm(edges, axis=1)
        edges = edges[lengths > 0.0] / lengths[lengths > 0.0, None]
        normals = np.column_stack([edges[:, 1], -edges[:, 0]])
        for normal in np.vstack([normals, -normals]):
            gap = float((second @ normal).min() - (first @ normal).max())
            best = max(best, gap)
    return best if np.isfinite(best) else 0.0


def _placed(polygon: Array, coordinates: Array) -> Array:
    """Return a sole's corners seen from above [m], shape (k, 2)."""
    c, s = np.cos(coordinates[3]), np.sin(coordinates[3])
    placed = polygon @ np.array([[c, s], [-s, c]]) + coordinates[:2]
    return np.asarray(placed)


def _lateral_distance(stride: Stride) -> float:
    """Return how far a step is on its own side of the supporting foot [m]."""
    dx, dy, _ = stride.end.position - stride.support.position
    yaw = (stride.end.yaw + stride.support.yaw) / 2.0
    left = np.cos(yaw) * dy - np.sin(yaw) * dx
    return float(left if stride.end.side == "left" else -left)
