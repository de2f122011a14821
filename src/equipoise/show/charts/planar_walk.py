"""Charts over time of a walk of the three-link biped."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.planar.hybrid import Walk
from equipoise.show.charts.chart import Chart, Series


def walk_charts(walk: Walk) -> list[Chart]:
    """Return angles, torques, ground force and the friction it needs, over time.

    At impacts, where the legs exchange their names, the lines have gaps.

    Args:
        walk: The walk, of one step at least.
    """
    time, breaks = _with_gaps(walk)

    def lines(values: Array, *labels: str) -> tuple[Series, ...]:
        gapped = np.insert(values, breaks, np.nan, axis=0)
        styles = ("c0", "c1", "c2")
        return tuple(
            Series(label, gapped[:, i], styles[i])
            for i, label in reversed([*enumerate(labels)])
        )

    force = walk.force
    ratio = np.abs(force[:, :1]) / np.where(force[:, 1:] > 0.0, force[:, 1:], np.nan)
    angles = lines(walk.state[:, :3], "stance leg θ₁", "swing leg θ₂", "torso θ₃")
    torques = lines(walk.torques, "stance leg u₁", "swing leg u₂")
    forces = lines(force, "horizontal", "vertical")
    return [
        Chart("angles", "Angles from the vertical", "rad", time, angles),
        Chart("torques", "Torques between torso and leg", "Nm", time, torques),
        Chart("force", "Ground force", "N", time, forces),
        Chart(
            "friction",
            "Friction needed, |horizontal| / vertical",
            "",
            time,
            lines(ratio, "friction needed"),
            least=0.1,
        ),
    ]


def _with_gaps(walk: Walk) -> tuple[Array, list[int]]:
    """Return times with one more at each impact, and the rows before which it is."""
    ends = np.cumsum([len(step.time) for step in walk.steps])[:-1].tolist()
    time = walk.time
    return np.insert(time, ends, time[ends]), ends
