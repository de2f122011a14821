"""Plots of prediction errors in poses that were left out, and of CoM shifts by link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.show.pages.labels import signed
from equipoise.show.pages.markup import element, path, stroke, text, titled
from equipoise.show.pages.svg_plots import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    figure,
    grid,
    make_axis,
    placed,
    ring,
    sample,
    upright,
)

SQUARE = 380.0
# Dots of poses [px]; where there are more poses than this, smaller ones.
DOT, SMALL_DOT, MANY = 4.0, 2.5, 60
# An axis of errors reaches at least so far [mm], and of shifts [mm].
LEAST_ERROR, LEAST_SHIFT = 0.1, 0.1
# Rows of the bars: height of a link, of a bar in it, and of the letters' width [px].
ROW, BAR, LETTER = 25.0, 5.0, 8.0
LONGEST_NAME = 20
AXES = ("x", "y", "z")
COLOURS = ("c0", "c1", "c2")


def error_scatter(before: Array, after: Array) -> str:
    """Return a plot of errors from above, with circles as large as their RMS.

    Args:
        before: Errors of the model, forward and to the left [m], shape (n, 2).
        after: Errors of what was identified [m], shape (n, 2).
    """
    before, after = 1e3 * before, 1e3 * after
    rms = [
        float(np.sqrt(np.mean(np.sum(errors**2, axis=1)))) for errors in (before, after)
    ]
    reach = max(float(np.abs([before, after]).max()), *rms, LEAST_ERROR) * 1.06
    wide = WIDTH - LEFT - RIGHT
    most = reach * wide / SQUARE
    across = make_axis(-most, most, LEFT, WIDTH - RIGHT, ticks=8)
    up = make_axis(-reach, reach, TOP + SQUARE, TOP)
    places = [placed(errors, across, up) for errors in (before, after)]
    size = DOT if len(before) <= MANY else SMALL_DOT
    steps = [stroke(np.array(pair), "step") for pair in zip(*places, strict=True)]
    zero = placed(np.zeros(2), across, up)
    scale = SQUARE / (2.0 * reach)
    circles = [
        ring(zero, radius * scale, f"rms {style}")
        for radius, style in zip(rms, ("c1", "c0"), strict=True)
    ]
    cross = [
        stroke(np.array(ends), "zero")
        for ends in (
            [[across.begin, zero[1]], [across.end, zero[1]]],
            [[zero[0], up.begin], [zero[0], up.end]],
        )
    ]
    dots = [
        titled(f"pose {at}, {words}: {x}, {y} mm", ring(place, size, f"dot {style}"))
        for words, style, errors, dots in (
            ("model", "c1", before, places[0]),
            ("identified", "c0", after, places[1]),
        )
        for at, place in enumerate(dots)
        for x, y in [[signed(float(part), 2) for part in errors[at]]]
    ]
    body = "".join([grid(across, up, "forward [mm]"), *cross, *circles, *steps, *dots])
    legend = [
        sample(f"identified, RMS {rms[1]:.3g} mm", "c0"),
        sample(f"model, RMS {rms[0]:.3g} mm", "c1"),
    ]
    title = "Errors from above: left over forward (circles: RMS)"
    return figure(title, "mm", body, (WIDTH, TOP + SQUARE + BOTTOM), legend)


def errors_by_pose(before: Array, after: Array, odd: Sequence[int]) -> str:
    """Return a plot of how far off each pose's prediction is; odd poses are marked.

    Errors are those of :func:`error_scatter`.
    """
    sizes = [1e3 * np.linalg.norm(errors, axis=1) for errors in (before, after)]
    count = len(before)
    across = make_axis(-0.5, count - 0.5, LEFT, WIDTH - RIGHT, ticks=min(count, 8))
    high = max(float(np.max(sizes)), LEAST_ERROR) * 1.06
    up = make_axis(0.0, high, TOP + SQUARE, TOP)
    dot = DOT if count <= MANY else SMALL_DOT
    parts = [grid(across, up, "pose")]
    for at in range(count):
        x = across.place(float(at))
        if at in odd:
            parts.append(upright(x, up, "event"))
        ends = np.array([[x, up.place(float(size[at]))] for size in sizes])
        words = f"pose {at}: {sizes[0][at]:.2f} mm to {sizes[1][at]:.2f} mm"
        dots = [ring(ends[0], dot, "dot c1"), ring(ends[1], dot, "dot c0")]
        parts += [stroke(ends, "step"), titled(words, *dots)]
    legend = [sample("poses that count less", "reference")] if odd else []
    legend += [sample("identified", "c0"), sample("model", "c1")]
    size = (WIDTH, TOP + SQUARE + BOTTOM)
    title = "Distance from the measured CoP, by pose"
    return figure(title, "mm", "".join(parts), size, legend)


def shift_bars(links: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return plots of how far links' centres of mass moved, with 95 % intervals.

    Links that the data determine come first, the farthest at the top; the others are
    grey. Many links are split into two plots to the same scale.
    """
    shifts = {
        name: 1e3 * (np.asarray(link["com_m"]) - np.asarray(link["com_before_m"]))
        for name, link in links.items()
    }
    order = sorted(
        links, key=lambda n: -np.linalg.norm(shifts[n]) if links[n]["seen"] else 1.0
    )
    if not order:
        return []
    spreads = {n: 1e3 * np.asarray(links[n]["com_interval_95_m"]) for n in order}
    ends = [float(np.max(np.abs(shifts[n]) + spreads[n])) for n in order]
    reach = max(LEAST_SHIFT, *ends)
    gutter = 14.0 + LETTER * min(max(map(len, order)), LONGEST_NAME)
    half = (len(order) + 1) // 2 if len(order) > 8 else len(order)
    parts = [order[:half], order[half:]]
    return [
        _bars({n: shifts[n] for n in part}, links, 1.03 * reach, max(gutter, LEFT))
        for part in parts
        if part
    ]


