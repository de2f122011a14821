"""Both feet over a whole walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.gait.footsteps import Footstep, Footsteps
from equipoise.gait.ground import Height
from equipoise.gait.swing import FootTable, Swing, plan_swing
from equipoise.gait.timing import Phase
from equipoise.robot.parts import Side


@dataclass(frozen=True)
class FootMotion:
    """One foot over time: it stands, swings, stands.

    Attributes:
        start: Where it stands at first.
        swings: Its swings, in order of time.
    """

    start: Footstep
    swings: tuple[Swing, ...]

    def at(self, times: Array) -> FootTable:
        """Return the foot at times [s], shape (n,)."""
        rest = np.zeros((len(times), 6))
        table = FootTable(
            np.tile(self.start.coordinates, (len(times), 1)), rest, rest.copy()
        )
        for swing in self.swings:
            later = times >= swing.lift_off
            for whole, part in zip(table, swing.at(times[later]), strict=True):
                whole[later] = part
        return table


def plan_feet(
    footsteps: Footsteps,
    phases: tuple[Phase, ...],
    clearance: float,
    polygons: Mapping[Side, Array],
    height: Height | None = None,
) -> dict[Side, FootMotion]:
    """Return the motion of both feet.

    Args:
        footsteps: Where they stand.
        phases: When they swing.
        clearance: Above the higher of both ends and the ground between [m].
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
        height: Height of the ground [m] at x and y [m], if known.
    """
    swings: dict[Side, list[Swing]] = {"left": [], "right": []}
    times = {phase.step: phase for phase in phases if phase.kind == "swing"}
    for stride in footsteps.strides:
        side, phase = stride.end.side, times[stride.number]
        swings[side].append(
            plan_swing(
                stride.start,
                stride.end,
                phase.start,
                phase.end,
                clearance,
                polygons[side],
                height,
            )
        )
    return {
        side: FootMotion(footsteps.feet[side], tuple(done))
        for side, done in swings.items()
    }
