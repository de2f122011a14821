"""Sine and cosine together, for several angles side by side.

Calling ``wp.sin`` and ``wp.cos`` costs as much as all other work of a revolute
joint. Here the angle is reduced to [-π/4, π/4] by subtracting a multiple of π/2 in
three parts (Cody and Waite), where short polynomials are exact to the last bit or
two: the error is below 3·10⁻¹⁶ in float64 and 2·10⁻⁷ in float32.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from typing import Any, NamedTuple

import warp as wp

from equipoise.kernels.once import once


class Constants(NamedTuple):
    """What the method needs to know of a number type.

    Attributes:
        half_pi: π/2 in three parts; multiples of the first two up to ``limit`` are
            exact.
        sine: Coefficients of (sin x - x)/x³ in x², highest power first.
        cosine: Coefficients of (cos x - 1 + x²/2)/x⁴ in x², highest power first.
        limit: Largest angle that is reduced this way [rad].
    """

    half_pi: tuple[float, float, float]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    limit: float


# Coefficients and parts of π/2 of FDLIBM (float64) and Cephes (float32).
CONSTANTS = {
    wp.float64: Constants(
        half_pi=(
            1.57079632673412561417,
            6.07710050630396597660e-11,
            2.0222662487959506e-21,
        ),
        sine=(
            1.58969099521155010221e-10,
            -2.50507602534068634195e-08,
            2.75573137070700676789e-06,
            -1.98412698298579493134e-04,
            8.33333333332248946124e-03,
            -1.66666666666666324348e-01,
        ),
        cosine=(
            -1.13596475577881948265e-11,
            2.08757232129817482790e-09,
            -2.75573143513906633035e-07,
            2.48015872894767294178e-05,
            -1.38888888888741095749e-03,
            4.16666666666666019037e-02,
        ),
        limit=1e5,
    ),
    wp.float32: Constants(
        half_pi=(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
        sine=(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
        cosine=(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
        limit=8192.0,
    ),
}


class SinCos(NamedTuple):
    """The function for one number type and lane count, and what it returns."""

    function: Any
    result: Any


@once
def make_sincos(scalar: Any, width: int) -> SinCos:
    """Return a Warp function of ``width`` angles [rad] that gives sines and cosines."""
    lanes = wp.types.vector(length=width, dtype=scalar)
    constants = CONSTANTS[scalar]
    part_1, part_2, part_3 = (scalar(part) for part in constants.half_pi)
    limit = scalar(constants.limit)
    per_quarter_turn = scalar(0.63661977236758134308)

    polynomial_in_sine = _make_polynomial(lanes, scalar, constants.sine)
    polynomial_in_cosine = _make_polynomial(lanes, scalar, constants.cosine)

    @wp.struct
    class SineAndCosine:
        sin: lanes
        cos: lanes

    @wp.func
    def sincos(angle: lanes) -> SineAndCosine:
        result = SineAndCosine()
        quarter_turns = angle * per_quarter_turn
        for i in range(width):
            quarter_turns[i] = wp.rint(quarter_turns[i])
        x = angle - quarter_turns * part_1
        x = x - quarter_turns * part_2
        x = x - quarter_turns * part_3
        xx = wp.cw_mul(x, x)
        sine = x + wp.cw_mul(wp.cw_mul(polynomial_in_sine(xx), xx), x)
        cosine = wp.cw_mul(polynomial_in_cosine(xx), wp.cw_mul(xx, xx))
        cosine = lanes(scalar(1.0)) - (scalar(0.5) * xx - cosine)
        for i in range(width):
            quadrant = int(quarter_turns[i])
            odd = (quadrant & 1) == 1
            s = wp.where(odd, cosine[i], sine[i])
            c = wp.where(odd, sine[i], cosine[i])
            result.sin[i] = wp.where((quadrant & 2) == 2, -s, s)
            result.cos[i] = wp.where(((quadrant + 1) & 2) == 2, -c, c)
        if not (wp.max(wp.abs(angle)) <= limit):
            for i in range(width):  # each lane by itself: none depends on the others
                if not (wp.abs(angle[i]) <= limit):
                    result.sin[i] = wp.sin(angle[i])
                    result.cos[i] = wp.cos(angle[i])
        return result

    return SinCos(sincos, SineAndCosine)


def _make_polynomial(lanes: Any, scalar: Any, coefficients: tuple[float, ...]) -> Any:
    """Return a Warp function that evaluates a polynomial by Horner's rule."""
    # Not wp.static: with it a kernel's hash, and so its place in the cache, depends on
    # which other kernels were compiled before in the same process.
    count = len(coefficients)
    weights = wp.types.vector(length=count, dtype=scalar)(*coefficients)

    @wp.func
    def polynomial(x: lanes) -> lanes:
        value = lanes(weights[0])
        for i in range(1, count):
            value = wp.cw_mul(value, x) + lanes(weights[i])
        return value

    return polynomial
