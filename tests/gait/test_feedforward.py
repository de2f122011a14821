"""Feed-forward torques: what is left of the equations of motion is the ground's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.arrays import Array
from equipoise.gait.feedforward import feedforward_torques, standing_torques
from equipoise.gait.motion import Motion
from equipoise.gait.parameters import SUPPORTS


@pytest.fixture(scope="module")
def motion() -> Motion:
    """Four steps."""
    robot = eq.load("humanoid")
    return eq.solve(robot, eq.fit_walk(robot, 4))


def equations(robot: eq.Robot, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """Return M a + h, and the Jacobians of both soles' links, by Pinocchio alone."""
    model, data = robot.model, robot.model.createData()
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    left = mass @ a + pin.nle(model, data, q, v)
    feet = [
        pin.computeFrameJacobian(model, data, q, model.getFrameId(sole.link))
        for sole in robot.soles.values()
    ]
    return left, np.concatenate(feet)


def without_losses(motion: Motion) -> tuple[Array, Array]:
    """Return torques less what friction takes, and accelerations."""
    robot = motion.robot
    acceleration = np.gradient(motion.v, motion.dt, axis=0)
    losses = np.zeros((len(motion.time), robot.nv - 6))
    for at, actuator in enumerate(robot.actuators):
        speed = motion.v[:, 6 + at]
        losses[:, at] = actuator.viscous_friction * speed
        losses[:, at] += actuator.coulomb_friction * np.tanh(2.0 * speed / 0.05)
    return motion.joint_torque - losses, acceleration


def test_in_single_support_they_are_the_only_solution(motion: Motion) -> None:
    """Six rows give the wrench of the one foot, the others then the torques."""
    torques, acceleration = without_losses(motion)
    table = motion.gait.at(motion.time)
    for number, side in ((1, "left"), (2, "right")):
        rows = np.flatnonzero(table.support == number)[::97]
        assert SUPPORTS[number] == side
        for row in rows:
            left, feet = equations(
                motion.robot, motion.q[row], motion.v[row], acceleration[row]
            )
            foot = feet[:6] if next(iter(motion.robot.soles)) == side else feet[6:]
            wrench = np.linalg.solve(foot[:, :6].T, left[:6])
            expected = left[6:] - foot[:, 6:].T @ wrench
            np.testing.assert_allclose(torques[row], expected, atol=1e-8)


def test_in_double_support_feet_can_give_the_rest(motion: Motion) -> None:
    """What torques leave of the equations is in the span of two wrenches."""
    torques, acceleration = without_losses(motion)
    support = motion.gait.at(motion.time).support
    for row in np.flatnonzero(support == 0)[::61]:
        left, feet = equations(
            motion.robot, motion.q[row], motion.v[row], acceleration[row]
        )
        left[6:] -= torques[row]
        wrenches = np.linalg.lstsq(feet.T, left, rcond=None)[0]
        np.testing.assert_allclose(feet.T @ wrenches, left, atol=1e-7)


def test_load_passes_from_foot_to_foot_without_a_jump(motion: Motion) -> None:
    """From one millisecond to the next torques change by a few per cent of the most."""
    steps = np.abs(np.diff(motion.joint_torque, axis=0)).max()
    assert steps < 0.06 * np.abs(motion.joint_torque).max()


def test_a_posture_is_held_by_its_torques() -> None:
    """Standing: both knees carry the same, and the sum of all wrenches the weight."""
    robot = eq.load("mahru-1")
    q = np.array(robot.standing)
    left, feet = equations(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))
    left[6:] -= standing_torques(robot, q)
    wrenches = np.linalg.lstsq(feet.T, left, rcond=None)[0]
    np.testing.assert_allclose(feet.T @ wrenches, left, atol=1e-8)


@pytest.mark.parametrize("name", ["humanoid", "itu-biped"])
def test_rotors_count_once(name: str) -> None:
    """A joint that speeds up takes its link's inertia and its rotor's, in any model."""
    robot = eq.load(name)
    at = robot.nv - 1
    q = np.array(robot.standing)[None]
    still, turning = np.zeros((1, robot.nv)), np.zeros((1, robot.nv))
    turning[0, at] = 3.0
    # a joint of the upper body or, where there is none, of the leg that does not stand
    support = np.array([SUPPORTS.index("left")], np.int8)
    rest = feedforward_torques(robot, q, still, still, support)
    moved = feedforward_torques(robot, q, still, turning, support)
    data = robot.model.createData()
    links = pin.crba(robot.model, data, q[0])[at, at] - robot.model.armature[at]
    rotor = robot.actuators[-1].rotor_inertia
    assert rotor > 0.0
    found = moved[0, at - 6] - rest[0, at - 6]
    assert found == pytest.approx(3.0 * (links + rotor))
