"""Draw the maps of ``docs/torso_com_study.md`` from the tables of its studies.

``python draw_maps.py ITU/table.csv G1/table.csv PUSHES/table.csv PICTURE.png``
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

CELLS = 10
DIRECTIONS = 16


def table(path: str) -> np.ndarray:
    """Return a table by the names of its columns."""
    return np.genfromtxt(
        path, delimiter=",", names=True, dtype=None, encoding="utf-8", deletechars=""
    )


def fraction(a: np.ndarray, b: np.ndarray, survived: np.ndarray, edges: list) -> tuple:
    """Return the fraction of runs that survived by cell [%], and how many there are."""
    runs = np.histogram2d(a, b, bins=edges)[0]
    stood = np.histogram2d(a, b, bins=edges, weights=survived.astype(float))[0]
    return 100.0 * stood / np.maximum(runs, 1), runs


def torso_map(axes: Axes, rows: np.ndarray, most_impulse: float, title: str) -> None:
    """Draw what survives over the torso's CoM error, of pushes up to an impulse."""
    rows = rows[rows["push.impulse"] <= most_impulse]
    x, y = 1e3 * rows["torso.com.x"], 1e3 * rows["torso.com.y"]
    edges = np.linspace(-1.0, 1.0, CELLS + 1) * np.abs(x).max()
    percent, runs = fraction(x, y, rows["survived"], [edges, edges])
    shown = axes.pcolormesh(edges, edges, percent, vmin=0, vmax=100, cmap="Blues")
    middle = 0.5 * (edges[1:] + edges[:-1])
    for i, at_x in enumerate(middle):
        for j, at_y in enumerate(middle):
            colour = "white" if percent[i, j] > 55 else "black"
            words = f"{percent[i, j]:.0f}"
            axes.text(at_y, at_x, words, color=colour, ha="center", va="center", size=7)
    axes.set(xlabel="torso CoM, to the left [mm]", ylabel="torso CoM, forward [mm]")
    axes.invert_xaxis()  # as seen from above: left is left
    few = int(runs.min())
    axes.set_title(f"{title}\npushes up to {most_impulse:g} N s/kg, {few} runs or more")
    axes.figure.colorbar(shown, ax=axes, label="survived [%]", shrink=0.8)


def push_map(axes: Axes, rows: np.ndarray, title: str) -> None:
    """Draw what survives by direction and impulse, in polar coordinates."""
    angle = np.radians(rows["push.direction"])
    wide = 2.0 * np.pi / DIRECTIONS
    angle = (angle + 0.5 * wide) % (2.0 * np.pi)
    around = np.arange(DIRECTIONS + 1) * wide
    size = np.linspace(0.05, 0.45, 9)
    percent, _ = fraction(angle, rows["push.impulse"], rows["survived"], [around, size])
    shown = axes.pcolormesh(
        around - 0.5 * wide, size, percent.T, vmin=0, vmax=100, cmap="Blues"
    )
    axes.set_theta_zero_location("N")
    axes.set_rlim(0.0, 0.45)
    axes.set_title(f"{title}\nforward is up; impulse in N s/kg")
    axes.figure.colorbar(shown, ax=axes, label="survived [%]", shrink=0.8)


def main() -> None:
    """Draw all three."""
    itu, g1, pushes, picture = sys.argv[1:]
    figure = plt.figure(figsize=(15.0, 4.6), layout="constrained")
    torso_map(figure.add_subplot(131), table(itu), 0.3, "ITU Biped")
    torso_map(figure.add_subplot(132), table(g1), 0.1, "Unitree G1")
    push_map(
        figure.add_subplot(133, projection="polar"),
        table(pushes),
        "Unitree G1, another possible robot in each run",
    )
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main()
