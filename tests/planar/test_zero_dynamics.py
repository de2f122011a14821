"""The hybrid zero dynamics against the full model, and when there is no gait."""

import numpy as np
import pytest
from scipy.integrate import quad

from equipoise.errors import EquipoiseError
from equipoise.planar.gait import PlanarGait
from equipoise.planar.parameters import ThreeLinkParameters
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.virtual_constraints import VirtualConstraints, polynomial
from equipoise.planar.zero_dynamics import ZeroDynamics

MODEL = ThreeLink(ThreeLinkParameters.named("classic"))


def mirrored(lean: float, end: float = np.pi / 8) -> ZeroDynamics:
    """Return the zero dynamics of a constant lean of the torso and mirrored legs."""
    constraints = VirtualConstraints(polynomial([0.0, -1.0]), polynomial([lean]))
    return ZeroDynamics(MODEL, constraints, end)


def test_a_step_equals_the_full_model(gait: PlanarGait) -> None:
    """On invariant constraints the full model follows ζ; same time, same cost."""
    zero = gait.zero_dynamics
    assert zero.invariant
    step = gait.walk(1, tolerance=1e-11).steps[0]
    sigma = gait.model.angular_momentum(step.state)
    zeta = zero.slope * zero.fixed_point - zero.potential(step.state[:, 0])

    np.testing.assert_allclose(sigma**2 / 2.0, zeta, rtol=1e-8)
    np.testing.assert_allclose(gait.constraints.outputs(step.state)[0], 0.0, atol=1e-9)
    assert step.duration == pytest.approx(zero.step_time, rel=1e-8)
    assert step.length == pytest.approx(zero.step_length, rel=1e-9)
    assert step.torque_cost == pytest.approx(zero.torque_cost, rel=1e-7)
    assert step.cost_of_transport == pytest.approx(zero.cost_of_transport, rel=1e-3)
    np.testing.assert_allclose(step.after, gait.start, atol=1e-8)


def test_orbit_has_the_forces_of_the_full_model(gait: PlanarGait) -> None:
    """Torques and ground forces of the orbit are those of the simulated step."""
    orbit = gait.zero_dynamics.orbit
    step = gait.walk(1, tolerance=1e-11).steps[0]
    for i in range(2):
        for ours, theirs in ((orbit.torques, step.torques), (orbit.force, step.force)):
            found = np.interp(orbit.phase, step.state[:, 0], theirs[:, i])
            np.testing.assert_allclose(ours[:, i], found, atol=0.3)


def test_potential_is_the_integral() -> None:
    """V by SciPy's quadrature, and the map's fixed point is one."""
    zero = mirrored(np.pi / 6)

    def rate(phase: float) -> float:
        at = np.array(phase)
        return -float(zero.inertia(at) * zero.gravity_moment(at))

    for phase in (-0.1, 0.2, zero.end):
        value = quad(rate, zero.start, phase, epsabs=1e-12)[0]
        assert zero.potential(np.array(phase)) == pytest.approx(value, rel=1e-9)
    assert zero.poincare_map(zero.fixed_point) == pytest.approx(zero.fixed_point)
    assert zero.exists
    assert zero.slope == pytest.approx(zero.impact_ratio**2)


def test_return_map_is_that_of_the_full_model(gait: PlanarGait) -> None:
    """θ̇₁ from impact to impact, and NaN for what does not get over the top."""
    rates = gait.zero_dynamics.impact_rate * np.array([0.3, 0.95, 1.0, 1.1])
    found = gait.return_map(rates)
    assert np.isnan(found[0])
    np.testing.assert_allclose(gait.zero_dynamics.next_rate(rates), found, rtol=1e-6)


def test_what_keeps_a_gait_from_existing_is_said() -> None:
    """Too upright a torso, a step backwards, and impacts that gain momentum."""
    with pytest.raises(EquipoiseError, match="does not get over the top"):
        _ = mirrored(0.05).fixed_point
    assert not mirrored(0.05).exists
    with pytest.raises(EquipoiseError, match="does not go forwards"):
        _ = mirrored(0.5, end=-0.3).fixed_point
    with pytest.raises(EquipoiseError, match="multiplies the angular momentum by"):
        _ = mirrored(0.5, end=1.2).fixed_point
    folded = VirtualConstraints(polynomial([0.0, -1.0]), polynomial([0.3, -20.0]))
    with pytest.raises(EquipoiseError, match="decoupling matrix is singular"):
        _ = ZeroDynamics(MODEL, folded, 0.3).fixed_point
