"""Charts as figures for papers: PNG, SVG or PDF, drawn by Matplotlib.

Nothing of Matplotlib's global state is used or changed: neither its settings nor a
window. The same charts give the same bytes.
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
from equipoise.show.charts.figure_layout import (
    LEFT_MM,
    MM_PER_INCH,
    WIDTH_MM,
    axes_width,
    default_height,
    rows,
)
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


def figure(
    charts: Sequence[Chart],
    ground: GroundMap | None = None,
    *,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Return panels below each other that share the time axis.

    Args:
        charts: A panel each, from top to bottom.
        ground: Drawn below them, if given.
        size: Width and height of the whole [mm]; as much as is good unless given.

    Raises:
        EquipoiseError: If there is nothing to draw, the size is impossible, or
            Matplotlib is not installed.
    """
    if not charts and ground is None:
        raise EquipoiseError("there is nothing to draw: no charts were given")
    width, height = size or (WIDTH_MM, default_height(len(charts), ground is not None))
    check_size(width, height)
    places = rows(len(charts), ground is not None, height)
    with _matplotlib():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        from equipoise.show.charts.panels import draw_map, draw_panels, legend_width

        drawn = Figure(figsize=(width / MM_PER_INCH, height / MM_PER_INCH))
        FigureCanvasAgg(drawn)
        draw_panels(drawn, charts)
        if ground is not None:
            draw_map(drawn, ground)
        legend = legend_width(drawn) * MM_PER_INCH
        for axes, place in zip(drawn.axes, places, strict=True):
            across = axes_width(width, legend)
            box = (LEFT_MM / width, place.bottom / height)
            axes.set_position((*box, across / width, place.height / height))
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
    """Write a figure; a reader sees the old file or the new one, never a part.

    Args:
        path: Ends in ``.png``, ``.svg`` or ``.pdf``. An old file is replaced.
        charts: A panel each, from top to bottom.
        ground: Drawn below them, if given.
        size: Width and height of the whole [mm]; as much as is good unless given.
        dpi: Dots per inch of a PNG.

    Returns:
        The path.

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
        EquipoiseError: Which figure is at fault, and what is possible.
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
    return {
        "font.family": "DejaVu Sans",
        "font.size": 7.0,
        "axes.titlesize": 7.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 3.0,
        "axes.labelsize": 7.0,
        "axes.labelcolor": ink,
        "axes.titlecolor": ink,
        "axes.edgecolor": soft,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": LIGHT["rule"],
        "grid.linewidth": 0.5,
        "xtick.labelsize": 6.5,
        "ytick.labelsize": 6.5,
        "xtick.color": soft,
        "ytick.color": soft,
        "xtick.labelcolor": ink,
        "ytick.labelcolor": ink,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "lines.linewidth": 1.1,
        "lines.dash_capstyle": "butt",
        "legend.fontsize": 6.5,
        "legend.frameon": False,
        "legend.handlelength": 1.6,
        "legend.labelcolor": ink,
        "figure.facecolor": "white",
        # names of robots and runs hold no mathematics
        "text.parse_math": False,
        # text stays text, in PDF with its font (TrueType)
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "equipoise",
    }
