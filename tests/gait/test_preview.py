"""Preview control, against a dense optimum and against the closed form."""

from __future__ import annotations

import numpy as np
import pytest
from gait.pendulum import planned

from equipoise.gait.preview import preview_gains, preview_motion


def test_gains_are_those_of_the_dense_problem() -> None:
    """Least squares over all jerks at once gives the jerks of the controller."""
    omega, period, weight, horizon = 3.7, 0.02, 1e-8, 400
    gains = preview_gains(omega, period, weight, horizon)
    random = np.random.default_rng(0)
    reference = np.cumsum(random.normal(scale=0.01, size=horizon))
    reference[horizon // 2 :] = reference[horizon // 2]
    t = period
    a = np.array([[1.0, t, t**2 / 2.0], [0.0, 1.0, t], [0.0, 0.0, 1.0]])
    b = np.array([t**3 / 6.0, t**2 / 2.0, t])
    c = np.array([1.0, 0.0, -1.0 / omega**2])
    start = np.array([0.02, -0.01, 0.1])
    # ZMP after step k+1 as a linear function of the jerks 0 … k
    response = np.empty(horizon)
    free = np.empty(horizon)
    kick, state = b.copy(), start.copy()
    for k in range(horizon):
        response[k], kick = c @ kick, a @ kick
        state = a @ state
        free[k] = c @ state
    lower = np.array(
        [
            [response[i - j] if i >= j else 0.0 for j in range(horizon)]
            for i in range(horizon)
        ]
    )
    system = np.vstack([lower, np.sqrt(weight) * np.eye(horizon)])
    right = np.concatenate([reference - free, np.zeros(horizon)])
    jerks = np.linalg.lstsq(system, right, rcond=None)[0]
    first = gains.reference @ reference - gains.state @ start
    assert first == pytest.approx(jerks[0], rel=1e-4)


@pytest.mark.parametrize("rise", [0.0, 0.06])
def test_preview_and_closed_form_agree(rise: float) -> None:
    """The same ZMP gives the same CoM to a fraction of a millimetre."""
    walk = planned(rise=rise)
    preview = preview_motion(walk)
    times = np.linspace(0.0, walk.times[-1], 3000)
    ours, exact = preview.at(times), walk.at(times)
    assert np.abs(ours.com - exact.com).max() < 2e-4
    assert np.abs(ours.velocity - exact.velocity).max() < 2e-3
    assert np.abs(ours.zmp - exact.zmp).max() < 4e-3
    assert np.sqrt(np.mean((ours.zmp - exact.zmp) ** 2)) < 5e-4


def test_preview_starts_at_rest_and_ends_near_it() -> None:
    """Rest at the start is exact; at the end a micrometre a second is left."""
    walk = planned()
    preview = preview_motion(walk)
    table = preview.at(walk.times[[0, -1]])
    np.testing.assert_allclose(table.velocity[0], 0.0, atol=1e-15)
    np.testing.assert_allclose(table.velocity[1], 0.0, atol=1e-5)
    above = table.zmp + np.array([0.0, 0.0, preview.height])
    np.testing.assert_allclose(table.com, above, atol=1e-5)


def test_the_cart_is_consistent() -> None:
    """Velocity and acceleration are derivatives, and the ZMP is that of the cart."""
    preview = preview_motion(planned())
    times, step = np.linspace(0.5, 5.0, 333), 1e-6
    before, now, after = (preview.at(times + d) for d in (-step, 0.0, step))
    slope = (after.com - before.com) / (2 * step)
    np.testing.assert_allclose(now.velocity, slope, atol=1e-7)
    change = (after.velocity - before.velocity) / (2 * step)
    np.testing.assert_allclose(now.acceleration, change, atol=1e-5)
    zmp = now.com - now.acceleration / preview.omega**2 - [0.0, 0.0, preview.height]
    np.testing.assert_allclose(now.zmp, zmp, atol=1e-14)
