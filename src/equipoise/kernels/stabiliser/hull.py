"""The convex hull of a few points in the plane."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.skeleton import make_skeleton


@once
def make_nearest_in_hull(scalar: Any) -> Any:
    """Return the function ``nearest_in_hull(point, corners, count)``."""
    vec3 = make_skeleton(scalar).vec3
    zero, one = scalar(0.0), scalar(1.0)
    far, tiny = scalar(1e30), scalar(1e-12)

    @wp.func
    def nearest_in_hull(point: vec3, corners: wp.array[vec3], count: int) -> vec3:
        """The point of the convex hull of some corners that is nearest to a point."""
        first = int(0)
        for i in range(count):
            lower = corners[i][1] < corners[first][1]
            level_with = corners[i][1] == corners[first][1]
            if lower or (level_with and corners[i][0] < corners[first][0]):
                first = i
        best = point
        nearest = far
        outside = int(0)
        at = first
        for _edge in range(count):
            # the next corner counter-clockwise: none lies to the right of it
            next_one = at
            for i in range(count):
                if i != at:
                    if next_one == at:
                        next_one = i
                    else:
                        a = corners[next_one] - corners[at]
                        b = corners[i] - corners[at]
                        side = a[0] * b[1] - a[1] * b[0]
                        if side < zero or (
                            side == zero and wp.dot(b, b) > wp.dot(a, a)
                        ):
                            next_one = i
            along = corners[next_one] - corners[at]
            off = point - corners[at]
            if along[0] * off[1] - along[1] * off[0] < zero:
                outside = 1
            fraction = wp.clamp(
                wp.dot(off, along) / wp.max(wp.dot(along, along), tiny), zero, one
            )
            candidate = corners[at] + fraction * along
            away = wp.length(point - candidate)
            if away < nearest:
                nearest = away
                best = candidate
            at = next_one
            if at == first:
                break
        result = point
        if outside == 1:
            result = best
        return result

    return nearest_in_hull
