from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import random_states

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics import support
from equipoise.kinematics.com import com
from equipoise.kinematics.support import hull_margins, polygon_margin, support_polygon
from equipoise.robot.anatomy.geometry import area, convex_hull
from equipoise.robot.load import load
from equipoise.robot.model import Robot

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


def with_soles(robot: Robot, polygon: list[list[float]]) -> Robot:
    """Return the robot with other contact polygons under its feet."""
    soles = {
        side: dataclasses.replace(sole, polygon_in_sole=frozen_array(polygon))
        for side, sole in robot.soles.items()
    }
    return dataclasses.replace(robot, soles=soles)


def test_standing_humanoid_is_balanced(humanoid_urdf):
    """Standing, the CoM is above the support polygon, which has both soles inside."""
    robot = load(humanoid_urdf)
    polygon = support_polygon(robot, robot.standing)
    assert area(polygon) > 0.0
    assert polygon_margin(polygon, com(robot, robot.standing)[:2]) > 0.0
    for side in ("left", "right"):
        corners = support_polygon(robot, robot.standing, [side])
        assert area(corners) < area(polygon)
        assert polygon_margin(polygon, corners).min() > -1e-9


def test_polygon_moves_with_the_robot(g1_urdf):
    """Displaced by (1, 2), the robot takes its polygon along."""
    robot = load(g1_urdf)
    moved = robot.standing.copy()
    moved[:2] += [1.0, 2.0]
    shift = np.array([1.0, 2.0])
    expected = support_polygon(robot, robot.standing) + shift
    np.testing.assert_allclose(
        support_polygon(robot, moved), expected, rtol=0, atol=1e-12
    )


def test_point_and_line_feet(g1_urdf):
    """Point feet give a point or a segment; lines on one line give its ends."""
    robot = load(g1_urdf)
    points = with_soles(robot, [[0.0, 0.0]])
    assert support_polygon(points, robot.standing, ["left"]).shape == (1, 2)
    assert support_polygon(points, robot.standing).shape == (2, 2)
    lines = with_soles(robot, [[0.0, -0.05], [0.0, 0.05]])
    assert support_polygon(lines, robot.standing).shape == (2, 2)


@pytest.mark.parametrize("feet", [("left", "right"), ("right",)])
def test_batch_of_polygons_equals_single_ones(g1_urdf, feet):
    """A batch gives a tuple with the polygon of each configuration."""
    robot = load(g1_urdf)
    q, _ = random_states(robot, 40)
    polygons = support_polygon(robot, q, feet)
    assert isinstance(polygons, tuple)
    assert len(polygons) == len(q)
    for row, polygon in zip(q, polygons, strict=True):
        expected = support_polygon(robot, row, feet)
        np.testing.assert_allclose(polygon, expected, rtol=0, atol=1e-12)
    if len(feet) == 2:
        assert len({len(polygon) for polygon in polygons}) > 1
    assert support_polygon(robot, q[:0], feet) == ()


def test_support_refuses_wrong_input(g1_urdf):
    """No foot, an unknown foot and a wrong shape are refused."""
    robot = load(g1_urdf)
    with pytest.raises(EquipoiseError, match="no foot touches"):
        support_polygon(robot, robot.standing, [])
    with pytest.raises(NameNotFoundError, match=r"no sole 'middle'.*left, right"):
        support_polygon(robot, robot.standing, ["middle"])
    with pytest.raises(ShapeError, match=r"needs \(36,\)"):
        support_polygon(robot, [[robot.standing]])


