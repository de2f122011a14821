from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator

from equipoise.errors import EquipoiseError
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, rough

STAIRS = Stairs(0.1, 0.3, 3, 0.5)


def test_flat():
    """Depth is how far a point is below the level."""
    touch = Flat(0.5).surface([[0.0, 0.0, 0.4], [3.0, -2.0, 0.7]])
    np.testing.assert_allclose(touch.depth, [0.1, -0.2])
    np.testing.assert_array_equal(touch.normal, [[0, 0, 1], [0, 0, 1]])
    assert Flat().height(1.0, 2.0) == 0.0


@given(st.floats(-0.7, 0.7), st.floats(-0.7, 0.7), st.floats(-5, 5), st.floats(-5, 5))
def test_slope_is_the_tangent_of_its_angles(pitch, roll, x, y):
    """Height is x tan(pitch) + y tan(roll); moving along the normal changes depth."""
    slope = Slope(pitch, roll)
    height = float(slope.height(x, y))
    assert height == pytest.approx(x * math.tan(pitch) + y * math.tan(roll), abs=1e-9)
    on_it = np.array([x, y, height])
    assert slope.surface(on_it).depth == pytest.approx(0.0, abs=1e-12)
    assert slope.surface(on_it - 0.2 * slope.normal).depth == pytest.approx(0.2)
    assert slope.normal[2] == pytest.approx(math.cos(slope.steepness))


def test_stairs_up_by_hand():
    """Level before, a step every tread, a landing after the last."""
    x = [-5.0, 0.49, 0.51, 0.79, 0.81, 1.11, 9.0]
    np.testing.assert_allclose(STAIRS.height(x, 0.0), [0, 0, 0.1, 0.1, 0.2, 0.3, 0.3])
    touch = STAIRS.surface([[0.501, 0.0, 0.05], [0.65, 0.0, 0.099], [0.801, 0, 0.15]])
    np.testing.assert_allclose(touch.depth, [0.001, 0.001, 0.001])
    np.testing.assert_array_equal(touch.normal, [[-1, 0, 0], [0, 0, 1], [-1, 0, 0]])


def test_stairs_down_are_stairs_up_seen_from_the_top():
    """Turned round and lifted, descending stairs are ascending ones."""
    down = Stairs(-0.1, 0.3, 3, 0.5)
    end = 0.5 + 2 * 0.3
    up = Stairs(0.1, 0.3, 3, 0.5)
    points = np.random.default_rng(0).uniform([-1, -1, -0.5], [2, 1, 0.2], (2000, 3))
    turned = points * [-1, 1, 1] + [0.5 + end, 0, 0.3]
    expected = up.surface(turned)
    touch = down.surface(points)
    np.testing.assert_allclose(touch.depth, expected.depth, atol=1e-12)
    np.testing.assert_allclose(touch.normal, expected.normal * [-1, 1, 1], atol=1e-12)


@pytest.mark.parametrize("rise", [0.1, -0.1])
def test_stairs_push_out_the_shortest_way(rise):
    """Depth is the least of the ways up and sideways that end outside, by trial."""
    stairs = Stairs(rise, 0.3, 3, 0.5)
    low, high = min(0.0, 3 * rise), max(0.0, 3 * rise)
    box = [[0.2, 0, low - 0.05], [1.3, 0, high + 0.05]]
    points = np.random.default_rng(1).uniform(*box, (300, 3))
    touch = stairs.surface(points)
    np.testing.assert_array_equal(
        touch.depth > 0.0, points[:, 2] < stairs.height(points[:, 0], points[:, 1])
    )
    trial = np.linspace(0.0, 0.5, 5001)
    sideways = -math.copysign(1.0, rise)
    for point, depth, normal in zip(points, touch.depth, touch.normal, strict=True):
        if depth <= 0.0:
            continue
        ways = []
        for way in ([0.0, 0.0, 1.0], [sideways, 0.0, 0.0]):
            path = point + trial[:, None] * way
            out = path[:, 2] >= stairs.height(path[:, 0], path[:, 1])
            ways.append(trial[out.argmax()] if out.any() else np.inf)
        assert depth == pytest.approx(min(ways), abs=2e-4)
        out = point + (depth + 1e-9) * normal
        assert out[2] >= stairs.height(out[0], out[1]) - 1e-8


def field(shape: tuple[int, int] = (6, 9)) -> HeightField:
    """Return a random field."""
    heights = np.random.default_rng(5).normal(0.0, 0.1, shape)
    return HeightField(heights, 0.25, np.array([-1.0, -0.5]))


def test_height_field_is_bilinear():
    """Heights are those of SciPy's interpolator, and of the nearest edge outside."""
    terrain = field()
    ny, nx = terrain.heights.shape
    along_x = terrain.origin[0] + terrain.cell * np.arange(nx)
    along_y = terrain.origin[1] + terrain.cell * np.arange(ny)
    oracle = RegularGridInterpolator((along_y, along_x), terrain.heights)
    x, y = np.random.default_rng(6).uniform(-2.0, 2.0, (2, 1000))
    inside = np.column_stack(
        [np.clip(y, along_y[0], along_y[-1]), np.clip(x, along_x[0], along_x[-1])]
    )
    np.testing.assert_allclose(terrain.height(x, y), oracle(inside), atol=1e-13)


