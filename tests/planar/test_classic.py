"""The classic walker, by its full model and by its zero dynamics."""

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.planar.classic import ClassicGait, classic, classic_gait


@pytest.fixture(scope="module")
def gaits() -> dict[str, ClassicGait]:
    """Both gaits by name."""
    return {found.name: found for found in classic()}


def test_fixed_points_are_fixed(gaits: dict[str, ClassicGait]) -> None:
    """A step leads back, with outputs that the finite-time law has brought to zero."""
    assert list(gaits) == ["constant-torso", "optimised"]
    for found in gaits.values():
        fixed = found.gait.poincare.fixed_point
        y, dy = found.gait.constraints.outputs(fixed)
        assert np.abs(y).max() < 1e-6
        assert np.abs(dy).max() < 1e-5
        np.testing.assert_allclose(found.gait.poincare.step.before, fixed, atol=1e-7)
        assert fixed[0] == pytest.approx(np.pi / 8)


def test_slope_is_that_of_the_return_map(gaits: dict[str, ClassicGait]) -> None:
    """The largest eigenvalue is the slope of θ̇₁ before the next impact over this."""
    for found in gaits.values():
        rate = found.full_model.rate
        after = found.gait.return_map([rate - 0.01, rate, rate + 0.01, 0.1])
        assert after[1] == pytest.approx(rate, abs=1e-5)
        slope = (after[2] - after[0]) / 0.02
        assert found.full_model.slope == pytest.approx(slope, rel=5e-3)
        assert np.isnan(after[3])


def test_both_ways_differ_as_far_as_the_outputs_do(
    gaits: dict[str, ClassicGait],
) -> None:
    """A torso that only moves after the impact differs less than one that must turn."""
    torso, optimised = gaits["constant-torso"], gaits["optimised"]
    for found in gaits.values():
        assert "not invariant under impact" in found.note
        assert not found.gait.zero_dynamics.invariant
    np.testing.assert_allclose(torso.output_error, 0.0, atol=1e-6)
    assert abs(optimised.output_error[1]) > 0.04
    near = abs(torso.full_model.rate / torso.zero_dynamics.rate - 1.0)
    far = abs(optimised.full_model.rate / optimised.zero_dynamics.rate - 1.0)
    assert near < 0.005 < far < 0.05
    assert torso.full_model.torque_cost > torso.zero_dynamics.torque_cost


def test_unknown_gaits_are_refused() -> None:
    """The message lists those there are."""
    with pytest.raises(EquipoiseError, match="gaits are: constant-torso, opt"):
        classic_gait("running")
