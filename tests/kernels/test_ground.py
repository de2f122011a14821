from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from equipoise.arrays import Array
from equipoise.kernels import runtime
from equipoise.kernels.ground import GroundArrays, make_ground, upload_ground
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, rough

TERRAINS = {
    "flat": Flat(0.2),
    "slope": Slope(0.3, -0.2),
    "stairs up": Stairs(0.13, 0.31, 4, 0.2),
    "stairs down": Stairs(-0.13, 0.31, 4, 0.2),
    "grid": HeightField(
        np.random.default_rng(1).normal(0.0, 0.2, (5, 8)), 0.3, np.array([-1.0, -0.4])
    ),
    "rough": rough(0.05, seed=3, extent=4.0),
}


def touches(ground: GroundArrays, points: Array, scalar: type) -> tuple[Array, Array]:
    """Return depths and normals of points, as the Warp function finds them."""
    device = runtime.device_named("cpu")
    types = make_ground(scalar)
    surface = types.surface

    def kernel(ground, position, depth, normal):
        for i in range(position.shape[0]):
            touch = surface(ground, ground.terrain[0], position[i])
            depth[i] = touch.depth
            normal[i] = touch.normal

    kernel.__annotations__ = {
        "ground": types.Ground,
        "position": wp.array[types.vec3],
        "depth": wp.array[scalar],
        "normal": wp.array[types.vec3],
    }
    compiled = wp.kernel(kernel, module="unique", module_options=runtime.MODULE_OPTIONS)
    position = np.ascontiguousarray(points, wp.dtype_to_numpy(scalar))
    depth, normal = np.empty_like(position[:, 0]), np.empty_like(position)
    inputs = [
        wp.array(values, dtype=kind, device=device, copy=False)
        for values, kind in (
            (position, types.vec3),
            (depth, scalar),
            (normal, types.vec3),
        )
    ]
    # among others, so that it must be found
    terrains = [Flat(7.0).arrays(), ground, Stairs(0.2, 0.1, 3, 5.0).arrays()]
    uploaded = upload_ground(terrains, np.array([1]), scalar, device)
    runtime.launch(compiled, 1, [uploaded, *inputs], device)
    return depth, normal


@pytest.mark.parametrize("name", TERRAINS)
@pytest.mark.parametrize(("scalar", "error"), [(wp.float64, 1e-13), (wp.float32, 2e-5)])
def test_kernels_see_the_same_ground(name, scalar, error):
    """Depth and normal at random points, also beyond all edges, are NumPy's."""
    terrain = TERRAINS[name]
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (5000, 3))
    points[:, 2] = 0.3 * points[:, 2] + terrain.height(points[:, 0], points[:, 1])
    points = points.astype(np.float32).astype(np.float64)
    depth, normal = touches(terrain.arrays(), points, scalar)
    expected = terrain.surface(points)
    # on the edge between two faces rounding decides which one is touched
    same = np.abs(normal - expected.normal).max(axis=1) < 10 * error
    assert same.mean() > 0.999
    np.testing.assert_allclose(depth[same], expected.depth[same], atol=error)
    assert np.abs(np.linalg.norm(normal, axis=1) - 1.0).max() < error


@pytest.mark.parametrize("name", TERRAINS)
def test_points_far_out_and_lost_are_safe(name):
    """Huge positions give finite touches, NaN does no harm."""
    points = np.array([[1e30, -1e30, 0.0], [np.inf, np.nan, 0.0], [np.nan] * 3])
    depth, _ = touches(TERRAINS[name].arrays(), points, wp.float64)
    assert np.isfinite(depth[0])
    assert np.isnan(depth[2])
