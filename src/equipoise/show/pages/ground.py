"""The ground from above as a drawing: footprints, and the paths of ZMP and CoM."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.show.charts.chart import Series
from equipoise.show.charts.ground_map import GroundMap, GroundPath
from equipoise.show.charts.thinning import thin_path
from equipoise.show.pages.axes import Axis, make_axis
from equipoise.show.pages.markup import element, path, text
from equipoise.show.pages.plots import BOTTOM, LEFT, RIGHT, TOP, WIDTH, figure, grid
from equipoise.show.space.footprints import Footprint

LOWEST, HIGHEST = 150.0, 300.0
# Closer than this, points of a path look like one [px]; and at most so many are drawn.
NEAR, MOST = 0.4, 3000
MARGIN = 0.03


def ground_plot(ground: GroundMap) -> str:
    """Return a figure of all footprints, with the paths.

    Forward (x) is to the right, left (y) is up, both to the same scale.
    """
    across, up, height = _axes(*ground.bounds())
    parts = [grid(across, up, "x, forward [m]")]
    parts += [_print(print_, across, up) for print_ in ground.footprints]
    for way in ground.paths:
        parts += _path(way, across, up)
    nothing = np.zeros(0)
    legend = [Series("footprints", nothing, "sole")] if ground.footprints else []
    legend += [Series(way.label, nothing, way.style) for way in ground.paths]
    title = "From above: y, left, over x (dots: start)"
    return figure(title, "m", "".join(parts), (WIDTH, height), legend)


def _print(footprint: Footprint, across: Axis, up: Axis) -> str:
    words = f"{footprint.side} foot, {footprint.start_s:.2f} to {footprint.end_s:.2f} s"
    outline = path(_placed(footprint.polygon_in_world[:, :2], across, up))
    return element(
        "g",
        element("title", text(words)),
        element("path", d=f"{outline}Z", class_="sole"),
    )


def _path(way: GroundPath, across: Axis, up: Axis) -> list[str]:
    placed = thin_path(_placed(way.points, across, up), NEAR, MOST)
    parts = [element("path", d=path(placed), class_=f"line {way.style}")]
    start = placed[np.isfinite(placed).all(axis=1)][:1]
    if not way.dashed:
        parts += [
            element(
                "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, class_=f"dot {way.style}"
            )
            for x, y in start.tolist()
        ]
    return parts


def _axes(low: Array, high: Array) -> tuple[Axis, Axis, float]:
    """Return both axes to one scale, and the height of the drawing [px]."""
    low, high = low - MARGIN, high + MARGIN
    width = WIDTH - LEFT - RIGHT
    scale = width / (high[0] - low[0])
    tall = min(max(scale * (high[1] - low[1]), LOWEST), HIGHEST)
    scale = min(scale, tall / (high[1] - low[1]))
    half = 0.5 * np.array([width, tall]) / scale
    middle = 0.5 * (low + high)
    across = make_axis(
        middle[0] - half[0], middle[0] + half[0], LEFT, LEFT + width, ticks=8
    )
    up = make_axis(middle[1] - half[1], middle[1] + half[1], TOP + tall, TOP)
    return across, up, TOP + tall + BOTTOM


def _placed(points: Array, across: Axis, up: Axis) -> Array:
    low = np.array([across.low, up.low])
    begin = np.array([across.begin, up.begin])
    scale = np.array(
        [
            (across.end - across.begin) / (across.high - across.low),
            (up.end - up.begin) / (up.high - up.low),
        ]
    )
    placed: Array = begin + (points - low) * scale
    return placed
