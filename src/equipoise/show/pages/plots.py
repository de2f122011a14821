"""Numbers over time as a drawing: SVG by hand, no library, no script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Array
from equipoise.show.charts.chart import Chart, Series
from equipoise.show.charts.thinning import envelope
from equipoise.show.pages.axes import Axis, make_axis
from equipoise.show.pages.markup import element, path, text

WIDTH, HEIGHT = 480.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 12.0, 8.0, 42.0
# Spans of time whose extremes are drawn: more would be closer than pixels.
BUCKETS = 280


def time_plot(chart: Chart) -> str:
    """Return a figure with lines over time.

    For scripts that show a moment in it, the drawing says which times (``data-begin``,
    ``data-end`` [s]) are where (``data-left``, ``data-right``, in its own units), and
    holds a hidden upright line of the class ``cursor`` at the left.
    """
    time = chart.time
    across = make_axis(time[0], time[-1], LEFT, WIDTH - RIGHT, ticks=7, least=1e-3)
    values = np.concatenate([line.values for line in chart.series])
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    up = make_axis(
        float(low), float(high), HEIGHT - BOTTOM, TOP, least=chart.least, room=0.05
    )
    marks = [
        element(
            "g",
            element("title", text(f"{event.time:.3f} s: {event.text}")),
            upright(across.place(event.time), up, "event"),
        )
        for event in chart.events
        if across.low <= event.time <= across.high
    ]
    lines = [
        element(
            "path", d=_line(time, line.values, across, up), class_=f"line {line.style}"
        )
        for line in chart.series
    ]
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
        unit: Of the values.
        body: Markup of the drawing.
        size: Width and height of the drawing [px].
        series: Lines that the legend names, the first last.
        attributes: More of the drawing.
    """
    named = [line for line in series if line.named]
    heading = element("b", text(title)) + (f" [{text(unit)}]" if unit else "")
    heading = element("span", heading)
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
        aria_label=f"{title} [{unit}]: {shown}" if unit else f"{title}: {shown}",
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


def _line(time: Array, values: Array, across: Axis, up: Axis) -> str:
    kept_time, kept = envelope(time, values, BUCKETS)
    x = across.begin + (kept_time - across.low) * (
        (across.end - across.begin) / (across.high - across.low)
    )
    y = up.begin + (kept - up.low) * ((up.end - up.begin) / (up.high - up.low))
    return path(np.stack([x, y], axis=1))


def _stroke(
    x1: float, y1: float, x2: float, y2: float, style: str, **attributes: object
) -> str:
    line = f"M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}"
    return element("path", d=line, class_=style, **attributes)


def _words(x: float, y: float, words: str, anchor: str) -> str:
    return element("text", text(words), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
