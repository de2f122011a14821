"""Drawings of a planar gait: a step, phase portraits, Poincaré map and basin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Array
from equipoise.planar.gait import PlanarGait
from equipoise.planar.hybrid import Step, Walk
from equipoise.planar.poincare import Basin
from equipoise.show.charts.chart import Series
from equipoise.show.pages.markup import element, path, stroke, titled
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
    placed,
    ring,
    sample,
)
from equipoise.show.space.stick_figure import HIP, TORSO, figure_points

ANGLES = ("stance leg θ₁", "swing leg θ₂", "torso θ₃")
# Height of drawings whose axes are alike, of the plot itself [px].
SQUARE = 300.0
MARGIN = 0.06
# Figures of a step that are drawn, and how faint the first one is.
FIGURES, FAINTEST = 9, 0.25
# The Poincaré map is drawn for rates between these multiples of the fixed point's.
AROUND, MAP_POINTS, LINE_POINTS = (0.6, 1.5), 19, 400
DOT = 4.0


def step_figures(gait: PlanarGait, step: Step) -> str:
    """Return figures of a step at equal times, with the way of the swing foot."""
    model = gait.model
    theta = step.state[:, :3]
    foot = figure_points(model, theta, np.zeros((len(theta), 2)))[:, 1]
    times = np.linspace(0.0, step.duration, FIGURES)
    angles = np.stack([np.interp(times, step.time, a) for a in theta.T], axis=1)
    points = figure_points(model, angles, np.zeros((FIGURES, 2)))
    # to one scale: the taller or the wider of the two decides
    low, high = (
        edge(np.concatenate([points.reshape(-1, 2), foot]), axis=0)
        for edge in (np.min, np.max)
    )
    middle, span = 0.5 * (low + high), (1.0 + 2.0 * MARGIN) * (high - low)
    width = WIDTH - LEFT - RIGHT
    scale = min(width / span[0], SQUARE / span[1])
    half = 0.5 * np.array([width, SQUARE]) / scale
    across = make_axis(
        middle[0] - half[0], middle[0] + half[0], LEFT, WIDTH - RIGHT, ticks=8
    )
    up = make_axis(middle[1] - half[1], middle[1] + half[1], TOP + SQUARE, TOP)
    parts = [grid(across, up, "x, forward [m]")]
    ground = np.array([[across.low, 0.0], [across.high, 0.0]])
    parts.append(stroke(placed(ground, across, up), "line reference solid"))
    limbs = ((1, HIP, "c1"), (0, HIP, "c0"), (HIP, TORSO, "c3"))
    for at, pose in enumerate(placed(points, across, up)):
        faint = FAINTEST + (1.0 - FAINTEST) * at / (FIGURES - 1)
        lines = [stroke(pose[[a, b]], f"line {colour}") for a, b, colour in limbs]
        lines += [
            ring(pose[HIP], 3.0, "dot reference"),
            ring(pose[TORSO], DOT, "dot c3"),
        ]
        words = f"{times[at]:.2f} s"
        parts.append(
            element("g", titled(words, *lines), opacity=f"{faint:.2f}", class_="pose")
        )
    parts.append(stroke(placed(foot, across, up), "line c1 dashed"))
    legend = [
        sample("way of the swing foot", "c1 dashed"),
        sample("torso", "c3"),
        sample("swing leg", "c1"),
        sample("stance leg", "c0"),
    ]
    title = f"A step in {FIGURES} figures, {step.duration / (FIGURES - 1):.3f} s apart"
    size = (WIDTH, TOP + SQUARE + BOTTOM)
    return figure(title, "m", "".join(parts), size, legend)


def phase_portraits(
    walk: Walk | None, periodic: Step, ideal: Array | None = None
) -> list[str]:
    """Return rate over angle of both legs and the torso, a drawing each."""
    return [phase_portrait(i, walk, periodic, ideal) for i in range(3)]


def phase_portrait(
    which: int, walk: Walk | None, periodic: Step, ideal: Array | None = None
) -> str:
    """Return the rate over the angle of a leg or the torso.

    Args:
        which: 0 for the stance leg, 1 for the swing leg, 2 for the torso.
        walk: All steps, if there are any.
        periodic: The step that the walk converges to.
        ideal: States of the zero dynamics' periodic step, to compare, shape (n, 6).
    """
    columns = [which, which + 3]
    orbit = periodic.state[:, columns]
    steps = [step.state[:, columns] for step in walk.steps] if walk else []
    beside = [] if ideal is None else [ideal[:, columns]]
    across, up = _axes(np.concatenate([orbit, *steps, *beside]))
    parts = [grid(across, up, f"{ANGLES[which]} [rad]")]
    jump = np.stack([orbit[-1], periodic.after[columns]])
    parts.append(stroke(placed(jump, across, up), "line c1 dashed"))
    parts += [
        element("path", d=path(placed(points, across, up)), class_="line c0 thin")
        for points in steps
    ]
    parts += [stroke(placed(points, across, up), "line c2") for points in beside]
    parts.append(stroke(placed(orbit, across, up), "line c1"))
    legend = [sample("impact", "c1 dashed"), sample("periodic step", "c1")]
    if beside:
        legend = [sample("zero dynamics", "c2"), *legend]
    if steps:
        parts.append(ring(placed(steps[0][:1], across, up)[0], DOT, "dot c0"))
        legend.insert(0, sample("walk (dot: start)", "c0"))
    name = ANGLES[which]
    title = f"Phase portrait, {name.rpartition(' ')[0]}: rate over angle"
    size = (WIDTH, TOP + SQUARE + BOTTOM)
    return figure(title, "rad/s", "".join(parts), size, legend)


def poincare_plot(gait: PlanarGait, walk: Walk | None) -> str:
    """Return the Poincaré map of θ̇₁ before an impact, with its fixed point.

    The line is that of the zero dynamics, dots are steps of the full model, and the
    walk goes to and fro between map and diagonal.
    """
    fixed = float(gait.poincare.fixed_point[3])
    zero = gait.zero_dynamics
    walked = np.array([step.before[3] for step in walk.steps] if walk else [])
    low = min(AROUND[0] * fixed, *walked, np.inf)
    high = max(AROUND[1] * fixed, *walked, -np.inf)
    rates = np.linspace(low, high, LINE_POINTS)
    line = np.stack([rates, zero.next_rate(rates)], axis=1)
    some = np.linspace(low, high, MAP_POINTS)
    dots = np.stack([some, gait.return_map(some)], axis=1)
    dots = dots[np.isfinite(dots).all(axis=1)]
    values = np.concatenate([rates, line[:, 1], dots[:, 1]])
    values = values[np.isfinite(values)]
    bottom, top = float(values.min()), float(values.max())
    across = make_axis(low, high, LEFT, WIDTH - RIGHT, margin=0.02)
    up = make_axis(bottom, top, TOP + SQUARE, TOP, margin=0.02)
    parts = [grid(across, up, "θ̇₁ before an impact [rad/s]")]
    diagonal = np.stack([[low, low], [high, high]])
    parts.append(stroke(placed(diagonal, across, up), "line reference"))
    parts.append(stroke(placed(line, across, up), "line c0"))
    parts += [
        titled(
            f"from {x:.3f} to {y:.3f} rad/s",
            ring(placed(np.array([x, y]), across, up), 3.0, "dot c1"),
        )
        for x, y in dots.tolist()
    ]
    if len(walked) > 1:
        stairs = np.repeat(walked, 2)
        web = np.stack([stairs[:-1], stairs[1:]], axis=1)
        parts.append(
            element("path", d=path(placed(web, across, up)), class_="line c3 thin")
        )
    parts.append(ring(placed(np.full(2, fixed), across, up), 5.0, "fixed"))
    legend = [
        sample("next = this", "reference"),
        *([sample("walk", "c3")] if len(walked) > 1 else []),
        sample("full model", "c1"),
        sample("zero dynamics", "c0"),
    ]
    slope = gait.poincare.eigenvalues[0].real
    title = f"Poincaré map of θ̇₁, slope {slope:.3f} at the fixed point {fixed:.3f}"
    size = (WIDTH, TOP + SQUARE + BOTTOM)
    return figure(title, "rad/s", "".join(parts), size, legend)


def eigenvalue_plot(eigenvalues: Sequence[complex]) -> str:
    """Return eigenvalues in the complex plane, with the unit circle."""
    reach = 1.12 * max(1.0, *(abs(value) for value in eigenvalues))
    wide = reach * (WIDTH - LEFT - RIGHT) / SQUARE
    across = make_axis(-wide, wide, LEFT, WIDTH - RIGHT, ticks=8)
    up = make_axis(-reach, reach, TOP + SQUARE, TOP)
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    parts = [grid(across, up, "real part")]
    parts.append(stroke(placed(circle, across, up), "line reference"))
    parts += [
        titled(
            f"{value.real:.2g} + {value.imag:.2g} i, magnitude {abs(value):.3g}",
            ring(placed(np.array([value.real, value.imag]), across, up), DOT, "dot c0"),
        )
        for value in eigenvalues
    ]
    legend = [sample("unit circle", "reference"), sample("eigenvalues", "c0")]
    title = "Eigenvalues of the Poincaré map: imaginary over real part"
    size = (WIDTH, TOP + SQUARE + BOTTOM)
    return figure(title, "", "".join(parts), size, legend)


def basin_plot(basin: Basin) -> str:
    """Return which starts walk on: change of the rates over that of the torso."""
    rates, torsos = 100.0 * basin.rate_change, basin.torso_change
    half_rate, half_torso = (0.5 * (a[1] - a[0]) for a in (rates, torsos))
    across = make_axis(
        torsos[0] - half_torso, torsos[-1] + half_torso, LEFT, WIDTH - RIGHT, ticks=8
    )
    up = make_axis(rates[0] - half_rate, rates[-1] + half_rate, TOP + SQUARE, TOP)
    cells = []
    for row, rate in enumerate(rates):
        edges = np.flatnonzero(np.diff(basin.steps[row])) + 1
        for begin, end in zip([0, *edges], [*edges, len(torsos)], strict=True):
            made = int(basin.steps[row, begin])
            if made == 0:
                continue
            x = across.place(torsos[begin] - half_torso)
            y = up.place(rate + half_rate)
            walks = made >= basin.asked
            part = 0.6 if walks else 0.08 + 0.3 * made / basin.asked
            cells.append(
                element(
                    "rect",
                    x=f"{x:.1f}",
                    y=f"{y:.1f}",
                    width=f"{across.place(torsos[end - 1] + half_torso) - x:.1f}",
                    height=f"{up.place(rate - half_rate) - y:.1f}",
                    fill_opacity=f"{part:.2f}",
                    class_="dot c2" if walks else "dot reference",
                )
            )
    parts = [
        grid(across, up, "change of the torso's angle [rad]"),
        element("g", *cells, shape_rendering="crispEdges"),
    ]
    parts.append(ring(placed(np.zeros(2), across, up), 5.0, "fixed"))
    legend = [
        sample("falls before; darker is later", "reference solid"),
        sample(f"walks {basin.asked} steps", "c2"),
    ]
    size = (WIDTH, TOP + SQUARE + BOTTOM)
    return figure("Change of all rates at the start", "%", "".join(parts), size, legend)


def speed_plot(title: str, unit: str, speeds: Array, lines: Sequence[Series]) -> str:
    """Return quantities of gaits over their speed.

    Args:
        title: What is shown.
        unit: Unit of the quantities.
        speeds: Speeds [m/s], shape (n,).
        lines: The quantities, a value for each speed.
    """
    points = [np.stack([speeds, line.values], axis=1) for line in lines]
    across, up = _axes(np.concatenate([*points, [[speeds[0], 0.0]]]), HEIGHT)
    parts = [grid(across, up, "speed [m/s]")]
    for line, places in zip(lines, points, strict=True):
        shown = placed(places, across, up)
        parts.append(stroke(shown, f"line {line.style}"))
        parts += [ring(place, 3.0, f"dot {line.style}") for place in shown]
    return figure(title, unit, "".join(parts), (WIDTH, HEIGHT), lines)


def _axes(points: Array, height: float = TOP + SQUARE + BOTTOM) -> tuple[Axis, Axis]:
    """Return axes of a drawing so high [px] that hold all points, shape (n, 2)."""
    (left, low), (right, high) = points.min(axis=0), points.max(axis=0)
    across = make_axis(left, right, LEFT, WIDTH - RIGHT, margin=MARGIN)
    return across, make_axis(low, high, height - BOTTOM, TOP, margin=MARGIN)
