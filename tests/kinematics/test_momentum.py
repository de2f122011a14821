from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from random_trees import random_states, random_trees

from equipoise.kinematics.com import centroidal_momentum, com_velocity
from equipoise.robot.load import load


@settings(max_examples=60)
@given(random_trees())
def test_batch_equals_single_for_every_joint_kind(robot):
    """Kernels and Pinocchio agree on trees of all joint kinds, to 1e-10 for each kg."""
    q, v = random_states(robot, 6)
    momentum = centroidal_momentum(robot, q, v)
    expected = [centroidal_momentum(robot, *row) for row in zip(q, v, strict=True)]
    np.testing.assert_allclose(momentum, expected, rtol=0, atol=1e-10 * robot.mass)


@settings(max_examples=20)
@given(random_trees())
def test_linear_momentum_is_mass_times_com_velocity(robot):
    """The linear part is m ċ, to 1e-10 for each kg."""
    q, v = random_states(robot, 5)
    linear = centroidal_momentum(robot, q, v)[:, :3]
    expected = robot.mass * com_velocity(robot, q, v)
    np.testing.assert_allclose(linear, expected, rtol=0, atol=1e-10 * robot.mass)


def test_angular_momentum_is_the_same_far_away(g1_urdf):
    """A kilometre from the origin the angular momentum is that at the origin."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 20)
    away = q.copy()
    away[:, :3] += 1000.0
    np.testing.assert_allclose(
        centroidal_momentum(robot, away, v),
        centroidal_momentum(robot, q, v),
        rtol=0,
        atol=1e-8,
    )


def test_float32_is_close(g1_urdf):
    """Single precision gives the same to its own accuracy."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 20)
    single = centroidal_momentum(robot, q, v, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(
        single, centroidal_momentum(robot, q, v), rtol=0, atol=1e-3
    )
