"""Lines, markers and arrows that a picture shows beside the meshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kernels.drawing.painter import DrawingArrays
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh
from equipoise.show.films.camera import NEAREST, Camera
from equipoise.show.space.primitives import revolved

# From the start of one dash to that of the next [m].
DASH = 0.04

# Radius and length of an arrow's head, in radii of its shaft.
HEAD_RADIUS, HEAD_LENGTH = 2.4, 6.0


@dataclass(frozen=True, eq=False)
class Line:
    """A path as wide everywhere.

    Attributes:
        points: In the world [m], shape (n, 3); NaN rows are gaps.
        colour: Red, green, blue, 0 to 255.
        width_px: [px].
        dashed: Whether every other piece is left out.
        opacity: Where it is seen, 0 to 1.
        through: Where something is in front of it, 0 to 1.
    """

    points: Array
    colour: Colour
    width_px: float = 2.0
    dashed: bool = False
    opacity: float = 1.0
    through: float = 0.12


@dataclass(frozen=True)
class Marker:
    """A disc that is as large everywhere, and seen through the robot.

    Attributes:
        position: In the world [m].
        colour: Red, green, blue, 0 to 255.
        radius_px: [px].
        label: For the legend; not drawn beside the marker.
        quartered: Whether it is the sign of a centre of mass.
        opacity: Where it is seen, 0 to 1.
        through: Where something is in front of it, 0 to 1.
    """

    position: tuple[float, float, float]
    colour: Colour
    radius_px: float = 6.0
    label: str = ""
    quartered: bool = False
    opacity: float = 1.0
    through: float = 0.8


@dataclass(frozen=True)
class Arrow:
    """An arrow in space, e.g. a force; none if it has no length.

    Attributes:
        start: In the world [m].
        end: The tip [m].
        colour: Red, green, blue, 0 to 255.
        radius_m: Of the shaft [m].
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    colour: Colour
    radius_m: float = 0.008


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
    if not np.isfinite(points).all():
        raise EquipoiseError("a marker's position is not finite")
    on_screen = camera.project(points, width, height)
    kept = [
        k for k, place in enumerate(on_screen) if _near_screen(place, width, height)
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
        np.reshape([(m.opacity, m.through, m.quartered) for m in shown], (-1, 3)),
    )


def _near_screen(place: Array, width: int, height: int) -> bool:
    """Return whether a marker may be seen; far places do not fit kernels' numbers."""
    x, y, distance = place
    return bool(
        distance > NEAREST and -width < x < 2 * width and -height < y < 2 * height
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


def shaft_mesh() -> Mesh:
    """Return a cylinder along z, from 0 to 1, of radius 1."""
    return revolved([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def head_mesh() -> Mesh:
    """Return a cone along z whose tip is at the origin, for a shaft of radius 1."""
    back = -HEAD_LENGTH
    return revolved([[0.0, back], [HEAD_RADIUS, back], [0.0, 0.0]])


def arrow_places(arrow: Arrow) -> tuple[Array, Array, Array, Array]:
    """Return linear part and origin of an arrow's shaft, then of its head."""
    start, end = np.array(arrow.start), np.array(arrow.end)
    way = end - start
    length = float(np.linalg.norm(way))
    if not (np.isfinite(length) and np.isfinite(arrow.radius_m)):
        raise EquipoiseError("an arrow's start, end and radius are not finite")
    if length < 1e-9:
        nothing = np.zeros((3, 3))
        return nothing, start, nothing, start
    z = way / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    turn = np.stack([x, np.cross(z, x), z], axis=1)
    # short arrows are thin ones, not heads without a shaft
    radius = min(arrow.radius_m, length / (1.6 * HEAD_LENGTH))
    shaft = turn * np.array([radius, radius, length - 0.9 * HEAD_LENGTH * radius])
    return shaft, start, radius * turn, end
