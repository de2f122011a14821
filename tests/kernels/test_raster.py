from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from equipoise.kernels import runtime
from equipoise.kernels.drawing.picture import make_picture
from equipoise.kernels.drawing.raster import COEFFICIENTS, EMPTY

WIDTH, HEIGHT = 96, 64


def rastered(corners, parallel=False, width=WIDTH, height=HEIGHT):
    """Return depth and triangle (height, width) of corners (n, 3, 3), x, y, w each."""
    device, kernels = runtime.device_named("cpu"), make_picture()
    count = len(corners)
    raster = kernels.Raster()
    raster.width, raster.height, raster.parallel = width, height, int(parallel)
    raster.coefficient = wp.zeros((count, COEFFICIENTS), dtype=float, device=device)
    raster.rows = wp.zeros(count, dtype=int, device=device)
    raster.columns = wp.zeros(count, dtype=int, device=device)
    raster.depth = wp.zeros((1, height, width), dtype=float, device=device)
    raster.triangle = wp.full((1, height, width), EMPTY, dtype=int, device=device)
    rows = np.concatenate([np.eye(3), np.zeros((1, 3))])[None].astype(np.float32)
    inputs = [
        raster,
        wp.array(np.asarray(corners, np.float32), dtype=wp.vec3, device=device),
        wp.zeros(count, dtype=int, device=device),
        wp.array(rows, dtype=wp.vec3, device=device),
        1,
    ]
    runtime.launch(kernels.place, 1, inputs, device)
    # the kernel of the shadow map draws the same way, but keeps no triangles
    runtime.launch(kernels.cast, -(-height // 64), [0, 1, raster, count], device)
    return raster.depth.numpy()[0], raster.triangle.numpy()[0]


def brute_force(corners, width=WIDTH, height=HEIGHT):
    """Return depth, triangle by solving for barycentric coordinates in float64.

    A sample sees a triangle where the ray through it meets its plane in front of the
    eye and between the corners.
    """
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = np.stack([x, y, np.ones_like(x)], axis=-1)
    depth, triangle = np.zeros((height, width)), np.full((height, width), EMPTY)
    for t, corner in enumerate(np.asarray(corners, np.float64)):
        if abs(np.linalg.det(corner)) < 1e-12:
            continue
        share = rays @ np.linalg.inv(corner)
        near = share.sum(axis=-1)
        hit = (share >= 0.0).all(axis=-1) & (near > depth)
        depth[hit], triangle[hit] = near[hit], t
    return depth, triangle


def on_screen(points, distance):
    """Return (x, y, w) of points that are seen at pixels, at a distance."""
    return np.concatenate([points * distance, distance], axis=-1)


@pytest.mark.parametrize("size", [3.0, 15.0, 200.0])
def test_nearest_triangles_as_by_brute_force(size):
    """Random triangles, small to larger than the screen: depth and which is nearest."""
    rng = np.random.default_rng(1)
    middle = rng.uniform(0, 1, (60, 1, 2)) * np.array([WIDTH, HEIGHT])
    points = middle + rng.normal(0, size, (60, 3, 2))
    corners = on_screen(points, rng.uniform(0.5, 5.0, (60, 3, 1)))
    depth, triangle = rastered(corners)
    expected, which = brute_force(corners)
    same = triangle == which
    # samples within a thousandth of an edge may go either way
    assert same.mean() > 0.995
    np.testing.assert_allclose(depth[same], expected[same], rtol=2e-4, atol=1e-6)


def test_triangles_partly_behind_the_eye():
    """What is in front of the camera is drawn, what is behind it is not."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        corners = rng.normal(0.0, 1.0, (1, 3, 3)) * np.array([60.0, 40.0, 1.0])
        depth, triangle = rastered(corners)
        expected, which = brute_force(corners)
        same = triangle == which
        assert same.mean() > 0.995
        near = same & (expected < 50.0)
        np.testing.assert_allclose(depth[near], expected[near], rtol=1e-3, atol=1e-5)


def test_order_of_triangles_does_not_matter():
    """The same depths whichever triangle comes first."""
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 1, (200, 3, 2)) * np.array([WIDTH, HEIGHT])
    corners = on_screen(points, rng.uniform(0.5, 5.0, (200, 3, 1)))
    order = rng.permutation(200)
    depth, triangle = rastered(corners)
    shuffled, which = rastered(corners[order])
    np.testing.assert_array_equal(depth, shuffled)
    np.testing.assert_array_equal(triangle, np.where(which >= 0, order[which], EMPTY))


def test_no_cracks_in_a_fine_mesh():
    """A sheet of many triangles smaller and larger than samples covers everything."""
    for cell in (0.37, 5.3, 41.0):
        x, y = (np.arange(-cell, end + 3 * cell, cell) for end in (WIDTH, HEIGHT))
        grid = np.stack(np.meshgrid(x, y), axis=-1)
        grid += 0.3 * cell * np.sin(7.0 * grid[..., ::-1])
        a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
        points = np.concatenate([np.stack([a, b, c], -2), np.stack([a, c, d], -2)])
        points = points.reshape(-1, 3, 2)
        depth, _ = rastered(on_screen(points, np.full((len(points), 3, 1), 2.0)))
        assert (depth[2:-2, 2:-2] > 0.0).all()


def test_what_has_no_area_is_not_drawn():
    """Points, lines, places off the screen, behind the eye and NaN leave no trace."""
    flat = on_screen(
        np.array([[[5, 5], [40, 40], [70, 70]]], float), np.ones((1, 3, 1))
    )
    point = np.ones((1, 3, 3)) * np.array([10.0, 10.0, 1.0])
    off = on_screen(
        np.array([[[-50, 5], [-9, 9], [-9, 30]]], float), np.ones((1, 3, 1))
    )
    behind = -on_screen(
        np.array([[[5, 5], [60, 5], [5, 60]]], float), np.ones((1, 3, 1))
    )
    lost = np.full((1, 3, 3), np.nan)
    huge = np.full((1, 3, 3), 3e38) * np.array([[1, -1, 1], [-1, 1, 1], [1, 1, 1]])
    for corners in (flat, point, off, behind, lost, huge):
        depth, triangle = rastered(corners)
        assert not np.isnan(depth).any()
        # rounding may give a line an area, and numbers that overflow one or none
        assert corners is flat or corners is huge or (triangle == EMPTY).all()


def test_parallel_projection_keeps_heights():
    """A light's map holds the greatest height of what is above each place."""
    corners = [[[0, 0, 2.0], [96, 0, 2.0], [0, 96, 5.0]], [[0, 0, 3.0]] * 3]
    depth, _ = rastered(np.array(corners), parallel=True)
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    inside = x + y < 95.0
    np.testing.assert_allclose(depth[inside], (2.0 + 3.0 * y / 96.0)[inside], rtol=1e-5)
    assert (depth[x + y > 97.0] == 0.0).all()
