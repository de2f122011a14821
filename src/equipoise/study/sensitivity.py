r"""Which parameter of a study matters most: fractions of the variance of an outcome.

How they are computed depends on how the runs were chosen.

- Saltelli's design (``"sobol"``): first-order and total Sobol indices [Saltelli2010] by
  :func:`scipy.stats.sobol_indices`, with bootstrap intervals.
- Random samples, Latin hypercubes and possible robots: the correlation ratio, the
  variance of an outcome's mean over ranges of the parameter, without the part that
  chance adds to it (:math:`\varepsilon^2` of [Kelley1935]), with jackknife intervals;
  and Spearman's rank correlation.
- Grids: analysis of variance, the variance of an outcome's marginal means.

A first-order effect is what the parameter explains alone; a total one counts what it
does together with others, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap, sobol_indices, spearmanr, t

from equipoise.arrays import Array
from equipoise.study.cells import CONFIDENCE, Cells, cells_of
from equipoise.study.outcomes import UNITS, Outcome
from equipoise.study.parameters import Parameter
from equipoise.study.sampling import Method
from equipoise.study.table import StudyTable

SOBOL = "Sobol indices"
RATIO = "correlation ratio"
VARIANCE = "analysis of variance"
# Fewer runs, or base samples of Saltelli's design, say nothing.
FEWEST = 16
# Resamples of the bootstrap, its seed, and most base samples that it is done with.
RESAMPLES, SEED, MOST_BASE = 499, 0, 2**14
# Groups of runs that are left out in turn by the jackknife.
GROUPS = 20
# Most ranges of a parameter, and runs in each at least.
MOST_RANGES, RUNS_PER_RANGE = 20, 30
# Most levels of a parameter of a grid.
MOST_LEVELS = 10_000

# Words for outcomes, and for parts of their names.
PHRASES = {
    "survived": "survival",
    "achieved": "success",
    "fell_at_s": "the time of the fall",
}
PARTS = {"max": "largest", "min": "smallest", "mean": "mean", "rms": "RMS"}
ABBREVIATIONS = {"com": "CoM", "zmp": "ZMP", "rms": "RMS"}

Interval = tuple[float, float]


@dataclass(frozen=True)
class Effect:
    """What a parameter does to an outcome.

    Attributes:
        parameter: Its name.
        first_order: Fraction of the variance that it explains alone; estimates of small
            ones may be below zero.
        first_order_interval: 95 % interval of it, or None.
        total: Fraction that it explains alone and with others, or None.
        total_interval: 95 % interval of it, or None.
        rank_correlation: Spearman's rank correlation, or None.
        p_value: Probability of such a rank correlation without any effect, or None.
        sentence: The same in words.
    """

    parameter: str
    first_order: float
    first_order_interval: Interval | None
    total: float | None
    total_interval: Interval | None
    rank_correlation: float | None
    p_value: float | None
    sentence: str

    @property
    def strength(self) -> float:
        """What effects are ranked by: the total, or what there is."""
        return self.first_order if self.total is None else self.total


@dataclass(frozen=True)
class Sensitivity:
    """What parameters do to an outcome.

    Attributes:
        outcome: Its name.
        method: How it was computed.
        used: Runs, or base samples of Saltelli's design, that it was computed from.
        lost: Those without a value; a base sample is lost with any of its runs.
        effects: The strongest first; none if nothing can be said.
        notes: What else must be known, in sentences.
    """

    outcome: str
    method: str
    used: int
    lost: int
    effects: tuple[Effect, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def sensitivities(table: StudyTable, method: Method) -> tuple[Sensitivity, ...]:
    """Return what the parameters of a study do to each outcome that is a number.

    Args:
        table: The study's table; with ``"sobol"``, its runs in the order of
            :mod:`equipoise.study.sampling`, from the first on.
        method: How its points were chosen.
    """
    numbers = [own for own in table.outcomes if own.type != "str"]
    return tuple(_sensitivity(table, own, method) for own in numbers)


def _sensitivity(table: StudyTable, outcome: Outcome, method: Method) -> Sensitivity:
    values = table.columns[outcome.name]
    if method == "sobol":
        return _by_sobol(table.parameters, outcome, values)
    known = np.isfinite(values)
    used, lost = int(known.sum()), int((~known).sum())
    notes = _lost_words(lost, len(values), "runs")
    said = RATIO if method != "grid" else VARIANCE
    why = _why_not(values[known], outcome)
    if why is not None:
        return Sensitivity(outcome.name, said, used, lost, (), (*notes, why))
    found = [
        _grid_effect(own, outcome, table.columns[own.name][known], values[known])
        if method == "grid"
        else _sample_effect(own, outcome, table.columns[own.name][known], values[known])
        for own in table.parameters
    ]
    if method == "grid" and not lost:
        rest = max(0.0, 1.0 - sum(effect.first_order for effect in found))
        notes += (f"{_percent(rest)} of the variance are interactions of parameters.",)
    return Sensitivity(outcome.name, said, used, lost, _ranked(found), notes)


def _why_not(values: Array, outcome: Outcome) -> str | None:
    """Return why nothing can be said of an outcome, or None."""
    if len(values) < FEWEST:
        return f"Too few runs have a value; {FEWEST} are needed."
    if _is_constant(values):
        return f"{outcome.name} is the same in all runs."
    return None


def _is_constant(values: Array) -> bool:
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max(initial=0.0))


def _lost_words(lost: int, among: int, what: str) -> tuple[str, ...]:
    if not lost:
        return ()
    have = "has" if lost == 1 else "have"
    return (f"{lost} of {among} {what} {have} no value, and cannot be used.",)


def _by_sobol(
    parameters: Sequence[Parameter], outcome: Outcome, values: Array
) -> Sensitivity:
    """Return Sobol indices; runs of a base sample follow each other: A, B, AB_i."""
    runs = len(parameters) + 2
    every = values[: len(values) - len(values) % runs].reshape(-1, runs)
    base = every[:MOST_BASE]
    usable = np.isfinite(base).all(axis=1)
    used, lost = int(usable.sum()), int((~usable).sum())
    notes = _lost_words(lost, len(base), "base samples")
    if len(every) > len(base):
        notes += (f"Of {len(every)} base samples the first {MOST_BASE} are used.",)
    why = _why_not(base[usable].ravel(), outcome)
    if used < FEWEST:
        why = f"Too few base samples have all their values; {FEWEST} are needed."
    if why is not None:
        return Sensitivity(outcome.name, SOBOL, used, lost, (), (*notes, why))
    filled = _filled(base[usable])
    first, total = _indices(filled)
    found = bootstrap(
        [np.arange(len(filled))],
        lambda rows: _indices(filled[rows]),
        vectorized=False,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    effects = []
    for k, own in enumerate(parameters):
        intervals = [(float(found.low[n, k]), float(found.high[n, k])) for n in (0, 1)]
        alone = _part_words(float(first[k]), intervals[0])
        words = (
            f"{_explains(own, outcome, float(total[k]), intervals[1])}: {alone} alone"
        )
        if float(total[k]) <= 0.0 or intervals[1][0] <= 0.0:
            words = _no_effect(own, outcome, intervals[1][1])
        effects.append(
            Effect(
                own.name,
                float(first[k]),
                intervals[0],
                float(total[k]),
                intervals[1],
                None,
                None,
                f"{words}.",
            )
        )
    return Sensitivity(outcome.name, SOBOL, used, lost, _ranked(effects), notes)


def _filled(base: Array) -> Array:
    """Return base samples (n, k + 2) and mean values up to a power of two.

    SciPy wants a power of two. Rows in which all values are the mean of A and B add
    nothing to any sum of the indices: numerators and variance are divided by one number
    more, and their ratios are those of the n base samples.
    """
    short = 2 ** math.ceil(math.log2(len(base))) - len(base)
    mean = np.full((short, base.shape[1]), base[:, :2].mean())
    return np.concatenate([base, mean])


def _indices(base: Array) -> Array:
    """Return first-order and total indices (2, k) of base samples (n, k + 2)."""
    stored = {"f_A": base[None, :, 0], "f_B": base[None, :, 1]}
    stored["f_AB"] = np.moveaxis(base[:, 2:], 1, 0)[:, None, :]
    found = sobol_indices(func=stored, n=len(base))
    return np.stack(
        [np.atleast_1d(found.first_order), np.atleast_1d(found.total_order)]
    )


def _sample_effect(
    own: Parameter, outcome: Outcome, column: NDArray[Any], values: Array
) -> Effect:
    """Return the correlation ratio over ranges of a parameter, and rank correlation."""
    most = min(max(len(values) // RUNS_PER_RANGE, 2), MOST_RANGES)
    cells = cells_of(column, most)
    ratio = _correlation_ratio(cells.index, len(cells), values)
    group = np.arange(len(values)) % GROUPS
    without = np.array(
        [
            _correlation_ratio(cells.index[group != g], len(cells), values[group != g])
            for g in range(GROUPS)
        ]
    )
    squares = float(((without - without.mean()) ** 2).sum())
    error = math.sqrt((GROUPS - 1) / GROUPS * squares)
    half = float(t.ppf(0.5 + 0.5 * CONFIDENCE, GROUPS - 1)) * error
    interval = ratio - half, ratio + half
    correlation = p_value = None
    if column.dtype != object and not _is_constant(column):
        ranks = spearmanr(column, values)
        correlation, p_value = float(ranks.statistic), float(ranks.pvalue)
    words = _explains(own, outcome, ratio, interval)
    if correlation is not None and p_value is not None and p_value < 1 - CONFIDENCE:
        words += f"; {_the(outcome)} {'rises' if correlation > 0 else 'falls'} with it"
    elif ratio <= 0.0 or interval[0] <= 0.0:
        words = _no_effect(own, outcome, interval[1])
    return Effect(
        own.name, ratio, interval, None, None, correlation, p_value, f"{words}."
    )


def _correlation_ratio(index: NDArray[np.intp], cells: int, values: Array) -> float:
    """Return the fraction of variance between cells, without what chance adds to it."""
    counts, between = _between(index, cells, values)
    total = float(((values - values.mean()) ** 2).sum())
    filled = int((counts > 0).sum())
    if total <= 0.0 or len(values) <= filled:
        return 0.0
    within = (total - between) / (len(values) - filled)
    return 1.0 - within / (total / (len(values) - 1))


def _between(
    index: NDArray[np.intp], cells: int, values: Array
) -> tuple[NDArray[np.intp], float]:
    """Return how many values are in each cell, and the sum of squares between cells."""
    centred = values - values.mean()
    counts = np.bincount(index, minlength=cells)
    sums = np.bincount(index, weights=centred, minlength=cells)
    return counts, float((sums**2 / np.maximum(counts, 1)).sum())


def _grid_effect(
    own: Parameter, outcome: Outcome, column: NDArray[Any], values: Array
) -> Effect:
    """Return the fraction of variance of the marginal means over levels."""
    cells: Cells = cells_of(column, MOST_LEVELS)
    total = float(((values - values.mean()) ** 2).sum())
    fraction = _between(cells.index, len(cells), values)[1] / total
    words = _explains(own, outcome, fraction, None)
    return Effect(own.name, fraction, None, None, None, None, None, f"{words}.")


def _ranked(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(effects, key=lambda own: -own.strength))


def _explains(
    own: Parameter, outcome: Outcome, fraction: float, interval: Interval | None
) -> str:
    part = _part_words(fraction, interval)
    return f"{_name(own)} explains {part} of the variance of {_the(outcome)}"


def _no_effect(own: Parameter, outcome: Outcome, most: float) -> str:
    return (
        f"{_name(own)} has no effect on the variance of {_the(outcome)} that can be "
        f"told from zero (at most {_percent(most)})"
    )


def _part_words(fraction: float, interval: Interval | None) -> str:
    if interval is None:
        return _percent(fraction)
    half = 0.5 * (interval[1] - interval[0])
    return f"{_percent(fraction)} (±{_percent(half)})"


def _percent(fraction: float) -> str:
    percent = 100.0 * min(max(fraction, 0.0), 1.0)
    return f"{percent:.1f} %" if 0.05 <= percent < 0.95 else f"{percent:.0f} %"


def _the(outcome: Outcome) -> str:
    article = "" if outcome.name in PHRASES else "the "
    return article + outcome_words(outcome.name)


def _name(own: Parameter) -> str:
    """Return a parameter with what it is."""
    return f"{own.name} ({own.meaning.partition(';')[0]})"


def outcome_words(name: str) -> str:
    """Return the name of an outcome as words within a sentence, without its unit.

    ``"com_error_from_stance_m.max"`` is the largest CoM error from stance.
    """
    if name in PHRASES:
        return PHRASES[name]
    *groups, last = name.split(".")
    of = PARTS.get(last, "")
    if of or (groups and groups[-1].rpartition("_")[2] in UNITS):
        what = groups.pop()
    else:
        what, last = last, ""
    words = [word for word in what.split("_") if word]
    if len(words) > 1 and words[-1] in UNITS:
        words.pop()
    plain = " ".join(ABBREVIATIONS.get(word, word) for word in words)
    if of:
        return f"{of} {plain}"
    return f"{plain} ({last.replace('_', ' ')})" if last else plain
