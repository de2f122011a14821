from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.dynamics.forward import STANDARD_GRAVITY, forward_dynamics
from equipoise.errors import ShapeError


def states(robot: eq.Robot, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random configurations, velocities and efforts."""
    rng = np.random.default_rng(0)
    q = np.array(
        [
            pin.integrate(robot.model, robot.standing, rng.normal(size=robot.nv))
            for _ in range(count)
        ]
    )
    return q, *rng.normal(size=(2, count, robot.nv))


def test_equals_articulated_body_algorithm(robot: eq.Robot) -> None:
    """Accelerations of a batch, and of one, equal Pinocchio's."""
    model = robot.model.copy()
    model.gravity.linear = np.array([0.0, 0.0, -STANDARD_GRAVITY])
    if (model.armature[6:] == 0.0).any():  # links without mass need a rotor
        model.armature = np.maximum(model.armature, 1e-3 * (np.arange(model.nv) >= 6))
        robot = eq.Robot(
            robot.name,
            model,
            robot.description,
            robot.limbs,
            robot.soles,
            robot.actuators,
            robot.postures,
        )
    q, v, effort = states(robot, 7)
    data = model.createData()
    expected = np.array(
        [pin.aba(model, data, *row) for row in zip(q, v, effort, strict=True)]
    )
    size = np.abs(expected).max(axis=1, keepdims=True)
    found = forward_dynamics(robot, q, v, effort)
    assert np.abs((found - expected) / size).max() < 1e-9
    one = forward_dynamics(robot, q[0], v[0], effort[0])
    assert np.abs(one - expected[0]).max() < 1e-9 * size[0, 0]


def test_float32_is_near() -> None:
    """Single precision gives the same to six digits or so."""
    robot = eq.load("humanoid")
    q, v, effort = states(robot, 9)
    exact = forward_dynamics(robot, q, v, effort)
    near = forward_dynamics(robot, q, v, effort, dtype=np.float32)
    assert near.dtype == np.float32
    assert np.abs(near - exact).max() < 1e-3 * np.abs(exact).max()


def test_shapes_are_checked() -> None:
    """As many efforts as velocities are needed."""
    robot = eq.load("humanoid")
    q, v, effort = states(robot, 3)
    with pytest.raises(ShapeError, match="effort has shape"):
        forward_dynamics(robot, q, v, effort[:2])
