"""Plots in SVG by hand, without library or script: lines over time, the ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.show.charts.chart import Chart, Series, envelope, thin_path
from equipoise.show.charts.quantities import GroundMap
from equipoise.show.pages.markup import element, path, stroke, text, titled

WIDTH, HEIGHT = 480.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 12.0, 8.0, 42.0
# Spans of time whose extremes are drawn: more would be closer than pixels.
BUCKETS = 280
LOWEST, HIGHEST = 150.0, 300.0
# Closer than this, points of a path look like one [px]; and at most so many are drawn.
NEAR, MOST = 0.4, 3000
MARGIN = 0.03


@dataclass(frozen=True)
class Axis:
    """A range of numbers laid along a line of the picture.

    Attributes:
        low: Number at the beginning.
        high: Number at the end.
        begin: Place of the beginning in the picture [px].
        end: Place of the end [px].
        ticks: Round numbers on it.
        step: Distance between ticks.
    """

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[float, ...]
    step: float

    def place(self, values: Any) -> Any:
        """Return where a number, or each of an array, is in the picture [px]."""
        scale = (self.end - self.begin) / (self.high - self.low)
        return self.begin + (values - self.low) * scale

    def label(self, tick: float) -> str:
        """Return a tick's number, no longer than its neighbours need."""
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{tick + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def make_axis(
    low: float,
    high: float,
    begin: float,
    end: float,
    *,
    ticks: int = 6,
    least: float = 0.0,
    margin: float = 0.0,
) -> Axis:
    """Return an axis that holds the numbers from low to high.

    Args:
        low: Least number.
        high: Greatest number.
        begin: Place of the beginning in the picture [px].
        end: Place of the end [px].
        ticks: Number of ticks, about.
        least: Least span, so that noise looks like noise.
        margin: Fraction of the span that is left free at both ends.
    """
    span = max(high - low, least, 1e-9 * max(abs(low), abs(high)), 1e-12)
    middle = 0.5 * (low + high)
    half = (0.5 + margin) * span
    # rounding must not leave the given numbers outside
    low, high = min(low, middle - half), max(high, middle + half)
    step = _round_step((high - low) / ticks)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    numbers = tuple(k * step for k in range(first, last + 1))
    return Axis(low, high, begin, end, numbers, step)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= step * 0.999)


def time_plot(chart: Chart) -> str:
    """Return a plot of lines over time.

    For scripts that show a moment in it, the drawing says which times (``data-begin``,
    ``data-end`` [s]) are where (``data-left``, ``data-right``, in its own units), and
    holds a hidden upright line of the class ``cursor`` at the left.
    """
    time = chart.time
    across = make_axis(time[0], time[-1], LEFT, WIDTH - RIGHT, ticks=7, least=1e-3)
    low, high = chart.extent or (0.0, 1.0)
    up = make_axis(low, high, HEIGHT - BOTTOM, TOP, least=chart.least, margin=0.05)
    marks = [
        titled(
            f"{event.time:.3f} s: {event.text}",
            upright(across.place(event.time), up, "event"),
        )
        for event in chart.events
        if across.low <= event.time <= across.high
    ]
    lines = []
    for line in chart.series:
        points = np.stack(envelope(time, line.values, BUCKETS), axis=1)
        lines.append(stroke(placed(points, across, up), f"line {line.style}"))
    cursor = upright(across.begin, up, "cursor", visibility="hidden")
    body = "".join([grid(across, up, "time [s]"), *marks, *lines, cursor])
    return figure(
        chart.title,
        chart.unit,
        body,
        (WIDTH, HEIGHT),
        chart.series,
        data_begin=f"{across.low:.6g}",
        data_end=f"{across.high:.6g}",
        data_left=f"{across.begin:g}",
        data_right=f"{across.end:g}",
    )


