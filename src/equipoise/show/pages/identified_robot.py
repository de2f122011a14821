"""Where the centres of mass of a robot and its links are, drawn on the robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.support import support_polygon
from equipoise.robot.model import Robot
from equipoise.show.charts.chart import Series
from equipoise.show.pages.markup import element, path, stroke, text, titled
from equipoise.show.pages.silhouette import silhouettes
from equipoise.show.pages.svg_plots import (
    BOTTOM,
    LEFT,
    TOP,
    WIDTH,
    Axis,
    figure,
    grid,
    make_axis,
    placed,
    ring,
    sample,
)
from equipoise.show.space.solids import on_plane

# Space for the robot and, right of it, for the magnifier [px].
TALL, MAGNIFIER, LENS = 540.0, 150.0, 62.0
MARGIN = 0.04
# Radii of the marks [px].
LINK, TOTAL, LENS_TOTAL = 2.0, 7.0, 7.0
# What the magnifier shows fills at most this fraction of its radius; it magnifies by
# one of these; a smaller shift than this does not count [px].
FILLED, NOTHING = 0.9, 1e-3
POWERS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 100, 200, 500, 1000)
# Lengths of its scale [mm].
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# In a plane, 95 % lie within so many standard deviations (chi-squared, 2 degrees).
ELLIPSE_95 = 2.447747
# Points around an ellipse that look round.
AROUND = 48
# Shorter arrows are not seen; the head takes this fraction, up to this length [px].
SHORTEST, HEAD_FRACTION, LONGEST_HEAD = 0.8, 0.5, 6.0
# Points along a quarter of a circle.
QUARTER = 9


# For each solid, closed lines around it [m], shapes (k, 2).
Solids = list[tuple[Array, ...]]


class Shift(NamedTuple):
    """A centre of mass before and after, in the world.

    Attributes:
        name: Name of the link.
        before: Centre of mass in the model [m], shape (3,).
        after: Identified centre of mass [m], shape (3,).
        seen: Whether the data determine it better than the model.
    """

    name: str
    before: Array
    after: Array
    seen: bool


class Places(NamedTuple):
    """What is drawn on the robot, in the world.

    Attributes:
        links: Centres of mass of the links.
        whole: Centre of mass of the whole robot.
        support: Corners of the support polygon [m], shape (k, 2).
        scatter: Covariance of the whole robot's centre of mass after [m²], (3, 3).
    """

    links: tuple[Shift, ...]
    whole: Shift
    support: Array
    scatter: Array | None


def places(results: Mapping[str, Any], original: Robot, corrected: Robot) -> Places:
    """Return where centres of mass are when the robot stands.

    Arguments are those of :func:`~.identified_report.identified_report`.
    """
    q = original.standing
    links = []
    for name, link in results["links"].items():
        pose = np.asarray(frame_pose(original, q, name), dtype=np.float64)
        before, after = (
            pose[:3, :3] @ np.asarray(link[key], dtype=np.float64) + pose[:3, 3]
            for key in ("com_before_m", "com_m")
        )
        links.append(Shift(name, before, after, bool(link["seen"])))
    before, after = (
        np.asarray(com(robot, q), dtype=np.float64) for robot in (original, corrected)
    )
    whole = Shift("the whole robot", before, after, True)
    support = support_polygon(original, q, list(original.soles))
    scatter = results.get("standing_com_covariance_m2")
    return Places(
        tuple(links),
        whole,
        np.asarray(support),
        None if scatter is None else np.asarray(scatter, dtype=np.float64),
    )


def ellipse_95(scatter: Array, plane: Array) -> Array:
    """Return the 95 % ellipse of a covariance [m²] in a plane [m], shape (k, 2)."""
    values, axes = np.linalg.eigh(plane @ scatter @ plane.T)
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    spread: Array = ELLIPSE_95 * circle * np.sqrt(np.maximum(values, 0.0)) @ axes.T
    return spread


class View(NamedTuple):
    """A side to look from.

    Attributes:
        title: Title, with the place of the eye.
        label: Label of the axis across.
        across: Coordinate that grows to the right; z grows up.
        looking: Direction of the eye, shape (3,).
    """

    title: str
    label: str
    across: int
    looking: tuple[float, float, float]

    @property
    def plane(self) -> Array:
        """Directions to the right and up, as rows, shape (2, 3)."""
        directions: Array = np.eye(3)[[self.across, 2]]
        return directions


SIDE = View("From the right: z, up, over x", "x, forward [m]", 0, (0.0, 1.0, 0.0))
FRONT = View("From the front: z, up, over y", "y, left [m]", 1, (-1.0, 0.0, 0.0))


def robot_views(found: Places, robot: Robot) -> list[str]:
    """Return the standing robot from its right and its front, to the same scale."""
    views = (SIDE, FRONT)
    seen = silhouettes(
        robot, robot.standing, tuple((v.plane, np.array(v.looking)) for v in views)
    )
    boxes = [_box(found, one, view) for one, view in zip(seen, views, strict=True)]
    margin = 2.0 * MARGIN * max(box[1, 1] - box[0, 1] for box in boxes)
    across, up = np.max([box[1] - box[0] for box in boxes], axis=0) + margin
    scale = min((WIDTH - MAGNIFIER - LEFT) / across, TALL / up)
    drawn = []
    for view, one, box in zip(views, seen, boxes, strict=True):
        canvas = _canvas(view, box, scale, up)
        body = "".join(
            [
                grid(canvas.across, canvas.up, view.label),
                *_bodies(one, canvas),
                *_support(found, canvas),
                *(_link(link, canvas) for link in found.links),
                *_whole(found, canvas),
            ]
        )
        size = (WIDTH, canvas.up.begin + BOTTOM)
        drawn.append(figure(view.title, "m", body, size, _legend(found)))
    return drawn


class _Canvas(NamedTuple):
    """Where a view's points are in the picture, at a scale [px/m]."""

    plane: Array
    across: Axis
    up: Axis
    scale: float

    def place(self, points: Array) -> Array:
        """Return points [m], shape (..., 3), in the picture [px], shape (..., 2)."""
        return placed(points @ self.plane.T, self.across, self.up)


