from __future__ import annotations

import numpy as np
import pytest
from bipeds import Biped
from conftest import REAL

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import (
    ArmMotion,
    built_in_dance,
    check_arm_motion,
    free_joints,
    peak_speeds,
)
from equipoise.robot.joint_coordinates import degree_of, joint_positions

TIMES = np.arange(0.0, 10.0005, 1e-3)


def swing(joint: str, amplitude: float, seconds: float = 4.0) -> ArmMotion:
    """Return one joint that goes to an angle and back."""
    time = np.linspace(0.0, seconds, 81)
    position = 0.5 * amplitude * (1.0 - np.cos(2.0 * np.pi * time / seconds))
    return ArmMotion(time, (joint,), position[:, None], "test")


@pytest.fixture(params=["mahru-1", "humanoid", *REAL])
def robot(request: pytest.FixtureRequest) -> eq.Robot:
    """Catalogue robots with arms, and real ones."""
    if request.param in REAL:
        return eq.load(request.getfixturevalue(f"{request.param}_urdf"))
    return eq.load(request.param)


def test_the_dance_fits_any_arms(robot):
    """Four joints of each arm reach 2 rad/s within limits; at rest at both ends."""
    dance = built_in_dance(robot, robot.standing)
    check_arm_motion(robot, dance, TIMES)
    assert dance.duration == 10.0
    speeds = peak_speeds(dance)
    for arm in robot.arms.values():
        assert sum(speeds.get(joint, 0.0) >= 2.0 for joint in arm.joints) == 4
    path = dance.at(TIMES)
    begin = joint_positions(robot, robot.standing)
    rest = [begin[degree_of(robot, joint)] for joint in dance.joints]
    for at in (0, -1):
        np.testing.assert_allclose(path[at], rest, atol=1e-12)
    velocity = np.gradient(path, TIMES, axis=0)
    assert np.abs(velocity[[0, -1]]).max() < 1e-3
    # smooth: accelerations have no jumps
    jumps = np.diff(np.gradient(velocity, TIMES, axis=0), axis=0)
    assert np.abs(jumps).max() < 1.0


def test_a_smaller_dance_is_the_same_dance():
    """Its extent scales all that moves."""
    robot = eq.load("humanoid")
    whole = built_in_dance(robot, robot.standing)
    half = built_in_dance(robot, robot.standing, 0.5)
    start = whole.position[0]
    np.testing.assert_allclose(
        half.position - start, 0.5 * (whole.position - start), atol=1e-12
    )


def test_limits_name_joint_and_time():
    """A joint beyond its range, or too fast, is named with the time."""
    robot = eq.load("mahru-1")
    time = np.arange(0.0, 4.0005, 1e-3)
    check_arm_motion(robot, swing("left_elbow", 2.2), time)
    with pytest.raises(EquipoiseError, match=r"'left_elbow' would be at 2\.300.* s; "):
        check_arm_motion(robot, swing("left_elbow", 2.5), time)
    fast = swing("left_elbow", 2.2, 0.9)
    with pytest.raises(EquipoiseError, match=r"'left_elbow' would move at .* rad/s at"):
        check_arm_motion(robot, fast, np.arange(0.0, 0.9, 1e-3))


def test_legs_cannot_be_given():
    """Nor joints that carry legs, nor those that there are not."""
    robot = eq.load("humanoid")
    free = free_joints(robot)
    assert "waist_yaw" in free
    assert not set(free) & robot.leg_joints
    with pytest.raises(EquipoiseError, match="'left_knee' moves or carries a leg"):
        check_arm_motion(robot, swing("left_knee", 0.1), TIMES[:4000])
    with pytest.raises(EquipoiseError, match="has no joint 'left_elbo'"):
        check_arm_motion(robot, swing("left_elbo", 0.1), TIMES[:4000])


def test_arms_of_three_joints_dance(tmp_path):
    """With what they have."""
    path = tmp_path / "three.urdf"
    path.write_text(Biped().urdf(), encoding="utf-8")
    robot = eq.load(path)
    dance = built_in_dance(robot, robot.standing)
    assert len(dance.joints) == 6
    assert min(peak_speeds(dance).values()) >= 2.0


def test_no_arms_no_dance():
    """A robot without arms says what is missing."""
    robot = eq.load("itu-biped")
    with pytest.raises(EquipoiseError, match="has no arms to dance with"):
        built_in_dance(robot, robot.standing)
