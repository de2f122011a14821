"""The impact map: what it conserves, and when it does not hold."""

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.planar.impact import impact, impact_matrix
from equipoise.planar.parameters import ThreeLinkParameters
from equipoise.planar.three_link import ThreeLink


def test_angular_momentum_about_the_new_contact(
    biped: ThreeLink, states: np.ndarray
) -> None:
    """It is the same before and after, to 1e-12 of its size; energy is not gained."""
    before = biped.angular_momentum(states, biped.swing_foot(states[:, :3]))
    found = impact(biped, states)
    scale = biped.parameters.total_mass * biped.parameters.leg_length**2

    after = biped.angular_momentum(found.state)
    np.testing.assert_allclose(after / scale, before / scale, atol=1e-12)
    lost = biped.kinetic_energy(states) - biped.kinetic_energy(found.state)
    assert lost.min() > -1e-9


def test_about_the_hip_each_link_keeps_its_own(
    biped: ThreeLink, states: np.ndarray
) -> None:
    """Torso and old stance leg get an impulse at the hip only: two more invariants."""
    theta = states[:, :3]
    found = impact(biped, states)
    hip = biped.points(theta)["m_h"]
    new = biped.point_velocities(found.state)
    # Seen from the new stance foot the hip is elsewhere, but relative places are the
    # same; the old stance leg is the swing leg now.
    old = biped.point_velocities(states)
    for before, after in (("m_t", "m_t"), ("m_1", "m_2")):
        arm = biped.points(theta)[before] - hip
        change = new[after] - old[before]
        moment = arm[:, 1] * change[:, 0] - arm[:, 0] * change[:, 1]
        np.testing.assert_allclose(moment, 0.0, atol=1e-10)


def test_the_new_stance_foot_rests(biped: ThreeLink, states: np.ndarray) -> None:
    """The impulse is the change of momentum, and the lift-off that of the old foot."""
    found = impact(biped, states)
    p = biped.parameters
    change = biped.com_velocity(found.state) - biped.com_velocity(states)
    np.testing.assert_allclose(found.impulse, p.total_mass * change, atol=1e-9)
    np.testing.assert_allclose(
        found.lift_off, biped.point_velocities(found.state)["f_2"], atol=1e-11
    )
    np.testing.assert_array_equal(found.state[:, :3], states[:, [1, 0, 2]])
    np.testing.assert_allclose(
        (impact_matrix(biped, states[:, :3]) @ states[:, 3:, None])[..., 0],
        found.state[:, 3:],
        atol=1e-11,
    )


def test_what_an_impact_needs_is_said() -> None:
    """A walking step is valid; ice, and a foot that moves up, are not."""
    model = ThreeLink(ThreeLinkParameters.named("classic"))
    angle = np.pi / 8
    step = np.array([angle, -angle, np.pi / 6, 1.6, -1.6, 0.0])
    assert impact(model, step).problems(friction=0.7) == []
    assert "slips: it needs a friction of" in impact(model, step).problems(0.01)[0]
    backwards = step * [1, 1, 1, -1, -1, -1]
    assert "pull the landing foot" in impact(model, backwards).problems()[0]
    assert impact(model, backwards).friction == np.inf
    heavy = np.array([angle, -angle, np.pi / 6, 1.6, 6.0, 0.0])
    assert any("does not leave" in text for text in impact(model, heavy).problems())


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_stacks_of_any_shape(biped: ThreeLink, shape: tuple[int, ...]) -> None:
    """One state, a row of them and a table of them."""
    found = impact(biped, np.full((*shape, 6), 0.1))
    assert found.state.shape == (*shape, 6)
    assert found.friction.shape == shape


def test_other_coordinates_are_refused(biped: ThreeLink) -> None:
    """The unpinned model and relative coordinates are not what impacts are for."""
    for other in (biped.unpinned, ThreeLink(biped.parameters, "relative")):
        with pytest.raises(EquipoiseError, match="pinned model in absolute angles"):
            impact(other, np.zeros(6))
