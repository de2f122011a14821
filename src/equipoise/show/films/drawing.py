"""Where pictures are taken from, and what is drawn over the meshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kernels.drawing.painter import DrawingArrays
from equipoise.robot.anatomy.geometry import plane_axes
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh
from equipoise.show.space.solids import revolved

# From the lower to the upper edge: a long lens, as flat as drawings in papers [rad].
FIELD_OF_VIEW = 0.5
# Distance of the image plane, in heights of the picture.
FOCAL = float(0.5 / np.tan(0.5 * FIELD_OF_VIEW))
# Nearer than this to the camera's plane nothing is drawn over the picture [m].
NEAREST = 1e-2
# From the start of one dash to that of the next [m].
DASH = 0.04
# Radius and length of an arrow's head, in radii of its shaft.
HEAD_RADIUS, HEAD_LENGTH = 2.4, 6.0


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera without distortion.

    Attributes:
        position: Position in the world [m], shape (3,).
        target: Point in the middle of the picture [m], shape (3,).
        up: Direction that is up in the picture, shape (3,).
    """

    position: Array
    target: Array
    up: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    @property
    def axes(self) -> Array:
        """Right, down and forward in world axes, as rows, shape (3, 3)."""
        return _axes(np.subtract(self.target, self.position), self.up)

    def project(self, points: ArrayLike, width: int, height: int) -> Array:
        """Return x, y [px] and distance along the view [m] of points (n, 3).

        x and y mean nothing where the distance is not positive.
        """
        in_camera = (np.reshape(points, (-1, 3)) - self.position) @ self.axes.T
        distance = in_camera[:, 2:]
        scale = FOCAL * height / np.where(distance > 0, distance, 1)
        on_screen = [0.5 * width, 0.5 * height] + scale * in_camera[:, :2]
        return np.concatenate([on_screen, distance], axis=1)

    @staticmethod
    def fit(
        points: ArrayLike, direction: ArrayLike, aspect: float, margin: float = 0.08
    ) -> Camera:
        """Return the nearest camera that has all points in its picture.

        Args:
            points: Points to be seen [m], shape (n, 3), n at least 1.
            direction: Direction of view, shape (3,).
            aspect: Width over height of the picture.
            margin: Part of the picture kept free along each edge.
        """
        cloud = np.reshape(np.asarray(points, dtype=np.float64), (-1, 3))
        way = np.asarray(direction, dtype=np.float64)
        if not np.isfinite(cloud).all():
            raise EquipoiseError("the robot's positions in the run are not finite")
        up = np.array([0.0, 0.0, 1.0])
        if np.linalg.norm(np.cross(way, up)) < 1e-6 * np.linalg.norm(way):
            up = np.array([1.0, 0.0, 0.0])
        axes = _axes(way, up)
        x, y, z = axes @ cloud.T
        slope_y = (1.0 - 2.0 * margin) * 0.5 / FOCAL
        slope_x = aspect * slope_y
        # the planes of the frustum touch the outermost points
        right, left = (x - slope_x * z).max(), (-x - slope_x * z).max()
        below, above = (y - slope_y * z).max(), (-y - slope_y * z).max()
        depth = min(-0.5 * (right + left) / slope_x, -0.5 * (below + above) / slope_y)
        depth = min(depth, z.min() - 10.0 * NEAREST)
        eye = np.array([0.5 * (right - left), 0.5 * (below - above), depth]) @ axes
        target = eye + (z.mean() - depth) * axes[2]
        return Camera(eye, target, up)


def _axes(way: Array, up: Array) -> Array:
    forward = way / np.linalg.norm(way)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward])


@dataclass(frozen=True, eq=False)
class Line:
    """A path of constant width in the picture.

    Attributes:
        points: Points in the world [m], shape (n, 3); NaN rows are gaps.
        colour: Colour.
        width_px: Width [px].
        dashed: Whether every other piece is left out.
        opacity: Opacity where it is seen, 0 to 1.
        through: Opacity where something is in front of it, 0 to 1.
    """

    points: Array
    colour: Colour
    width_px: float = 2.0
    dashed: bool = False
    opacity: float = 1.0
    through: float = 0.12


@dataclass(frozen=True, eq=False)
class Marker:
    """A disc of constant size in the picture, seen through the robot.

    Attributes:
        position: Position in the world [m], shape (3,).
        colour: Colour.
        radius_px: Radius [px].
        quartered: Whether it is the sign of a centre of mass.
        through: Opacity where something is in front of it, 0 to 1.
    """

    position: Array
    colour: Colour
    radius_px: float = 6.0
    quartered: bool = False
    through: float = 0.8


