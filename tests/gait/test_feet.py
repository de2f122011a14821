"""Swing feet: C², at rest at both ends, vertical there, above the ground."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Array
from equipoise.gait.feet import (
    PROFILES,
    FootMotion,
    Height,
    Swing,
    footprint,
    plan_swing,
)
from equipoise.gait.footsteps import (
    Footstep,
    sole_accelerations,
    sole_transforms,
    sole_twists,
)

SOLE = np.array([[-0.05, -0.03], [0.12, -0.03], [0.12, 0.03], [-0.05, 0.03]])
CLEARANCE = 0.05

feet = st.builds(
    Footstep,
    side=st.just("left"),
    x=st.floats(-0.4, 0.4),
    y=st.floats(-0.3, 0.3),
    z=st.floats(-0.2, 0.2),
    yaw=st.floats(-1.0, 1.0),
    pitch=st.floats(-0.3, 0.3),
    roll=st.floats(-0.3, 0.3),
)


@given(feet, feet, st.floats(0.3, 1.5), st.sampled_from(PROFILES), st.booleans())
def test_swings_are_twice_continuously_differentiable(
    start: Footstep,
    end: Footstep,
    duration: float,
    profile: tuple[float, float],
    on_toe: bool,
) -> None:
    """Rates and accelerations are derivatives everywhere and have no jumps."""
    apex = max(start.z, end.z) + CLEARANCE
    swing = Swing(start, end, 0.7, 0.7 + duration, apex, *profile)
    step = duration / 4000.0
    first, last = 0.7 - 10 * step, 0.7 + duration + 10 * step
    if on_toe:
        around = 0.1 * duration
        swing = replace(swing, pitch=0.4, toe=0.1, heel_off=around, heel_down=around)
        first, last = first - around, last + around
    table = swing.at(np.arange(first, last, step))
    for values, rates in itertools.pairwise(table):
        slope = (values[2:] - values[:-2]) / (2 * step)
        change = np.abs(np.diff(rates, axis=0)).max()
        np.testing.assert_allclose(rates[1:-1], slope, atol=change + 1e-12)
    jumps = np.abs(np.diff(table.accelerations, axis=0)).max()
    assert jumps < 0.02 * max(np.abs(table.accelerations).max(), 1e-9)


def test_feet_turn_about_their_toes() -> None:
    """The toe's edge stands still while the heel rises, and while it comes down."""
    start, end = Footstep("left", 0.0, 0.1), Footstep("left", 0.3, 0.1, z=-0.1)
    flat = plan_swing(start, end, 1.0, 1.6, CLEARANCE, SOLE)
    swing = plan_swing(
        start, end, 1.0, 1.6, CLEARANCE, SOLE, pitch=0.4, heel_off=0.1, heel_down=0.1
    )
    toe = np.array([SOLE[:, 0].max(), 0.0, 0.0, 1.0])
    times = np.linspace(0.8, 1.8, 501)
    paths = [sole_transforms(s.at(times).coordinates) @ toe for s in (flat, swing)]
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-12)
    pitch = swing.at(times).coordinates[:, 4]
    up = pitch > 1e-6
    assert 0.39 < pitch.max() <= 0.4 + 1e-12
    assert 0.9 < times[up][0] < 0.93
    assert 1.67 < times[up][-1] < 1.7
    foot = FootMotion(start, (swing,))
    assert not foot.on_toe(np.array([0.89, 1.3, 1.71])).any()
    assert foot.on_toe(np.array([0.95, 1.65])).all()


