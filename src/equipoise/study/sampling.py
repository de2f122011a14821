"""Which points of the parameters' space are run: a table, a row for each run.

Every method is reproducible by its seed and addressable by the number of a run, so that
an interrupted study goes on with the same points, and no table of all of them is kept
(but for Latin hypercubes, which are permutations of all runs).

The design for Sobol indices is Saltelli's [Saltelli2010]: with k parameters, a base
sample of a scrambled Sobol sequence in 2 k dimensions has a row of A and one of B, and
is run k + 2 times, one after the other: A, B, and A with its i-th parameter from B for
each i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, suggest
from equipoise.study.parameters import Parameter, checked_value, finite_number
from equipoise.study.store import Value

Method = Literal["grid", "random", "latin-hypercube", "sobol", "posterior"]
METHODS: tuple[Method, ...] = get_args(Method)
Kind = Literal["uniform", "log-uniform", "normal", "choice"]
SPREAD_KEYS = ("distribution", "from", "to", "mean", "std", "values", "points")
# More runs than these are refused; of Latin hypercubes, which lie in memory, as well.
MOST_RUNS, MOST_IN_HYPERCUBE = 10**9, 10**6
# Points of a Sobol sequence are drawn so many at a time, a power of two.
BLOCK = 256
# Probabilities stay this far from 0 and 1, where a normal distribution is infinite.
EDGE = 2.0**-53


@dataclass(frozen=True)
class Distribution:
    """How a parameter is spread.

    Attributes:
        kind: ``"uniform"`` and ``"log-uniform"`` from ``low`` to ``high``, ``"normal"``
            with mean ``low`` and standard deviation ``high``, or one of ``values``.
        low: Lower end, or mean.
        high: Upper end, or standard deviation.
        values: What there is to choose from.
        points: Number of levels in a grid, equally spaced from end to end.
        whole: Whether values are whole numbers, both ends included.
    """

    kind: Kind
    low: float = 0.0
    high: float = 0.0
    values: tuple[Value, ...] = ()
    points: int | None = None
    whole: bool = False

    def quantile(self, probability: float) -> Value:
        """Return the value below which a part of the distribution lies.

        Args:
            probability: From 0 to less than 1.
        """
        match self.kind:
            case "choice":
                return self.values[int(probability * len(self.values))]
            case "normal":
                inside = min(max(probability, EDGE), 1.0 - EDGE)
                value = self.low + self.high * float(ndtri(inside))
                return round(value) if self.whole else value
            case "log-uniform":
                ratio = self.high / self.low
                value = self.low * float(ratio**probability)
                return round(value) if self.whole else value
            case _:
                if self.whole:
                    size = int(self.high) - int(self.low) + 1
                    return int(self.low) + int(probability * size)
                return self.low + (self.high - self.low) * probability

    @cached_property
    def levels(self) -> tuple[Value, ...]:
        """The values of a grid.

        Raises:
            EquipoiseError: If it is not said how many there are.
        """
        if self.kind == "choice":
            return self.values
        if self.kind == "normal":
            raise EquipoiseError(
                "a normal distribution has no levels: give values, or from and to"
            )
        if self.whole and self.points is None:
            return tuple(range(int(self.low), int(self.high) + 1))
        if self.points is None:
            raise EquipoiseError("a grid needs points, the number of its levels")
        if self.kind == "log-uniform":
            found = np.geomspace(self.low, self.high, self.points)
        else:
            found = np.linspace(self.low, self.high, self.points)
        if self.whole:
            return tuple(dict.fromkeys(int(value) for value in np.rint(found)))
        # what is meant by 0.1 … 0.5 is 0.3, not 0.30000000000000004
        return tuple(float(f"{value:.12g}") for value in found)


def read_distribution(own: Parameter, value: Any, where: str) -> Distribution:
    """Return how a parameter is spread, from a study's file.

    Args:
        own: The parameter.
        value: A list of values, or a table: ``from`` and ``to``, ``mean`` and ``std``,
            or ``values``, with ``distribution`` and ``points``.
        where: Names file and parameter.

    Raises:
        EquipoiseError: If the range is empty, or something else is wrong.
    """
    if isinstance(value, list):
        value = {"values": value}
    if not isinstance(value, Mapping):
        raise EquipoiseError(
            f"{where} is {value!r}; a range is needed, {{ from = …, to = … }}, or a "
            "list of values (a constant stands in [run])"
        )
    for key in value:
        if key not in SPREAD_KEYS:
            raise EquipoiseError(
                f"{where}: there is no '{key}'{suggest(key, SPREAD_KEYS)}; known are: "
                f"{', '.join(SPREAD_KEYS)}"
            )
    usual = "choice" if "values" in value else "normal" if "mean" in value else None
    kind: Kind = value.get("distribution", usual or "uniform")
    if kind not in get_args(Kind):
        raise EquipoiseError(
            f"{where}: no distribution '{kind}'{suggest(str(kind), get_args(Kind))}; "
            f"choose from {', '.join(get_args(Kind))}"
        )
    whole, points = own.kind == "whole", value.get("points")
    if points is not None and not (type(points) is int and points >= 1):
        raise EquipoiseError(f"{where}: points is {points!r}; it must be 1 or more")
    if kind == "choice":
        values = value.get("values")
        if not isinstance(values, list) or not values:
            raise EquipoiseError(f"{where}: its range is empty: no values")
        checked = tuple(checked_value(own, item, where) for item in values)
        if len(set(checked)) < len(checked):
            raise EquipoiseError(f"{where}: a value is there twice")
        return Distribution("choice", values=checked)
    if own.kind == "text":
        raise EquipoiseError(f"{where} is a text: give a list of values")
    names = ("mean", "std") if kind == "normal" else ("from", "to")
    for name in names:
        if name not in value:
            raise EquipoiseError(f"{where}: '{name}' is missing")
    if kind == "normal":
        mean = float(checked_value(own, value["mean"], where) or 0.0)
        std = finite_number(value["std"], f"{where}: std")
        if std <= 0.0:
            raise EquipoiseError(f"{where}: its range is empty: std is {std:g}")
        return Distribution(kind, mean, std, whole=whole)
    low, high = (float(checked_value(own, value[name], where) or 0.0) for name in names)
    if not low < high:
        raise EquipoiseError(
            f"{where}: its range is empty: from {low:g} to {high:g} (a constant stands "
            "in [run])"
        )
    if kind == "log-uniform" and low <= 0.0:
        raise EquipoiseError(f"{where}: log-uniform from {low:g}; it must be above 0")
    return Distribution(kind, low, high, points=points, whole=whole)


class Points:
    """The points of a study.

    Attributes:
        method: How they are chosen.
        runs: How many there are.
    """

    def __init__(
        self,
        method: Method,
        distributions: Sequence[Distribution],
        count: int | None = None,
        seed: int = 0,
    ) -> None:
        """Choose points.

        Args:
            method: ``"grid"``: all combinations of levels, the last parameter fastest;
                ``"random"``, and ``"posterior"`` for what is varied beside it;
                ``"latin-hypercube"``; ``"sobol"``.
            distributions: Of each parameter.
            count: Number of runs; of base samples, a power of two, with ``"sobol"``;
                none with ``"grid"``.
            seed: Seed.

        Raises:
            EquipoiseError: If the count is missing or impossible.
        """
        self.method, self._spread, self._seed = method, tuple(distributions), seed
        self._count = 1 if count is None else count
        if method == "grid":
            if count is not None:
                raise EquipoiseError(
                    "a grid has as many runs as its levels have combinations: no count"
                )
            self._levels = [spread.levels for spread in self._spread]
            self.runs = math.prod(map(len, self._levels))
        elif count is None or count < 1:
            said = "is missing" if count is None else f"is {count}; it must be positive"
            raise EquipoiseError(f"the count of runs {said}")
        else:
            self.runs = count
        if method == "sobol":
            if self._count & (self._count - 1):
                near = 2 ** round(math.log2(self._count))
                raise EquipoiseError(
                    f"{count} base samples; a Sobol sequence needs a power of two, say "
                    f"{near}"
                )
            self.runs = self._count * (len(self._spread) + 2)
        most = MOST_IN_HYPERCUBE if method == "latin-hypercube" else MOST_RUNS
        if self.runs > most:
            raise EquipoiseError(f"{self.runs} runs; at most {most} are done")
        self._block: tuple[int, Array] = -1, np.empty((0, 0))

    def __len__(self) -> int:
        """Return the number of runs."""
        return self.runs

    def __getitem__(self, run: int) -> tuple[Value, ...]:
        """Return the point of a run, a value for each parameter."""
        if not 0 <= run < self.runs:
            raise IndexError(run)
        if self.method == "grid":
            sizes = [len(levels) for levels in self._levels]
            at = np.unravel_index(run, sizes) if sizes else ()
            return tuple(
                levels[int(k)] for levels, k in zip(self._levels, at, strict=True)
            )
        chances = self._chances(run)
        return tuple(
            spread.quantile(float(chance))
            for spread, chance in zip(self._spread, chances, strict=True)
        )

    def _chances(self, run: int) -> Any:
        """Return a probability for each parameter, in [0, 1)."""
        count = len(self._spread)
        if self.method == "latin-hypercube":
            return self._hypercube[run]
        if self.method != "sobol":
            return np.random.default_rng([self._seed, run]).random(count)
        base, which = divmod(run, count + 2)
        first, second = self._sobol(base).reshape(2, count)
        if which == 0:
            return first
        if which == 1:
            return second
        changed = first.copy()
        changed[which - 2] = second[which - 2]
        return changed

    @cached_property
    def _hypercube(self) -> Array:
        engine = qmc.LatinHypercube(len(self._spread), rng=self._seed)
        return np.asarray(engine.random(self._count))

    def _sobol(self, base: int) -> Array:
        """Return a point of the sequence; blocks of them are drawn at once."""
        block, at = divmod(base, BLOCK)
        if self._block[0] != block:
            engine = qmc.Sobol(2 * len(self._spread), rng=self._seed)
            if block:
                engine.fast_forward(block * BLOCK)
            self._block = block, np.asarray(engine.random(BLOCK))
        row: Array = self._block[1][at]
        return row
