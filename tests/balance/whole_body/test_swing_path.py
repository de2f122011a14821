"""Paths of swing feet to footholds that change."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.balance.whole_body.swing_path import SwingPath, least_times

PERIOD = 2e-3


def test_a_foot_comes_to_rest_at_its_foothold_in_time() -> None:
    """A path ends at its goal at rest, also one whose goal has changed on the way."""
    path = SwingPath(PERIOD, 10.0)
    path.begin(np.array([0.1, -0.1]), np.array([0.5, 0.0]))
    for tick in range(200):
        goal = np.array([0.5, -0.3]) if tick > 60 else np.array([0.2, -0.1])
        path.advance(goal, 0.4 - tick * PERIOD)
    np.testing.assert_allclose(path.place, [0.5, -0.3], atol=2e-3)
    assert np.hypot(*path.velocity) < 0.1


def test_a_foot_is_never_faster_than_it_may_be() -> None:
    """The speed stays below its limit, and is what moves the foot."""
    path = SwingPath(PERIOD, 2.0)
    path.begin(np.zeros(2), np.zeros(2))
    before = path.place
    for tick in range(100):
        path.advance(np.array([1.0, 0.5]), max(0.2 - tick * PERIOD, PERIOD))
        moved = np.hypot(*(path.place - before)) / PERIOD
        before = path.place
        assert moved <= 2.0 + 1e-9
        assert np.hypot(*path.velocity) <= 2.0 + 1e-9


@pytest.mark.parametrize("velocity", [(0.0, 0.0), (1.0, -0.5), (-1.0, 0.3)])
def test_least_times_are_those_of_cubics(velocity: tuple[float, float]) -> None:
    """A cubic of just the least time has just the largest speed or acceleration."""
    way, start = np.array([0.4, 0.2]), np.array(velocity)
    speed, acceleration = 2.5, 60.0
    times = np.linspace(0.05, 1.0, 4000)
    least = least_times(np.tile(way, (4000, 1)), start, times, speed, acceleration)
    time = float(times[np.argmax(least <= times)])
    t = np.linspace(0.0, time, 2001)[:, None]
    second = (3.0 * way - 2.0 * start * time) / time**2
    third = (start * time - 2.0 * way) / time**3
    rates = np.linalg.norm(2.0 * second + 6.0 * third * t, axis=1)
    middle = np.linalg.norm((start + 2.0 * second * t + 3.0 * third * t**2)[1000])
    assert max(middle / speed, rates.max() / acceleration) == pytest.approx(
        1.0, abs=0.01
    )
