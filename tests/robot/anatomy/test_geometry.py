"""Convex polygons in the plane, with SciPy's hull as the oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull

from equipoise.robot.anatomy.geometry import area, convex_hull, simplify

POINTS = arrays(
    np.float64,
    st.tuples(st.integers(4, 40), st.just(2)),
    elements=st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 3)),
)


@given(POINTS)
def test_hull_has_the_area_that_scipy_finds(points: np.ndarray) -> None:
    """Area and orientation equal those of an independent hull."""
    hull = convex_hull(points)
    centred = points - points.mean(axis=0)
    if np.linalg.matrix_rank(centred, tol=1e-6) < 2:
        assert area(hull) < 1e-6
        return
    expected = ConvexHull(points).volume
    np.testing.assert_allclose(area(hull), expected, atol=1e-12)


@given(POINTS)
def test_simplified_polygon_stays_inside(points: np.ndarray) -> None:
    """Dropping corners never adds area and keeps at most the wanted number."""
    hull = convex_hull(points)
    fewer = simplify(hull, corners=6, area_loss=0.01)
    assert len(fewer) <= max(6, min(len(hull), 4))
    assert area(fewer) <= area(hull) + 1e-12
    corners = {tuple(corner) for corner in hull}
    assert all(tuple(corner) in corners for corner in fewer)
    np.testing.assert_array_equal(np.ptp(fewer, axis=0), np.ptp(hull, axis=0))


def test_degenerate_hulls() -> None:
    """Equal points give one corner, points on a line its two ends."""
    assert convex_hull(np.ones((5, 2))).shape == (1, 2)
    line = np.column_stack([np.linspace(0, 1, 7), np.linspace(0, 2, 7)])
    np.testing.assert_allclose(sorted(map(tuple, convex_hull(line))), [(0, 0), (1, 2)])
