"""The robot's solids seen from far away, as outlines that weigh little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from contourpy import contour_generator
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw

from equipoise.arrays import Array
from equipoise.robot.anatomy.geometry import area
from equipoise.robot.model import Robot
from equipoise.show.space.solids import joint_poses, pose_matrix, robot_bodies

# Outlines are found on a raster of so many cells along the robot's longest side, and
# may be off by so many cells; smaller pieces than this are left out [cells²].
CELLS, OFF, LEAST_AREA = 1400, 0.9, 12.0
# Triangles of the whole robot that are enough for an outline.
TRIANGLES = 12_000


class Outline(NamedTuple):
    """What is seen of one solid.

    Attributes:
        depth: Distance of its middle from the eye, relative to the others' [m].
        loops: Closed lines around what is filled, and around holes [m], shapes (k, 2).
    """

    depth: float
    loops: tuple[Array, ...]


class Silhouette(NamedTuple):
    """A robot seen along an axis of the world, from far away.

    Attributes:
        outlines: Outlines of its solids, the farthest first.
        low: Least coordinates of all [m], shape (2,).
        high: Greatest coordinates of all [m], shape (2,).
    """

    outlines: tuple[Outline, ...]
    low: Array
    high: Array


def silhouettes(
    robot: Robot, q: ArrayLike, views: tuple[tuple[Array, Array], ...]
) -> tuple[Silhouette, ...]:
    """Return what is seen of a robot from several sides.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        views: For each, the world's directions to the right and up in the picture as
            rows, shape (2, 3), and the direction in which the eye looks, shape (3,).
    """
    poses = joint_poses(robot, q)
    solids = []
    for body in robot_bodies(robot, TRIANGLES):
        pose = pose_matrix(poses[body.joint])
        points = body.mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
        solids.append((points[body.mesh.triangles], points))
    return tuple(_seen(solids, *view) for view in views)


def _seen(
    solids: list[tuple[Array, Array]], plane: Array, looking: Array
) -> Silhouette:
    if not solids:
        return Silhouette((), np.zeros(2), np.ones(2))
    placed = np.concatenate([points @ plane.T for _, points in solids])
    low, high = placed.min(axis=0), placed.max(axis=0)
    cell = float((high - low).max()) / CELLS
    outlines = []
    for corners, points in solids:
        loops = _loops((corners @ plane.T - low) / cell)
        depth = float((points @ looking).mean())
        outlines.append(Outline(depth, tuple(loop * cell + low for loop in loops)))
    return Silhouette(tuple(sorted(outlines, key=lambda o: -o.depth)), low, high)


def _loops(triangles: Array) -> Iterator[Array]:
    """Yield the lines around triangles of the plane [cells], shape (m, 3, 2)."""
    # two free cells on each side, so that every line closes
    corner = np.floor(triangles.min(axis=(0, 1))) - 2.0
    width, height = (np.ceil(triangles.max(axis=(0, 1)) - corner) + 3.0).astype(int)
    raster = Image.new("L", (int(width), int(height)))
    pen = ImageDraw.Draw(raster)
    for triangle in (triangles - corner).reshape(-1, 6).tolist():
        pen.polygon(triangle, fill=1)
    # values are at the middles of cells
    for loop in contour_generator(z=np.asarray(raster)).lines(0.5):
        if abs(area(loop[:-1])) >= LEAST_AREA:
            yield _straightened(loop[:-1], OFF) + corner + 0.5


def _straightened(loop: Array, off: float) -> Array:
    """Return a closed line with fewer corners, nowhere farther off than given.

    By Ramer, Douglas and Peucker, from two corners that are far apart.
    """
    far = int(np.argmax(np.linalg.norm(loop - loop[0], axis=1)))
    closed = np.concatenate([loop, loop[:1]])
    kept = np.zeros(len(closed), dtype=np.bool_)
    kept[[0, far]] = True
    spans = [(0, far), (far, len(loop))]
    while spans:
        begin, end = spans.pop()
        if end - begin < 2:
            continue
        between = closed[begin + 1 : end] - closed[begin]
        along = closed[end] - closed[begin]
        length = float(np.linalg.norm(along))
        away = (
            np.abs(between[:, 0] * along[1] - between[:, 1] * along[0]) / length
            if length > 0.0
            else np.linalg.norm(between, axis=1)
        )
        worst = int(np.argmax(away))
        if away[worst] > off:
            kept[begin + 1 + worst] = True
            spans += [(begin, begin + 1 + worst), (begin + 1 + worst, end)]
    straight: Array = closed[:-1][kept[:-1]]
    return straight
