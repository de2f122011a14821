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
def test_lanes_hold_bodies(robot: eq.Robot, count: int, side_by_side: str) -> None:
    """Each lane of a group holds the body that the schedule says, of its robot."""
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
        schedule = program.schedule
        for block in range(program.blocks(count)):
            robots = block * schedule.robots + schedule.robot
            whose = np.minimum(robots, count - 1)
            wanted = values[..., whose, schedule.body, :]
            found = np.moveaxis(laid[..., block, :, :, :], -1, -2)
            assert (found == wanted).all()


def test_balls_are_refused() -> None:
    """Joints of more than one degree of freedom are refused, and said which."""
    robot = random_tree(["revolute", "spherical"], 0)
    standing = {"standing": pin.neutral(robot.model)}
    robot = replace(robot, limbs={}, postures=standing)
    with pytest.raises(EquipoiseError, match="joint_1"):
        Fleet(make_world(robot, contacts=(), material=Material(1e4, 1.0)), 1)
