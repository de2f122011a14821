"""Where each sole is pressed: its centre of pressure between its edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.log.run import Run
from equipoise.show.charts.chart import Chart, Series
from equipoise.show.space.footprints import centre_of_pressure_in_sole

MM = 1e3
LEAST_MM = 1.0
COLOURS = {"left": "c0", "right": "c1"}
# Soles whose edges differ by less than this share them in the chart [m].
SAME_EDGE = 1e-3


def sole_charts(run: Run, joints: Sequence[str] | None = None) -> list[Chart]:
    """Return the centres of pressure along and across the soles, and their edges."""
    made = []
    for axis, name in enumerate(("x, to the toes", "y, to the left")):
        series = [*_edges(run, axis)]
        for side in run.foot_wrench:
            pressed = MM * centre_of_pressure_in_sole(run, side)[:, axis]
            series.append(Series(f"{side} sole", pressed, COLOURS[side]))
        title = f"ZMP in the sole, {name}"
        key = f"sole-{name[0]}"
        made.append(
            Chart(key, title, "mm", run.time, tuple(series), LEAST_MM, run.events)
        )
    return made


def _edges(run: Run, axis: int) -> list[Series]:
    """Return lines at both ends of each sole; one pair if the soles are alike."""
    soles = {side: run.robot.soles[side].polygon_in_sole for side in run.foot_wrench}
    ends = {
        side: np.array([corners[:, axis].min(), corners[:, axis].max()])
        for side, corners in soles.items()
    }
    sides = list(ends)
    alike = all(np.abs(ends[s] - ends[sides[0]]).max() < SAME_EDGE for s in sides)
    ones = np.full(len(run.time), MM)
    if alike:
        low, high = ends[sides[0]]
        return [
            Series("edges", low * ones, "reference", named=False),
            Series("edges", high * ones, "reference"),
        ]
    return [
        Series(f"edge of the {side} sole", end * ones, f"{COLOURS[side]} dashed", False)
        for side in sides
        for end in ends[side]
    ]
