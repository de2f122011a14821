"""Triangles to pixels: their edges on the screen, and the depth that is nearest."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, call-overload, return-value"
# mypy: disable-error-code="untyped-decorator"

from types import SimpleNamespace

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS

# What is kept of a triangle, one line of memory: three edges (slopes along x and y,
# value), the depth (the same three), the point they start from, the greatest depth.
EDGES, DEPTH, ORIGIN, NEAREST, COEFFICIENTS = 0, 9, 12, 14, 16

# Nearer than this to the plane of the camera, a vertex has no place on the screen [m].
NEAR = 1e-2

# Edges are moved out by this much [samples], so that rounding leaves no cracks.
GAP = 1e-3

# A row of a wide triangle is cut to the part between its edges first [samples].
WIDE = 24

# First row of a triangle that covers none; rows are packed in pairs of 16 bits.
NOWHERE = 0x7FFF << 16

# Triangle of a sample that sees none.
EMPTY = -1


@once
def make_raster() -> SimpleNamespace:
    """Return the struct ``Raster``, the functions ``fill`` and ``weights``.

    A ``Raster`` is one view of all triangles. Depths are larger where nearer: one over
    the distance in perspective, a height towards the light in parallel projection.
    ``fill(raster, first, last, top, bottom, layer)`` draws triangles into rows of the
    depth buffer, cleared before; whoever calls it owns these rows. ``weights(raster,
    triangle, x, y)`` are the barycentric coordinates of a point on the screen, right in
    perspective.

    Kernel ``place(raster, corners, item, to_view)`` prepares the triangles of a view.
    Its ``to_view`` maps vertices of an item to (x, y, w) in rows 0 to 2, plus row 3;
    the screen is at x / w, y / w. With ``raster.parallel`` the third is the depth.
    """

    @wp.struct
    class Raster:
        width: int
        height: int
        parallel: int
        coefficient: wp.array2d[float]
        rows: wp.array[int]
        columns: wp.array[int]
        depth: wp.array3d[float]
        triangle: wp.array3d[int]

    @wp.func
    def span(low: float, high: float, size: int) -> int:
        """Return first and last sample between two bounds, as one number."""
        first = wp.max(int(wp.ceil(wp.max(low, 0.0) - 0.5 - GAP)), 0)
        last = int(wp.floor(wp.min(high, float(size)) - 0.5 + GAP))
        if first > last:
            return NOWHERE
        return (first << 16) | wp.min(last, size - 1)

    @wp.func
    def keep_edge(
        raster: Raster, t: int, edge: int, slope_x: float, slope_y: float, value: float
    ) -> None:
        outward = GAP * (wp.abs(slope_x) + wp.abs(slope_y))
        raster.coefficient[t, 3 * edge] = slope_x
        raster.coefficient[t, 3 * edge + 1] = slope_y
        raster.coefficient[t, 3 * edge + 2] = value + outward

    @wp.func
    def keep_depth(
        raster: Raster, t: int, slopes: wp.vec3, origin: wp.vec2, z: float
    ) -> None:
        for k in range(3):
            raster.coefficient[t, DEPTH + k] = slopes[k]
        raster.coefficient[t, ORIGIN] = origin[0]
        raster.coefficient[t, ORIGIN + 1] = origin[1]
        raster.coefficient[t, NEAREST] = z

    @wp.func
    def place_in_front(
        raster: Raster, t: int, a: wp.vec3, b: wp.vec3, c: wp.vec3
    ) -> None:
        """Prepare a triangle with three places (x, y, depth) on the screen."""
        ab, ac = b - a, c - a
        area = ab[0] * ac[1] - ab[1] * ac[0]
        raster.rows[t] = NOWHERE
        if area == 0.0 or not wp.isfinite(1.0 / area) or not wp.isfinite(area):
            return
        rows = span(
            wp.min(a[1], wp.min(b[1], c[1])),
            wp.max(a[1], wp.max(b[1], c[1])),
            raster.height,
        )
        columns = span(
            wp.min(a[0], wp.min(b[0], c[0])),
            wp.max(a[0], wp.max(b[0], c[0])),
            raster.width,
        )
        if rows == NOWHERE or columns == NOWHERE:
            return
        raster.rows[t] = rows
        raster.columns[t] = columns
        # from the first corner: differences of near numbers are exact
        inverse = 1.0 / area
        slope_b = inverse * wp.vec2(ac[1], -ac[0])
        slope_c = inverse * wp.vec2(-ab[1], ab[0])
        slope_a = -slope_b - slope_c
        keep_edge(raster, t, 0, a[2] * slope_a[0], a[2] * slope_a[1], a[2])
        keep_edge(raster, t, 1, b[2] * slope_b[0], b[2] * slope_b[1], 0.0)
        keep_edge(raster, t, 2, c[2] * slope_c[0], c[2] * slope_c[1], 0.0)
        slope = ab[2] * slope_b + ac[2] * slope_c
        nearest = wp.max(a[2], wp.max(b[2], c[2]))
        keep_depth(
            raster, t, wp.vec3(slope[0], slope[1], a[2]), wp.vec2(a[0], a[1]), nearest
        )

    @wp.func
    def place_across(
        raster: Raster, t: int, a: wp.vec3, b: wp.vec3, c: wp.vec3
    ) -> None:
        """Prepare a triangle that is partly behind the camera.

        Edges are those of the plane through the eye and two corners, so that nothing
        need be cut: Olano and Greer, Triangle Scan Conversion using 2D Homogeneous
        Coordinates, 1997.
        """
        volume = wp.dot(a, wp.cross(b, c))
        raster.rows[t] = NOWHERE
        if volume == 0.0 or not wp.isfinite(1.0 / volume) or not wp.isfinite(volume):
            return
        inverse = 1.0 / volume
        across_a = inverse * wp.cross(b, c)
        across_b = inverse * wp.cross(c, a)
        across_c = inverse * wp.cross(a, b)
        raster.rows[t] = raster.height - 1
        raster.columns[t] = raster.width - 1
        keep_edge(raster, t, 0, across_a[0], across_a[1], across_a[2])
        keep_edge(raster, t, 1, across_b[0], across_b[1], across_b[2])
        keep_edge(raster, t, 2, across_c[0], across_c[1], across_c[2])
        keep_depth(
            raster, t, across_a + across_b + across_c, wp.vec2(0.0, 0.0), 1.0 / 1e-6
        )

    @wp.func
    def onto_screen(place: wp.vec3) -> wp.vec3:
        z = 1.0 / place[2]
        return wp.vec3(place[0] * z, place[1] * z, z)

    @wp.func
    def to(to_view: wp.array2d[wp.vec3], item: int, point: wp.vec3) -> wp.vec3:
        return to_view[item, 3] + wp.vec3(
            wp.dot(to_view[item, 0], point),
            wp.dot(to_view[item, 1], point),
            wp.dot(to_view[item, 2], point),
        )

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def place(
        raster: Raster,
        corners: wp.array2d[wp.vec3],
        item: wp.array[int],
        to_view: wp.array2d[wp.vec3],
        threads: int,
    ) -> None:
        for t in range(wp.tid(), corners.shape[0], threads):
            a = to(to_view, item[t], corners[t, 0])
            b = to(to_view, item[t], corners[t, 1])
            c = to(to_view, item[t], corners[t, 2])
            if raster.parallel == 1:
                place_in_front(raster, t, a, b, c)
            else:
                nearest = wp.min(a[2], wp.min(b[2], c[2]))
                if nearest > NEAR:
                    place_in_front(
                        raster, t, onto_screen(a), onto_screen(b), onto_screen(c)
                    )
                elif wp.max(a[2], wp.max(b[2], c[2])) > 0.0:
                    place_across(raster, t, a, b, c)
                else:
                    raster.rows[t] = NOWHERE

    @wp.func
    def cut(part: wp.vec2, slope: float, value: float) -> wp.vec2:
        """Return the part of a row on the inner side of an edge."""
        low, high = part[0], part[1]
        if slope > 0.0:
            low = wp.max(low, -value / slope)
        elif slope < 0.0:
            high = wp.min(high, -value / slope)
        elif value < 0.0:
            high = low - 2.0
        return wp.vec2(low, high)

    @wp.func
    def keep_nearer(
        raster: Raster, t: int, layer: int, y: int, x: int, near: float
    ) -> None:
        if near > raster.depth[layer, y, x]:
            raster.depth[layer, y, x] = near
            if raster.parallel == 0:
                raster.triangle[layer, y, x] = t

    @wp.func
    def fill_triangle(
        raster: Raster, t: int, top: int, bottom: int, layer: int
    ) -> None:
        ax, ay, ac = (
            raster.coefficient[t, 0],
            raster.coefficient[t, 1],
            raster.coefficient[t, 2],
        )
        bx, by, bc = (
            raster.coefficient[t, 3],
            raster.coefficient[t, 4],
            raster.coefficient[t, 5],
        )
        cx, cy, cc = (
            raster.coefficient[t, 6],
            raster.coefficient[t, 7],
            raster.coefficient[t, 8],
        )
        zx, zy, zc = (
            raster.coefficient[t, DEPTH],
            raster.coefficient[t, DEPTH + 1],
            raster.coefficient[t, DEPTH + 2],
        )
        x0, y0 = (
            raster.coefficient[t, ORIGIN] - 0.5,
            raster.coefficient[t, ORIGIN + 1] - 0.5,
        )
        nearest = raster.coefficient[t, NEAREST]
        left, right = raster.columns[t] >> 16, raster.columns[t] & 0xFFFF
        for y in range(top, bottom + 1):
            dy = float(y) - y0
            a, b, c, z = ac + ay * dy, bc + by * dy, cc + cy * dy, zc + zy * dy
            first, last = int(left), int(right)
            # columns that are surely inside, where edges need not be looked at
            sure_first, sure_last = int(right) + 1, int(right)
            if right - left > WIDE:
                part = wp.vec2(float(left) - x0, float(right) - x0)
                part = cut(cut(cut(part, ax, a), bx, b), cx, c)
                # edges of triangles seen from their side are far away, beyond integers
                low = wp.clamp(part[0] + x0, float(left), float(right) + 4.0)
                high = wp.clamp(part[1] + x0, float(left) - 4.0, float(right))
                first, last = int(wp.floor(low)), int(wp.ceil(high))
                sure_first = wp.min(first + 3, last + 1)
                sure_last = wp.max(last - 3, sure_first - 1)
            for x in range(first, wp.min(sure_first, last + 1)):
                dx = float(x) - x0
                if a + ax * dx >= 0.0 and b + bx * dx >= 0.0 and c + cx * dx >= 0.0:
                    keep_nearer(raster, t, layer, y, x, wp.min(z + zx * dx, nearest))
            for x in range(sure_first, sure_last + 1):
                dx = float(x) - x0
                keep_nearer(raster, t, layer, y, x, wp.min(z + zx * dx, nearest))
            for x in range(wp.max(sure_last + 1, sure_first), last + 1):
                dx = float(x) - x0
                if a + ax * dx >= 0.0 and b + bx * dx >= 0.0 and c + cx * dx >= 0.0:
                    keep_nearer(raster, t, layer, y, x, wp.min(z + zx * dx, nearest))

    @wp.func
    def fill(
        raster: Raster, first: int, last: int, top: int, bottom: int, layer: int
    ) -> None:
        for t in range(first, last):
            rows = raster.rows[t]
            from_row = wp.max(rows >> 16, top)
            to_row = wp.min(rows & 0xFFFF, bottom - 1)
            if from_row <= to_row:
                fill_triangle(raster, t, from_row, to_row, layer)

    @wp.func
    def weights(raster: Raster, t: int, x: float, y: float) -> wp.vec3:
        dx = x - raster.coefficient[t, ORIGIN]
        dy = y - raster.coefficient[t, ORIGIN + 1]
        weight = wp.vec3()
        for k in range(3):
            weight[k] = wp.max(
                raster.coefficient[t, 3 * k] * dx
                + raster.coefficient[t, 3 * k + 1] * dy
                + raster.coefficient[t, 3 * k + 2],
                0.0,
            )
        return weight / (weight[0] + weight[1] + weight[2] + 1e-30)

    return SimpleNamespace(Raster=Raster, place=place, fill=fill, weights=weights)
