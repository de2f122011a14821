"""The robot's solids seen from far away, as outlines that weigh little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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


def silhouettes(
    robot: Robot, q: ArrayLike, views: Sequence[tuple[Array, Array]]
) -> list[list[tuple[Array, ...]]]:
    """Return what is seen of a robot from far away, from several sides.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        views: For each, the world's directions to the right and up in the picture as
            rows, shape (2, 3), and the direction in which the eye looks, shape (3,).

    Returns:
        For each view and each solid, the farthest first, closed lines around what is
        filled and around holes [m], shapes (k, 2).
    """
    poses = joint_poses(robot, q)
    solids = []
    for body in robot_bodies(robot, TRIANGLES):
        solid = body.mesh.moved(pose_matrix(poses[body.joint]))
        solids.append(solid.vertices[solid.triangles].astype(np.float64))
    seen = []
    for plane, looking in views:
        flat = [corners @ plane.T for corners in solids]
        every = np.concatenate([np.zeros((0, 2)), *(f.reshape(-1, 2) for f in flat)])
        cell = float(np.ptp(every, axis=0).max()) / CELLS if solids else 1.0
        depths = [float((corners @ looking).mean()) for corners in solids]
        order = sorted(range(len(solids)), key=lambda n: -depths[n])
        seen.append(
            [tuple(cell * loop for loop in _loops(flat[n] / cell)) for n in order]
        )
    return seen


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
    loops: Any = contour_generator(z=np.asarray(raster)).lines(0.5)
    for loop in loops:
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
