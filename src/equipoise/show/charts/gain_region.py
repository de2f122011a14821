"""Which gains of the balancing controller are stable, drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from equipoise.control.certificate import Gains
from equipoise.show.charts.paper_figures import MM_PER_INCH, our_style, save_figure
from equipoise.show.palette import LIGHT

WIDTH_MM, HEIGHT_MM = 120.0, 90.0
# Gains up to this multiple of ω, or of those that are marked, are drawn.
AROUND = 2.5, 1.3
POINTS = 241


def write_gain_region(path: Path | str, gains: Gains) -> Path:
    """Draw stable gains, those that the paper's conditions hold for, and one's own.

    Args:
        path: File to write, ``.png``, ``.svg`` or ``.pdf``.
        gains: The gains that are marked; their ω, delay and lag count for all.

    Raises:
        EquipoiseError: If the file cannot be written.
    """
    omega = gains.omega
    most = max(AROUND[0] * omega, AROUND[1] * max(gains.zmp_gain, gains.com_gain))
    grid = np.linspace(0.0, most, POINTS)
    stable = np.array(
        [[replace(gains, zmp_gain=p, com_gain=c).stable for p in grid] for c in grid]
    )
    # boundaries of Eq. 25: k_p = ω as printed, k_p k_c = ω² as proven, above k_c = ω
    proven = np.linspace(omega, omega**2 / most, POINTS)
    lines = (
        ("Eq. 25, as printed", [0.0, omega, omega], [omega, omega, most], "c1"),
        ("Eq. 25, as proven", [0.0, *proven], [omega, *omega**2 / proven], "c0"),
    )
    with our_style():
        drawn = Figure(figsize=(WIDTH_MM / MM_PER_INCH, HEIGHT_MM / MM_PER_INCH))
        FigureCanvasAgg(drawn)
        axes = drawn.add_axes((0.12, 0.14, 0.84, 0.78))
        if stable.any():
            green = LIGHT["c2"]
            axes.contourf(
                grid, grid, stable, levels=[0.5, 1.5], colors=[green], alpha=0.3
            )
        axes.fill_between([], [], color=LIGHT["c2"], alpha=0.3, label="stable")
        for name, x, y, colour in lines:
            axes.plot(x, y, color=LIGHT[colour], label=name)
        axes.plot(
            [gains.zmp_gain],
            [gains.com_gain],
            "o",
            color=LIGHT["ink"],
            label="these gains",
        )
        axes.set_xlim(0.0, most)
        axes.set_ylim(0.0, most)
        axes.set_xlabel("ZMP gain k_p [1/s]")
        axes.set_ylabel("CoM gain k_c [1/s]")
        measured = ""
        if gains.delay or gains.lag:
            measured = f", delay {1e3 * gains.delay:g} ms, lag {1e3 * gains.lag:g} ms"
        axes.set_title(f"ω = {omega:.3g}/s{measured}")
        axes.legend(loc="lower right")
        return save_figure(path, drawn)
