"""Meshes whose pictures are known, for tests."""

from __future__ import annotations

import numpy as np

from equipoise.robot.mesh import Mesh


def box(size=(1.0, 1.0, 1.0)) -> Mesh:
    """Return a box about the origin."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4)]
    quads.append((1, 5, 7, 3))
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    vertices = 0.5 * signs * np.array(size)
    return Mesh(vertices.astype(np.float32), np.array(triangles, np.int32))


def sphere(radius=1.0, rings=80) -> Mesh:
    """Return a sphere about the origin, of many triangles."""
    polar, turn = np.linspace(0.0, np.pi, rings + 1), 2.0 * np.pi * np.arange(2 * rings)
    turn = turn / (2 * rings)
    p, t = np.meshgrid(polar, turn, indexing="ij")
    points = np.stack([np.sin(p) * np.cos(t), np.sin(p) * np.sin(t), np.cos(p)], -1)
    at = np.arange((rings + 1) * 2 * rings).reshape(rings + 1, 2 * rings)
    right = np.roll(at, -1, axis=1)
    a, b, c, d = at[:-1], at[1:], right[1:], right[:-1]
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])
    return Mesh(
        (radius * points.reshape(-1, 3)).astype(np.float32),
        triangles.reshape(-1, 3).astype(np.int32),
    )


def square(half=50.0, height=0.0) -> Mesh:
    """Return a level square that faces up."""
    corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    vertices = np.array([(x, y, height) for x, y in corners], np.float32)
    return Mesh(vertices, np.array([(0, 1, 2), (0, 2, 3)], np.int32))
