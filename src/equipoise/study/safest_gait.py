"""The safest gait that a study found: where in its gaits most robots stayed up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from equipoise.study.cells import cells_of, fraction_interval, number_words
from equipoise.study.outcomes import SURVIVED
from equipoise.study.table import StudyTable
from equipoise.study.true_world import GAIT

ERRORS = ("com_error_from_stance_m.", "com_error_m.")
# Gaits are sorted into cells of about so many runs, at most so many a parameter.
RUNS_PER_CELL, MOST_RANGES = 20, 8
# A grid's levels are cells, if there are not more.
MOST_LEVELS = 64


@dataclass(frozen=True)
class GaitRange:
    """A parameter of a gait, from ``low`` to ``high``; the same for a level."""

    name: str
    unit: str
    low: float
    high: float


@dataclass(frozen=True)
class SafestGait:
    """The gaits of which most runs survived; among equals, the most accurate.

    Attributes:
        gait: Range of each parameter of the gait.
        runs: Number of runs with it.
        survived: How many of them survived.
        interval: Wilson's 95 % interval of the fraction that survives.
        com_error: Name of the CoM error, or None.
        com_error_m: Its mean over those runs [m], or None.
        sentence: The same in words.
    """

    gait: tuple[GaitRange, ...]
    runs: int
    survived: int
    interval: tuple[float, float]
    com_error: str | None
    com_error_m: float | None
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def safest_gait(table: StudyTable) -> SafestGait | None:
    """Return the safest gait; None if a study varies no gait or measures no falls.

    Cells of less than half as many runs as there are on average are left out: what
    survives in them may be chance.
    """
    varied = [own for own in table.parameters if own.name.startswith(GAIT)]
    survived = table.columns.get(SURVIVED)
    if not varied or survived is None or not np.isfinite(survived).any():
        return None
    rows = np.isfinite(survived)
    ranges = int((rows.sum() / RUNS_PER_CELL) ** (1.0 / len(varied)))
    ranges = min(max(ranges, 2), MOST_RANGES)
    cells = []
    for own in varied:
        column = table.columns[own.name][rows]
        levels = len(np.unique(column))
        repeated = levels <= min(MOST_LEVELS, len(column) // 2)
        cells.append(cells_of(column, levels if repeated else ranges))
    shape = tuple(map(len, cells))
    place = np.ravel_multi_index([own.index for own in cells], shape)
    used, place = np.unique(place, return_inverse=True)
    count = np.bincount(place)
    alive = np.bincount(place, weights=survived[rows])
    name = _com_error(table)
    error = np.zeros(len(used))
    if name is not None:
        error = _means(table.columns[name][rows], place, len(used))
    fraction = np.where(count >= 0.5 * count.mean(), alive / count, -1.0)
    # most survived first, then the smallest error, then the most runs
    best = int(np.lexsort((-count, error, -fraction))[0])
    at = np.unravel_index(int(used[best]), shape)
    gait = tuple(
        GaitRange(own.name, own.unit, float(cell.low[k]), float(cell.high[k]))
        for own, cell, k in zip(varied, cells, at, strict=True)
    )
    total, lived = int(count[best]), int(alive[best])
    interval = fraction_interval(lived, total)
    mean = float(error[best]) if name is not None and np.isfinite(error[best]) else None
    words = (
        f"The safest gait found has {', '.join(map(_range_words, gait))}: {lived} of "
        f"{total} runs survived (95 % interval {100 * interval[0]:.0f} to "
        f"{100 * interval[1]:.0f} %)"
    )
    if mean is not None:
        words += f", with a CoM error of {1e3 * mean:.3g} mm ({name}, mean)"
    return SafestGait(gait, total, lived, interval, name, mean, f"{words}.")


def _com_error(table: StudyTable) -> str | None:
    """Return the outcome that says how far the CoM was from its plan."""
    names = [own.name for own in table.outcomes]
    found = [name for error in ERRORS for name in names if name.startswith(error)]
    return found[0] if found else None


def _means(values: Any, place: Any, cells: int) -> Any:
    """Return the mean of the known values in each cell; infinite where are none."""
    known = np.isfinite(values)
    count = np.bincount(place[known], minlength=cells)
    total = np.bincount(place[known], weights=values[known], minlength=cells)
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)


def _range_words(own: GaitRange) -> str:
    words = number_words(own.low)
    if own.high > own.low:
        words += f" to {number_words(own.high)}"
    return f"{own.name} {words} {own.unit}".rstrip()
