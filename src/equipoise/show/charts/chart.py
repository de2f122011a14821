"""Lines over time as plain data, for whoever draws them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.run import Event


@dataclass(frozen=True, eq=False)
class Series:
    """A line in a chart.

    Attributes:
        label: What it is.
        values: One for each time; NaN is a gap. Shape (n,).
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
        return self.style == "reference" or self.style.endswith(" dashed")


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over the same time.

    Attributes:
        key: A name of its own among the charts of a run, as ``"com-x"``.
        title: What is shown.
        unit: Of the values.
        time: Increasing [s], shape (n,).
        series: The lines, the first at the bottom.
        least: The vertical axis spans at least this much: less is noise.
        events: What happened meanwhile.
    """

    key: str
    title: str
    unit: str
    time: Array
    series: tuple[Series, ...]
    least: float = 0.0
    events: tuple[Event, ...] = ()

    def within(self, begin: float, end: float) -> Chart:
        """Return the part of a chart between two times [s].

        Raises:
            EquipoiseError: If it holds nothing then.
        """
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