@given(feet, feet, st.sampled_from(PROFILES))
def test_swings_begin_and_end_at_rest_and_vertically(
    start: Footstep, end: Footstep, profile: tuple[float, float]
) -> None:
    """At both ends: in place, at rest; near them only the height changes."""
    swing = Swing(start, end, 0.0, 1.0, max(start.z, end.z) + CLEARANCE, *profile)
    table = swing.at(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(table.coordinates[0], start.coordinates)
    np.testing.assert_array_equal(table.coordinates[1], end.coordinates)
    np.testing.assert_allclose(table.rates, 0.0, atol=1e-12)
    np.testing.assert_allclose(table.accelerations, 0.0, atol=1e-12)
    low = np.array([0, 1, 3, 4, 5])
    early = swing.at(np.linspace(0.0, 0.09, 10)).coordinates[:, low]
    late = swing.at(np.linspace(0.91, 1.0, 10)).coordinates[:, low]
    np.testing.assert_allclose(early - start.coordinates[low], 0.0, atol=1e-12)
    np.testing.assert_allclose(late - end.coordinates[low], 0.0, atol=1e-12)


@given(feet, feet, st.floats(0.3, 1.5))
def test_twists_and_accelerations_are_rates(
    start: Footstep, end: Footstep, duration: float
) -> None:
    """Of any swing: Pinocchio's logarithm of turns, and differences of twists."""
    swing = Swing(start, end, 0.0, duration, max(start.z, end.z) + CLEARANCE)
    times, step = np.linspace(0.0, duration, 40), 1e-6
    before, now, after = (swing.at(times + d) for d in (-step, 0.0, step))
    twists, first, last = (sole_twists(*table[:2]) for table in (now, before, after))
    poses = [sole_transforms(table.coordinates) for table in (before, after)]
    turned = [b[:3, :3] @ a[:3, :3].T for a, b in zip(*poses, strict=True)]
    angular = np.array([pin.log3(turn) for turn in turned]) / (2.0 * step)
    np.testing.assert_allclose(twists[:, 3:], angular, atol=1e-6)
    rates = (last - first) / (2.0 * step)
    # the jerk is as large as 60 / duration³ and jumps at both ends
    atol = 1e-6 + 60.0 * step / (0.8 * duration) ** 3
    np.testing.assert_allclose(sole_accelerations(*now), rates, atol=atol)


def lowest_gap(swing: Swing, height: Height) -> tuple[float, Array]:
    """Return how near to the ground any point of the sole comes, and all gaps."""
    times = np.linspace(swing.lift_off, swing.touch_down, 1001)
    sole = footprint(SOLE)
    points = np.hstack([sole, np.zeros((len(sole), 1)), np.ones((len(sole), 1))])
    poses = sole_transforms(swing.at(times).coordinates)
    placed = points @ np.swapaxes(poses, 1, 2)
    gaps = placed[..., 2] - height(placed[..., 0], placed[..., 1])
    return float(gaps.min()), gaps


@given(
    x=st.floats(-0.4, 0.4),
    edge=st.floats(0.0, 1.0),
    before=st.floats(-0.1, 0.1),
    after=st.floats(-0.1, 0.1),
)
def test_swings_clear_an_edge(
    x: float, edge: float, before: float, after: float
) -> None:
    """Over an edge anywhere between the soles no point goes into the ground."""
    low, high = sorted([0.0, x])
    first, last = low + 0.1201, high - 0.0501
    if last < first:  # both soles over the edge, or in front of it
        first = last = high + 0.1201
    at = first + edge * (last - first)

    def height(px: Array, py: Array) -> Array:
        return np.where(px < at, before, after)

    ends = [
        Footstep("left", value, 0.0, float(height(np.array(value), np.array(0.0))))
        for value in (0.0, x)
    ]
    swing = plan_swing(ends[0], ends[1], 0.0, 0.6, CLEARANCE, SOLE, height)
    least, gaps = lowest_gap(swing, height)
    assert least > -1e-9
    middle = gaps[len(gaps) // 2]
    assert middle.min() > CLEARANCE - 1e-9


def test_swings_clear_a_bump_between() -> None:
    """A bump that neither end stands on is cleared by the whole clearance."""

    def height(px: Array, py: Array) -> Array:
        return np.where(np.abs(px - 0.25) < 0.05, 0.1, 0.0)

    start, end = Footstep("left", 0.0, 0.1), Footstep("left", 0.5, 0.1)
    swing = plan_swing(start, end, 0.0, 0.6, CLEARANCE, SOLE, height)
    assert swing.apex == pytest.approx(0.1 + CLEARANCE)
    assert lowest_gap(swing, height)[0] > -1e-9


def test_a_hole_between_is_stepped_over() -> None:
    """Where there is no ground (NaN) there is nothing to clear."""

    def height(px: Array, py: Array) -> Array:
        return np.where(np.abs(px - 0.25) < 0.05, np.nan, 0.0)

    start, end = Footstep("left", 0.0, 0.1), Footstep("left", 0.5, 0.1)
    swing = plan_swing(start, end, 0.0, 0.6, CLEARANCE, SOLE, height)
    assert swing.apex == pytest.approx(CLEARANCE)


def test_level_swings_rise_by_the_clearance() -> None:
    """Without ground the apex is the clearance above the higher end."""
    start, end = Footstep("left", 0.0, 0.1, 0.02), Footstep("left", 0.3, 0.1, 0.07)
    swing = plan_swing(start, end, 0.0, 0.6, CLEARANCE, SOLE)
    heights = swing.at(np.linspace(0.0, 0.6, 601)).coordinates[:, 2]
    assert heights.max() == pytest.approx(0.12)
    assert heights.min() == pytest.approx(0.02)
