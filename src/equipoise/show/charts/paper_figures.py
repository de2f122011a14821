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
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.atomic_file import write_bytes_atomically
from equipoise.errors import EquipoiseError, suggest
from equipoise.show.charts.chart import Chart
from equipoise.show.charts.ground_map import GroundMap
from equipoise.show.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
        EquipoiseError: If there is nothing to draw, the size is impossible, or
            Matplotlib is not installed.
    """
    if not charts and ground is None:
        raise EquipoiseError("there is nothing to draw: no charts were given")
    width, height = size or (WIDTH_MM, default_height(len(charts), ground is not None))
    check_size(width, height)
    places = _rows(len(charts), ground is not None, height)
    with _matplotlib():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        from equipoise.show.charts.matplotlib_panels import (
            draw_map,
            draw_panels,
            legend_width,
        )

        drawn = Figure(figsize=(width / MM_PER_INCH, height / MM_PER_INCH))
        FigureCanvasAgg(drawn)
        draw_panels(drawn, charts)
        if ground is not None:
            draw_map(drawn, ground)
        legend = legend_width(drawn) * MM_PER_INCH
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
    kind = check_format(path)
    drawn = figure(charts, ground, size=size)
    width, height = (MM_PER_INCH * drawn.get_size_inches()).tolist()
    check_size(width, height, dpi if kind == "png" else None)
    content = io.BytesIO()
    with _matplotlib():
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
def _matplotlib() -> Iterator[None]:
    """Set what we need of Matplotlib for a while, and nothing for anybody else."""
    try:
        import matplotlib
    except ImportError as error:
        raise EquipoiseError(
            "figures need Matplotlib, which is not installed: pip install matplotlib"
        ) from error
    with matplotlib.rc_context(), np.errstate(invalid="ignore"):
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_settings())
        yield


def _settings() -> Any:
    ink, soft = LIGHT["ink"], LIGHT["soft"]
    inked = ("axes.label", "axes.title", "xtick.label", "ytick.label", "legend.label")
    ticks = {"labelsize": 6.5, "color": soft, "major.width": 0.6, "major.size": 2.5}
    return {
        "font.family": "DejaVu Sans",
        "font.size": 7.0,
        **{f"{name}color": ink for name in inked},
        **{f"{axis}tick.{name}": ticks[name] for axis in "xy" for name in ticks},
        "axes.titlesize": 7.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 3.0,
        "axes.labelsize": 7.0,
        "axes.edgecolor": soft,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": LIGHT["rule"],
        "grid.linewidth": 0.5,
        "lines.linewidth": 1.1,
        "lines.dash_capstyle": "butt",
        "legend.fontsize": 6.5,
        "legend.frameon": False,
        "legend.handlelength": 1.6,
        "figure.facecolor": "white",
        # names of robots and runs hold no mathematics
        "text.parse_math": False,
        # text stays text, in PDF with its font (TrueType)
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "equipoise",
    }


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
