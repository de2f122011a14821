"""What hips allow a swing foot."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet, FootState
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.swing_limits import (
    HIP_MARGIN,
    SwingLimits,
    hip_degrees,
    swing_limits,
    with_slow_hips,
)
from equipoise.robot.joint_coordinates import degree_of

ROTOR = 0.1


def limits(robot: eq.Robot, name: str, speed: float, torque: float) -> SwingLimits:
    """Return the limits of a robot with one weak joint."""
    speeds, torques = np.full((2, robot.nv - 6), 1e3)
    speeds[degree_of(robot, name)] = speed
    torques[degree_of(robot, name)] = torque
    dynamics = Dynamics(robot, np.full(robot.nv - 6, ROTOR))
    return swing_limits(dynamics, speeds, torques)


@pytest.mark.parametrize("name", ["left_hip_roll", "right_hip_pitch"])
def test_a_sole_moves_and_stops_as_its_hip(name: str) -> None:
    """Of a leg that turns about a hip joint, sole speed and energy say the limits."""
    robot, speed, torque = eq.load("humanoid"), 2.0, 30.0
    v = np.zeros(robot.nv)
    v[6 + degree_of(robot, name)] = speed
    side = name.split("_", maxsplit=1)[0]
    sole, step = robot.soles[side], 1e-6
    places = []
    for q in (robot.standing, pin.integrate(robot.model, robot.standing, step * v)):
        pin.framesForwardKinematics(robot.model, robot.data, q)
        carrier = robot.data.oMf[robot.model.getBodyId(sole.link)]
        places.append(carrier.act(sole.transform_sole_to_link[:3, 3]))
    fast = float(np.linalg.norm(places[1] - places[0])) / step
    model = robot.model.copy()
    model.armature = np.zeros(robot.nv)
    energy = pin.computeKineticEnergy(model, model.createData(), robot.standing, v)
    inertia = 2.0 * energy / speed**2 + ROTOR
    found = limits(robot, name, speed, torque)
    assert found.speed == pytest.approx(fast, rel=1e-4)
    assert found.acceleration == pytest.approx(fast / speed * torque / inertia)


def test_a_hip_that_turns_the_foot_on_the_spot_does_not_limit_it() -> None:
    """A slow and weak yaw joint changes nothing."""
    robot = eq.load("humanoid")
    weak = limits(robot, "left_hip_yaw", 0.1, 0.1)
    assert weak == limits(robot, "left_hip_yaw", 1e3, 1e3)


def test_hips_of_swing_legs_alone_are_slow() -> None:
    """They are slow enough for the largest speed of a foot, or by their own limits."""
    robot = eq.load("humanoid")
    feet, hips = Feet(Dynamics(robot), 2e-3), hip_degrees(robot)
    feet.fastest, fast = 3.0, np.full(robot.nv - 6, 20.0)
    fast[hips[1][0]] = 0.5
    given = JointRange(-fast, fast, fast, fast)
    np.testing.assert_array_equal(with_slow_hips(given, feet, hips).speed, fast)
    feet.feet[1].state = FootState.SWING
    found = with_slow_hips(given, feet, hips).speed
    assert found[hips[1]].tolist() == [0.5, *[HIP_MARGIN * 3.0 / feet.length] * 2]
    np.testing.assert_array_equal(np.delete(found, hips[1]), np.delete(fast, hips[1]))
