"""Gaits found by optimisation: limits, stability, and where there is none."""

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.planar.gait import PlanarGait
from equipoise.planar.gait_search import GaitLimits, find_gait
from equipoise.planar.parameters import ThreeLinkParameters

SEED = ThreeLinkParameters.named("seed")


def test_gait_keeps_to_its_limits(gait: PlanarGait) -> None:
    """Speed, friction, unilateral force, scuffing and impact, on a fine grid."""
    zero, limits = gait.zero_dynamics, GaitLimits()
    force, p = zero.orbit.force, gait.model.parameters
    weight = p.total_mass * p.gravity
    assert zero.speed == pytest.approx(0.8, rel=1e-3)
    assert zero.invariant
    assert (np.abs(force[:, 0]) <= limits.friction * force[:, 1] + 0.005 * weight).all()
    assert force[:, 1].min() > (limits.least_force - 0.005) * weight
    assert zero.impact.problems(limits.friction) == []
    phase = np.linspace(zero.start, zero.end, 1001)
    foot = gait.model.swing_foot(gait.constraints.configuration(phase))
    assert foot[:, 1].min() > -(limits.scuffing + 0.001) * p.leg_length
    assert foot[0, 1] == pytest.approx(0.0, abs=1e-12)
    assert zero.slope <= limits.eigenvalue + 1e-6


def test_eigenvalues_lie_inside_the_unit_circle(gait: PlanarGait) -> None:
    """All five by the full model; the largest is that of the zero dynamics."""
    values = gait.poincare.eigenvalues
    assert len(values) == 5
    assert gait.poincare.largest_eigenvalue < 0.8
    assert values[0].real == pytest.approx(gait.zero_dynamics.slope, abs=1e-5)
    before = gait.zero_dynamics.state_before_impact
    np.testing.assert_allclose(gait.poincare.fixed_point, before, atol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_fifty_steps_from_a_perturbed_start(gait: PlanarGait, sign: float) -> None:
    """With all angles and rates 10 % off, it walks on, back to the periodic orbit."""
    start = gait.start * (1.0 + sign * np.array([0.1, -0.1] * 3))
    walk = gait.walk(50, start, tolerance=1e-7)
    assert len(walk.steps) == 50
    np.testing.assert_allclose(walk.steps[-1].after, gait.start, atol=1e-5)


def test_basin_contains_the_gait(gait: PlanarGait) -> None:
    """The middle of the grid walks; standing still does not."""
    basin = gait.basin(rate_change=[-0.9, 0.0, 0.1], torso_change=[0.0, 0.05], steps=5)
    assert basin.steps.shape == (3, 2)
    assert not basin.walks[0].any()
    assert basin.walks[1:].all()
    assert basin.distance[1, 0] < 1e-6
    assert np.isinf(basin.distance[0]).all()
    assert basin.fraction == pytest.approx(2 / 3)


def test_speeds_in_one_sweep(gaits: dict[float, PlanarGait]) -> None:
    """From 0.4 to 1.2 m/s, each invariant, at its speed, and with a stable orbit."""
    assert list(gaits) == [0.4, 0.6, 0.8, 1.0, 1.2]
    for speed, found in gaits.items():
        assert found.zero_dynamics.speed == pytest.approx(speed, rel=1e-3)
        assert found.zero_dynamics.invariant
        assert found.zero_dynamics.slope < 0.8
        assert not found.walk(2).fall


@pytest.mark.parametrize(
    ("speed", "message"),
    [
        (0.0, "a walking speed is positive, not 0.0 m/s"),
        (float("nan"), "positive, not nan m/s"),
    ],
)
def test_impossible_speeds_are_refused(speed: float, message: str) -> None:
    """The message says what is wrong with the speed."""
    with pytest.raises(EquipoiseError, match=message):
        find_gait(SEED, speed)


def test_what_was_reached_is_said() -> None:
    """Torques that no gait keeps to, a torso too light to walk with, bad limits."""
    with pytest.raises(EquipoiseError, match=r"no gait at 0.8 m/s .* nor at 0.89"):
        find_gait(
            ThreeLinkParameters.named("seed"), 0.8, GaitLimits(torque=0.1), degree=4
        )
    light = ThreeLinkParameters(1.0, 0.1, 5.0, 15.0, 0.1)
    with pytest.raises(EquipoiseError, match="does not walk with any step and lean"):
        find_gait(light, 0.8)
    with pytest.raises(EquipoiseError, match="friction is positive, not -1"):
        GaitLimits(friction=-1.0)
    with pytest.raises(EquipoiseError, match="between 0 and 1, not at 1"):
        GaitLimits(eigenvalue=1.0)
    with pytest.raises(EquipoiseError, match="at least 4, not 3"):
        find_gait(SEED, 0.8, degree=3)
