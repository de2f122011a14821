"""Vectors of several configurations side by side.

A CPU core adds and multiplies four float64 numbers at once, so a thread works on
four configurations of the same robot together: in *lanes*. Every number becomes
``Lanes`` (one entry for each configuration) and every 3-vector ``Lanes3`` (three
rows of lanes). On a GPU there is one lane and the same source.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once


@once
def make_lanes(scalar: Any, width: int) -> SimpleNamespace:
    """Return types and Warp functions for ``width`` configurations side by side.

    The namespace holds the types ``Lanes`` and ``Lanes3``, and:

    - ``scale(s, a)``: s a, where s differs from lane to lane
    - ``cross(a, b)``: a × b
    - ``combine(x, y, z, a)``: a₀ x + a₁ y + a₂ z, a the same in all lanes
    - ``dot(a, b)``: a·b
    - ``resolve(x, y, z, a)``: (x·a, y·a, z·a)
    - ``turned(x, y, z, u, v, w, s)``: axes turned by the quaternion (u, v, w, s), as a
      struct of ``x``, ``y`` and ``z``
    - ``load(values, first, column)``: a column of rows first, first + 1, …
    - ``store(values, first, column, a)``: the opposite, for 2-D results
    - ``store_column(values, first, row, column, a)``: likewise, for 3-D results

    Lanes beyond the last row repeat it.
    """
    Lanes = wp.types.vector(length=width, dtype=scalar)
    Lanes3 = wp.types.matrix(shape=(3, width), dtype=scalar)
    vec3 = wp.types.vector(length=3, dtype=scalar)

    @wp.struct
    class Axes:
        x: Lanes3
        y: Lanes3
        z: Lanes3

    @wp.func
    def scale(s: Lanes, a: Lanes3) -> Lanes3:
        return wp.matrix_from_rows(
            wp.cw_mul(s, a[0]), wp.cw_mul(s, a[1]), wp.cw_mul(s, a[2])
        )

    @wp.func
    def cross(a: Lanes3, b: Lanes3) -> Lanes3:
        return wp.matrix_from_rows(
            wp.cw_mul(a[1], b[2]) - wp.cw_mul(a[2], b[1]),
            wp.cw_mul(a[2], b[0]) - wp.cw_mul(a[0], b[2]),
            wp.cw_mul(a[0], b[1]) - wp.cw_mul(a[1], b[0]),
        )

    @wp.func
    def combine(x: Lanes3, y: Lanes3, z: Lanes3, a: vec3) -> Lanes3:
        return a[0] * x + a[1] * y + a[2] * z

    @wp.func
    def dot(a: Lanes3, b: Lanes3) -> Lanes:
        return wp.cw_mul(a[0], b[0]) + wp.cw_mul(a[1], b[1]) + wp.cw_mul(a[2], b[2])

    @wp.func
    def resolve(x: Lanes3, y: Lanes3, z: Lanes3, a: Lanes3) -> Lanes3:
        return wp.matrix_from_rows(dot(x, a), dot(y, a), dot(z, a))

    @wp.func
    def turned(
        x: Lanes3, y: Lanes3, z: Lanes3, u: Lanes, v: Lanes, w: Lanes, s: Lanes
    ) -> Axes:
        uu = wp.cw_mul(u, u)
        vv = wp.cw_mul(v, v)
        ww = wp.cw_mul(w, w)
        uv = wp.cw_mul(u, v)
        uw = wp.cw_mul(u, w)
        vw = wp.cw_mul(v, w)
        su = wp.cw_mul(s, u)
        sv = wp.cw_mul(s, v)
        sw = wp.cw_mul(s, w)
        ones = Lanes(scalar(1.0))
        two = scalar(2.0)
        axes = Axes()
        axes.x = (
            scale(ones - two * (vv + ww), x)
            + scale(two * (uv + sw), y)
            + scale(two * (uw - sv), z)
        )
        axes.y = (
            scale(two * (uv - sw), x)
            + scale(ones - two * (uu + ww), y)
            + scale(two * (vw + su), z)
        )
        axes.z = (
            scale(two * (uw + sv), x)
            + scale(two * (vw - su), y)
            + scale(ones - two * (uu + vv), z)
        )
        return axes

    @wp.func
    def load(values: wp.array2d[scalar], first: int, column: int) -> Lanes:
        result = Lanes()
        for i in range(width):
            result[i] = values[wp.min(first + i, values.shape[0] - 1), column]
        return result

    @wp.func
    def store(values: wp.array2d[scalar], first: int, column: int, a: Lanes3) -> None:
        for i in range(width):
            n = wp.min(first + i, values.shape[0] - 1)
            values[n, column] = a[0, i]
            values[n, column + 1] = a[1, i]
            values[n, column + 2] = a[2, i]

    @wp.func
    def store_column(
        values: wp.array3d[scalar], first: int, row: int, column: int, a: Lanes3
    ) -> None:
        for i in range(width):
            n = wp.min(first + i, values.shape[0] - 1)
            values[n, row, column] = a[0, i]
            values[n, row + 1, column] = a[1, i]
            values[n, row + 2, column] = a[2, i]

    return SimpleNamespace(
        Lanes=Lanes,
        Lanes3=Lanes3,
        vec3=vec3,
        scale=scale,
        cross=cross,
        combine=combine,
        dot=dot,
        resolve=resolve,
        turned=turned,
        load=load,
        store=store,
        store_column=store_column,
    )


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
