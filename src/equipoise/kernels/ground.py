"""The ground as kernels see it: how deep a point is in it, and which way is out."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator, valid-type"

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.once import lock, once

PLANE, STAIRS, GRID = range(3)


@dataclass(frozen=True, eq=False)
class GroundArrays:
    """Ground of one of three kinds; a kind has no use for the others' figures.

    Attributes:
        kind: ``PLANE``, ``STAIRS`` or ``GRID``.
        normal: Unit normal of the plane, out of the ground, shape (3,).
        offset: Of the plane from the origin along the normal [m].
        rise: Height of a step going along +x [m]; negative goes down; not zero.
        tread: Depth of a step [m].
        count: How many steps; before them the ground is at z = 0, after them it is
            level for ever.
        start: Where the first riser is, along x [m].
        heights: Of the nodes of a grid [m], shape (ny, nx), both at least 2.
        origin: Where node (0, 0) is, x and y [m], shape (2,).
        cell: Distance of neighbouring nodes [m].
    """

    kind: int
    normal: NDArray[np.float64] = field(default_factory=lambda: np.array([0, 0, 1.0]))
    offset: float = 0.0
    rise: float = 1.0
    tread: float = 1.0
    count: int = 0
    start: float = 0.0
    heights: NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 2)))
    origin: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    cell: float = 1.0


@once
def make_ground(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Ground`` and ``Touch``, and the function ``surface``.

    ``surface(ground, position)`` returns the ``Touch`` of a point: its depth along
    the normal [m], positive inside the ground, and the unit normal out of it, both
    in world axes. A point inside a step touches the face that it is less deep in,
    so that a toe that runs into a riser is pushed back, not lifted up. Grids are
    bilinear between their nodes and level beyond their edges. For points whose
    position is not finite the touch is not either, but memory is safe.
    """
    vec3 = wp.types.vector(length=3, dtype=scalar)
    zero = scalar(0.0)
    one = scalar(1.0)

    @wp.struct
    class Ground:
        kind: int
        normal: vec3
        offset: scalar
        rise: scalar
        tread: scalar
        count: scalar
        start: scalar
        heights: wp.array2d[scalar]
        origin_x: scalar
        origin_y: scalar
        nodes_per_metre: scalar

    @wp.struct
    class Touch:
        depth: scalar
        normal: vec3

    @wp.func
    def on_stairs(ground: Ground, position: vec3) -> Touch:
        touch = Touch()
        passed = wp.floor((position[0] - ground.start) / ground.tread) + one
        height = ground.rise * wp.clamp(passed, zero, ground.count)
        touch.depth = height - position[2]
        touch.normal = vec3(zero, zero, one)
        if touch.depth > zero:
            # the riser at the height of the point, numbered from one
            riser = wp.floor(position[2] / ground.rise) + one
            if riser >= one and riser <= ground.count:
                up = wp.sign(ground.rise)
                at = ground.start + (riser - one) * ground.tread
                behind = up * (position[0] - at)
                if behind < touch.depth:
                    touch.depth = behind
                    touch.normal = vec3(-up, zero, zero)
        return touch

    @wp.func
    def on_grid(ground: Ground, position: vec3) -> Touch:
        u = (position[0] - ground.origin_x) * ground.nodes_per_metre
        v = (position[1] - ground.origin_y) * ground.nodes_per_metre
        last_u = ground.heights.shape[1] - 1
        last_v = ground.heights.shape[0] - 1
        on_u = wp.clamp(u, zero, scalar(last_u))
        on_v = wp.clamp(v, zero, scalar(last_v))
        i = wp.clamp(int(on_u), 0, last_u - 1)
        j = wp.clamp(int(on_v), 0, last_v - 1)
        a = on_u - scalar(i)
        b = on_v - scalar(j)
        near = ground.heights[j, i]
        along_x = ground.heights[j, i + 1] - near
        along_y = ground.heights[j + 1, i] - near
        twist = ground.heights[j + 1, i + 1] - near - along_x - along_y
        height = near + a * along_x + b * along_y + a * b * twist
        slope_x = zero
        slope_y = zero
        if on_u == u:
            slope_x = (along_x + b * twist) * ground.nodes_per_metre
        if on_v == v:
            slope_y = (along_y + a * twist) * ground.nodes_per_metre
        upright = one / wp.sqrt(slope_x * slope_x + slope_y * slope_y + one)
        touch = Touch()
        touch.depth = (height - position[2]) * upright
        touch.normal = vec3(-slope_x * upright, -slope_y * upright, upright)
        return touch

    @wp.func
    def surface(ground: Ground, position: vec3) -> Touch:
        touch = Touch()
        touch.depth = ground.offset - wp.dot(ground.normal, position)
        touch.normal = ground.normal
        if ground.kind == STAIRS:
            touch = on_stairs(ground, position)
        elif ground.kind == GRID:
            touch = on_grid(ground, position)
        return touch

    return SimpleNamespace(Ground=Ground, Touch=Touch, surface=surface, vec3=vec3)


def upload_ground(arrays: GroundArrays, scalar: Any, device: wp.Device) -> Any:
    """Return the struct ``Ground`` that kernels get, its grid on the device."""
    with lock:
        types = make_ground(scalar)
        ground = types.Ground()
        ground.kind = arrays.kind
        ground.normal = types.vec3(*(float(value) for value in arrays.normal))
        for name in ("offset", "rise", "tread", "count", "start"):
            setattr(ground, name, float(getattr(arrays, name)))
        ground.origin_x, ground.origin_y = (float(value) for value in arrays.origin)
        ground.nodes_per_metre = 1.0 / arrays.cell
        heights = np.ascontiguousarray(arrays.heights, wp.dtype_to_numpy(scalar))
        ground.heights = wp.array(heights, dtype=scalar, device=device)
    return ground
