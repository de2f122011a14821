"""Plots beside the scene, with a cursor that follows the time.

The cursor is not a line of the plots: it is a rule of the page's style sheet that puts
a line over all plotting areas at once. Moving it costs one short message.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.log.run import Run
from equipoise.show.charts.chart import Chart, Series, compare, envelope
from equipoise.show.charts.quantities import available, charts
from equipoise.show.palette import LIGHT, line_colour

if TYPE_CHECKING:
    import viser

HEIGHT = 112
AXIS_WIDTH = 52
# Spans of time that keep their least and greatest value.
BUCKETS = 200
PADDING = 0.06
ONE_RUN = ("com-error", "sole", "forces", "joints")
MANY_RUNS = ("com-error", "zmp-margin", "forces", "joints")
# Lines of charts by which runs are compared.
COMPARED = (
    *("com-error:distance", "com-x", "com-y", "com-z"),
    *("zmp-margin", "forces:all contacts", "joints"),
)
# Typed as a special kind of text by viser.
ICON: Any = "chart-line"
MOST_MOVING = "those that move most"
# Lengths of the parts by their names [s]; None is the whole.
SPANS: Mapping[str, float | None] = MappingProxyType(
    {"whole run": None, "60 s": 60.0, "10 s": 10.0, "2 s": 2.0}
)


class Page(NamedTuple):
    """A part of a run, from start to end [s]."""

    start: float
    end: float

    def fraction(self, time: float) -> float:
        """Return where a time is, from 0 at the start to 1 at the end."""
        length = self.end - self.start
        if length <= 0.0:
            return 0.0
        return min(max((time - self.start) / length, 0.0), 1.0)


def page_at(whole: Page, length: float | None, time: float) -> Page:
    """Return the part of a length [s] that holds a time [s]; None is the whole run.

    Parts follow each other, and the last is full.
    """
    if length is None or length >= whole.end - whole.start:
        return whole
    start = whole.start + length * int((time - whole.start) / length)
    start = min(start, whole.end - length)
    return Page(start, start + length)


@dataclass(frozen=True, eq=False)
class _Plot:
    chart: Chart
    head: viser.GuiHtmlHandle
    plot: viser.GuiUplotHandle


class ChartPanel:
    """A panel of plots of one or more runs, below the controls."""

    def __init__(self, server: viser.ViserServer, runs: Mapping[str, Run]) -> None:
        self._server, self._runs = server, runs
        start = min(float(run.time[0]) for run in runs.values())
        end = max(float(run.time[-1]) for run in runs.values())
        self._whole = Page(start, end)
        self._page = self._whole
        self._time = start
        self._plots: list[_Plot] = []
        self._joint_plots: list[_Plot] = []
        panel = server.gui.add_panel()
        self._tab = panel.add_tab("Plots", icon=ICON)
        with self._tab:
            self._cursor = server.gui.add_html("")
            self._span = server.gui.add_dropdown("Span", tuple(SPANS))
            names = [name for name in self._names() if name != "joints"]
            self._plots = [self._add(chart) for chart in self._charts(names, None)]
            self._joints = server.gui.add_dropdown("Joints", self._choices())
        panel.dock_below(server.gui.main_panel)
        self._draw_joints()
        self._span.on_update(lambda _: self._turn_page())
        self._joints.on_update(lambda _: self._draw_joints())
        self.follow(start)

    def follow(self, time: float) -> None:
        """Move the cursor to a time [s]."""
        self._time = time
        if self._page != self._wanted_page():
            self._turn_page()
        self._cursor.content = (
            "<style>.u-over::before{content:'';position:absolute;top:0;bottom:0;"
            f"left:{100.0 * self._page.fraction(time):.2f}%;"
            f"border-left:1.5px solid {LIGHT['ink']};opacity:.8;"
            "pointer-events:none;z-index:90}</style>"
        )

    def write_values(self, time: float) -> None:
        """Write the values at a time [s] beside the names of the lines."""
        for item in (*self._plots, *self._joint_plots):
            item.head.content = _head(item.chart, time)

    def _names(self) -> list[str]:
        wanted = ONE_RUN if len(self._runs) == 1 else MANY_RUNS
        there = [set(available(run)) for run in self._runs.values()]
        found = [name for name in wanted if all(name in own for own in there)]
        if "com-error" not in found:
            found.insert(0, "com")
        return found

    def _charts(
        self, names: Sequence[str], joints: Sequence[str] | None
    ) -> list[Chart]:
        made = {name: charts(run, names, joints) for name, run in self._runs.items()}
        if len(made) == 1:
            return next(iter(made.values()))
        return [chart for chart in compare(made) if chart.key.startswith(COMPARED)]

    def _choices(self) -> tuple[str, ...]:
        robots = [run.robot for run in self._runs.values()]
        limbs = [name for name in robots[0].limbs if robots[0].limbs[name].joints]
        shared = [name for name in limbs if all(name in r.limbs for r in robots)]
        return (MOST_MOVING, *shared)

    def _draw_joints(self) -> None:
        """Draw the joints of the limb that is chosen."""
        limb = self._joints.value
        robot = next(iter(self._runs.values())).robot
        joints = None if limb == MOST_MOVING else robot.limbs[limb].joints
        made = self._charts(["joints"], joints) if "joints" in self._names() else []
        with self._server.atomic():
            for item in self._joint_plots:
                item.head.remove()
                item.plot.remove()
            with self._tab:
                self._joint_plots = [self._add(chart) for chart in made]

    def _wanted_page(self) -> Page:
        return page_at(self._whole, SPANS[self._span.value], self._time)

    def _turn_page(self) -> None:
        self._page = self._wanted_page()
        with self._server.atomic():
            for item in (*self._plots, *self._joint_plots):
                _fill(item.plot, item.chart, self._page)

    def _add(self, chart: Chart) -> _Plot:
        head = self._server.gui.add_html(_head(chart, self._time))
        plot = self._server.gui.add_uplot(
            page_data(chart, self._page),
            ({}, *(_style(line) for line in chart.series)),
            scales={"x": {"time": False}, "y": {"range": _bounds(chart)}},
            axes=(
                {"size": 26, "gap": 2, "font": "10px sans-serif"},
                {"size": AXIS_WIDTH, "gap": 2, "font": "10px sans-serif"},
            ),
            legend={"show": False},
            cursor={"drag": {"x": False, "y": False}, "y": False},
            height=HEIGHT,
            padding=(6, 10, 0, 0),
        )
        _fill(plot, chart, self._page)
        return _Plot(chart, head, plot)


def _style(line: Series) -> Any:
    style = {"label": line.label, "stroke": line_colour(line.style), "width": 1.5}
    if line.dashed:
        style |= {"dash": (4, 4), "width": 1.0}
    return style | {"points": {"show": False}}


def _bounds(chart: Chart) -> tuple[float, float]:
    """Return what the vertical axis shows: all values of the run, and a margin."""
    low, high = chart.extent or (0.0, 0.0)
    half = max(0.5 * (high - low) * (1.0 + 2.0 * PADDING), 0.5 * chart.least, 1e-9)
    middle = 0.5 * (low + high)
    return middle - half, middle + half


def page_data(chart: Chart, page: Page) -> tuple[Array, ...]:
    """Return the times that matter of a page, and the lines at them.

    The first and the last time are the page's own, since the page's plot ends where
    its data end.
    """
    rows = slice(*np.searchsorted(chart.time, [page.start, page.end + 1e-9]))
    time = chart.time[rows]
    lines = [line.values[rows] for line in chart.series]
    kept = [envelope(time, values, BUCKETS)[0] for values in lines]
    at = np.unique(np.concatenate([np.zeros(0), *kept]))
    chosen = np.searchsorted(time, at)
    gap = np.array([np.nan])
    times = np.concatenate([[page.start - 1e-9], at, [page.end + 1e-9]])
    return (times, *(np.concatenate([gap, v[chosen], gap]) for v in lines))


def _fill(plot: viser.GuiUplotHandle, chart: Chart, page: Page) -> None:
    """Draw a page of a chart.

    Arrays of numbers are sent as such, and the plot joins what is on both sides of a
    NaN; only a line that is sent as a list can have a gap, which is None.
    """
    times, *lines = page_data(chart, page)
    sent: list[Any] = [times]
    for values in lines:
        if np.isfinite(values[1:-1]).all():
            sent.append(values)
        else:
            sent.append([v if np.isfinite(v) else None for v in values.tolist()])
    plot.data = sent  # type: ignore[assignment]


def _head(chart: Chart, time: float) -> str:
    """Return title, unit, and the names and values of the lines."""
    at = min(int(np.searchsorted(chart.time, time)), len(chart.time) - 1)
    parts = []
    for line in reversed(chart.series):
        if not line.named:
            continue
        value = line.values[at]
        number = f"{value:.3g}" if np.isfinite(value) else "–"
        parts.append(
            f'<span style="white-space:nowrap;margin-right:.8em">'
            f'<b style="color:{line_colour(line.style)}">{"╌" if line.dashed else "━"}'
            f"</b> {html.escape(line.label)} "
            f'<span style="color:{LIGHT["soft"]}">{number}</span></span>'
        )
    return (
        '<div style="padding:.5em .8em 0;font-size:.75em;line-height:1.45">'
        f"<b>{html.escape(chart.title)} [{html.escape(chart.unit)}]</b><br>"
        f"{' '.join(parts)}</div>"
    )
