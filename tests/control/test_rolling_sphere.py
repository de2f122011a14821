from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from equipoise.control.rolling_sphere import RollingSphere
from equipoise.errors import EquipoiseError
from equipoise.robot.description import STANDARD_GRAVITY

spheres = st.builds(RollingSphere, st.floats(1.0, 200.0), st.floats(0.05, 2.0))


def point_mass(mass: float) -> pin.Model:
    """Return a point mass that may move in three directions."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "free")
    inertia = pin.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    model.gravity.linear = np.array([0.0, 0.0, -STANDARD_GRAVITY])
    return model


@given(spheres, st.integers(0, 10**6))
def test_moments_are_those_of_a_point_mass(sphere, seed):
    """Force and all three moments equal c × f, with f by Pinocchio's dynamics."""
    rng = np.random.default_rng(seed)
    com, acceleration = rng.uniform(-1.0, 1.0, 2), rng.uniform(-5.0, 5.0, 2)
    model = point_mass(sphere.mass)
    place = np.append(com, sphere.height)
    rates = np.append(acceleration, 0.0)
    force = pin.rnea(model, model.createData(), place, np.zeros(3), rates)
    np.testing.assert_allclose(sphere.ground_force(acceleration), force, rtol=1e-12)
    moment = sphere.ground_moment(com, acceleration)
    scale = sphere.mass * STANDARD_GRAVITY
    np.testing.assert_allclose(moment, np.cross(place, force), atol=1e-12 * scale)


@given(spheres, st.integers(0, 10**6))
def test_no_moment_is_left_at_the_zmp(sphere, seed):
    """About the ZMP the ground has no moment at all, not about the vertical either."""
    rng = np.random.default_rng(seed)
    com, acceleration = rng.uniform(-1.0, 1.0, (5, 2)), rng.uniform(-5.0, 5.0, (5, 2))
    moment = sphere.ground_moment(com, acceleration)
    zmp = sphere.zmp(com, acceleration)
    np.testing.assert_allclose(sphere.zmp_of_moment(moment), zmp, atol=1e-12)
    arm = np.concatenate([zmp, np.zeros((5, 1))], axis=1)
    left = moment - np.cross(arm, sphere.ground_force(acceleration))
    np.testing.assert_allclose(left, 0.0, atol=1e-11 * sphere.mass * STANDARD_GRAVITY)
    np.testing.assert_allclose(
        sphere.com_acceleration(com, zmp), acceleration, atol=1e-9
    )


@given(spheres, st.floats(-0.2, 0.5), st.integers(0, 10**6))
def test_steps_are_exact(sphere, dt, seed):
    """A step equals the matrix exponential, and two halves are one whole."""
    system, step = sphere.state_space(), sphere.discretised(dt)
    whole = np.zeros((3, 3))
    whole[:2, :2], whole[:2, 2] = system.a, system.b
    exact = expm(dt * whole)
    np.testing.assert_allclose(step.a, exact[:2, :2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(step.b, exact[:2, 2], rtol=1e-9, atol=1e-12)
    half = sphere.discretised(0.5 * dt)
    state, zmp = np.random.default_rng(seed).uniform(-1.0, 1.0, 2), 0.1
    twice = half.a @ (half.a @ state + half.b * zmp) + half.b * zmp
    np.testing.assert_allclose(step.a @ state + step.b * zmp, twice, rtol=1e-9)


def test_state_space_is_the_zmp_equation():
    """SciPy's integrator of c̈ = ω² (c − p) comes to the same place."""
    sphere = RollingSphere(67.7, 0.687)
    assert sphere.omega == pytest.approx((STANDARD_GRAVITY / 0.687) ** 0.5)

    def rates(_, state):
        com = np.array([state[0], 0.0])
        return state[1], sphere.com_acceleration(com, [0.02, 0.0])[0]

    start = np.array([0.034, -0.05])
    found = solve_ivp(rates, (0.0, 0.4), start, rtol=1e-11, atol=1e-13).y[:, -1]
    step = sphere.discretised(0.4)
    np.testing.assert_allclose(step.a @ start + step.b * 0.02, found, atol=1e-9)


@pytest.mark.parametrize("height", [0.0, -1.0, np.nan, np.inf])
def test_impossible_heights_are_refused(height):
    """What is not positive is named."""
    with pytest.raises(EquipoiseError, match="its height is"):
        RollingSphere(70.0, height)
