from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise.kinematics import hull_margins as module
from equipoise.kinematics.hull_margins import hull_margins
from equipoise.kinematics.support import polygon_margin


@given(st.integers(0, 1000), st.integers(1, 8))
def test_agrees_with_one_polygon_at_a_time(seed, corners):
    """Inside, many hulls at once are the hulls one by one, whichever corners count."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((20, corners, 2))
    counted = rng.random((20, corners)) < 0.7
    targets = 0.5 * rng.standard_normal((20, 2))
    found = hull_margins(points, counted, targets)
    for own, kept, target, margin in zip(points, counted, targets, found, strict=True):
        if not kept.any():
            assert margin == 0.0
            continue
        expected = polygon_margin(own[kept], target)
        if expected > 0.0:
            np.testing.assert_allclose(margin, expected, atol=1e-12)
        else:
            # outside, never farther than the hull
            assert expected - 1e-12 <= margin <= 1e-12


def test_rows_are_independent(monkeypatch):
    """How many rows are worked on at a time changes nothing."""
    rng = np.random.default_rng(1)
    points, targets = rng.standard_normal((50, 6, 2)), rng.standard_normal((50, 2))
    counted = np.ones((50, 6), dtype=bool)
    whole = hull_margins(points, counted, targets)
    monkeypatch.setattr(module, "MOST_NUMBERS", 1)
    np.testing.assert_array_equal(hull_margins(points, counted, targets), whole)
