"""Runs of a study sorted into cells: levels or ranges of a parameter, and fractions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from equipoise.arrays import Array

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Cells:
    """Levels or ranges of a parameter, in order, and in which of them each run is.

    Attributes:
        names: What each is, in words.
        low: Lower ends, shape (ncells,); NaN for texts.
        high: Upper ends, shape (ncells,): the same for levels.
        index: Cell of each run, −1 where it has no value, shape (nruns,).
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    index: NDArray[np.intp]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.names)

    @property
    def middle(self) -> Array:
        """Middle of each cell, shape (ncells,)."""
        return np.asarray(0.5 * (self.low + self.high))


def cells_of(column: NDArray[Any], most: int) -> Cells:
    """Return the cells of a parameter's column.

    Args:
        column: Values, shape (nruns,): numbers, NaN where one is missing, or texts.
        most: Most cells. If there are not more different values, each is a cell; else
            cells are ranges with equally many runs.
    """
    if column.dtype == object:
        known = np.array([value is not None for value in column], dtype=np.bool_)
        levels, index = np.unique(column[known].astype(str), return_inverse=True)
        nowhere = np.full(len(levels), np.nan)
        names = tuple(map(str, levels))
        return Cells(names, nowhere, nowhere, _spread(known, index))
    known = np.isfinite(column)
    levels, index = np.unique(column[known], return_inverse=True)
    if len(levels) <= most:
        names = tuple(map(number_words, levels))
        return Cells(names, levels, levels, _spread(known, index))
    edges = np.unique(np.quantile(column[known], np.linspace(0.0, 1.0, most + 1)))
    index = np.searchsorted(edges[1:-1], column[known], side="right")
    low, high = edges[:-1], edges[1:]
    names = tuple(
        f"{number_words(a)} to {number_words(b)}"
        for a, b in zip(low, high, strict=True)
    )
    return Cells(names, low, high, _spread(known, index))


def _spread(known: NDArray[np.bool_], index: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return indices for all rows, −1 where nothing is known."""
    every = np.full(len(known), -1, dtype=np.intp)
    every[known] = index
    return every


def number_words(value: float) -> str:
    """Return a number with three digits."""
    return f"{value + 0.0:.3g}".replace("-", "\N{MINUS SIGN}")


def fraction_interval(successes: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a fraction, of ``count`` > 0 runs."""
    found = binomtest(successes, count).proportion_ci(CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)
