"""Paths of swing feet to footholds that change."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.balance.whole_body.swing_path import SwingPath, least_times

PERIOD = 2e-3


def test_a_foot_comes_to_rest_at_its_foothold_in_time() -> None:
    """A path ends at its goal at rest, also one whose goal has changed on the way."""
    path = SwingPath(PERIOD, 10.0, 60.0)
    path.begin(np.array([0.1, -0.1]), np.array([0.5, 0.0]))
    for tick in range(200):
        goal = np.array([0.5, -0.3]) if tick > 60 else np.array([0.2, -0.1])
        path.advance(goal, 0.4 - tick * PERIOD)
    np.testing.assert_allclose(path.place, [0.5, -0.3], atol=2e-3)
    assert np.hypot(*path.velocity) < 0.1


def test_a_foot_is_never_faster_than_it_may_be() -> None:
    """The speed stays below its limit, and is what moves the foot."""
    path = SwingPath(PERIOD, 2.0, 60.0)
    path.begin(np.zeros(2), np.zeros(2))
    before = path.place
    for tick in range(100):
        path.advance(np.array([1.0, 0.5]), max(0.2 - tick * PERIOD, PERIOD))
        moved = np.hypot(*(path.place - before)) / PERIOD
        before = path.place
        assert moved <= 2.0 + 1e-9
        assert np.hypot(*path.velocity) <= 2.0 + 1e-9


@pytest.mark.parametrize("time", [0.05, 0.1, 0.2])
def test_a_foot_that_is_late_stops_at_its_foothold(time: float) -> None:
    """However little time there is, a foot brakes before its goal."""
    most, goal = 40.0, np.array([0.3, 0.4])
    path = SwingPath(PERIOD, 2.5, most)
    path.begin(np.zeros(2), np.zeros(2))
    along, rates = [], []
    for tick in range(200):
        path.advance(goal, time - tick * PERIOD)
        along.append(float(path.place @ goal) / 0.5)
        rates.append(float(path.acceleration @ goal) / 0.5)
    assert max(along) <= 0.5 + 1e-4
    assert along[-1] == pytest.approx(0.5, abs=1e-4)
    arriving = next(n for n, place in enumerate(along) if place > 0.49)
    assert min(rates[:arriving]) >= -1.05 * most


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
