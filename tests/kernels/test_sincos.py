from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from equipoise.arrays import Array
from equipoise.kernels import runtime
from equipoise.kernels.sincos import CONSTANTS, make_sincos


def sines_and_cosines(angles: Array, scalar: type, width: int) -> tuple[Array, Array]:
    """Return what the Warp function makes of angles, whose count width divides."""
    device = runtime.device_named("cpu")
    lanes = wp.types.vector(length=width, dtype=scalar)
    sincos = make_sincos(scalar, width).function

    def kernel(angle, sin, cos):
        for i in range(angle.shape[0]):
            result = sincos(angle[i])
            sin[i] = result.sin
            cos[i] = result.cos

    kernel.__annotations__ = dict.fromkeys(("angle", "sin", "cos"), wp.array[lanes])
    compiled = wp.kernel(kernel, module="unique", module_options=runtime.MODULE_OPTIONS)
    numbers = wp.dtype_to_numpy(scalar)
    arrays = [np.array(angles, dtype=numbers).reshape(-1, width)]
    arrays += [np.empty_like(arrays[0]), np.empty_like(arrays[0])]
    inputs = [wp.array(a, dtype=lanes, device=device, copy=False) for a in arrays]
    runtime.launch(compiled, 1, inputs, device)
    return arrays[1].ravel(), arrays[2].ravel()


@pytest.mark.parametrize(
    ("scalar", "width", "error"), [(wp.float64, 4, 3e-16), (wp.float32, 8, 2e-7)]
)
def test_error_is_about_one_rounding(scalar, width, error):
    """Sine and cosine are right to the last bit or two, at angles of any size."""
    rng = np.random.default_rng(0)
    limit = CONSTANTS[scalar].limit
    sizes = (1e-9, 1e-3, 1.0, 10.0, 1e3, limit, 10 * limit)
    quarters = np.arange(-400, 400) * (np.pi / 4)
    angles = np.concatenate(
        [
            [0.0, -0.0, limit, -limit, 1.001 * limit, np.pi, -np.pi, np.pi / 2],
            *(rng.uniform(-size, size, 8000) for size in sizes),
            quarters,
            np.nextafter(quarters, np.inf),
        ]
    )
    angles = angles.astype(wp.dtype_to_numpy(scalar))
    sin, cos = sines_and_cosines(angles, scalar, width)
    exact = angles.astype(np.longdouble)
    np.testing.assert_allclose(sin, np.sin(exact), rtol=0, atol=error)
    np.testing.assert_allclose(cos, np.cos(exact), rtol=0, atol=error)
