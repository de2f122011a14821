"""Footsteps that keep off the edges of the ground."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from equipoise.arrays import Array
from equipoise.gait.footsteps import SIDES, Footstep, Footsteps, other, sole_transforms
from equipoise.kinematics.blocks import Blocks
from equipoise.robot.parts import Side


def onto_blocks(
    footsteps: Footsteps, ground: Blocks, polygons: Mapping[Side, Array]
) -> Footsteps:
    """Return footsteps, each with its whole sole on one block.

    A step is as long and wide as it was planned, from where the other foot now stands,
    and then shifted by as little as possible; its heading is kept. Feet at the start
    stay where they are.

    Args:
        footsteps: Footsteps as planned.
        ground: The blocks.
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
    """
    moved = {side: np.zeros(2) for side in SIDES}
    steps: list[Footstep] = []
    for step in footsteps.steps:
        beside = moved[other(step.side)]
        x, y = (np.array([step.x, step.y]) + beside).tolist()
        placed = replace(step, x=x, y=y)
        pose = sole_transforms(placed.coordinates)
        corners = polygons[step.side] @ pose[:2, :2].T + pose[:2, 3]
        shift = ground.inside(corners)
        moved[step.side] = beside + shift
        x, y = (np.array([x, y]) + shift).tolist()
        steps.append(replace(placed, x=x, y=y))
    return Footsteps(footsteps.left, footsteps.right, tuple(steps))