@pytest.mark.parametrize(
    ("polygon", "point", "margin"),
    [
        (SQUARE, [1.0, 1.0], 1.0),
        (SQUARE, [0.5, 1.0], 0.5),
        (SQUARE, [2.0, 1.0], 0.0),
        (SQUARE, [3.0, 1.0], -1.0),
        (SQUARE, [5.0, 6.0], -5.0),
        ([[1.0, 1.0]], [4.0, 5.0], -5.0),
        ([[1.0, 1.0]], [1.0, 1.0], 0.0),
        ([[0.0, 0.0], [2.0, 0.0]], [1.0, 3.0], -3.0),
        ([[0.0, 0.0], [2.0, 0.0]], [5.0, 4.0], -5.0),
        ([[0.0, 0.0], [2.0, 0.0]], [1.0, 0.0], 0.0),
        ([[0.0, 0.0], [0.0, 0.0]], [3.0, 4.0], -5.0),
    ],
)
def test_margin_by_hand(polygon, point, margin):
    """Distances to squares, segments and points are those of plain geometry."""
    assert polygon_margin(polygon, point) == pytest.approx(margin)
    assert polygon_margin(polygon, [point, point]).shape == (2,)


@given(st.integers(0, 2**32 - 1))
def test_margin_is_distance_to_the_boundary(seed):
    """For any convex polygon the margin is the distance to its sampled boundary."""
    rng = np.random.default_rng(seed)
    polygon = convex_hull(rng.normal(size=(rng.integers(3, 12), 2)))
    points = rng.normal(size=(20, 2)) * 1.5
    margins = polygon_margin(polygon, points)
    share = np.linspace(0.0, 1.0, 400)[:, None, None]
    boundary = polygon + share * (np.roll(polygon, -1, axis=0) - polygon)
    nearest = boundary_distance(points, boundary.reshape(-1, 2))
    np.testing.assert_allclose(np.abs(margins), nearest, rtol=0, atol=0.02)
    # a point outside becomes a corner of the hull
    becomes_corner = [
        (convex_hull(np.vstack([polygon, point])) == point).all(axis=1).any()
        for point in points
    ]
    np.testing.assert_array_equal(margins < 0.0, becomes_corner)


def boundary_distance(points: Array, boundary: Array) -> Array:
    """Return the distance of each point to the nearest of many boundary points."""
    return np.linalg.norm(points[:, None] - boundary, axis=-1).min(axis=1)


@given(st.integers(0, 2**32 - 1))
def test_margin_does_not_ask_for_an_order(seed):
    """Corners clockwise, shuffled or with inner points give the hull's margin."""
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(rng.integers(3, 12), 2))
    points = rng.normal(size=(20, 2)) * 1.5
    hull = convex_hull(corners)
    expected = polygon_margin(hull, points)
    for polygon in (corners, hull[::-1], rng.permutation(corners)):
        found = polygon_margin(polygon, points)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("polygon", "points", "message"),
    [
        (np.zeros((0, 2)), [0.0, 0.0], r"polygon has shape \(0, 2\); \(k, 2\)"),
        (np.zeros(2), [0.0, 0.0], r"polygon has shape \(2,\)"),
        ([[0.0, np.nan]], [0.0, 0.0], "polygon holds values that are not finite"),
        ("square", [0.0, 0.0], "polygon must be an array of numbers"),
        (SQUARE, [0.0, 0.0, 0.0], r"points has shape \(3,\)"),
        (SQUARE, 1.0, r"points has shape \(\)"),
        (SQUARE, [np.nan, 0.0], "points holds values that are not finite"),
        (SQUARE, [[0.0, 0.0], [1.0]], "points must be an array of numbers"),
        (SQUARE, None, "points holds values that are not finite"),
    ],
)
def test_margin_refuses_what_is_not_in_the_plane(polygon, points, message):
    """Polygons and points must be finite, in the plane, and are named if not."""
    with pytest.raises(ShapeError, match=message):
        polygon_margin(polygon, points)


@given(st.integers(0, 1000), st.integers(1, 8))
def test_many_hulls_agree_with_one_polygon_at_a_time(seed, corners):
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


def test_rows_of_hulls_are_independent(monkeypatch):
    """How many rows are worked on at a time changes nothing."""
    rng = np.random.default_rng(1)
    points, targets = rng.standard_normal((50, 6, 2)), rng.standard_normal((50, 2))
    counted = np.ones((50, 6), dtype=bool)
    whole = hull_margins(points, counted, targets)
    monkeypatch.setattr(support, "MOST_NUMBERS", 1)
    np.testing.assert_array_equal(hull_margins(points, counted, targets), whole)
