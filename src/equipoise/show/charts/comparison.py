"""Several runs in the same charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.show.charts.chart import Chart, Series
from equipoise.show.palette import LINES

# More runs in a chart cannot be told apart.
MOST_RUNS = 4
# References that differ by less than this are drawn once.
SAME = 1e-9


def compare(runs: Mapping[str, Sequence[Chart]]) -> list[Chart]:
    """Return charts with a line for each run.

    A chart of several lines becomes several charts: each shows one quantity. What was
    wanted, and bounds, are drawn once if they are the same in all runs. Events are
    left out: whose they are could not be seen.

    Args:
        runs: Charts by the name of the run.

    Raises:
        EquipoiseError: If there are too many runs.
    """
    if len(runs) > MOST_RUNS:
        raise EquipoiseError(
            f"{len(runs)} runs are too many for a chart; at most {MOST_RUNS} fit"
        )
    drawn: dict[tuple[str, str], None] = {}
    for charts in runs.values():
        for chart in charts:
            for line in _topics(chart):
                drawn[chart.key, line.label] = None
    return [_together(runs, key, label) for key, label in drawn]


def _topics(chart: Chart) -> list[Series]:
    """Return the lines that get a chart of their own, the uppermost first."""
    return [line for line in reversed(chart.series) if not line.dashed]


def _together(runs: Mapping[str, Sequence[Chart]], key: str, label: str) -> Chart:
    found = {
        name: chart
        for name, charts in runs.items()
        for chart in charts
        if chart.key == key and any(line.label == label for line in chart.series)
    }
    first = next(iter(found.values()))
    time = reduce(np.union1d, [chart.time for chart in found.values()])
    wanted: list[list[Series]] = []
    lines: list[Series] = []
    for colour, name in zip(LINES, runs, strict=False):
        if name not in found:
            continue
        chart = found[name]
        own: list[Series] = []
        for line in chart.series:
            values = _resampled(time, chart.time, line.values)
            if line.label == label:
                lines.append(Series(name, values, colour))
            elif line.style == "reference" or line.label == f"{label}, reference":
                style = f"{colour} dashed"
                own.append(Series(f"{name}, {line.label}", values, style, named=False))
        wanted.append(own)
    only = len(_topics(first)) == 1
    title = first.title if only else f"{first.title.split(' (')[0]}: {label}"
    return Chart(
        f"{key}:{label}",
        title,
        first.unit,
        time,
        (*_once(wanted), *reversed(lines)),
        max(chart.least for chart in found.values()),
    )


def _once(wanted: list[list[Series]]) -> list[Series]:
    """Return the references of all runs; without colour and once, if they are alike."""
    if len({len(own) for own in wanted}) == 1:
        alike = list(zip(*wanted, strict=True))
        if all(
            _equal(one.values, line.values) for one, *more in alike for line in more
        ):
            longest = [max(lines, key=_length) for lines in alike]
            return [
                Series("reference", line.values, "reference", named=at == 0)
                for at, line in enumerate(longest)
            ]
    return [line for own in wanted for line in own]


def _length(line: Series) -> int:
    return int(np.isfinite(line.values).sum())


def _equal(one: Array, other: Array) -> bool:
    """Return whether lines are the same wherever both are."""
    off = np.abs(one - other)
    scale = max(1.0, float(np.nanmax(np.abs(one), initial=0.0)))
    return bool((off[np.isfinite(off)] <= SAME * scale).all())


def _resampled(time: Array, own_time: Array, values: Array) -> Array:
    """Return a line at more times; nothing before its start and after its end."""
    if len(own_time) == 1:
        return np.where(time == own_time[0], values[0], np.nan)
    return np.interp(time, own_time, values, left=np.nan, right=np.nan)
