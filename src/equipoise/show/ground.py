"""The ground from above: soles, and the paths of ZMP and CoM over them."""

from __future__ import annotations

import numpy as np

from equipoise.kinematics.support import support_polygon
from equipoise.log.run import Run
from equipoise.robot.description import Array
from equipoise.show.axes import Axis, make_axis
from equipoise.show.markup import element, path, text
from equipoise.show.plots import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Series, figure, grid
from equipoise.show.thinning import thin_path

LOWEST, HIGHEST = 150.0, 300.0
# Closer than this, points of a path look like one [px]; and at most so many are drawn.
NEAR, MOST = 0.4, 3000
MARGIN = 0.03


def ground_plot(run: Run) -> str:
    """Return a figure of the soles where they are at the start, with both paths.

    Forward (x) is to the right, left (y) is up, both to the same scale.
    """
    soles = {
        side: np.asarray(support_polygon(run.robot, run.q[0], [side]))
        for side in run.robot.soles
    }
    zmp = np.where(run.supported[:, None], run.zmp[:, :2], np.nan)
    paths = {"c1": zmp, "c0": run.com[:, :2]}
    across, up, height = _axes(np.concatenate([*soles.values(), *paths.values()]))
    outlines = [
        element(
            "g",
            element("title", text(f"{side} sole")),
            element("path", d=f"{path(_placed(corners, across, up))}Z", class_="sole"),
        )
        for side, corners in soles.items()
    ]
    lines = []
    for style, points in paths.items():
        placed = thin_path(_placed(points, across, up), NEAR, MOST)
        lines.append(element("path", d=path(placed), class_=f"line {style}"))
        start = placed[np.isfinite(placed).all(axis=1)][:1]
        for x, y in start.tolist():
            lines.append(
                element(
                    "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, class_=f"dot {style}"
                )
            )
    nothing = np.zeros(0)
    legend = [
        Series("soles at the start", nothing, "sole"),
        Series("ZMP", nothing, "c1"),
        Series("CoM (dots: start)", nothing, "c0"),
    ]
    body = "".join([grid(across, up, "x, forward [m]"), *outlines, *lines])
    return figure("From above: y, left, over x", "m", body, (WIDTH, height), legend)


def _axes(points: Array) -> tuple[Axis, Axis, float]:
    """Return both axes to one scale, and the height of the drawing [px]."""
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0) - MARGIN, points.max(axis=0) + MARGIN
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
