"""Panels of a figure: lines over time, and the ground from above, by Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from equipoise.show.charts.chart import Chart, envelope
from equipoise.show.charts.ground_map import GroundMap
from equipoise.show.charts.paper_figures import LEGEND_GAP_MM, MM_PER_INCH
from equipoise.show.palette import LIGHT, is_dashed, line_colour

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Spans of time whose extremes are drawn: more are closer than a printer's dots.
BUCKETS = 2000
DASHES = (4.0, 2.0)
# Dashed lines are thinner, so that what they lie over is seen [pt].
DASHED_WIDTH = 0.9
# Labels of events that are nearer than this fraction of the axis would overlap.
LABELS_APART = 0.08
# A time axis that begins before this fraction of its end begins with 0.
NEARLY_ZERO = 0.02
# Numbers on axes are these, times powers of ten.
ROUND = (1, 2, 2.5, 5, 10)
# Margin above and below the lines, as a fraction of their span; around the map [m].
MARGIN, MAP_MARGIN = 0.06, 0.03
LONGEST_LABEL, LONGEST_TITLE = 28, 90


def draw_panels(drawn: Figure, charts: Sequence[Chart]) -> None:
    """Add axes for each chart; the last have the numbers of the time axis."""
    first: Axes | None = None
    said: list[tuple[str, str]] = []
    for row, chart in enumerate(charts):
        axes = drawn.add_subplot(sharex=first)
        first = first or axes
        _draw(axes, chart)
        names = [(line.style, line.label) for line in chart.series if line.named]
        if names != said:  # the same as above goes without saying
            _legend(
                drawn,
                axes,
                [(_handle(style), label) for style, label in names[::-1]],
            )
        said = names
        if row < len(charts) - 1:
            axes.tick_params(axis="x", labelbottom=False, length=0.0)
        else:
            axes.set_xlabel("time [s]")
    if first is not None:
        begin = min(float(chart.time[0]) for chart in charts)
        end = max(float(chart.time[-1]) for chart in charts)
        if begin < NEARLY_ZERO * end:  # the first row is one period after the start
            begin = 0.0
        first.set_xlim(begin, max(end, begin + 1e-3))
        _name_events(first, charts[0])


def draw_map(drawn: Figure, ground: GroundMap) -> None:
    """Add axes with footprints and paths, both to the same scale."""
    axes = drawn.add_subplot()
    for footprint in ground.footprints:
        corners = footprint.polygon_in_world[:, :2]
        axes.add_patch(
            Polygon(
                corners,
                facecolor=LIGHT["fill"],
                edgecolor=LIGHT["soft"],
                linewidth=0.6,
                zorder=1.5,
            )
        )
    for path in ground.paths:
        points = path.points
        axes.plot(points[:, 0], points[:, 1], label=path.label, **_look(path.style))
        start = points[np.isfinite(points[:, :2]).all(axis=1)][:1]
        if not path.planned:
            colour = line_colour(path.style)
            axes.plot(start[:, 0], start[:, 1], ".", color=colour, markersize=5.0)
    low, high = ground.bounds()
    axes.set_xlim(low[0] - MAP_MARGIN, high[0] + MAP_MARGIN)
    axes.set_ylim(low[1] - MAP_MARGIN, high[1] + MAP_MARGIN)
    axes.set_aspect("equal", anchor="W")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
    axes.set_title("From above (dots: start)")
    axes.set_xlabel("x, forward [m]")
    axes.set_ylabel("y, left [m]")
    soles = Patch(facecolor=LIGHT["fill"], edgecolor=LIGHT["soft"], linewidth=0.6)
    entries: list[tuple[Artist, str]] = [
        (_handle(path.style), path.label) for path in reversed(ground.paths)
    ]
    if ground.footprints:
        entries.append((soles, "footprints"))
    _legend(drawn, axes, entries)


def legend_width(drawn: Figure) -> float:
    """Return the width of the widest legend [inch]."""
    legends = [axes.get_legend() for axes in drawn.axes]
    dots = [
        legend.get_window_extent().width for legend in legends if legend is not None
    ]
    return float(max(dots, default=0.0)) / drawn.dpi


def _draw(axes: Axes, chart: Chart) -> None:
    for line in chart.series:
        time, values = envelope(chart.time, line.values, BUCKETS)
        axes.plot(time, values, **_look(line.style))
    for event in chart.events:
        axes.axvline(
            event.time, color=LIGHT["soft"], linewidth=0.7, linestyle=(0, (1.0, 1.6))
        )
    low, high = chart.extent or (0.0, 1.0)
    half = (0.5 + MARGIN) * max(high - low, chart.least, 1e-12)
    middle = 0.5 * (low + high)
    axes.set_ylim(middle - half, middle + half)
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=ROUND))
    axes.set_title(_plain(chart.title, LONGEST_TITLE))
    axes.set_ylabel(f"[{chart.unit}]")


def _legend(drawn: Figure, axes: Axes, entries: Sequence[tuple[Artist, str]]) -> None:
    """Put names beside the panel, where they cover no line."""
    inches = drawn.dpi_scale_trans
    beside = ScaledTranslation(LEGEND_GAP_MM / MM_PER_INCH, 0.0, inches)
    axes.legend(
        [handle for handle, _ in entries],
        [_plain(label, LONGEST_LABEL) for _, label in entries],
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        bbox_transform=axes.transAxes + beside,
        borderaxespad=0.0,
        borderpad=0.0,
        labelspacing=0.35,
    )


def _name_events(axes: Axes, chart: Chart) -> None:
    """Write events beside their lines, in the first panel, where there is space."""
    begin, end = axes.get_xlim()
    last = -np.inf
    for event in chart.events:
        place = (event.time - begin) / (end - begin)
        if not 0.0 <= place <= 1.0 or place - last < LABELS_APART:
            continue
        last = place
        left = place > 0.85
        axes.annotate(
            _plain(event.text, LONGEST_LABEL),
            (event.time, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-2.0 if left else 2.0, -1.0),
            textcoords="offset points",
            horizontalalignment="right" if left else "left",
            verticalalignment="top",
            fontsize=6.0,
            color=LIGHT["soft"],
        )


def _look(style: str) -> dict[str, Any]:
    look: dict[str, Any] = {"color": line_colour(style)}
    if is_dashed(style):
        # over the line that follows it, where it would else be hidden
        look |= {"linestyle": (0, DASHES), "linewidth": DASHED_WIDTH, "zorder": 2.5}
    return look


def _handle(style: str) -> Line2D:
    return Line2D([], [], **_look(style))


def _plain(label: str, most: int) -> str:
    """Return a text without what cannot be printed, cut to so many letters."""
    words = "".join(c if c.isprintable() else " " for c in label)
    return words if len(words) <= most else f"{words[: most - 1]}…"
