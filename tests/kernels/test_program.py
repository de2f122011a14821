from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from random_trees import random_tree

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.kernels import runtime
from equipoise.kernels.program import make_program
from equipoise.kinematics.batch import tree_arrays
from equipoise.simulation.contacts import Material
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.world import make_world


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("side_by_side", ["limbs", "robots"])
def test_lanes_there_and_back(robot: eq.Robot, count: int, side_by_side: str) -> None:
    """What is laid out in lanes comes back as it was, world aside."""
    tree = tree_arrays(robot)
    scalar = runtime.SCALARS[np.dtype(np.float64)]
    program = make_program(tree, scalar, runtime.device_named("cpu"), side_by_side)
    rng = np.random.default_rng(0)
    for lead in ((), (3,)):
        values = rng.normal(size=(*lead, count, len(tree.parent), 2))
        laid = program.in_lanes(values)
        groups = program.schedule.groups
        shape = (program.blocks(count), groups, 2, program.width)
        assert laid.shape == (*lead, *shape)
        back = program.from_lanes(laid, count)
        assert (back[..., 1:, :] == values[..., 1:, :]).all()
        assert (back[..., 0, :] == 0.0).all()


def test_balls_are_refused() -> None:
    """Joints of more than one degree of freedom are refused, and said which."""
    robot = random_tree(["revolute", "spherical"], 0)
    standing = {"standing": pin.neutral(robot.model)}
    robot = replace(robot, limbs={}, postures=standing)
    with pytest.raises(EquipoiseError, match="joint_1"):
        Fleet(make_world(robot, contacts=(), material=Material(1e4, 1.0)), 1)
