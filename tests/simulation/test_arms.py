"""Walks by whole-body torques whose arms hold still, swing or wave."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.whole_body.arms import use_arms
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.gait.motion import solve
from equipoise.gait.plan import plan_walk
from equipoise.gait.waving import waving
from equipoise.robot.joint_coordinates import degree_of


def test_arms_suppress_the_yaw_moment_and_hands_follow() -> None:
    """Arms that swing leave at most 60 % of it; held still they move by nothing."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot, 2)
    motion = solve(robot, gait)
    still = eq.walk(robot, motion, actuators="torque", arms="still")
    yaw = eq.walk(robot, motion, actuators="torque", arms="yaw")
    assert still.summary["achieved"]
    assert yaw.summary["achieved"]
    least = still.summary["yaw_moment_rms_nm"]
    assert yaw.summary["yaw_moment_rms_nm"] <= 0.6 * least
    joints = [degree_of(robot, n) for arm in robot.arms.values() for n in arm.joints]
    moved = np.ptp(still.q[:, 7:][:, joints], axis=0).max()
    assert moved < 0.03
    assert np.ptp(yaw.q[:, 7:][:, joints], axis=0).max() > 5.0 * moved
    waved = solve(robot, gait, arms=waving(robot, "right", gait.duration))
    run = eq.walk(robot, waved, actuators="torque")
    assert run.summary["achieved"]
    assert run.summary["arms"] == "right hand waving"
    assert run.summary["hand_error_m"]["rms"] < 0.02 * run.summary["hand_way_m"]


def test_joints_that_move_are_not_loose() -> None:
    """A hand that waves goes on waving while the other arm swings."""
    robot = eq.load("humanoid")
    waves = robot.arms["right"].joints
    use = use_arms(robot, "yaw", waves)
    assert use.follow == waves
    assert use.loose == robot.arms["left"].joints
    assert [task.name for task in use.tasks] == ["angular momentum"]
    assert set(use_arms(robot, "still").follow) == {
        *robot.arms["left"].joints,
        *robot.arms["right"].joints,
    }


def test_what_arms_cannot_do_is_refused() -> None:
    """Unknown words, robots without arms, and servos."""
    with pytest.raises(NameNotFoundError, match="swing"):
        use_arms(eq.load("humanoid"), "swing")  # type: ignore[arg-type]
    with pytest.raises(EquipoiseError, match="no arms"):
        use_arms(eq.load("itu-biped"), "yaw")
    robot = eq.load("mahru-1")
    with pytest.raises(EquipoiseError, match="whole-body torques"):
        eq.walk(robot, solve(robot, plan_walk(robot, 2)), arms="yaw")
