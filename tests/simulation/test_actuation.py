"""What is estimated of actuators that a file says little of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from bipeds import Biped
from scaled_robots import scaled_robot

import equipoise as eq
from equipoise.balance.skeleton import BASE_DOF
from equipoise.robot.joint_coordinates import degree_of
from equipoise.simulation.actuation import torque_actuation
from equipoise.simulation.feedback import known_joints
from equipoise.simulation.simulate import ENGINES, EngineName
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


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_joints_that_slide_have_forces(scale: float, tmp_path: Path) -> None:
    """Of telescopic legs limits are in N and m/s, rotors in kg, as the robot is big."""
    file = tmp_path / "biped.urdf"
    text = Biped(telescopic=True).urdf()
    file.write_text(text.replace('effort="50" velocity="9"', 'effort="0" velocity="0"'))
    robot = scaled_robot(eq.load(file), tmp_path, length=scale, mass=scale**3)
    actuation = torque_actuation(robot)
    knee, hip = (degree_of(robot, f"left_{joint}") for joint in ("knee", "hip_pitch"))
    gravity, leg = 9.80665, robot.longest_leg
    weight = robot.mass * gravity
    assert actuation.torque_limit[knee] == pytest.approx(3.0 * weight)
    assert actuation.torque_limit[hip] == pytest.approx(0.6 * weight * leg)
    assert actuation.velocity_limit[knee] == pytest.approx(3.0 * np.sqrt(gravity * leg))
    assert actuation.velocity_limit[hip] == pytest.approx(3.0 * np.sqrt(gravity / leg))
    assert 5.7e-4 <= actuation.rotor_inertia[knee] / robot.mass <= 5.7e-3
    assert actuation.damping[hip] == pytest.approx(actuation.damping[knee] * leg**2)
    said = " ".join(actuation.assumptions)
    assert f"{3.0 * weight:.3g} N: " in said
    assert " kg m² and " in said


@pytest.mark.parametrize("engine", ENGINES)
def test_telescopic_legs_walk_by_torques(engine: EngineName, tmp_path: Path) -> None:
    """Whole-body torques and limits that were estimated are enough for a walk."""
    file = tmp_path / "biped.urdf"
    text = Biped(telescopic=True).urdf()
    file.write_text(text.replace('effort="50" velocity="9"', 'effort="0" velocity="0"'))
    robot = eq.load(file)
    motion = eq.solve(robot, eq.fit_walk(robot, 4))
    run = eq.walk(robot, motion, actuators="torque", engine=engine)
    assert run.summary["achieved"]


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