def _box(found: Places, seen: Solids, view: View) -> Array:
    """Return the least and the greatest coordinates of all there is, shape (2, 2)."""
    ground = on_plane(found.support, 0.0)
    ends = [end for s in (*found.links, found.whole) for end in (s.before, s.after)]
    points = np.concatenate([np.array(ends), ground]) @ view.plane.T
    points = np.concatenate([points, *(loop for solid in seen for loop in solid)])
    return np.array([points.min(axis=0), points.max(axis=0)])


def _canvas(view: View, box: Array, scale: float, height: float) -> _Canvas:
    width = WIDTH - MAGNIFIER - LEFT
    middle, half = 0.5 * (box[0, 0] + box[1, 0]), 0.5 * width / scale
    low = box[0, 1] - 0.5 * (height - (box[1, 1] - box[0, 1]))
    across = make_axis(middle - half, middle + half, LEFT, LEFT + width, ticks=5)
    up = make_axis(low, low + height, TOP + scale * height, TOP, ticks=7)
    return _Canvas(view.plane, across, up, scale)


def _bodies(seen: Solids, canvas: _Canvas) -> list[str]:
    parts = []
    for solid in seen:
        loops = [path(placed(loop, canvas.across, canvas.up)) for loop in solid]
        lines = "".join(f"{loop}Z" for loop in loops)
        parts.append(element("path", d=lines, class_="body") if lines else "")
    return parts


def _support(found: Places, canvas: _Canvas) -> list[str]:
    """Return how far the support polygon reaches, and where CoMs are above it."""
    ground = on_plane(found.support, 0.0)
    corners = canvas.place(ground)
    (left, level), right = corners.min(axis=0), corners[:, 0].max()
    ends = np.array([[left, level], [right, level]])
    parts = [titled("support polygon", stroke(ends, "support c2"))]
    for centre, style in ((found.whole.before, "c1"), (found.whole.after, "c0")):
        plumb = canvas.place(np.array([centre, [*centre[:2], 0.0]]))
        parts.append(stroke(plumb, f"plumb {style}"))
    return parts


def _link(shift: Shift, canvas: _Canvas) -> str:
    """Return a link's centre of mass: a ring, and an arrow if it moved far enough."""
    before, after = canvas.place(shift.before), canvas.place(shift.after)
    if not shift.seen:
        words = f"{shift.name}: stays at the model's value"
        return titled(words, ring(before, LINK, "mark unseen"))
    moved = 1e3 * float(np.linalg.norm(shift.after - shift.before))
    marks = ring(before, LINK, "mark c1"), arrow(before, after, "c0")
    return titled(f"{shift.name}: moved by {moved:.1f} mm", *marks)