def _bars(
    shifts: Mapping[str, Array],
    links: Mapping[str, Mapping[str, Any]],
    reach: float,
    gutter: float,
) -> str:
    height = ROW * len(shifts)
    across = make_axis(-reach, reach, gutter, WIDTH - RIGHT)
    up = make_axis(0.0, float(len(shifts)), TOP + height, TOP)
    parts = [
        grid(across, replace(up, ticks=()), "shift [mm]"),
        upright(across.place(0.0), up, "zero"),
    ]
    for row, (name, shift) in enumerate(shifts.items()):
        spread = 1e3 * np.asarray(links[name]["com_interval_95_m"])
        seen = bool(links[name]["seen"])
        parts.append(_bars_of(name, shift, spread, seen, TOP + ROW * row, across))
    legend = [sample(*one) for one in zip(AXES, COLOURS, strict=True)][::-1]
    if not all(links[name]["seen"] for name in shifts):
        legend.insert(0, sample("stays at the model's value", "stays"))
    title = "Shift in link axes, with 95 % intervals"
    return figure(title, "mm", "".join(parts), (WIDTH, TOP + height + BOTTOM), legend)


def _bars_of(
    name: str, shift: Array, spread: Array, seen: bool, top: float, across: Axis
) -> str:
    """Return a link's name, three bars and their intervals."""
    note = "" if seen else " (stays at the model's value)"
    numbers = ", ".join(
        f"{axis} {signed(a, 1)} ± {b:.1f}"
        for axis, a, b in zip(AXES, shift, spread, strict=True)
    )
    parts = []
    for at, colour in enumerate(COLOURS):
        y = top + 0.5 * (ROW - 3.0 * BAR) + BAR * (at + 0.5)
        tip, *reach = (
            across.place(float(shift[at] + side * spread[at])) for side in (0, -1, 1)
        )
        zero = across.place(0.0)
        bar = np.array([[zero, y - 2], [tip, y - 2], [tip, y + 2], [zero, y + 2]])
        style = colour if seen else "unseen"
        parts.append(element("path", d=f"{path(bar)}Z", class_=f"bar {style}"))
        parts.append(stroke(np.array([[x, y] for x in reach]), f"whisker {style}"))
    short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    words = element(
        "text",
        text(short),
        x=f"{across.begin - 7.0:.1f}",
        y=f"{top + 0.5 * ROW + 4.0:.1f}",
        text_anchor="end",
        class_=None if seen else "unseen",
    )
    return titled(f"{name}{note}: {numbers} mm", *parts, words)
