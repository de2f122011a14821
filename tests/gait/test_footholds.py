from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.gait.footholds import onto_blocks
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.blocks import Blocks
from equipoise.simulation.terrain_names import terrain_named


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_soles_lie_flat_on_blocks(seed: int) -> None:
    """A planned sole is in the plane of the ground, tilted as its block is."""
    robot = eq.load("humanoid")
    ground = terrain_named("blocks:0.02,4", robot, seed)
    gait = plan_walk(robot, 8, ground=ground)
    for step in gait.footsteps.steps:
        pose = step.transform_sole_to_world
        corners = gait.polygons[step.side] @ pose[:3, :2].T + pose[:3, 3]
        # corners are 0.2 m apart: tilted axes move them by a fraction of a millimetre
        heights = ground.height(corners[:, 0], corners[:, 1])
        np.testing.assert_allclose(corners[:, 2], heights, atol=1e-4)
    assert any(abs(step.pitch) > 0.01 for step in gait.footsteps.steps)


def test_steps_on_one_block_stay() -> None:
    """Where all soles lie on level blocks already, nothing is shifted."""
    robot = eq.load("humanoid")
    ground = terrain_named("blocks:0.02,4,5", robot)
    assert isinstance(ground, Blocks)
    gait = plan_walk(robot, 3)
    moved = onto_blocks(gait.footsteps, ground, gait.polygons)
    assert moved == gait.footsteps
