"""Lines over time as plain data: made, thinned, and compared between runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.run import Event
from equipoise.show.palette import LINES, is_dashed

# More runs in a chart cannot be distinguished.
MOST_RUNS = 4
# References that differ by less than this are drawn once.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Series:
    """A line in a chart.

    Attributes:
        label: What it is.
        values: Values, one for each time; NaN is a gap. Shape (n,).
        style: Colour ``"c0"`` to ``"c5"``, with ``" dashed"`` after it for what was
            wanted; or ``"reference"``: dashed and without colour.
        named: Whether legends show it; lines that go without saying are not named.
    """

    label: str
    values: Array
    style: str
    named: bool = True

    @property
    def dashed(self) -> bool:
        """Whether the line is dashed: something wanted, or a bound."""
        return is_dashed(self.style)


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over the same time.

    Attributes:
        key: Unique name among the charts of a run, as ``"com-x"``.
        title: What is shown.
        unit: Unit of the values.
        time: Times, increasing [s], shape (n,).
        series: The lines, the first at the bottom.
        least: Least span of the vertical axis: less is noise.
        events: What happened meanwhile.
    """

    key: str
    title: str
    unit: str
    time: Array
    series: tuple[Series, ...]
    least: float = 0.0
    events: tuple[Event, ...] = ()

    @property
    def extent(self) -> tuple[float, float] | None:
        """Least and greatest value of all lines; None if there are no values."""
        values = np.concatenate([line.values for line in self.series])
        values = values[np.isfinite(values)]
        return (float(values.min()), float(values.max())) if len(values) else None

    def within(self, begin: float, end: float) -> Chart:
        """Return the part of a chart in the :func:`rows_within` two times [s]."""
        rows = rows_within(self.time, begin, end)
        series = tuple(replace(line, values=line.values[rows]) for line in self.series)
        events = tuple(event for event in self.events if begin <= event.time <= end)
        return replace(self, time=self.time[rows], series=series, events=events)


def rows_within(time: Array, begin: float, end: float) -> slice:
    """Return the rows between two times [s], both included.

    Raises:
        EquipoiseError: If there are none.
    """
    first = int(np.searchsorted(time, begin - 1e-9))
    last = int(np.searchsorted(time, end + 1e-9))
    if first >= last:
        raise EquipoiseError(
            f"nothing was recorded from {begin:g} to {end:g} s; the run is from "
            f"{time[0]:g} to {time[-1]:g} s"
        )
    return slice(first, last)


def compare(runs: Mapping[str, Sequence[Chart]]) -> list[Chart]:
    """Return charts with a line for each run.

    A chart of several lines becomes several charts: each shows one quantity. References
    and bounds are drawn once if they are the same in all runs. Events are left out: it
    could not be seen whose they are.

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
            longest = [
                max(lines, key=lambda line: int(np.isfinite(line.values).sum()))
                for lines in alike
            ]
            return [
                Series("reference", line.values, "reference", named=at == 0)
                for at, line in enumerate(longest)
            ]
    return [line for own in wanted for line in own]


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


def envelope(time: Array, values: Array, buckets: int) -> tuple[Array, Array]:
    """Return times and values: the least and the greatest of each of many spans.

    Peaks stay where they are, as high as they are, however many points are left out.

    Args:
        time: Times, increasing, shape (n,).
        values: Values, shape (n,); NaN is a gap, and stays one.
        buckets: Number of spans; two points of each are kept, all if there are few.
    """
    if len(time) <= 2 * buckets:
        return time, values
    edges = np.linspace(0, len(time), buckets + 1).astype(int)
    # a row for each span; shorter ones repeat their last value
    place = edges[:-1, None] + np.arange(np.diff(edges).max())
    place = np.minimum(place, edges[1:, None] - 1)
    rows = values[place]
    finite = np.isfinite(rows)
    some, gaps = finite.any(axis=1), ~finite.all(axis=1)
    at = [
        np.argmin(np.where(finite, rows, np.inf), axis=1)[some],
        np.argmax(np.where(finite, rows, -np.inf), axis=1)[some],
        np.argmin(finite, axis=1)[gaps],
    ]
    spans = [some, some, gaps]
    kept = [place[span, first] for span, first in zip(spans, at, strict=True)]
    chosen = np.unique(np.concatenate([[0, len(time) - 1], *kept]))
    return time[chosen], values[chosen]


def thin_path(points: Array, length: float, most: int) -> Array:
    """Return a path with fewer points; gaps stay gaps.

    Args:
        points: Points, shape (n, k); NaN rows are gaps.
        length: Way from one kept point to the next; longer if there were too many.
        most: Greatest number of points to keep, about.
    """
    if len(points) < 2:
        return points
    steps = np.nan_to_num(np.linalg.norm(np.diff(points, axis=0), axis=1))
    way = np.insert(np.cumsum(steps), 0, 0.0)
    bucket = np.floor(way / max(length, way[-1] / most, 1e-9))
    edges = np.diff(np.isfinite(points).all(axis=1))
    # both sides of a gap belong to the path
    kept = np.zeros(len(points), dtype=np.bool_)
    kept[[0, -1]] = True
    kept[1:] |= (np.diff(bucket) > 0) | edges
    kept[:-1] |= edges
    return points[kept]