def test_height_field_normal_is_that_of_its_slopes():
    """The normal is perpendicular to finite differences of the height."""
    terrain = field()
    x, y = np.random.default_rng(7).uniform(-1.5, 1.5, (2, 500))
    step = 1e-6
    near_node = np.abs(((np.stack([x, y]) + 2.0) / 0.25 + 0.5) % 1.0 - 0.5) < 1e-3
    x, y = x[~near_node.any(axis=0)], y[~near_node.any(axis=0)]
    slope_x = terrain.height(x + step, y) - terrain.height(x - step, y)
    slope_y = terrain.height(x, y + step) - terrain.height(x, y - step)
    normal = terrain.surface(np.stack([x, y, 0 * x], axis=-1)).normal
    expected = np.stack([-slope_x, -slope_y, np.full_like(x, 2 * step)], axis=-1)
    expected /= np.linalg.norm(expected, axis=-1, keepdims=True)
    np.testing.assert_allclose(normal, expected, atol=1e-8)


def test_height_field_of_a_plane_is_the_slope():
    """Nodes on a plane give its signed distance and its normal."""
    slope = Slope(0.2, -0.1)
    x, y = np.meshgrid(np.arange(-2, 3) * 0.5, np.arange(-2, 3) * 0.5)
    terrain = HeightField(slope.height(x, y), 0.5, np.array([-1.0, -1.0]))
    points = np.random.default_rng(8).uniform(-0.9, 0.9, (200, 3))
    touch, expected = terrain.surface(points), slope.surface(points)
    np.testing.assert_allclose(touch.depth, expected.depth, atol=1e-13)
    np.testing.assert_allclose(touch.normal, expected.normal, atol=1e-13)


def test_roughness():
    """The same seed, the same bytes; flat to start on, as high as asked for."""
    terrain = rough(0.03, seed=4, wavelength=0.4, flat_radius=0.5, extent=6.0)
    again = rough(0.03, seed=4, wavelength=0.4, flat_radius=0.5, extent=6.0)
    other = rough(0.03, seed=5, wavelength=0.4, flat_radius=0.5, extent=6.0)
    assert terrain.heights.tobytes() == again.heights.tobytes()
    assert not np.allclose(terrain.heights, other.heights)
    assert np.abs(terrain.heights).max() == pytest.approx(0.03)
    angle = np.linspace(0, 2 * np.pi, 100)
    assert not terrain.height(0.5 * np.cos(angle), 0.5 * np.sin(angle)).any()
    # waves of 0.28 m and more are no steeper than 2π amplitude / wavelength
    assert (
        np.abs(np.diff(terrain.heights)).max() / terrain.cell < 2 * np.pi * 0.03 / 0.28
    )
    assert not rough(0.0, seed=1, extent=2.0).heights.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Flat(math.nan), "level is nan m"),
        (lambda: Slope(math.radians(60)), "less than 60°"),
        (lambda: Slope(0.9, 0.9), "less than 60°"),
        (lambda: Slope(math.inf), "pitch is inf"),
        (lambda: Stairs(0.1, 0.0, 3, 0.0), "tread of 0 m"),
        (lambda: Stairs(0.0, 0.3, 3, 0.0), "rise of 0 m"),
        (lambda: Stairs(0.1, 0.3, 0, 0.0), "stairs of 0 steps"),
        (lambda: Stairs(0.1, 0.3, 3, math.nan), "start is nan"),
        (lambda: HeightField(np.zeros(3), 0.1, np.zeros(2)), r"shape \(3,\)"),
        (lambda: HeightField(np.zeros((1, 3)), 0.1, np.zeros(2)), r"shape \(1, 3\)"),
        (lambda: HeightField(np.full((3, 3), np.nan), 0.1, np.zeros(2)), "not finite"),
        (lambda: HeightField(np.zeros((3, 3)), -1.0, np.zeros(2)), "cell is -1 m"),
        (lambda: HeightField(np.zeros((3, 3)), 1.0, np.zeros(3)), "two finite numbers"),
        (lambda: rough(-0.1, 0), "0 or more"),
        (lambda: rough(0.1, 0, wavelength=0.0), "wavelength is 0 m"),
        (lambda: rough(0.1, 0, wavelength=1e-4), "nodes"),
        (lambda: rough(0.1, -1), "seed -1"),
        (lambda: Flat().surface([0.0, 0.0]), r"shape \(2,\)"),
    ],
)
def test_impossible_ground_is_refused(make, message):
    """The error names the figure."""
    with pytest.raises(EquipoiseError, match=message):
        make()
