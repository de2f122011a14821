"""Where the centres of mass of a robot and its links went, drawn on the robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.model import Robot
from equipoise.show.charts.chart import Series
from equipoise.show.pages.axes import Axis, make_axis
from equipoise.show.pages.identified_places import Places, Shift, ellipse_95
from equipoise.show.pages.marks import arrow, quartered, ring
from equipoise.show.pages.markup import element, path, text
from equipoise.show.pages.plots import BOTTOM, LEFT, TOP, WIDTH, figure, grid
from equipoise.show.pages.silhouette import Silhouette, silhouettes

# Room for the robot and, right of it, for the magnifier [px].
TALL, MAGNIFIER, LENS = 540.0, 150.0, 62.0
MARGIN = 0.04
# Radii of the marks [px].
LINK, TOTAL, LENS_TOTAL = 2.0, 7.0, 7.0
# What the magnifier shows fills at most this share of its radius, and it magnifies by
# one of these; a smaller shift than this is none [px].
FILLED, NOTHING = 0.9, 1e-3
POWERS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 100, 200, 500, 1000)
# Lengths of its scale [mm].
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class View(NamedTuple):
    """A side to look from.

    Attributes:
        title: Where the eye is.
        label: Of the axis across.
        across: Which coordinate grows to the right; z grows up.
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
    """Return the robot from its right and from its front, both to the same scale.

    Args:
        found: What is drawn on it.
        robot: The robot; it stands.
    """
    views = (SIDE, FRONT)
    seen = silhouettes(
        robot, robot.standing, tuple((v.plane, np.array(v.looking)) for v in views)
    )
    boxes = [_box(found, one, view) for one, view in zip(seen, views, strict=True)]
    room = 2.0 * MARGIN * max(box[1, 1] - box[0, 1] for box in boxes)
    across, up = np.max([box[1] - box[0] for box in boxes], axis=0) + room
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
    """Where a view's points are in the picture."""

    plane: Array
    across: Axis
    up: Axis
    scale: float  # [px/m]

    def place(self, points: Array) -> Array:
        """Return points [m], shape (..., 3), in the picture [px], shape (..., 2)."""
        return self.place_flat(points @ self.plane.T)

    def place_flat(self, points: Array) -> Array:
        """Return points of the plane [m], shape (..., 2), in the picture [px]."""
        low = np.array([self.across.low, self.up.low])
        begin = np.array([self.across.begin, self.up.begin])
        placed: Array = begin + (points - low) * self.scale * [1.0, -1.0]
        return placed


def _box(found: Places, seen: Silhouette, view: View) -> Array:
    """Return the least and the greatest coordinates of all there is, shape (2, 2)."""
    ground = np.hstack([found.support, np.zeros((len(found.support), 1))])
    ends = [end for s in (*found.links, found.whole) for end in (s.before, s.after)]
    points = np.concatenate([np.array(ends), ground]) @ view.plane.T
    points = np.concatenate([points, [seen.low, seen.high]])
    return np.array([points.min(axis=0), points.max(axis=0)])


def _canvas(view: View, box: Array, scale: float, height: float) -> _Canvas:
    width = WIDTH - MAGNIFIER - LEFT
    middle, half = 0.5 * (box[0, 0] + box[1, 0]), 0.5 * width / scale
    low = box[0, 1] - 0.5 * (height - (box[1, 1] - box[0, 1]))
    across = make_axis(middle - half, middle + half, LEFT, LEFT + width, ticks=5)
    up = make_axis(low, low + height, TOP + scale * height, TOP, ticks=7)
    return _Canvas(view.plane, across, up, scale)


def _bodies(seen: Silhouette, canvas: _Canvas) -> list[str]:
    return [
        element(
            "path",
            d="".join(f"{path(canvas.place_flat(loop))}Z" for loop in outline.loops),
            class_="body",
        )
        for outline in seen.outlines
        if outline.loops
    ]


def _support(found: Places, canvas: _Canvas) -> list[str]:
    """Return how far the support polygon reaches, and where CoMs are above it."""
    ground = np.hstack([found.support, np.zeros((len(found.support), 1))])
    placed = canvas.place(ground)
    (left, level), right = placed.min(axis=0), placed[:, 0].max()
    ends = np.array([[left, level], [right, level]])
    parts = [
        element(
            "g",
            element("title", "support polygon"),
            element("path", d=path(ends), class_="support c2"),
        )
    ]
    for centre, style in ((found.whole.before, "c1"), (found.whole.after, "c0")):
        plumb = canvas.place(np.array([centre, [*centre[:2], 0.0]]))
        parts.append(element("path", d=path(plumb), class_=f"plumb {style}"))
    return parts


def _link(shift: Shift, canvas: _Canvas) -> str:
    """Return a link's centre of mass: a ring, and an arrow if it went far enough."""
    before, after = canvas.place(shift.before), canvas.place(shift.after)
    moved = 1e3 * float(np.linalg.norm(shift.after - shift.before))
    if not shift.seen:
        words = f"{shift.name}: stays at the model's figure"
        return element(
            "g", element("title", text(words)), ring(before, LINK, "mark unseen")
        )
    return element(
        "g",
        element("title", text(f"{shift.name}: moved by {moved:.1f} mm")),
        ring(before, LINK, "mark c1"),
        arrow(before, after, "c0"),
    )


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
        element("path", d=path(_tangents(middle, lens)), class_="ray"),
        *_discs(before, after, spread, TOTAL),
        ring(lens, LENS, "lens"),
        *_discs(lens - power * half, lens + power * half, power * spread, LENS_TOTAL),
        *_measure(lens, power, canvas.scale),
    ]


def _tangents(point: Array, lens: Array) -> Array:
    """Return lines from a point to both sides of the magnifier, with a gap, (5, 2)."""
    along = lens - point
    distance = max(float(np.linalg.norm(along)), LENS + 1.0)
    share = LENS / distance
    foot = lens - along / distance * LENS * share
    side = np.array([-along[1], along[0]]) / distance * LENS * np.sqrt(1 - share**2)
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
        element("path", d=path(bar + np.array([x, y])), class_="cursor"),
        element("text", words, x=f"{x:.1f}", y=f"{y + 17.0:.1f}", text_anchor="middle"),
    ]


def _legend(found: Places) -> list[Series]:
    nothing = np.zeros(0)
    legend = [Series("support", nothing, "c2")]
    if not all(link.seen for link in found.links):
        legend.append(Series("link that stays at the model's figure", nothing, "stays"))
    legend.append(Series("CoM identified", nothing, "c0"))
    return [*legend, Series("CoM in the model", nothing, "c1")]
