"""The ground as kernels see it: how deep a point is in it, and which way is out."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator, valid-type"

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.kernels.once import lock, once

PLANE, STAIRS, GRID = range(3)


@dataclass(frozen=True, eq=False)
class GroundArrays:
    """Ground of one of three kinds; a kind has no use for the others' numbers.

    Attributes:
        kind: ``PLANE``, ``STAIRS`` or ``GRID``.
        normal: Unit normal of the plane, out of the ground, shape (3,).
        offset: Offset of the plane from the origin along the normal [m].
        rise: Height of a step going along +x [m]; negative goes down; not zero.
        tread: Depth of a step [m].
        count: How many steps; before them the ground is at z = 0, after them it is
            level for ever.
        start: Where the first riser is, along x [m].
        heights: Heights of the nodes of a grid [m], shape (ny, nx), both at least 2.
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

    A ``Ground`` holds several terrains; ``surface(ground, terrain, position)`` returns
    the ``Touch`` of a point: its depth along the normal [m], positive inside the
    ground, and the unit normal out of it, both in world axes. A point inside a
    step touches the face that it is less deep in, so that a toe that runs
    into a riser is pushed back, not lifted up. Grids are bilinear
    between their nodes and level beyond their edges. For points whose position is not
    finite the touch is not either, but memory is safe.
    """
    vec3 = wp.types.vector(length=3, dtype=scalar)
    zero = scalar(0.0)
    one = scalar(1.0)
    plane = scalar(PLANE)

    @wp.struct
    class Ground:
        # normal of a plane; or (rise, tread, -); or (origin x and y, nodes per metre)
        first: wp.array[vec3]
        # (offset, -, kind); or (count, start, kind); or (number of the grid, -, kind)
        second: wp.array[vec3]
        heights: wp.array3d[scalar]
        # which terrain each robot stands on; one for all, or one each
        terrain: wp.array[int]

    @wp.struct
    class Touch:
        depth: scalar
        normal: vec3

    @wp.func
    def on_stairs(ground: Ground, terrain: int, position: vec3) -> Touch:
        touch = Touch()
        rise = ground.first[terrain][0]
        tread = ground.first[terrain][1]
        count = ground.second[terrain][0]
        start = ground.second[terrain][1]
        passed = wp.floor((position[0] - start) / tread) + one
        height = rise * wp.clamp(passed, zero, count)
        touch.depth = height - position[2]
        touch.normal = vec3(zero, zero, one)
        if touch.depth > zero:
            # the riser at the height of the point, numbered from one
            riser = wp.floor(position[2] / rise) + one
            if riser >= one and riser <= count:
                up = wp.sign(rise)
                at = start + (riser - one) * tread
                behind = up * (position[0] - at)
                if behind < touch.depth:
                    touch.depth = behind
                    touch.normal = vec3(-up, zero, zero)
        return touch

    @wp.func
    def on_grid(ground: Ground, terrain: int, position: vec3) -> Touch:
        numbers = ground.first[terrain]
        nodes_per_metre = numbers[2]
        grid = int(ground.second[terrain][0])
        u = (position[0] - numbers[0]) * nodes_per_metre
        v = (position[1] - numbers[1]) * nodes_per_metre
        last_u = ground.heights.shape[2] - 1
        last_v = ground.heights.shape[1] - 1
        on_u = wp.clamp(u, zero, scalar(last_u))
        on_v = wp.clamp(v, zero, scalar(last_v))
        i = wp.clamp(int(on_u), 0, last_u - 1)
        j = wp.clamp(int(on_v), 0, last_v - 1)
        a = on_u - scalar(i)
        b = on_v - scalar(j)
        near = ground.heights[grid, j, i]
        along_x = ground.heights[grid, j, i + 1] - near
        along_y = ground.heights[grid, j + 1, i] - near
        twist = ground.heights[grid, j + 1, i + 1] - near - along_x - along_y
        height = near + a * along_x + b * along_y + a * b * twist
        slope_x = zero
        slope_y = zero
        if on_u == u:
            slope_x = (along_x + b * twist) * nodes_per_metre
        if on_v == v:
            slope_y = (along_y + a * twist) * nodes_per_metre
        upright = one / wp.sqrt(slope_x * slope_x + slope_y * slope_y + one)
        touch = Touch()
        touch.depth = (height - position[2]) * upright
        touch.normal = vec3(-slope_x * upright, -slope_y * upright, upright)
        return touch

    @wp.func
    def uneven(ground: Ground, terrain: int, position: vec3) -> Touch:
        if int(ground.second[terrain][2]) == STAIRS:
            return on_stairs(ground, terrain, position)
        return on_grid(ground, terrain, position)

    @wp.func
    def surface(ground: Ground, terrain: int, position: vec3) -> Touch:
        touch = Touch()
        normal = ground.first[terrain]
        numbers = ground.second[terrain]
        touch.depth = numbers[0] - wp.dot(normal, position)
        touch.normal = normal
        if numbers[2] != plane:
            touch = uneven(ground, terrain, position)
        return touch

    return SimpleNamespace(Ground=Ground, Touch=Touch, surface=surface, vec3=vec3)


def upload_ground(
    terrains: Sequence[GroundArrays],
    terrain_of: NDArray[np.int32],
    scalar: Any,
    device: wp.Device,
) -> Any:
    """Return the struct ``Ground`` that kernels get, its grids on the device.

    Args:
        terrains: One or more.
        terrain_of: Which of them each robot stands on, shape (robots,) or (1,).
        scalar: Warp's number type.
        device: Where to.

    Raises:
        EquipoiseError: If there are grids of different shapes.
    """
    first, second = np.zeros((len(terrains), 3)), np.zeros((len(terrains), 3))
    grids: list[NDArray[np.float64]] = []
    second[:, 2] = [arrays.kind for arrays in terrains]
    for number, arrays in enumerate(terrains):
        if arrays.kind == STAIRS:
            first[number, :2] = arrays.rise, arrays.tread
            second[number, :2] = arrays.count, arrays.start
        elif arrays.kind == GRID:
            first[number] = *arrays.origin, 1.0 / arrays.cell
            second[number, 0] = len(grids)
            grids.append(arrays.heights)
        else:
            first[number], second[number, 0] = arrays.normal, arrays.offset
    shapes = sorted({grid.shape for grid in grids})
    if len(shapes) > 1:
        raise EquipoiseError(
            f"height fields of robots in a fleet have the shapes {shapes[0]} and "
            f"{shapes[1]}; they must all have the same"
        )
    number_type = wp.dtype_to_numpy(scalar)
    heights = np.asarray(grids or np.zeros((1, 2, 2)), dtype=number_type)
    with lock:
        types = make_ground(scalar)
        ground = types.Ground()
        for name, values, dtype in (
            ("first", first, types.vec3),
            ("second", second, types.vec3),
            ("heights", heights, scalar),
            ("terrain", terrain_of, wp.int32),
        ):
            kind = np.int32 if dtype is wp.int32 else number_type
            row = np.ascontiguousarray(values, dtype=kind)
            setattr(ground, name, wp.array(row, dtype=dtype, device=device))
    return ground
