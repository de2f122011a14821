from __future__ import annotations

import numpy as np
import pinocchio as pin
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_states, random_trees

import equipoise as eq
from equipoise.dynamics.bodies import bodies_at
from equipoise.dynamics.newton_euler import inverse_dynamics
from equipoise.robot.description import STANDARD_GRAVITY


@settings(max_examples=25)
@given(random_trees(), st.integers(0, 2**32 - 1))
def test_inverse_dynamics_equals_rnea(robot: eq.Robot, seed: int) -> None:
    """With velocity, acceleration, gravity and forces on all bodies at once."""
    rng = np.random.default_rng(seed)
    q, v = (rows[0] for rows in random_states(robot, 1, seed))
    a = rng.normal(size=robot.nv)
    bodies = bodies_at(robot, q)
    forces = {body.index: rng.normal(size=6) for body in bodies}
    found = inverse_dynamics(bodies, v, a, robot.model.gravity.linear, forces)
    outside = pin.StdVec_Force()
    outside.append(pin.Force.Zero())
    outside.extend(pin.Force(force) for force in forces.values())
    expected = pin.rnea(robot.model, robot.data, q, v, a, outside)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * robot.mass)


def test_a_standing_robot_needs_its_weight_at_the_soles() -> None:
    """Half the weight under each sole leaves the base without vertical force."""
    robot = eq.load("humanoid")
    bodies = bodies_at(robot, robot.standing)
    rest = np.zeros(robot.nv)
    half = np.array([0.0, 0.0, 0.5 * robot.mass * STANDARD_GRAVITY, 0.0, 0.0, 0.0])
    feet = [
        bodies[robot.model.frames[robot.frame_id(sole.link)].parentJoint - 1]
        for sole in robot.soles.values()
    ]
    forces = {
        foot.index: np.concatenate([foot.rotation.T @ half[:3], half[3:]])
        for foot in feet
    }
    gravity = np.array([0.0, 0.0, -STANDARD_GRAVITY])
    needed = inverse_dynamics(bodies, rest, rest, gravity, forces)
    np.testing.assert_allclose(needed[:3], 0.0, atol=1e-9 * robot.mass)
