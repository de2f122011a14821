"""Impulses over the directions in which a robot is pushed, drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from equipoise.show.charts.paper_figures import MM_PER_INCH, our_style, save_figure
from equipoise.show.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.projections.polar import PolarAxes

WIDTH_MM, HEIGHT_MM = 120.0, 105.0
# Labels and styles of what is drawn: key of the impulse, label, colour, marker.
SERIES = (
    ("impulse_ns", "survived", "c0", "o"),
    ("open_loop_ns", "without feedback", "c1", "s"),
)


def push_series(
    results: Mapping[str, Any],
) -> list[tuple[str, str, str, list[tuple[float, float]]]]:
    """Return what is drawn of pushes: label, colour, marker, directions and impulses.

    Args:
        results: ``summary.json`` of pushes in several directions; its ``directions``
            hold ``direction_deg``, ``impulse_ns``, whether the robot ``stands``, and
            ``open_loop_ns`` where there is one.

    Returns:
        Label, colour, marker, and pairs of direction [degrees] and impulse [N s].
        Limits go around in order; single pushes are those survived, and the others.
    """
    rows: Sequence[Mapping[str, Any]] = results["directions"]
    if results["find_limit"]:
        return [
            (label, colour, mark, _pairs(rows, key))
            for key, label, colour, mark in SERIES
            if rows and key in rows[0]
        ]
    stood = [row for row in rows if row["stands"]]
    others = [row for row in rows if not row["stands"]]
    return [
        (label, colour, mark, _pairs(which, "impulse_ns"))
        for label, colour, mark, which in (
            ("stands afterwards", "c0", "o", stood),
            ("does not", "c1", "X", others),
        )
        if which
    ]


def _pairs(rows: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    return sorted((row["direction_deg"] % 360.0, row[key]) for row in rows)


def write_push_polar(path: Path | str, results: Mapping[str, Any]) -> Path:
    """Draw impulses over directions, with the theoretical limit as a curve.

    Forward is to the right, left is up.

    Args:
        path: File to write, ``.png``, ``.svg`` or ``.pdf``.
        results: As for :func:`push_series`, with the curve of J* (``theoretical``:
            pairs of direction [degrees] and impulse [N s]).

    Raises:
        EquipoiseError: If the file cannot be written.
    """
    with our_style():
        drawn = Figure(figsize=(WIDTH_MM / MM_PER_INCH, HEIGHT_MM / MM_PER_INCH))
        FigureCanvasAgg(drawn)
        where = (0.08, 0.08, 0.62, 0.80)
        axes = cast("PolarAxes", drawn.add_axes(where, projection="polar"))
        curve = results["theoretical"]
        axes.plot(
            [math.radians(angle) for angle, _ in curve],
            [impulse for _, impulse in curve],
            color=LIGHT["soft"],
            label="theoretical limit J*",
        )
        for label, colour, mark, pairs in push_series(results):
            # limits that go all the way around are joined
            joined = results["find_limit"] and len(pairs) > 2
            closed = [*pairs, pairs[0]] if joined else pairs
            axes.plot(
                [math.radians(angle) for angle, _ in closed],
                [impulse for _, impulse in closed],
                color=LIGHT[colour],
                marker=mark,
                markersize=4,
                linestyle="-" if joined else "none",
                label=label,
            )
        axes.set_rlabel_position(22.5)
        axes.set_title(f"{results['robot']}: impulse [N s] over direction", pad=14)
        axes.legend(loc="upper left", bbox_to_anchor=(1.08, 1.0))
        return save_figure(path, drawn)
