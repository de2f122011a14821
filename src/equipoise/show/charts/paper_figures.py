"""Charts as figures for papers: PNG, SVG or PDF, drawn by Matplotlib.

Nothing of Matplotlib's global state is used or changed: neither its settings nor a
window. The same charts give the same bytes. Matplotlib's own layouts take minutes for
many panels; ours is arithmetic, in millimetres.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from equipoise.atomic_file import write_bytes_atomically
from equipoise.errors import EquipoiseError, suggest
from equipoise.show.charts.chart import Chart, envelope
from equipoise.show.charts.quantities import GroundMap
from equipoise.show.palette import LIGHT, is_dashed, line_colour

FORMATS = ("png", "svg", "pdf")
DPI = 200.0
SMALLEST_MM, LARGEST_MM = 30.0, 2000.0
LOWEST_DPI, HIGHEST_DPI = 20.0, 1200.0
# What Matplotlib can hold of a picture of dots.
MOST_PIXELS = 2**16 - 1
# No dates, no versions: the same charts are the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": "equipoise"},
    "svg": {"Date": None, "Creator": "equipoise"},
    "pdf": {"CreationDate": None, "Creator": "equipoise", "Producer": "equipoise"},
}
MM_PER_INCH = 25.4
COLOURS: Any = {
    **dict.fromkeys(("axes.labelcolor", "axes.titlecolor"), LIGHT["ink"]),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), LIGHT["ink"]),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), LIGHT["soft"]),
    "legend.labelcolor": LIGHT["ink"],
    "grid.color": LIGHT["rule"],
}
# A page of two columns in most journals [mm].
WIDTH_MM = 180.0
# Axes as low as can be read well; the map from above [mm].
PANEL_MM, MAP_MM = 25.0, 45.0
# Around the axes: numbers and units at the left, a title above each [mm].
LEFT_MM, TITLE_MM, RIGHT_MM = 16.0, 6.0, 2.0
# Below the last panel, and below the map: numbers and name of an axis [mm].
FOOT_MM = 11.0
# Between axes and legend [mm].
LEGEND_GAP_MM = 2.0
# Lower and narrower axes hold nothing that can be read [mm].
LEAST_MM = 4.0
LEAST_WIDTH_MM = 15.0
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


def figure(
    charts: Sequence[Chart],
    ground: GroundMap | None = None,
    *,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Return panels below each other that share the time axis.

    Args:
        charts: Charts, a panel each, from top to bottom.
        ground: The ground from above, drawn below them.
        size: Width and height of the whole [mm]; by default as its panels need.

    Raises:
        EquipoiseError: If there is nothing to draw, or the size is impossible.
    """
    if not charts and ground is None:
        raise EquipoiseError("there is nothing to draw: no charts were given")
    width, height = size or (WIDTH_MM, default_height(len(charts), ground is not None))
    check_size(width, height)
    places = _rows(len(charts), ground is not None, height)
    with our_style():
        drawn = Figure(figsize=(width / MM_PER_INCH, height / MM_PER_INCH))
        FigureCanvasAgg(drawn)
        _draw_panels(drawn, charts)
        if ground is not None:
            _draw_map(drawn, ground)
        legend = _legend_width(drawn) * MM_PER_INCH
        for axes, (bottom, tall) in zip(drawn.axes, places, strict=True):
            across = _axes_width(width, legend)
            corner = (LEFT_MM / width, bottom / height)
            axes.set_position((*corner, across / width, tall / height))
            axes.yaxis.set_label_coords(-(LEFT_MM - 3.0) / across, 0.5)
    return drawn


def write_figure(
    path: Path | str,
    charts: Sequence[Chart],
    ground: GroundMap | None = None,
    *,
    size: tuple[float, float] | None = None,
    dpi: float = DPI,
) -> Path:
    """Write what :func:`figure` draws to a file, and return its path.

    The file ends in ``.png``, ``.svg`` or ``.pdf``; a PNG has so many dots per inch. A
    reader sees the old file or the new one, never a part.

    Raises:
        EquipoiseError: If the figure cannot be drawn or written.
    """
    check_format(path)
    return save_figure(path, figure(charts, ground, size=size), dpi)


def save_figure(path: Path | str, drawn: Figure, dpi: float = DPI) -> Path:
    """Write a figure to a file, as :func:`write_figure` does.

    Raises:
        EquipoiseError: If it cannot be written.
    """
    kind = check_format(path)
    width, height = (MM_PER_INCH * drawn.get_size_inches()).tolist()
    check_size(width, height, dpi if kind == "png" else None)
    content = io.BytesIO()
    with our_style():
        drawn.savefig(content, format=kind, dpi=dpi, metadata=METADATA[kind])
    write_bytes_atomically(path, content.getvalue())
    return Path(path)


