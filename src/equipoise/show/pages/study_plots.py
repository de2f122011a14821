"""Drawings of a study: bars of what matters, maps over two parameters, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.show.charts.chart import Series
from equipoise.show.charts.study_maps import StudyCurve, StudyMap
from equipoise.show.pages.markup import element, stroke, text, titled
from equipoise.show.pages.svg_plots import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    figure,
    grid,
    make_axis,
    ring,
    sample,
    upright,
)
from equipoise.study.cells import Cells, number_words
from equipoise.study.parameters import Parameter
from equipoise.study.sensitivity import outcome_words

# Parameters whose bars are drawn.
MOST_BARS = 16
# Places in drawings [px]: names of bars, a bar, room for its number, a row of a map.
NAMES, BAR, NUMBER, ROW = 176.0, 22.0, 44.0, 30.0
LONGEST_NAME, LONGEST_TICK = 28, 9
# Values that differ by a larger factor are drawn at equal distances.
LARGEST_RATIO = 30.0


def ranking_plot(own: Mapping[str, Any]) -> str:
    """Return the effects of parameters on an outcome as bars with intervals.

    Args:
        own: A :class:`equipoise.study.sensitivity.Sensitivity` as plain data.
    """
    effects = own["effects"][:MOST_BARS]
    across = make_axis(0.0, 1.0, NAMES, WIDTH - NUMBER, ticks=5)
    bottom = TOP + BAR * len(effects)
    up = Axis(0.0, 1.0, bottom, TOP, (), 1.0)
    parts = []
    for tick in across.ticks:
        x = across.place(tick)
        parts.append(upright(x, up, "grid"))
        parts.append(_words(x, bottom + 16.0, f"{100 * tick:.0f}", "middle"))
    total = any(effect["total"] is not None for effect in effects)
    for row, effect in enumerate(effects):
        y = TOP + BAR * row
        name = _short(effect["parameter"], LONGEST_NAME)
        bars = [_words(NAMES - 8.0, y + 0.5 * BAR + 4.0, name, "end", "label")]
        kinds = (
            (("total", 0.35), ("first_order", 1.0))
            if total
            else (("first_order", 1.0),)
        )
        for kind, opacity in kinds:
            bars.append(_bar(across, y, effect[kind], opacity))
        strongest = kinds[0][0]
        interval = effect[f"{strongest}_interval"]
        if interval is not None:
            ends = np.clip(interval, 0.0, 1.0)
            middle = y + 0.5 * BAR
            places = [[across.place(end), middle] for end in ends]
            bars.append(stroke(np.array(places), "whisker"))
        number = f"{100 * min(max(effect[strongest], 0.0), 1.0):.0f} %"
        bars.append(_words(WIDTH - 2.0, y + 0.5 * BAR + 4.0, number, "end"))
        parts.append(titled(effect["sentence"], *bars))
    legend = [sample("alone (first order)", "c0")]
    if total:
        legend.append(sample("pale: with others (total)", "c0"))
    title = f"Variance of {outcome_words(own['outcome'])}, by parameter"
    return figure(title, "%", "".join(parts), (WIDTH, bottom + 24.0), legend)


def _bar(across: Axis, y: float, fraction: float, opacity: float) -> str:
    length = across.place(min(max(fraction, 0.0), 1.0)) - across.begin
    return element(
        "rect",
        x=f"{across.begin:.1f}",
        y=f"{y + 4.0:.1f}",
        width=f"{length:.1f}",
        height=f"{BAR - 8.0:.1f}",
        fill_opacity=f"{opacity:g}",
        class_="dot c0",
    )


def map_plot(drawn: StudyMap) -> str:
    """Return an outcome over two parameters, the mean of each cell."""
    wide = (WIDTH - LEFT - RIGHT) / len(drawn.columns)
    bottom = TOP + ROW * len(drawn.rows)
    scale = 100.0 if drawn.unit == "%" else 1.0
    shades = drawn.shades
    columns, rows = (
        _ticks(drawn.columns, LONGEST_TICK),
        _ticks(drawn.rows, LONGEST_TICK),
    )
    parts = []
    for (row, column), value in np.ndenumerate(drawn.values):
        x, y = LEFT + column * wide, bottom - (row + 1) * ROW
        count = int(drawn.counts[row, column])
        words = number_words(scale * value) if count else ""
        if drawn.unit == "%" and count:
            words = f"{scale * value:.0f}"
        square = element(
            "rect",
            x=f"{x:.1f}",
            y=f"{y:.1f}",
            width=f"{wide - 1.0:.1f}",
            height=f"{ROW - 1.0:.1f}",
            fill_opacity=f"{0.04 + 0.71 * float(shades[row, column]):.2f}"
            if count
            else None,
            class_="dot c0" if count else "empty",
        )
        number = _words(x + 0.5 * wide, y + 0.5 * ROW + 4.0, words, "middle", "cell")
        said = (
            f"{drawn.across.name} {drawn.columns.names[column]}, {drawn.up.name} "
            f"{drawn.rows.names[row]}: {f'{words} {drawn.unit}, ' if count else ''}"
            f"{count} runs"
        )
        parts.append(titled(said, square, number))
    for row, name in enumerate(rows):
        y = bottom - (row + 0.5) * ROW + 4.0
        parts.append(_words(LEFT - 7.0, y, name, "end"))
    parts += _names_below(columns, LEFT, wide, bottom)
    parts.append(_axis_name(drawn.across, bottom))
    title = f"{drawn.title}; upward: {_with_unit(drawn.up)}"
    size = WIDTH, bottom + BOTTOM
    return figure(title, drawn.unit, "".join(parts), size, [_counts(drawn.counts)])


def curve_plot(drawn: StudyCurve) -> str:
    """Return an outcome over a parameter, with 95 % intervals."""
    scale = 100.0 if drawn.unit == "%" else 1.0
    low, high = scale * float(drawn.lower.min()), scale * float(drawn.upper.max())
    if drawn.unit == "%":
        low, high = 0.0, 100.0
    up = make_axis(low, high, HEIGHT - BOTTOM, TOP, margin=0.03)
    middle = drawn.cells.middle
    equal = not np.isfinite(middle).all() or (
        middle.min() > 0.0 and middle.max() / middle.min() > LARGEST_RATIO
    )
    if equal:
        wide = (WIDTH - LEFT - RIGHT) / len(middle)
        x = LEFT + wide * (np.arange(len(middle)) + 0.5)
        across = Axis(0.0, 1.0, LEFT, WIDTH - RIGHT, (), 1.0)
        axes = grid(across, up, _with_unit(drawn.parameter))
        axes += "".join(
            _names_below(_ticks(drawn.cells, LONGEST_TICK), LEFT, wide, up.begin)
        )
    else:
        across = make_axis(
            float(middle.min()), float(middle.max()), LEFT, WIDTH - RIGHT, margin=0.04
        )
        x = across.place(middle)
        axes = grid(across, up, _with_unit(drawn.parameter))
    y = up.place(scale * drawn.values)
    ends = [up.place(scale * end) for end in (drawn.lower, drawn.upper)]
    parts = [axes, stroke(np.stack([x, y], axis=1), "line c0")]
    for k, name in enumerate(drawn.cells.names):
        said = (
            f"{drawn.parameter.name} {name}: {number_words(scale * drawn.values[k])} "
            f"({number_words(scale * drawn.lower[k])} to "
            f"{number_words(scale * drawn.upper[k])}) {drawn.unit}, "
            f"{drawn.counts[k]} runs"
        )
        whisker = stroke(np.array([[x[k], end[k]] for end in ends]), "curve-whisker c0")
        parts.append(titled(said, whisker, ring(np.array([x[k], y[k]]), 3.5, "dot c0")))
    legend = [_counts(drawn.counts), sample("95 % intervals", "c0")]
    return figure(drawn.title, drawn.unit, "".join(parts), (WIDTH, HEIGHT), legend)


def _ticks(cells: Cells, longest: int) -> list[str]:
    """Return short names of cells: levels, or the middles of ranges."""
    middle = cells.middle
    return [
        _short(name if not np.isfinite(at) else number_words(at), longest)
        for name, at in zip(cells.names, middle, strict=True)
    ]


def _names_below(
    names: Sequence[str], left: float, wide: float, bottom: float
) -> list[str]:
    """Return names below columns, not all of them if they would touch."""
    longest = max(map(len, names))
    every = max(1, -(-int(6.6 * longest + 4.0) // max(int(wide), 1)))
    return [
        _words(left + (k + 0.5) * wide, bottom + 17.0, name, "middle")
        for k, name in enumerate(names)
        if k % every == 0
    ]


def _axis_name(own: Parameter, bottom: float) -> str:
    middle = 0.5 * (LEFT + WIDTH - RIGHT)
    return _words(middle, bottom + 36.0, _with_unit(own), "middle")


def _counts(counts: NDArray[np.intp]) -> Series:
    """Return how many runs a cell has as an entry of a legend."""
    low, high = int(counts.min()), int(counts.max())
    return sample(
        f"{low} runs each" if low == high else f"{low} to {high} runs each", "c0"
    )


def _with_unit(own: Parameter) -> str:
    return f"{own.name} [{own.unit}]" if own.unit else own.name


def _short(name: str, longest: int) -> str:
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def _words(
    x: float, y: float, words: str, anchor: str, style: str | None = None
) -> str:
    return element(
        "text",
        text(words),
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        text_anchor=anchor,
        class_=style,
    )
