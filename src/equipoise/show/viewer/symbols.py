"""Meshes of the marks: the quartered ball of a centre of mass, and flat discs."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.mesh import Mesh

ARC = 12


def ball_octants(radius: float, odd: bool) -> Mesh:
    """Return every other eighth of a ball about the origin.

    Even and odd ones together are the sign of a centre of mass.

    Args:
        radius: [m].
        odd: Which four.
    """
    angle = np.linspace(0.0, 0.5 * np.pi, ARC + 1)
    up, around = np.meshgrid(angle, angle, indexing="ij")
    grid = np.stack(
        [np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=-1
    ).reshape(-1, 3)
    triangles = _grid_triangles(ARC + 1)
    vertices: list[Array] = []
    faces: list[Array] = []
    for signs in np.ndindex(2, 2, 2):
        if sum(signs) % 2 != odd:
            continue
        faces.append(
            (triangles[:, ::-1] if odd else triangles) + len(vertices) * len(grid)
        )
        vertices.append(radius * grid * (1.0 - 2.0 * np.array(signs)))
    return _mesh(np.concatenate(vertices), np.concatenate(faces))


def disc(radius: float, inner: float = 0.0) -> Mesh:
    """Return a flat disc or ring on z = 0, seen from above."""
    return _sector(radius, inner, np.linspace(0.0, 2.0 * np.pi, 4 * ARC + 1))


def disc_quarters(radius: float, odd: bool) -> Mesh:
    """Return every other quarter of a disc on z = 0, seen from above."""
    start = 0.5 * np.pi * odd
    angle = np.linspace(0.0, 0.5 * np.pi, ARC + 1)
    one = _sector(radius, 0.0, start + angle)
    other = _sector(radius, 0.0, start + np.pi + angle)
    shifted = other.triangles + len(one.vertices)
    return _mesh(
        np.concatenate([one.vertices, other.vertices]),
        np.concatenate([one.triangles, shifted]),
    )


def fan(corners: int) -> Array:
    """Return the triangles of a convex polygon, shape (corners - 2, 3)."""
    return np.array([[0, at, at + 1] for at in range(1, corners - 1)], dtype=np.int32)


def padded(polygon: Array, corners: int) -> Array:
    """Return a polygon with its last corner repeated, shape (corners, 3).

    Meshes whose size stays are updated in place by the page.
    """
    count = len(polygon)
    if count == 0:
        return np.zeros((corners, 3))
    return polygon[np.minimum(np.arange(corners), count - 1)]


def _sector(radius: float, inner: float, angle: Array) -> Mesh:
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(len(angle))], axis=1)
    near = np.arange(len(angle) - 1)
    far = near + len(angle)
    triangles = np.concatenate(
        [
            np.stack([near, far, far + 1], axis=1),
            np.stack([near, far + 1, near + 1], axis=1),
        ]
    )
    return _mesh(np.concatenate([inner * ring, radius * ring]), triangles)


def _grid_triangles(side: int) -> Array:
    at = np.arange(side * side).reshape(side, side)
    a, b, c, d = at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]
    return np.concatenate(
        [
            np.stack([a, b, c], axis=-1).reshape(-1, 3),
            np.stack([a, c, d], axis=-1).reshape(-1, 3),
        ]
    )


def _mesh(vertices: Array, triangles: Array) -> Mesh:
    return Mesh(vertices.astype(np.float32), triangles.astype(np.int32))
