"""Matrices of several bodies side by side: products, symmetric parts, inverses.

A symmetric 3 × 3 matrix is two ``Lanes3``: its diagonal (xx, yy, zz) and what is off
it (yz, xz, xy). A general one is three, its rows.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once


@once
def make_lane_matrices(scalar: Any, width: int) -> SimpleNamespace:
    """Return Warp functions on vectors and matrices in lanes.

    - ``dot(a, b)``: a·b
    - ``times(x, y, z, a)``: a₀ x + a₁ y + a₂ z, all of them in lanes
    - ``rows_times(x, y, z, a)``: (x·a, y·a, z·a)
    - ``symmetric_times(d, o, a)``: S a
    - ``off(a, b)``: what is off the diagonal of a bᵀ, if that is symmetric
    - ``off_both(a, b)``: what is off the diagonal of a bᵀ + b aᵀ
    - ``all_rows(s)``: s in each row
    - ``invert(d, o)``: the inverse of S, as a struct of ``diagonal`` and ``off``
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    scale, dot, rows_times = lanes.scale, lanes.dot, lanes.resolve
    one = scalar(1.0)

    @wp.struct
    class Symmetric:
        diagonal: Lanes3
        off: Lanes3

    @wp.func
    def times(x: Lanes3, y: Lanes3, z: Lanes3, a: Lanes3) -> Lanes3:
        return scale(a[0], x) + scale(a[1], y) + scale(a[2], z)

    @wp.func
    def symmetric_times(d: Lanes3, o: Lanes3, a: Lanes3) -> Lanes3:
        return wp.matrix_from_rows(
            wp.cw_mul(d[0], a[0]) + wp.cw_mul(o[2], a[1]) + wp.cw_mul(o[1], a[2]),
            wp.cw_mul(o[2], a[0]) + wp.cw_mul(d[1], a[1]) + wp.cw_mul(o[0], a[2]),
            wp.cw_mul(o[1], a[0]) + wp.cw_mul(o[0], a[1]) + wp.cw_mul(d[2], a[2]),
        )

    @wp.func
    def off(a: Lanes3, b: Lanes3) -> Lanes3:
        return wp.matrix_from_rows(
            wp.cw_mul(a[1], b[2]), wp.cw_mul(a[0], b[2]), wp.cw_mul(a[0], b[1])
        )

    @wp.func
    def off_both(a: Lanes3, b: Lanes3) -> Lanes3:
        return off(a, b) + off(b, a)

    @wp.func
    def all_rows(s: Lanes) -> Lanes3:
        return wp.matrix_from_rows(s, s, s)

    @wp.func
    def invert(d: Lanes3, o: Lanes3) -> Symmetric:
        xx = wp.cw_mul(d[1], d[2]) - wp.cw_mul(o[0], o[0])
        yy = wp.cw_mul(d[0], d[2]) - wp.cw_mul(o[1], o[1])
        zz = wp.cw_mul(d[0], d[1]) - wp.cw_mul(o[2], o[2])
        yz = wp.cw_mul(o[1], o[2]) - wp.cw_mul(d[0], o[0])
        xz = wp.cw_mul(o[0], o[2]) - wp.cw_mul(d[1], o[1])
        xy = wp.cw_mul(o[0], o[1]) - wp.cw_mul(d[2], o[2])
        determinant = wp.cw_mul(d[0], xx) + wp.cw_mul(o[2], xy) + wp.cw_mul(o[1], xz)
        per = wp.cw_div(Lanes(one), determinant)
        result = Symmetric()
        result.diagonal = scale(per, wp.matrix_from_rows(xx, yy, zz))
        result.off = scale(per, wp.matrix_from_rows(yz, xz, xy))
        return result

    return SimpleNamespace(
        dot=dot,
        times=times,
        rows_times=rows_times,
        symmetric_times=symmetric_times,
        off=off,
        off_both=off_both,
        all_rows=all_rows,
        invert=invert,
    )
