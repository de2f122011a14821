"""What is estimated of actuators that a file says little of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.balance.skeleton import BASE_DOF
from equipoise.robot.joint_coordinates import degree_of
from equipoise.simulation.actuation import torque_actuation
from equipoise.simulation.feedback import known_joints
from equipoise.simulation.trials import trial_world

# Rotor inertias at G1's joints that its maker publishes [kg m²].
PUBLISHED = {
    "left_hip_yaw_joint": 0.01018,
    "left_hip_roll_joint": 0.02510,
    "right_knee_joint": 0.02510,
    "waist_yaw_joint": 0.01018,
}


def test_rotor_inertias_are_as_published(g1_urdf: Path) -> None:
    """From limits of torque and speed follow the rotor inertias of G1's motors."""
    robot = eq.load(g1_urdf)
    actuation = torque_actuation(robot)
    for joint, inertia in PUBLISHED.items():
        estimated = actuation.rotor_inertia[degree_of(robot, joint)]
        assert estimated == pytest.approx(inertia, rel=0.15)
    assert any("rotor inertia of 29 joints" in text for text in actuation.assumptions)


def test_rotor_inertias_of_the_file_are_kept() -> None:
    """What a file gives is not estimated."""
    robot = eq.load("humanoid")
    given = {item.joint: item.rotor_inertia for item in robot.actuators}
    actuation = torque_actuation(robot)
    for joint, inertia in given.items():
        assert inertia
        assert actuation.rotor_inertia[degree_of(robot, joint)] == inertia
    assert not any("rotor inertia" in text for text in actuation.assumptions)


@pytest.mark.parametrize("name", ["humanoid", "talos"])
def test_joints_can_brake_as_they_are_told(
    name: str, request: pytest.FixtureRequest
) -> None:
    """The torque that a deceleration needs, by inverse dynamics, is within limits."""
    catalogued = name == "humanoid"
    robot = eq.load(name if catalogued else request.getfixturevalue(f"{name}_urdf"))
    world = trial_world(robot, None, "torque")
    joints, data = known_joints(world), robot.model.createData()
    still = np.zeros(robot.nv)
    weight = pin.rnea(robot.model, data, robot.standing, still, still).copy()
    for joint, braking in enumerate(joints.motion.braking):
        asked = still.copy()
        asked[BASE_DOF + joint] = braking
        torque = pin.rnea(robot.model, data, robot.standing, still, asked) - weight
        needed = torque[BASE_DOF + joint] + braking * joints.rotor_inertia[joint]
        assert 0.0 < needed <= 0.6 * joints.torque[joint] * (1.0 + 1e-9)