def figure(
    title: str,
    unit: str,
    body: str,
    size: tuple[float, float],
    series: Sequence[Series],
    **attributes: object,
) -> str:
    """Return a drawing with its title and legend.

    Args:
        title: What is shown.
        unit: Unit of the values.
        body: Markup of the drawing.
        size: Width and height of the drawing [px].
        series: Lines that the legend names, the first last.
        attributes: More attributes of the drawing.
    """
    named = [line for line in series if line.named]
    unit_words = f" [{unit}]" if unit else ""
    heading = element("span", element("b", text(title)), text(unit_words))
    legend = [
        element("span", element("i", class_=line.style), text(line.label))
        for line in reversed(named)
    ]
    shown = ", ".join(line.label for line in named)
    drawing = element(
        "svg",
        body,
        viewBox=f"0 0 {size[0]:g} {size[1]:g}",
        role="img",
        aria_label=f"{title}{unit_words}: {shown}",
        **attributes,
    )
    caption = element("figcaption", heading, element("span", *legend, class_="legend"))
    return element("figure", caption, drawing)


def grid(across: Axis, up: Axis, label: str) -> str:
    """Return axes: lines at round numbers, and the numbers."""
    parts = []
    for tick in across.ticks:
        x = across.place(tick)
        parts.append(upright(x, up, "grid"))
        parts.append(_words(x, up.begin + 17.0, across.label(tick), "middle"))
    for tick in up.ticks:
        y = up.place(tick)
        parts.append(_stroke(across.begin, y, across.end, y, "grid"))
        parts.append(_words(across.begin - 7.0, y + 4.0, up.label(tick), "end"))
    middle = 0.5 * (across.begin + across.end)
    parts.append(_words(middle, up.begin + 36.0, label, "middle"))
    return "".join(parts)


def upright(x: float, up: Axis, style: str, **attributes: object) -> str:
    """Return a line from the bottom to the top of a plot."""
    return _stroke(x, up.begin, x, up.end, style, **attributes)


def placed(points: Array, across: Axis, up: Axis) -> Array:
    """Return where points (..., 2) of both axes are in the picture [px], (..., 2)."""
    return np.stack([across.place(points[..., 0]), up.place(points[..., 1])], axis=-1)


def sample(label: str, style: str) -> Series:
    """Return an entry of a legend."""
    return Series(label, np.zeros(0), style)


def ring(place: Array, radius: float, style: str) -> str:
    """Return a circle around a place of the picture [px], shape (2,)."""
    x, y = np.round(place, 1).tolist()
    return element("circle", cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:g}", class_=style)


def _stroke(
    x1: float, y1: float, x2: float, y2: float, style: str, **attributes: object
) -> str:
    line = f"M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}"
    return element("path", d=line, class_=style, **attributes)


def _words(x: float, y: float, words: str, anchor: str) -> str:
    return element("text", text(words), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def ground_plot(ground: GroundMap) -> str:
    """Return a plot of all footprints, with the paths.

    Forward (x) is to the right, left (y) is up, both to the same scale.
    """
    across, up, height = _axes(*ground.bounds())
    parts = [grid(across, up, "x, forward [m]")]
    for stood in ground.footprints:
        outline = f"{path(placed(stood.polygon_in_world[:, :2], across, up))}Z"
        words = f"{stood.side} foot, {stood.start_s:.2f} to {stood.end_s:.2f} s"
        parts.append(titled(words, element("path", d=outline, class_="sole")))
    for way in ground.paths:
        points = thin_path(placed(way.points[:, :2], across, up), NEAR, MOST)
        parts.append(stroke(points, f"line {way.style}"))
        start = points[np.isfinite(points).all(axis=1)][:1]
        if not way.planned:
            parts += [ring(place, 4.0, f"dot {way.style}") for place in start]
    legend = [sample("footprints", "sole")] if ground.footprints else []
    legend += [sample(way.label, way.style) for way in ground.paths]
    title = "From above: y, left, over x (dots: start)"
    return figure(title, "m", "".join(parts), (WIDTH, height), legend)


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
