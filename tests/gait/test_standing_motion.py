from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.control.embedded_motion import resolve
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import ArmMotion
from equipoise.gait.standing_motion import (
    StandingMotion,
    embed,
    fit_dance,
    held_com,
    hold_legs,
    torque_fraction,
)
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_of

PAPER_COM = (0.034, 0.0, 0.687)


@pytest.fixture(scope="module")
def dance() -> StandingMotion:
    """The built-in dance of Mahru I."""
    return fit_dance(eq.load("mahru-1"))


def test_the_com_is_the_papers(dance):
    """It stays at the paper's point to 1e-7 m while soles and torso stay in place."""
    np.testing.assert_allclose(dance.com, PAPER_COM, atol=1e-5)
    assert dance.com_error.max() < 1e-7
    off = eq.com(dance.robot, dance.q) - dance.com
    assert np.linalg.norm(off, axis=1).max() < 1e-7
    for side in ("left", "right"):
        poses = sole_pose(dance.robot, dance.q[::50], side)
        np.testing.assert_allclose(poses, poses[:1].repeat(len(poses), 0), atol=1e-8)
    np.testing.assert_allclose(dance.q[:, 3:7], dance.q[:1, 3:7].repeat(10001, 0))
    assert np.abs(dance.zmp - dance.com[:2]).max() < 0.01


@pytest.mark.parametrize("base", ["left", "right", "both"])
def test_it_is_what_the_equations_integrate_to(dance, base):
    """Eq. 18–19 give the same joint velocities, and integrated the same joints."""
    robot = dance.robot
    still = np.zeros(3)
    for row in (700, 3100, 5000, 8123):
        wanted = dance.v[row]
        found = resolve(
            robot, dance.q[row], still, joint_velocity=wanted[6:], base=base
        )
        np.testing.assert_allclose(found.velocity, wanted, atol=2e-4)
    begin, count, step = 3000, 200, 2
    q = dance.q[begin].copy()
    for row in range(begin, begin + count, step):
        # midpoint rule
        arms = [dance.v[row + half][6:] for half in (0, 1)]
        first = resolve(robot, q, still, joint_velocity=arms[0], base=base)
        middle = pin.integrate(robot.model, q, 1e-3 * first.velocity)
        second = resolve(robot, middle, still, joint_velocity=arms[1], base=base)
        q = pin.integrate(robot.model, q, 2e-3 * second.velocity)
    np.testing.assert_allclose(q, dance.q[begin + count], atol=1e-5)
    assert np.linalg.norm(eq.com(robot, q) - dance.com) < 1e-5


def test_held_legs_do_not_keep_it(dance):
    """The same arms on legs that are held move the CoM by centimetres."""
    held = hold_legs(dance)
    arms = [degree_of(dance.robot, joint) for joint in dance.arms.joints]
    np.testing.assert_allclose(held.v[:, 6:][:, arms], dance.v[:, 6:][:, arms])
    assert not np.any(held.v[:, :6])
    assert held.com_error.max() > 0.01
    assert np.abs(held.zmp - held.com[:2]).max() > 0.01


def test_targets_are_those_of_the_motion(dance):
    """All that a controller may want, at points, between them and outside."""
    target = dance.sample(2.5)
    np.testing.assert_allclose(target.com, dance.com)
    np.testing.assert_allclose(target.dcm, dance.com)
    np.testing.assert_allclose(target.zmp[:2], dance.zmp[2500])
    np.testing.assert_allclose(target.position, dance.q[2500, 7:])
    np.testing.assert_allclose(target.velocity, dance.v[2500, 6:])
    np.testing.assert_allclose(target.torque, dance.joint_torque[2500])
    assert target.support == "both"
    np.testing.assert_allclose(target.torso, np.eye(3), atol=1e-12)
    for side, pose in target.soles.items():
        np.testing.assert_allclose(pose, sole_pose(dance.robot, dance.q[0], side))
    assert not np.any(target.com_velocity)
    assert not np.any(target.com_acceleration)
    assert not np.any(dance.sample(11.0).velocity)
    between = dance.sample(2.5005).position
    np.testing.assert_allclose(
        between, 0.5 * (dance.q[2500, 7:] + dance.q[2501, 7:]), atol=1e-12
    )


def test_torques_move_the_robot_as_planned(dance):
    """Feed-forward torques and forces at the soles balance momentum at the ZMP."""
    assert dance.joint_torque.shape == (10001, dance.robot.nv - 6)
    assert 0.1 < torque_fraction(dance) < 0.9


def test_straight_legs_bend_first(g1_urdf):
    """A robot that stands with straight legs holds its CoM a little lower."""
    robot = eq.load(g1_urdf)
    standing = float(eq.com(robot, robot.standing)[2])
    assert 0.9 * standing < held_com(robot, robot.standing)[2] < standing
    motion = fit_dance(robot)
    assert motion.com_error.max() < 1e-7
    assert np.abs(motion.v[:, 6:]).max() < 10.0


def test_weak_arms_dance_less(talos_urdf):
    """Where torques do not suffice, the dance has a smaller extent and says so."""
    motion = fit_dance(eq.load(talos_urdf))
    assert torque_fraction(motion) <= 0.9
    assert "of its usual extent" in motion.arms.origin


def test_a_com_beyond_reach_is_refused():
    """With the time, and what is in the way."""
    robot = eq.load("mahru-1")
    time = np.linspace(0.0, 1.0, 11)
    arms = ArmMotion(time, ("left_elbow",), np.zeros((11, 1)), "test")
    with pytest.raises(EquipoiseError, match=r"cannot follow the arms at 0\.000 s"):
        embed(robot, arms, com_in_world=(0.034, 0.0, 0.9))
