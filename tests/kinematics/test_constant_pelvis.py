from __future__ import annotations

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.kinematics.ccg import solve_constant_pelvis
from equipoise.kinematics.com import com
from equipoise.kinematics.com_targets import ComTargets, Outcome, com_targets
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.load import load
from equipoise.robot.model import Robot


def lifted_foot(robot: Robot, height: float) -> ComTargets:
    """Return targets: the CoM where it is standing, the left foot ever higher [m]."""
    left, right = (
        np.tile(sole_pose(robot, robot.standing, side), (5, 1, 1))
        for side in ("left", "right")
    )
    left[:, 2, 3] += np.linspace(0.0, height, 5)
    return com_targets(np.tile(com(robot, robot.standing), (5, 1)), left, right)


@pytest.mark.parametrize("name", ["humanoid", "itu-biped", "mahru-1"])
def test_standing_is_exact(name):
    """Where the posture is standing itself, the constant vector is right."""
    robot = load(name)
    targets = lifted_foot(robot, 0.1)
    found = solve_constant_pelvis(robot, targets)
    assert found.com_error[0] < 1e-9
    np.testing.assert_allclose(found.q[0], robot.standing, rtol=0, atol=1e-6)
    assert found.outcome[0] == Outcome.CONVERGED


def test_a_lifted_foot_takes_the_com_along():
    """The error grows with the foot's height, and is that of the kinematics."""
    robot = load("itu-biped")
    targets = lifted_foot(robot, 0.2)
    found = solve_constant_pelvis(robot, targets)
    assert (np.diff(found.com_error) > 0.005).all()
    error = np.linalg.norm(com(robot, found.q) - targets.com, axis=1)
    np.testing.assert_allclose(error, found.com_error, rtol=0, atol=1e-12)
    for side, wanted in (("left", targets.left), ("right", targets.right)):
        reached = sole_pose(robot, found.q, side)
        np.testing.assert_allclose(reached, wanted, rtol=0, atol=1e-12)
    base = np.tile(robot.standing[:7], (5, 1))
    np.testing.assert_allclose(found.q[:, :7], base, rtol=0, atol=1e-12)
    assert found.outcome.tolist() == [Outcome.CONVERGED] + 4 * [Outcome.NOT_CONVERGED]
    assert not found.iterations.any()


def test_feet_below_reach_are_said():
    """A foot half a metre below the ground is out of reach."""
    robot = load("itu-biped")
    found = solve_constant_pelvis(robot, lifted_foot(robot, -0.5))
    assert found.outcome[-1] == Outcome.UNREACHABLE
    hip = frame_pose(robot, robot.standing, "left_hip_yaw")[:3, 3]
    ankle = frame_pose(robot, robot.standing, "left_ankle_roll")[:3, 3]
    distance = np.linalg.norm(ankle - [0.0, 0.0, 0.5] - hip)
    assert found.foot_gap[-1] == pytest.approx(distance - 0.822, abs=1e-9)


def test_tolerance_is_checked():
    """A tolerance must be positive."""
    robot = load("itu-biped")
    with pytest.raises(EquipoiseError, match="tolerance must be positive, it is -1"):
        solve_constant_pelvis(robot, lifted_foot(robot, 0.1), tolerance=-1)
