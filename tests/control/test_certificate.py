"""Certificates of balancing gains, against the error system itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

from equipoise.arrays import Array
from equipoise.control.certificate import Gains, certify, nearest_stable
from equipoise.errors import EquipoiseError

GAINS = 1000


def error_system(gains: Gains) -> tuple[Array, Array, Array]:
    """Return A, and what ε and ε̇ do: Eq. 28 and 29, from Eq. 26 and 27 by hand."""
    k_p, k_c, w2 = gains.zmp_gain, gains.com_gain, gains.omega**2
    # k_p e_p = ė_c + k_c e_c + ε and ë_c = ω² (e_c − e_p)
    first = np.array([-k_c, k_p])
    second = (w2 * np.array([1.0, -1.0]) + k_c * first) / k_p
    matrix = np.array([first, second])
    return matrix, np.array([-1.0, -k_c / k_p]), np.array([0.0, 1.0 / k_p])


def largest_errors(gains: Gains, disturbance: Array, dt: float) -> Array:
    """Return the largest |e_c| and |e_p| under an ε that is linear between points."""
    matrix, by_value, by_rate = error_system(gains)
    whole = np.zeros((4, 4))
    whole[:2, :2], whole[:2, 2], whole[:2, 3] = matrix, by_value, by_rate
    whole[2, 3] = 1.0
    step = expm(dt * whole)[:3]
    state, largest = np.zeros(3), np.zeros(2)
    for rate in np.diff(disturbance) / dt:
        state = step @ np.append(state, rate)
        largest = np.maximum(largest, np.abs(state[:2]))
    return largest


def bounded_disturbance(
    rng: np.random.Generator, most: float, rate: float, count: int, dt: float
) -> Array:
    """Return one that goes back and forth between its bounds, as fast as it may."""
    targets = rng.uniform(-1.5 * most, 1.5 * most, count).clip(-most, most)
    hold = rng.integers(5, 80)
    values = np.zeros(count)
    for k in range(1, count):
        towards = targets[k // hold] - values[k - 1]
        values[k] = values[k - 1] + np.clip(towards, -rate * dt, rate * dt)
    return values


def test_no_disturbance_exceeds_the_bound() -> None:
    """Of a thousand random gains: stable ones keep their bound, others diverge."""
    rng = np.random.default_rng(1)
    stable, closest = 0, 0.0
    for _ in range(GAINS):
        omega = rng.uniform(2.0, 8.0)
        gains = Gains(*(omega * rng.uniform(0.05, 2.5, 2)), omega)
        poles = np.linalg.eigvals(error_system(gains)[0])
        assert gains.stable == (poles.real.max() < 0.0)
        certificate = certify(gains, *rng.uniform(0.005, 0.05, 2) * (1.0, 10.0))
        if not gains.stable:
            assert certificate.bound is None
            continue
        stable += 1
        bound, reached = certificate.bound, certificate.reached
        assert bound is not None
        assert reached is not None
        dt = 0.2 / np.abs(poles).max()
        disturbance = bounded_disturbance(
            rng, certificate.disturbance, certificate.disturbance_rate, 300, dt
        )
        com, zmp = largest_errors(gains, disturbance, dt)
        assert com <= bound.com
        assert zmp <= bound.zmp
        assert reached.com <= bound.com
        assert reached.zmp <= bound.zmp
        closest = max(closest, com / bound.com, zmp / bound.zmp)
        if certificate.paper_bound is not None:
            assert bound.com <= certificate.paper_bound.com
            assert bound.zmp <= certificate.paper_bound.zmp
    assert 0.3 * GAINS < stable < 0.7 * GAINS
    assert closest > 0.7  # bounds are not idle


def test_unstable_gains_diverge() -> None:
    """Just outside k_c > k_p > 0 errors grow without bound, just inside they do not."""
    for k_p, k_c in ((3.0, 2.9), (3.0, 3.1)):
        gains = Gains(k_p, k_c, 3.7)
        values = np.append(np.linspace(0.0, 0.01, 20), np.full(40_000, 0.01))
        com, _ = largest_errors(gains, values, 0.01)
        assert (com > 1e3) == (k_c < k_p) == (not gains.stable)


def test_a_steady_disturbance() -> None:
    """A constant velocity error a moves CoM and ZMP by a / (k_c − k_p), no less."""
    certificate = certify(Gains(2.0, 5.0, 3.7), 0.03, 1e-4)
    assert certificate.bound is not None
    assert certificate.bound.com == pytest.approx(0.01, rel=0.01)
    assert certificate.bound.zmp == pytest.approx(0.01, rel=0.01)


def test_conditions_of_the_paper() -> None:
    """Eq. 25 as printed holds for gains that its proof does not cover."""
    gains = Gains(3.0, 5.0, 3.7)
    exact, printed, proven = gains.conditions
    assert exact.holds
    assert printed.holds
    assert not proven.holds
    assert certify(gains).paper_bound is None
    assert Gains(2.0, 5.0, 3.7).conditions[2].holds
    assert certify(Gains(2.0, 5.0, 3.7)).paper_bound is not None


def delayed_growth(gains: Gains, seconds: float) -> float:
    """Return how much an error grows with delay and lag, by small Euler steps."""
    k_p, k_c, w, lag = gains.zmp_gain, gains.com_gain, gains.omega, gains.lag
    dt = gains.delay / 40
    count = math.ceil(seconds / dt)
    com, fed, filtered = np.zeros(count + 1), np.zeros(count + 1), 0.0
    com[0] = 0.01
    for k in range(count):
        seen = fed[k - 40] if k >= 40 else 0.0
        rate = (seen - filtered) / lag
        fed[k] = k_p * (com[k] - rate / w**2) - k_c * com[k]
        filtered += dt * rate
        com[k + 1] = com[k] + dt * filtered
    half = count // 2
    return float(np.abs(com[half:]).max() / np.abs(com[:half]).max())


@pytest.mark.parametrize(
    ("k_p", "k_c", "lag"), [(1.0, 5.0, 0.2), (2.0, 6.0, 0.3), (0.5, 3.0, 0.1)]
)
def test_delay_margin(k_p: float, k_c: float, lag: float) -> None:
    """A little less delay and errors die out, a little more and they grow."""
    margin = Gains(k_p, k_c, 3.7, 0.0, lag).delay_margin
    less, more = (Gains(k_p, k_c, 3.7, f * margin, lag) for f in (0.9, 1.1))
    assert less.stable
    assert not more.stable
    assert delayed_growth(less, 60.0 * margin) < 1.0 < delayed_growth(more, 60 * margin)
    assert certify(less).bound is not None


def test_lag_without_delay_is_the_limit_of_small_delays() -> None:
    """Bounds of the CoM go over into each other."""
    without, with_delay = (
        certify(Gains(1.0, 5.0, 3.7, delay, 0.2)).bound for delay in (0.0, 1e-3)
    )
    assert without is not None
    assert with_delay is not None
    assert with_delay.com == pytest.approx(without.com, rel=0.02)


@pytest.mark.parametrize(
    "gains",
    [
        Gains(5.0, 2.0, 3.7),
        Gains(-1.0, 2.0, 3.7),
        Gains(1.0, -2.0, 3.7),
        Gains(2.0, 5.0, 3.7, 0.01),
        Gains(2.0, 50.0, 3.7, 0.2, 0.2),
    ],
)
def test_nearest_stable_gains(gains: Gains) -> None:
    """Unstable gains get stable neighbours; stable ones stay as they are."""
    near = nearest_stable(gains)
    assert not gains.stable
    assert near.stable
    assert nearest_stable(near) == near


def test_bad_numbers_are_named() -> None:
    """Numbers that mean nothing are refused."""
    with pytest.raises(EquipoiseError, match="omega is 0"):
        Gains(1.0, 2.0, 0.0)
    with pytest.raises(EquipoiseError, match="delay is -1"):
        Gains(1.0, 2.0, 3.0, delay=-1.0)
    with pytest.raises(EquipoiseError, match="com_gain is nan"):
        Gains(1.0, math.nan, 3.0)
    with pytest.raises(EquipoiseError, match="disturbance is -1"):
        certify(Gains(1.0, 2.0, 3.0), -1.0)
