"""Ground of blocks, each with a height and a tilt of its own, laid like bricks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.terrain import MOST_NODES, STEEPEST, HeightField

# Cells of the height field along a block, at least, and their size at most [m]: edges
# are one cell wide.
CELLS_PER_BLOCK, LARGEST_CELL = 24, 0.025
# A foot keeps away from edges by this many cells.
AWAY = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class Blocks(HeightField):
    """Blocks as a height field whose nodes are dense enough for their edges.

    Blocks are square and lie in columns along x; each second column is shifted by half
    a block. The edge between two columns runs through the origin. Between blocks the
    ground rises within one cell.

    Attributes:
        size: Edge length of a block [m].
    """

    size: float

    def describe(self) -> str:
        """Return what it is, in a few words."""
        return self.label

    def shift(self, column: int) -> float:
        """Return where a block of a column begins, along x [m]."""
        return 0.5 * self.size * (column % 2)

    @property
    def lines(self) -> Array:
        """Coordinates between which the ground is made of planes, both ways [m]."""
        half = 0.5 * self.size
        number = math.floor(0.5 * self.cell * (len(self.heights) - 1) / half)
        edges = half * np.arange(-number, number + 1)
        beside = 0.5 * self.cell
        ends = self.origin[0], -self.origin[0]
        return np.unique(np.concatenate([edges - beside, edges + beside, ends]))

    def inside(self, corners: Array) -> Array:
        """Return the least shift that puts a sole onto one block, x and y [m], (2,).

        A sole that is larger than a block is not shifted.

        Args:
            corners: Corners of the sole, seen from above [m], shape (k, 2).
        """
        low, high = corners.min(axis=0), corners.max(axis=0)
        column = math.floor(0.5 * (low[1] + high[1]) / self.size)
        start = np.array([self.shift(column), 0.0])
        away = (0.5 + AWAY) * self.cell
        if max(high - low) > self.size - 2.0 * away:
            return np.zeros(2)
        begin = np.floor((0.5 * (low + high) - start) / self.size) * self.size + start
        least, most = begin + away - low, begin + self.size - away - high
        return np.asarray(np.clip(0.0, least, most))


def blocks(
    step: float,
    seed: int,
    slope: float,
    size: float,
    flat_radius: float = 0.3,
    extent: float = 10.0,
) -> Blocks:
    """Return blocks of random height and tilt around the origin.

    Args:
        step: Largest height or depth of a block's middle [m].
        seed: Seed of the random numbers; the same seed gives the same ground.
        slope: Largest angle of a block along x, and along y [rad].
        size: Edge length of a block [m].
        flat_radius: Blocks within this distance of the origin are flat and level, to
            start on [m].
        extent: Edge length of the square that has blocks, at least [m].

    Raises:
        EquipoiseError: If a number is out of range.
    """
    for name, value, unit in (
        ("step", step, "m"),
        ("slope", slope, "rad"),
        ("size", size, "m"),
        ("flat_radius", flat_radius, "m"),
        ("extent", extent, "m"),
    ):
        if not (math.isfinite(value) and value >= 0.0):
            raise EquipoiseError(
                f"blocks: {name} is {value:g} {unit}; it must be finite and 0 or more"
            )
    if size == 0.0 or slope >= STEEPEST:
        raise EquipoiseError(
            f"blocks of {size:g} m, tilted by {math.degrees(slope):.3g}°; they must be "
            f"larger than 0 m and tilted by less than {math.degrees(STEEPEST):g}°"
        )
    if seed < 0:
        raise EquipoiseError(f"blocks of seed {seed}; it must be 0 or more")
    count = 2 * math.ceil(0.5 * extent / size)  # blocks along an edge
    per_block = max(CELLS_PER_BLOCK, math.ceil(size / LARGEST_CELL))
    cells = count * per_block
    if (cells + 1) ** 2 > MOST_NODES:
        raise EquipoiseError(
            f"blocks of {size:g} m over {extent:g} m need {(cells + 1) ** 2} nodes; at "
            f"most {MOST_NODES} are possible"
        )
    cell = size / per_block
    # nodes lie half a cell beside the edges
    nodes: Array = cell * (np.arange(cells, dtype=np.float64) + 0.5 - 0.5 * cells)
    generator = np.random.default_rng(seed)
    shape = (count, count + 1)  # columns, blocks in a column
    level = generator.uniform(-step, step, shape)
    tilts = np.tan(generator.uniform(-slope, slope, (2, *shape)))
    column = np.repeat(np.arange(count), per_block)
    shifted = 0.5 * size * ((column - count // 2) % 2)
    first = count // 2 * size
    along = (nodes[None, :] - shifted[:, None] + first + size) / size
    number = np.floor(along).astype(np.intp)
    middle_x = (number + 0.5) * size + shifted[:, None] - first - size
    middle_y = ((column + 0.5) * size - first)[:, None]
    away_x = np.maximum(np.abs(middle_x) - 0.5 * size, 0.0)
    away_y = np.maximum(np.abs(middle_y) - 0.5 * size, 0.0)
    rough = np.hypot(away_x, away_y) >= flat_radius
    at = (column[:, None], number)
    heights = level[at] + tilts[0][at] * (nodes[None, :] - middle_x)
    heights += tilts[1][at] * (nodes[:, None] - middle_y)
    label = (
        f"blocks of {size:.3g} m, ±{step:.3g} m, ±{math.degrees(slope):.3g}°, "
        f"seed {seed}"
    )
    return Blocks(np.where(rough, heights, 0.0), cell, nodes[[0, 0]], label, size=size)
