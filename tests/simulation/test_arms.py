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


def test_an_arm_suppresses_the_yaw_moment_while_the_other_hand_waves() -> None:
    """At most 60 % of it is left; arms that are held still move by nothing."""
    robot = eq.load("mahru-1")
    gait = plan_walk(robot, 2)
    still = eq.walk(robot, solve(robot, gait), actuators="torque", arms="still")
    waved = solve(robot, gait, arms=waving(robot, "right", gait.duration))
    yaw = eq.walk(robot, waved, actuators="torque", arms="yaw")
    assert still.summary["achieved"]
    assert yaw.summary["achieved"]
    least = still.summary["yaw_moment_rms_nm"]
    assert yaw.summary["yaw_moment_rms_nm"] <= 0.6 * least
    for side, moves in (("left", 0.2), ("right", 1.0)):
        joints = [degree_of(robot, name) for name in robot.arms[side].joints]
        assert np.ptp(still.q[:, 7:][:, joints], axis=0).max() < 0.03
        assert np.ptp(yaw.q[:, 7:][:, joints], axis=0).max() > moves
    assert yaw.summary["arms"] == "right hand waving, swinging against the yaw moment"
    assert yaw.summary["hand_error_m"]["rms"] < 0.02 * yaw.summary["hand_way_m"]


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
