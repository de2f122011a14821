"""Drawings of a study: bars of what matters, maps over two parameters, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
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
NAMES, BAR, NUMBER, ROW = 176.0, 22.0, 54.0, 30.0
LONGEST_NAME, LONGEST_TICK = 28, 9
# Width of a letter [px], and how dark cells are.
LETTER, LIGHTEST, DARKEST = 6.6, 0.04, 0.75
# Lengths below this are shown in millimetres [m].
SMALL_METRES = 1.0
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
    factor, unit = _scale(drawn.unit, drawn.values)
    shades = drawn.shades
    parts = []
    for (row, column), value in np.ndenumerate(drawn.values):
        x, y = LEFT + column * wide, bottom - (row + 1) * ROW
        count = int(drawn.counts[row, column])
        digits = (
            f"{factor * value:.0f}" if unit == "%" else number_words(factor * value)
        )
        words = digits if count else ""
        opacity = LIGHTEST + (DARKEST - LIGHTEST) * float(shades[row, column])
        square = element(
            "rect",
            x=f"{x:.1f}",
            y=f"{y:.1f}",
            width=f"{wide - 1.0:.1f}",
            height=f"{ROW - 1.0:.1f}",
            fill_opacity=f"{opacity:.2f}" if count else None,
            class_="dot c0" if count else "empty",
        )
        number = _words(x + 0.5 * wide, y + 0.5 * ROW + 4.0, words, "middle", "cell")
        said = (
            f"{drawn.across.name} {drawn.columns.names[column]}, {drawn.up.name} "
            f"{drawn.rows.names[row]}: {f'{words} {unit}, ' if count else ''}"
            f"{count} runs"
        )
        parts.append(titled(said, square, number))
    for row, name in enumerate(_ticks(drawn.rows)):
        y = bottom - (row + 0.5) * ROW + 4.0
        parts.append(_words(LEFT - 7.0, y, name, "end"))
    parts += _names_below(_ticks(drawn.columns), wide, bottom)
    label = f"{_with_unit(drawn.across)}; {_counts(drawn.counts, 'cell')}"
    middle = 0.5 * (LEFT + WIDTH - RIGHT)
    parts.append(_words(middle, bottom + 36.0, label, "middle"))
    title = f"{drawn.title}; upward: {_with_unit(drawn.up)}"
    return figure(title, unit, "".join(parts), (WIDTH, bottom + BOTTOM), ())


def curve_plots(drawn: Sequence[StudyCurve]) -> list[str]:
    """Return an outcome over parameters, with 95 % intervals, on one vertical axis."""
    if not drawn:
        return []
    ends = np.concatenate([end for own in drawn for end in (own.lower, own.upper)])
    factor, unit = _scale(drawn[0].unit, ends)
    low, high = factor * float(ends.min()), factor * float(ends.max())
    if unit == "%":
        low, high = 0.0, 100.0
    up = make_axis(low, high, HEIGHT - BOTTOM, TOP, margin=0.03)
    return [_curve_plot(own, factor, unit, up) for own in drawn]


def _curve_plot(drawn: StudyCurve, factor: float, unit: str, up: Axis) -> str:
    cells, count = drawn.cells, len(drawn.cells)
    label = f"{_with_unit(drawn.parameter)}; {_counts(drawn.counts, 'point')}"
    middle = cells.middle
    texts = not np.isfinite(middle).all()
    wide_range = (
        not texts and middle[0] > 0.0 and middle[-1] > LARGEST_RATIO * middle[0]
    )
    if texts or wide_range:
        wide = (WIDTH - LEFT - RIGHT) / count
        x = LEFT + wide * (np.arange(count) + 0.5)
        across = Axis(0.0, 1.0, LEFT, WIDTH - RIGHT, (), 1.0)
        names = _names_below(_ticks(cells), wide, up.begin)
    else:
        ends = float(middle[0]), float(middle[-1])
        across = make_axis(*ends, LEFT, WIDTH - RIGHT, margin=0.04)
        x = across.place(middle)
        names = []
    mean, lower, upper = (
        factor * values for values in (drawn.values, drawn.lower, drawn.upper)
    )
    parts = [grid(across, up, label), *names]
    if not texts:
        parts.append(stroke(np.stack([x, up.place(mean)], axis=1), "line c0"))
    for k, name in enumerate(cells.names):
        said = (
            f"{drawn.parameter.name} {name}: {number_words(mean[k])} {unit} "
            f"({number_words(lower[k])} to {number_words(upper[k])}), "
            f"{drawn.counts[k]} runs"
        )
        whisker = np.array([[x[k], up.place(end)] for end in (lower[k], upper[k])])
        dot = ring(np.array([x[k], up.place(mean[k])]), 3.5, "dot c0")
        parts.append(titled(said, stroke(whisker, "curve-whisker c0"), dot))
    legend = [sample("mean, with its 95 % interval", "c0")]
    return figure(drawn.title, unit, "".join(parts), (WIDTH, HEIGHT), legend)


def _scale(unit: str, values: Array) -> tuple[float, str]:
    """Return the factor and the unit that values are shown with."""
    if unit == "%":
        return 100.0, unit
    if unit == "m" and np.nanmax(np.abs(values)) < SMALL_METRES:
        return 1e3, "mm"
    return 1.0, unit


def _ticks(cells: Cells) -> list[str]:
    """Return short names of cells: levels, or the middles of ranges."""
    middle = cells.middle
    # what is zero but for chance, or rounding, is zero
    middle[np.abs(middle) < 1e-3 * np.ptp(middle)] = 0.0
    return [
        _short(name if not np.isfinite(at) else number_words(at), LONGEST_TICK)
        for name, at in zip(cells.names, middle, strict=True)
    ]


def _names_below(names: Sequence[str], wide: float, bottom: float) -> list[str]:
    """Return names below columns, not all of them if they would touch."""
    longest = max(map(len, names))
    every = math.ceil((LETTER * longest + 4.0) / wide)
    return [
        _words(LEFT + (k + 0.5) * wide, bottom + 17.0, name, "middle")
        for k, name in enumerate(names)
        if k % every == 0
    ]


def _counts(counts: NDArray[np.intp], what: str) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low} runs a {what}" if low == high else f"{low} to {high} runs a {what}"


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