def _whole(found: Places, canvas: _Canvas) -> list[str]:
    """Return the whole robot's centre of mass, and what a magnifier shows of it."""
    before, after = (canvas.place(p) for p in (found.whole.before, found.whole.after))
    spread = np.zeros((0, 2))
    if found.scatter is not None:
        spread = ellipse_95(found.scatter, canvas.plane) * canvas.scale * [1.0, -1.0]
    half = 0.5 * (after - before)
    reach = max(
        float(np.linalg.norm(np.concatenate([[half], half + spread]), axis=1).max()),
        NOTHING,
    )
    power = max((p for p in POWERS if p * reach <= FILLED * LENS), default=POWERS[0])
    middle = before + half
    highest, lowest = canvas.up.end + LENS + 4.0, canvas.up.begin - LENS - 26.0
    lens = np.array([WIDTH - LENS - 6.0, np.clip(middle[1], highest, lowest)])
    return [
        stroke(_tangents(middle, lens), "ray"),
        *_discs(before, after, spread, TOTAL),
        ring(lens, LENS, "lens"),
        *_discs(lens - power * half, lens + power * half, power * spread, LENS_TOTAL),
        *_measure(lens, power, canvas.scale),
    ]


def _tangents(point: Array, lens: Array) -> Array:
    """Return lines from a point to both sides of the magnifier, with a gap, (5, 2)."""
    along = lens - point
    distance = max(float(np.linalg.norm(along)), LENS + 1.0)
    sine = LENS / distance
    foot = lens - along / distance * LENS * sine
    side = np.array([-along[1], along[0]]) / distance * LENS * np.sqrt(1 - sine**2)
    gap = np.full(2, np.nan)
    return np.array([point, foot + side, gap, point, foot - side])


def _discs(before: Array, after: Array, spread: Array, size: float) -> list[str]:
    parts = quartered(before, size, "c1")
    if len(spread):
        loop = f"{path(after + spread)}Z"
        parts.append(element("path", d=loop, class_="ellipse c0"))
    return [*parts, *quartered(after, size, "c0"), arrow(before, after, "ink")]


def _measure(lens: Array, power: int, scale: float) -> list[str]:
    """Return the magnifier's scale and how much it magnifies."""
    per_mm = 1e-3 * scale * power
    length = max((s for s in SCALES if s * per_mm <= 1.1 * LENS), default=SCALES[0])
    half, gap = 0.5 * length * per_mm, (np.nan, np.nan)
    corners = [(-half, -3.0), (-half, 3.0), gap, (half, -3.0), (half, 3.0), gap]
    bar = np.array([*corners, (-half, 0.0), (half, 0.0)])
    x, y = float(lens[0]), float(lens[1]) + LENS + 9.0
    words = text(f"{length:g} mm, ×{power}")
    return [
        stroke(bar + np.array([x, y]), "cursor"),
        element("text", words, x=f"{x:.1f}", y=f"{y + 17.0:.1f}", text_anchor="middle"),
    ]


def _legend(found: Places) -> list[Series]:
    legend = [sample("support", "c2")]
    if not all(link.seen for link in found.links):
        legend.append(sample("link that stays at the model's value", "stays"))
    return [*legend, sample("CoM identified", "c0"), sample("CoM in the model", "c1")]


def arrow(start: Array, end: Array, style: str) -> str:
    """Return an arrow between places of the picture [px]; nothing if too short."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length < SHORTEST:
        return ""
    ahead = along / length
    aside = np.array([-ahead[1], ahead[0]])
    size = min(HEAD_FRACTION * length, LONGEST_HEAD)
    neck = end - size * ahead
    tip = np.array([end, neck + 0.4 * size * aside, neck - 0.4 * size * aside])
    head = element("path", d=f"{path(tip)}Z", class_=f"head {style}")
    return stroke(np.array([start, neck]), f"shaft {style}") + head


def quartered(place: Array, radius: float, style: str) -> list[str]:
    """Return the sign of a centre of mass: a disc of which two quarters are filled."""
    filled = ""
    for first in (0.0, np.pi):
        angle = first + 0.5 * np.pi * np.arange(QUARTER) / (QUARTER - 1)
        arc = place + radius * np.stack([np.cos(angle), -np.sin(angle)], axis=1)
        filled += f"{path(np.concatenate([[place], arc]))}Z"
    return [
        ring(place, radius, f"disc {style}"),
        element("path", d=filled, class_=f"quarters {style}"),
    ]