def check_format(path: Path | str) -> str:
    """Return the format that a file's name asks for.

    Raises:
        EquipoiseError: If there is no such format.
    """
    ending = Path(path).suffix[1:].lower()
    if ending not in FORMATS:
        raise EquipoiseError(
            f"{path}: a figure cannot be written as '.{ending}'"
            f"{suggest(ending, FORMATS)}; the name must end in "
            f"{', '.join(f'.{kind}' for kind in FORMATS)}"
        )
    return ending


def check_size(width: float, height: float, dpi: float | None = None) -> None:
    """Refuse sizes [mm] that cannot be drawn.

    Raises:
        EquipoiseError: If a size is not possible; it says which, and what is.
    """
    for name, value in (("width", width), ("height", height)):
        if not SMALLEST_MM <= value <= LARGEST_MM:
            raise EquipoiseError(
                f"the {name} of a figure is {value:g} mm; it must be from "
                f"{SMALLEST_MM:g} to {LARGEST_MM:g} mm"
            )
    if dpi is None:
        return
    if not LOWEST_DPI <= dpi <= HIGHEST_DPI:
        raise EquipoiseError(
            f"{dpi:g} dots per inch; it must be from {LOWEST_DPI:g} to {HIGHEST_DPI:g}"
        )
    dots = math.ceil(max(width, height) / MM_PER_INCH * dpi)
    if dots > MOST_PIXELS:
        raise EquipoiseError(
            f"the figure would be {dots} dots high or wide; at most {MOST_PIXELS} are "
            "possible: fewer dots per inch, or fewer charts"
        )


@contextmanager
def our_style() -> Iterator[None]:
    """Set what we need of Matplotlib for a while, and nothing for anybody else."""
    with matplotlib.rc_context(), np.errstate(invalid="ignore"):
        matplotlib.rcdefaults()
        style.use("equipoise.show.charts.paper")
        matplotlib.rcParams.update(COLOURS)
        yield


def default_height(panels: int, with_map: bool) -> float:
    """Return the default height of a figure of so many panels [mm]."""
    return _around(panels, with_map) + panels * PANEL_MM + with_map * MAP_MM


def _rows(panels: int, with_map: bool, height: float) -> list[tuple[float, float]]:
    """Return lower end and height of the axes of panels and map [mm], downwards.

    Raises:
        EquipoiseError: If they do not fit into the height of the figure [mm].
    """
    scale = (height - _around(panels, with_map)) / (
        panels * PANEL_MM + with_map * MAP_MM
    )
    if scale * PANEL_MM < LEAST_MM:
        raise EquipoiseError(
            f"{panels + with_map} charts do not fit into a height of {height:g} mm; "
            f"{default_height(panels, with_map):g} mm would be good"
        )
    places = []
    top = height
    for _ in range(panels):
        top -= TITLE_MM + scale * PANEL_MM
        places.append((top, scale * PANEL_MM))
    if with_map:
        top -= (FOOT_MM if panels else 0.0) + TITLE_MM + scale * MAP_MM
        places.append((top, scale * MAP_MM))
    return places


def _axes_width(width: float, legend: float) -> float:
    """Return how wide axes are beside a legend, all in [mm].

    Raises:
        EquipoiseError: If nothing is left for them.
    """
    left = width - LEFT_MM - LEGEND_GAP_MM - legend - RIGHT_MM
    if left < LEAST_WIDTH_MM:
        raise EquipoiseError(
            f"a width of {width:g} mm leaves nothing for the lines beside their names; "
            f"{width - left + 3 * LEAST_WIDTH_MM:.0f} mm would do"
        )
    return left


def _around(panels: int, with_map: bool) -> float:
    """Return the height of all but axes [mm]."""
    return (panels + with_map) * TITLE_MM + ((panels > 0) + with_map) * FOOT_MM


def _draw_panels(drawn: Figure, charts: Sequence[Chart]) -> None:
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
                drawn, axes, [(_handle(style), label) for style, label in names[::-1]]
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


def _draw_map(drawn: Figure, ground: GroundMap) -> None:
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


def _legend_width(drawn: Figure) -> float:
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
    axes.set_ylabel(f"[{chart.unit}]" if chart.unit else "")


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