def lay_out(
    camera: Camera,
    width: int,
    height: int,
    lines: Sequence[Line],
    markers: Sequence[Marker],
) -> DrawingArrays:
    """Return lines and markers as they lie on the screen."""
    segments, spans, start = [np.zeros((0, 2, 4))], [], 0
    for line in lines:
        pieces = _segments(line, camera, width, height)
        spans.append((start, start + len(pieces), line.dashed))
        start += len(pieces)
        segments.append(pieces)
    points = np.reshape([marker.position for marker in markers], (-1, 3))
    on_screen = camera.project(points, width, height)
    # places far from the screen do not fit the kernels' numbers
    kept = [
        k
        for k, (x, y, distance) in enumerate(on_screen)
        if distance > NEAREST and -width < x < 2 * width and -height < y < 2 * height
    ]
    shown = [markers[k] for k in kept]
    discs = np.zeros((len(kept), 4))
    discs[:, :3] = on_screen[kept]
    discs[:, 2] = 1.0 / discs[:, 2]
    discs[:, 3] = [marker.radius_px for marker in shown]
    return DrawingArrays(
        np.concatenate(segments),
        np.array(spans, dtype=np.int32).reshape(-1, 3),
        np.reshape([line.colour for line in lines], (-1, 3)),
        np.reshape([(0.5 * n.width_px, n.opacity, n.through) for n in lines], (-1, 3)),
        discs,
        np.reshape([marker.colour for marker in shown], (-1, 3)),
        np.reshape([(1.0, m.through, m.quartered) for m in shown], (-1, 3)),
    )


def _segments(line: Line, camera: Camera, width: int, height: int) -> Array:
    """Return ends (n, 2, 4) of the parts of a line before the camera."""
    points = np.reshape(np.asarray(line.points, dtype=np.float64), (-1, 3))
    ends = np.stack([points[:-1], points[1:]], axis=1)
    ends = ends[np.isfinite(ends).all(axis=(1, 2))]
    if len(ends) == 0:
        return np.zeros((0, 2, 4))
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / DASH
    way = np.concatenate([[0.0], np.cumsum(length)])
    dashes = np.stack([way[:-1], way[1:]], axis=1)
    distance = (ends - camera.position) @ camera.axes[2]
    ahead = distance.max(axis=1) > NEAREST
    ends, dashes, distance = ends[ahead], dashes[ahead], distance[ahead]
    for here, there in ((0, 1), (1, 0)):
        behind = distance[:, here] < NEAREST
        span = distance[:, there] - distance[:, here]
        part = np.where(
            behind, (NEAREST - distance[:, here]) / np.where(span, span, 1), 0
        )
        ends[:, here] += part[:, None] * (ends[:, there] - ends[:, here])
        dashes[:, here] += part * (dashes[:, there] - dashes[:, here])
    on_screen = camera.project(ends, width, height).reshape(-1, 2, 3)
    on_screen[:, :, 2] = 1.0 / np.maximum(on_screen[:, :, 2], 0.5 * NEAREST)
    return np.concatenate([on_screen, dashes[:, :, None]], axis=2)


def arrow_meshes() -> tuple[Mesh, Mesh]:
    """Return the shaft of an arrow, along z from 0 to 1, of radius 1, and its head.

    The head is a cone along z whose tip is at the origin.
    """
    back = -HEAD_LENGTH
    return (
        revolved([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        revolved([[0.0, back], [HEAD_RADIUS, back], [0.0, 0.0]]),
    )


def arrow_places(
    start: Array, end: Array, radius: float
) -> tuple[Array, Array, Array, Array]:
    """Return linear part and origin of an arrow's shaft, then of its head.

    The arrow is from start to end [m], shape (3,), with a radius [m].
    """
    way = end - start
    length = float(np.linalg.norm(way))
    if length < 1e-9:
        nothing = np.zeros((3, 3))
        return nothing, start, nothing, start
    z = way / length
    turn = np.column_stack([*plane_axes(z), z])
    # short arrows are thin ones, not heads without a shaft
    radius = min(radius, length / (1.6 * HEAD_LENGTH))
    shaft = turn * np.array([radius, radius, length - 0.9 * HEAD_LENGTH * radius])
    return shaft, start, radius * turn, end
