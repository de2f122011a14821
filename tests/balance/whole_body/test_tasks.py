"""Tasks and dynamics against finite differences and Pinocchio's centroidal terms."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from whole_body_states import ROBOTS, dynamics_of

from equipoise.arrays import Array
from equipoise.balance.whole_body.dynamics import Dynamics, sole_frame
from equipoise.balance.whole_body.tasks import (
    AngularMomentumTask,
    ComTask,
    FrameTask,
    PostureTask,
    Task,
)

STEP = 1e-6


def every_task(dynamics: Dynamics) -> list[Task]:
    """Return one task of each kind, all of which ask for something."""
    chance = np.random.default_rng(0)
    com = ComTask(1.0, 30.0).follow(*chance.normal(size=(3, 3)))
    foot = FrameTask(sole_frame("left"), 1.0, 40.0)
    foot.pose[:3, :3] = pin.exp3(0.3 * chance.normal(size=3))
    foot.velocity, foot.acceleration = chance.normal(size=(2, 6))
    some = FrameTask(sole_frame("right"), (1.0, 2.0, 3.0), 40.0, directions=(0, 2, 4))
    posture = PostureTask(0.1, 20.0)
    posture.position = np.zeros(dynamics.model.nv - 6)
    return [com, foot, some, AngularMomentumTask(1.0, 5.0), posture]


def moved(dynamics: Dynamics, acceleration: Array, time: float) -> Dynamics:
    """Return the dynamics a little later."""
    step = time * dynamics.v + 0.5 * time**2 * acceleration
    q = pin.integrate(dynamics.model, dynamics.q, step)
    later = Dynamics(dynamics.robot, dynamics.model.armature[6:])
    return later.update(np.asarray(q), dynamics.v + time * acceleration)


@pytest.mark.parametrize("name", ROBOTS)
def test_jacobians_are_derivatives_of_errors(name: str) -> None:
    """An error shrinks at the rate J v while its target stands still."""
    dynamics = dynamics_of(name, 1)
    for task in every_task(dynamics):
        if isinstance(task, AngularMomentumTask):
            continue  # which has no position
        before, after = (
            task.error(moved(dynamics, np.zeros(dynamics.model.nv), time))
            for time in (-STEP, STEP)
        )
        velocity = task.jacobian(dynamics) @ dynamics.v
        if isinstance(task, FrameTask):
            # a rotation vector's rate is the angular velocity where it is zero
            rows = task.directions
            task.pose = np.array(dynamics.pose(dynamics.frame(task.frame)).homogeneous)
            before, after = (
                task.error(moved(dynamics, np.zeros(dynamics.model.nv), time))
                for time in (-STEP, STEP)
            )
            assert len(before) == len(rows)
        np.testing.assert_allclose((before - after) / (2 * STEP), velocity, atol=1e-7)


@pytest.mark.parametrize("name", ROBOTS)
def test_drifts_are_derivatives_of_jacobians(name: str) -> None:
    """d(J v)/dt is J a + J̇ v, for each task, along any acceleration."""
    dynamics = dynamics_of(name, 2)
    acceleration = np.random.default_rng(2).normal(size=dynamics.model.nv)
    for task in every_task(dynamics):
        states = [moved(dynamics, acceleration, time) for time in (-STEP, STEP)]
        before, after = (task.jacobian(state) @ state.v for state in states)
        rate = task.jacobian(dynamics) @ acceleration + task.drift(dynamics)
        scale = 1.0 + np.abs(rate).max()
        np.testing.assert_allclose(
            (after - before) / (2 * STEP), rate, atol=1e-6 * scale
        )


@pytest.mark.parametrize("name", ROBOTS)
def test_drift_by_default(name: str) -> None:
    """A task that does not know its drift gets it by a difference, nearly exactly.

    What others added to the dynamics stays.
    """
    dynamics = dynamics_of(name, 3)
    dynamics.bias_force += 1.0
    bias = dynamics.bias_force.copy()
    for task in every_task(dynamics):
        exact = task.drift(dynamics)
        scale = 1.0 + np.abs(exact).max()
        near = Task.drift(task, dynamics)
        np.testing.assert_allclose(near, exact, atol=1e-4 * scale)
        np.testing.assert_array_equal(dynamics.bias_force, bias)


@pytest.mark.parametrize("name", ROBOTS)
def test_tasks_ask_for_what_their_gains_say(name: str) -> None:
    """J a + J̇ v = ẍ + d (ẋ - J v) + k e for what is asked for."""
    dynamics = dynamics_of(name, 4)
    for task in every_task(dynamics):
        jacobian, asked = task.rows(dynamics)
        slower = task.wanted_velocity() - jacobian @ dynamics.v
        wanted = task.wanted_acceleration() + task.damping * slower
        wanted = wanted + task.stiffness * task.error(dynamics)
        np.testing.assert_allclose(asked + task.drift(dynamics), wanted, atol=1e-9)
        if isinstance(task, PostureTask):
            np.testing.assert_allclose(asked, task.joint_acceleration(dynamics))


@pytest.mark.parametrize("name", ROBOTS)
def test_momentum_is_pinocchio_s(name: str) -> None:
    """CoM, momentum matrix and their drifts equal Pinocchio's centroidal terms."""
    dynamics = dynamics_of(name, 5)
    robot = dynamics.robot
    bare = Dynamics(robot).update(dynamics.q, dynamics.v)  # rotors carry no momentum
    model, data = bare.model, bare.model.createData()
    q, v, still = bare.q, bare.v, np.zeros(bare.model.nv)
    matrix = pin.ccrba(model, data, q, v)
    np.testing.assert_allclose(bare.com, data.com[0], atol=1e-12)
    np.testing.assert_allclose(robot.mass * bare.com_jacobian, matrix[:3], atol=1e-9)
    velocity = data.hg.linear / robot.mass
    np.testing.assert_allclose(bare.com_velocity, velocity, atol=1e-12)
    np.testing.assert_allclose(bare.momentum_matrix(), matrix[3:], atol=1e-9)
    rate = pin.computeCentroidalMomentumTimeVariation(model, data, q, v, still)
    np.testing.assert_allclose(robot.mass * bare.com_drift, rate.linear, atol=1e-9)
    np.testing.assert_allclose(bare.momentum_drift(), rate.angular, atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_contact_rows_are_those_of_the_frame(name: str) -> None:
    """In axes of the sole: J a = b stops it, as the world's rows say."""
    dynamics = dynamics_of(name, 6)
    frame = dynamics.frame(sole_frame("right"))
    rotation = dynamics.pose(frame).rotation
    to_world = np.kron(np.eye(2), rotation)
    jacobian, goal = dynamics.contact_rows(frame, 7.0)
    np.testing.assert_allclose(to_world @ jacobian, dynamics.jacobian(frame), atol=1e-9)
    stop = -dynamics.drift(frame) - 7.0 * dynamics.twist(frame)
    np.testing.assert_allclose(to_world @ goal, stop, atol=1e-9)
