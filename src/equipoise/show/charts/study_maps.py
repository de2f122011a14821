"""Robustness of a study as plain data: maps over two parameters, curves over one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.study.cells import Cells, cells_of, fraction_interval
from equipoise.study.outcomes import Outcome
from equipoise.study.parameters import Parameter
from equipoise.study.sensitivity import outcome_words
from equipoise.study.table import StudyTable

# Most cells of a map along each side, and of a curve.
MOST_CELLS, MOST_POINTS = 9, 16
# Fewest runs a cell has on average, before cells become larger.
RUNS_PER_CELL = 8
# 95 % of a normal distribution are within so many standard deviations.
NORMAL = 1.96


@dataclass(frozen=True, eq=False)
class StudyMap:
    """An outcome over two parameters.

    Attributes:
        title: What is shown.
        unit: Unit of the values, ``"%"`` for fractions of runs.
        across: Parameter along the horizontal axis.
        up: Parameter along the vertical axis, its smallest value at the bottom.
        columns: Cells of ``across``.
        rows: Cells of ``up``.
        values: Mean of the outcome in each cell, NaN where there is no run; fractions
            from 0 to 1. Shape (nrows, ncolumns).
        counts: Number of runs in each cell, shape (nrows, ncolumns).
    """

    title: str
    unit: str
    across: Parameter
    up: Parameter
    columns: Cells
    rows: Cells
    values: Array
    counts: NDArray[np.intp]

    @property
    def shades(self) -> Array:
        """How dark each cell is, from 0 to 1; fractions as they are."""
        if self.unit == "%":
            return np.nan_to_num(self.values)
        low, high = np.nanmin(self.values), np.nanmax(self.values)
        return np.nan_to_num((self.values - low) / max(high - low, 1e-300))


@dataclass(frozen=True, eq=False)
class StudyCurve:
    """An outcome over one parameter, with 95 % intervals.

    Attributes:
        title: What is shown.
        unit: Unit of the values, ``"%"`` for fractions of runs.
        parameter: Parameter along the horizontal axis.
        cells: Its cells, those with runs.
        values: Mean of the outcome in each cell, shape (ncells,).
        lower: Lower ends of the intervals: Wilson's for fractions, else those of means.
        upper: Upper ends of the intervals.
        counts: Number of runs in each cell.
    """

    title: str
    unit: str
    parameter: Parameter
    cells: Cells
    values: Array
    lower: Array
    upper: Array
    counts: NDArray[np.intp]


def study_maps(
    table: StudyTable, outcome: str, parameters: Sequence[str]
) -> tuple[StudyMap, ...]:
    """Return maps of an outcome over all pairs of some parameters.

    Args:
        table: The study's table.
        outcome: Name of an outcome that is a number or a truth value.
        parameters: Names of parameters; those with a single value have no maps.

    Raises:
        EquipoiseError: If the study has no such outcome or parameter.
    """
    measured = _outcome(table, outcome)
    values = table.columns[outcome]
    known = np.isfinite(values)
    side = int(max(known.sum() / RUNS_PER_CELL, 4) ** 0.5)
    most = min(max(side, 2), MOST_CELLS)
    sorted_ = {
        name: cells_of(table.columns[_parameter(table, name).name][known], most)
        for name in parameters
    }
    wide = [name for name in parameters if len(sorted_[name]) > 1]
    made = []
    for first, second in combinations(wide, 2):
        columns, rows = sorted_[first], sorted_[second]
        if len(rows) > len(columns):
            first, second, columns, rows = second, first, rows, columns
        shape = len(rows), len(columns)
        place = np.ravel_multi_index((rows.index, columns.index), shape)
        counts, means, _ = _moments(place, len(rows) * len(columns), values[known])
        made.append(
            StudyMap(
                _title(measured),
                _unit(measured),
                _parameter(table, first),
                _parameter(table, second),
                columns,
                rows,
                means.reshape(shape),
                counts.reshape(shape),
            )
        )
    return tuple(made)


def study_curves(
    table: StudyTable, outcome: str, parameters: Sequence[str]
) -> tuple[StudyCurve, ...]:
    """Return curves of an outcome over some parameters, one each.

    Args:
        table: The study's table.
        outcome: Name of an outcome that is a number or a truth value.
        parameters: Names of parameters; those with a single value have no curve.

    Raises:
        EquipoiseError: If the study has no such outcome or parameter.
    """
    measured = _outcome(table, outcome)
    values = table.columns[outcome]
    known = np.isfinite(values)
    most = min(max(int(known.sum()) // RUNS_PER_CELL, 2), MOST_POINTS)
    made = []
    for name in parameters:
        own = _parameter(table, name)
        cells = cells_of(table.columns[name][known], most)
        if len(cells) < 2:
            continue
        counts, means, spread = _moments(cells.index, len(cells), values[known])
        if measured.type == "bool":
            ends = np.array(
                [
                    fraction_interval(round(mean * count), count)
                    for mean, count in zip(means, counts.tolist(), strict=True)
                ]
            )
        else:
            half = NORMAL * spread / np.sqrt(counts)
            ends = np.stack([means - half, means + half], axis=1)
        made.append(
            StudyCurve(
                _title(measured),
                _unit(measured),
                own,
                cells,
                means,
                ends[:, 0],
                ends[:, 1],
                counts,
            )
        )
    return tuple(made)


def _moments(
    place: NDArray[np.intp], cells: int, values: Array
) -> tuple[NDArray[np.intp], Array, Array]:
    """Return count, mean and standard deviation of the values in each cell.

    Means of empty cells are NaN; standard deviations of single values are zero.
    """
    counts = np.bincount(place, minlength=cells)
    full = np.maximum(counts, 1)
    means = np.bincount(place, weights=values, minlength=cells) / full
    squares = np.bincount(place, (values - means[place]) ** 2, minlength=cells)
    spread = np.sqrt(squares / np.maximum(counts - 1, 1))
    return counts, np.where(counts > 0, means, np.nan), spread


def _outcome(table: StudyTable, name: str) -> Outcome:
    found = {own.name: own for own in table.outcomes if own.type != "str"}
    if name not in found:
        raise EquipoiseError(
            f"'{name}' is not an outcome to be drawn; choose from {', '.join(found)}"
        )
    return found[name]


def _parameter(table: StudyTable, name: str) -> Parameter:
    found = {own.name: own for own in table.parameters}
    if name not in found:
        raise EquipoiseError(f"'{name}' was not varied; choose from {', '.join(found)}")
    return found[name]


def _title(outcome: Outcome) -> str:
    if outcome.type == "bool":
        return outcome.name.capitalize().replace("_", " ")
    words = outcome_words(outcome.name)
    return f"{words[:1].upper()}{words[1:]}, mean of the runs"


def _unit(outcome: Outcome) -> str:
    return "%" if outcome.type == "bool" else outcome.unit
