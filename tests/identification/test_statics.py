from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from identification.true_robots import NOISE, measure, random_poses, random_truth

import equipoise as eq
from equipoise.identification.noise import joint_lever
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.statics import (
    FEET,
    cross_matrix,
    equations,
    link_columns,
    standing_frames,
    wrench_transform,
)
from equipoise.kinematics.stance import sole_pose

GRAVITY = 9.80665


@pytest.fixture(scope="module")
def poses(mahru: eq.Robot) -> np.ndarray:
    """A dozen poses."""
    return random_poses(mahru, 12, np.random.default_rng(3))


def test_the_weight_acts_at_the_com(mahru, poses) -> None:
    """Columns times the model's parameters are weight and moment of Pinocchio's CoM."""
    frames = standing_frames(mahru, poses)
    values = prior_belief(mahru, default_prior(mahru)).mean
    wrench = link_columns(frames) @ values[:-12]
    np.testing.assert_allclose(wrench[:, 2], mahru.mass * GRAVITY, rtol=1e-12)
    for row, q in enumerate(poses):
        soles = [sole_pose(mahru, q, side) for side in FEET]
        middle = 0.5 * (soles[0] + soles[1])[:3, 3]
        # both soles are level in these poses, and point forward
        centre = pin.centerOfMass(mahru.model, mahru.data, q) - middle
        weight = mahru.mass * GRAVITY
        expected = [centre[1] * weight, -centre[0] * weight, 0.0]
        np.testing.assert_allclose(wrench[row, 3:], expected, atol=1e-8 * weight)


def test_where_the_base_is_does_not_matter(mahru, poses) -> None:
    """Frames are seen from the soles: moving the whole robot changes nothing."""
    moved = poses.copy()
    turn = pin.SE3(pin.exp3(np.array([0.3, -0.2, 1.0])), np.array([1.0, 2.0, 3.0]))
    for row in moved:
        row[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(row[:7]))
    one, other = standing_frames(mahru, poses), standing_frames(mahru, moved)
    np.testing.assert_allclose(one.link_arms, other.link_arms, atol=1e-12)


def test_truth_solves_the_equations(robot) -> None:
    """On every robot with two soles, true values leave nothing over."""
    if len(robot.soles) < 2:
        pytest.skip("has no two soles")
    rng = np.random.default_rng(0)
    truth = random_truth(robot, rng)
    q = np.tile(robot.standing, (3, 1))
    measured = measure(truth, q, rng, noisy=False)
    system = equations(standing_frames(robot, q), measured)
    left = system.matrix @ truth.values
    np.testing.assert_allclose(left, system.right, atol=1e-8 * robot.mass * GRAVITY)


def test_wrenches_keep_their_power() -> None:
    """A wrench moved to another frame does the same work on any twist."""
    rng = np.random.default_rng(1)
    rotation = pin.exp3(rng.standard_normal(3))
    position = rng.standard_normal(3)
    wrench, twist = rng.standard_normal(6), rng.standard_normal(6)
    pose = pin.SE3(rotation, position)
    moved = wrench_transform(pose.homogeneous[None])[0] @ wrench
    velocity = pose.actInv(pin.Motion(twist)).vector
    assert moved @ twist == pytest.approx(wrench @ velocity)
    np.testing.assert_allclose(
        cross_matrix(position) @ twist[:3], np.cross(position, twist[:3])
    )


def test_the_lever_of_joints_is_a_derivative(mahru, poses) -> None:
    """Changing joints by a little changes the balance as the lever says."""
    rng = np.random.default_rng(2)
    truth = random_truth(mahru, rng, offsets=False)
    values = prior_belief(mahru, default_prior(mahru)).mean
    truth = truth._replace(values=values)  # the lever is taken at the model
    measured = measure(truth, poses, rng, noisy=False)
    levers = joint_lever(measured, standing_frames(mahru, poses))
    small = 1e-6

    def balance(q):
        frames = standing_frames(mahru, q)
        system = equations(frames, measured)
        return system.right - system.matrix @ values

    for joint in range(mahru.nv - 6):
        step = np.zeros(mahru.nv)
        step[6 + joint] = small
        ahead = np.array([pin.integrate(mahru.model, q, step) for q in poses])
        behind = np.array([pin.integrate(mahru.model, q, -step) for q in poses])
        change = (balance(ahead) - balance(behind)) / (2.0 * small)
        # level frames of turned soles are defined to first order alike
        np.testing.assert_allclose(levers[:, :, joint], change, atol=2e-2)
    assert NOISE.joint > 0.0
