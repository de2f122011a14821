"""What a robot survives over directions and phases of its step, drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from equipoise.arrays import Array
from equipoise.show.charts.paper_figures import MM_PER_INCH, our_style, save_figure
from equipoise.show.palette import LIGHT

# Size of a cell, of what is left of and above the cells, and between panels [mm].
CELL_MM, LEFT_MM, TOP_MM, BOTTOM_MM = (13.0, 7.0), 24.0, 6.0, 12.0
# What a panel shows: key of a cell, title.
PANELS = (
    ("survived_nspkg", "impulse survived [N s/kg]"),
    ("limit_fraction", "over J* of standing without a step"),
)
# Digits of numbers, and more where impulses are closer.
DIGITS = 2
SIDES = {0.0: "forward", 90.0: "left", 180.0: "back", 270.0: "right"}
STANDING = "standing"
# Text is light on cells that are darker than this fraction of the darkest.
DARK = 0.6


@dataclass(frozen=True)
class MapPanel:
    """A table of numbers that is coloured by them.

    Attributes:
        title: What the numbers are.
        rows: Name of each row: standing, or a phase of the step.
        columns: Name of each column, a direction.
        values: The numbers, shape (nrows, ncolumns).
        words: The same as texts, ``"≥"`` before those that are bounds.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    words: tuple[tuple[str, ...], ...]

    @property
    def shades(self) -> Array:
        """How dark each cell is, from 0 to 1, shape (nrows, ncolumns)."""
        return np.asarray(self.values / max(float(self.values.max()), 1e-9))


def push_map_panels(results: Mapping[str, Any]) -> tuple[MapPanel, ...]:
    """Return what is drawn of a map of pushes: impulses, and fractions of the limit.

    Args:
        results: ``summary.json`` of a map; the cells of its ``map`` stand phase by
            phase, all directions of each.
    """
    cells = results["map"]
    phases = list(dict.fromkeys(cell["phase"] for cell in cells))
    angles = list(dict.fromkeys(cell["direction_deg"] for cell in cells))
    shape = (len(phases), len(angles))
    panels = []
    step = results["grid"]["impulse_step"]
    digits = max(DIGITS, math.ceil(-math.log10(step) - 1e-9))
    for key, title in PANELS:
        values = np.array([cell[key] for cell in cells], dtype=np.float64)
        words = [
            f"{'≥' if cell['at_least'] else ''}{cell[key]:.{digits}f}" for cell in cells
        ]
        panels.append(
            MapPanel(
                title,
                tuple(phase_name(phase) for phase in phases),
                tuple(direction_name(angle) for angle in angles),
                values.reshape(shape),
                tuple(
                    tuple(words[k : k + shape[1]])
                    for k in range(0, len(words), shape[1])
                ),
            )
        )
    return tuple(panels)


def phase_name(phase: float | None) -> str:
    """Return a phase of the step in words."""
    return STANDING if phase is None else f"phase {phase:.3g}"


def direction_name(angle: float) -> str:
    """Return a direction [degrees] in words."""
    side = SIDES.get(angle)
    return f"{angle:.4g}°" if side is None else f"{angle:.0f}° {side}"


def write_push_map(path: Path | str, results: Mapping[str, Any]) -> Path:
    """Draw a map of pushes: directions across, standing and phases of the step down.

    Args:
        path: File to write, ``.png``, ``.svg`` or ``.pdf``.
        results: As for :func:`push_map_panels`.

    Raises:
        EquipoiseError: If the file cannot be written.
    """
    panels = push_map_panels(results)
    rows, columns = panels[0].values.shape
    wide, high = columns * CELL_MM[0], rows * CELL_MM[1]
    width = max(LEFT_MM + wide + 4.0, 90.0)
    height = 8.0 + len(panels) * (TOP_MM + high + BOTTOM_MM)
    ramp = LinearSegmentedColormap.from_list("ours", [LIGHT["paper"], LIGHT["c0"]])
    with our_style():
        drawn = Figure(figsize=(width / MM_PER_INCH, height / MM_PER_INCH))
        FigureCanvasAgg(drawn)
        drawn.text(0.5, 1.0 - 4.0 / height, _title(results), ha="center", va="center")
        for place, panel in enumerate(panels):
            above = 8.0 + place * (TOP_MM + high + BOTTOM_MM) + TOP_MM
            axes = drawn.add_axes(
                (
                    LEFT_MM / width,
                    1.0 - (above + high) / height,
                    wide / width,
                    high / height,
                )
            )
            axes.pcolormesh(panel.shades, cmap=ramp, vmin=0.0, vmax=1.0)
            axes.invert_yaxis()
            for row, column in np.ndindex(panel.values.shape):
                dark = panel.shades[row, column] > DARK
                axes.text(
                    column + 0.5,
                    row + 0.5,
                    panel.words[row][column],
                    color=LIGHT["paper" if dark else "ink"],
                    ha="center",
                    va="center",
                )
            if panel.rows[0] == STANDING:
                axes.axhline(1.0, color=LIGHT["paper"], linewidth=3.0)
            two_lines = [name.replace(" ", "\n") for name in panel.columns]
            axes.set_xticks(np.arange(columns) + 0.5, two_lines)
            axes.set_yticks(np.arange(rows) + 0.5, panel.rows)
            axes.tick_params(length=0)
            axes.set_title(panel.title)
            axes.grid(visible=False)
        return save_figure(path, drawn)


def _title(results: Mapping[str, Any]) -> str:
    seeds = results["grid"]["seeds"]
    among = "one seed" if seeds == 1 else f"{seeds} seeds"
    return f"{results['robot']}, pushes at {results['link']}, {among}"
