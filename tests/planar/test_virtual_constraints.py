"""Curves, feedback linearisation and the laws behind it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from equipoise.errors import EquipoiseError
from equipoise.planar.equations import compiled
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.virtual_constraints import (
    PD,
    Curve,
    FeedbackLinearisation,
    FiniteTime,
    OutputLaw,
    SwingTerms,
    VirtualConstraints,
    bezier,
    polynomial,
)

CONSTRAINTS = VirtualConstraints(
    bezier([0.3, 0.5, 0.1, -0.5, -0.3], -0.3, 0.3), polynomial([0.4, 0.1, -0.3])
)


def torques_of(model: ThreeLink, law: OutputLaw, x: np.ndarray) -> np.ndarray:
    """Return the torques of feedback linearisation at states, shape (n, 2)."""
    values = compiled("D bias")(*x.T, *model.parameters.values())
    terms = SwingTerms(*(np.broadcast_to(value, len(x)) for value in values))
    return np.stack(FeedbackLinearisation(CONSTRAINTS, law)(x.T, terms), axis=-1)


@pytest.mark.parametrize("curve", [CONSTRAINTS.swing, CONSTRAINTS.torso])
def test_slopes_are_those_of_the_curve(curve: Curve) -> None:
    """Slope and curvature by central differences; floats and arrays agree."""
    phase, h = np.linspace(-0.4, 0.4, 9), 1e-4
    here, ahead, behind = curve.at(phase), curve.at(phase + h), curve.at(phase - h)
    np.testing.assert_allclose(here.slope, (ahead.value - behind.value) / (2 * h), 1e-6)
    second = (ahead.value - 2.0 * here.value + behind.value) / h**2
    np.testing.assert_allclose(here.curvature, second, atol=1e-5)
    assert curve.at(0.1) == pytest.approx([part[5] for part in curve.at(phase)])


def test_bezier_ends_are_its_control_points() -> None:
    """Values and slopes at both ends are those of the control polygon."""
    points, degree = [0.3, 0.5, 0.1, -0.5, -0.3], 4
    start, end = CONSTRAINTS.swing.at(-0.3), CONSTRAINTS.swing.at(0.3)
    assert start.value == pytest.approx(points[0])
    assert end.value == pytest.approx(points[-1])
    assert start.slope == pytest.approx(degree * (points[1] - points[0]) / 0.6)
    assert end.slope == pytest.approx(degree * (points[-1] - points[-2]) / 0.6)


@pytest.mark.parametrize("law", [PD(0.05), FiniteTime(0.1)])
def test_torques_are_those_of_the_decoupling_matrix(
    biped: ThreeLink, states: np.ndarray, law: OutputLaw
) -> None:
    """They equal (L_gL_fh)⁻¹ (v − L_f²h), and then ÿ = v."""
    x = 0.3 * states[:100]
    y, dy = CONSTRAINTS.outputs(x)
    v = np.asarray(law(y, dy))
    decoupling = CONSTRAINTS.decoupling_matrix(biped, x)
    drift = CONSTRAINTS.drift(biped, x)
    u = np.linalg.solve(decoupling, (v - drift)[..., None])[..., 0]
    found = torques_of(biped, law, x)
    scale = np.abs(u).max()
    np.testing.assert_allclose(found / scale, u / scale, atol=1e-11)

    # ÿ by differences along the flow.
    h = 1e-5
    flow = np.hstack([x[:, 3:], biped.acceleration(x, found)])
    ahead, behind = (CONSTRAINTS.outputs(x + s * h * flow)[1] for s in (1.0, -1.0))
    scale = np.abs(v).max()
    np.testing.assert_allclose((ahead - behind) / (2 * h) / scale, v / scale, atol=1e-6)


def test_decoupling_is_singular_with_the_inertia(
    biped: ThreeLink, states: np.ndarray
) -> None:
    """Its determinant is I over that of D: the inertia that the stance leg moves."""
    D = biped.D(states[:, :3])
    tangent = CONSTRAINTS.tangent(states[:, 0])
    inertia = np.sum(D.sum(axis=-2) * tangent, axis=-1)
    found = np.linalg.det(CONSTRAINTS.decoupling_matrix(biped, states))
    np.testing.assert_allclose(found, inertia / np.linalg.det(D), rtol=1e-9, atol=1e-9)


def test_a_singular_decoupling_matrix_is_reported(biped: ThreeLink) -> None:
    """Where the stance leg moves no inertia, there are no torques, and it is said."""
    x = [0.1, -0.1, 0.2, 1.0, 0.0, 0.0]
    D = biped.D(x[:3]).sum(axis=-2)
    slope = -D[0] / D[1]  # with a torso that stays where it is
    constraints = VirtualConstraints(polynomial([0.0, slope]), polynomial([0.2]))
    values = compiled("D bias", scalar=True)(*x, *biped.parameters.values())
    controller = FeedbackLinearisation(constraints, PD(0.05))
    with pytest.raises(EquipoiseError, match="decoupling matrix is singular"):
        controller(x, SwingTerms(*values))


def test_finite_time_law_ends() -> None:
    """The double integrator is at rest after a while, not only nearly."""
    law = FiniteTime(0.1)
    run = solve_ivp(
        lambda _, x: [x[1], float(law(float(x[0]), float(x[1])))],
        (0.0, 2.0),
        [0.1, 1.0],
        rtol=1e-9,
        atol=1e-13,
    )
    late = run.y[0, run.t > 1.5]
    assert np.abs(late).max() < 1e-10
    slow = 0.1 * np.exp(-2.0 / 0.1)  # what an exponential of the same scale has left
    assert np.abs(late).max() < slow


def test_torques_are_cut_off(biped: ThreeLink) -> None:
    """A torque limit holds for floats and for arrays."""
    x = np.array([[0.1, -0.4, 0.2, 1.0, 3.0, -4.0]])
    values = compiled("D bias", scalar=True)(*x[0], *biped.parameters.values())
    controller = FeedbackLinearisation(CONSTRAINTS, PD(0.01), torque_limit=7.0)
    assert np.abs(controller(x[0].tolist(), SwingTerms(*values))).max() == 7.0
    many = controller(x.T, SwingTerms(*(np.full(1, value) for value in values)))
    assert np.abs(many).max() == 7.0


def test_bad_curves_and_laws_are_refused() -> None:
    """No coefficients, a curve over nothing, an exponent outside of (0, 1)."""
    with pytest.raises(EquipoiseError, match="row of finite numbers"):
        polynomial([])
    with pytest.raises(EquipoiseError, match="needs two phases"):
        bezier([0.0, 1.0], 0.3, 0.3)
    with pytest.raises(EquipoiseError, match="between 0 and 1, not at 1"):
        FiniteTime(0.1, exponent=1.0)
    with pytest.raises(EquipoiseError, match="time scale is positive, not 0 s"):
        PD(0.0)
