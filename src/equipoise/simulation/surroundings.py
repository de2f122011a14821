"""A world as something to look at: triangles of its ground, and its blocks."""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Array
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, Terrain
from equipoise.log.surroundings import Block, Surroundings
from equipoise.robot.mesh import Mesh
from equipoise.simulation.obstacles import Box, Wall
from equipoise.simulation.world import World

# Ground that is shown beyond where the robot was, as shares of its longest limb; planes
# cost nothing.
MARGIN, PLANE_MARGIN = 1.5, 8.0
MOST_CELLS = 48


def surroundings_of(world: World, com: Array) -> Surroundings:
    """Return what is around a robot.

    Args:
        world: The robot and all that it meets.
        com: Where its centre of mass was [m], shape (n, 3).
    """
    plane = isinstance(world.terrain, Flat | Slope)
    margin = (PLANE_MARGIN if plane else MARGIN) * world.robot.longest_limb
    low, high = com[:, :2].min(axis=0) - margin, com[:, :2].max(axis=0) + margin
    return Surroundings(
        ground_mesh(world.terrain, low, high),
        tuple(_block(wall) for wall in world.walls),
        tuple(_block(box) for box in world.boxes),
    )


def ground_mesh(terrain: Terrain, low: Array, high: Array) -> Mesh:
    """Return the ground over a rectangle.

    Planes and stairs are exact; other ground is sampled.

    Args:
        terrain: The ground.
        low: Least x and y [m], shape (2,).
        high: Greatest x and y [m], shape (2,).
    """
    y = np.array([low[1], high[1]])
    match terrain:
        case Flat() | Slope():
            x = np.array([low[0], high[0]])
        case Stairs():
            return _stairs_mesh(terrain, low, high)
        case _:
            cell = max(float(np.max(high - low)) / MOST_CELLS, 1e-6)
            if isinstance(terrain, HeightField):
                cell = max(cell, terrain.cell)
            counts = [max(math.ceil(span / cell), 1) for span in high - low]
            x = np.linspace(low[0], high[0], counts[0] + 1)
            y = np.linspace(low[1], high[1], counts[1] + 1)
    grid_x, grid_y = np.meshgrid(x, y, indexing="ij")
    heights = terrain.height(grid_x, grid_y)
    return _grid_mesh(np.stack([grid_x, grid_y, heights], axis=-1))


def _stairs_mesh(stairs: Stairs, low: Array, high: Array) -> Mesh:
    """Return the outline of stairs, drawn out along y."""
    risers = stairs.start + stairs.tread * np.arange(stairs.count)
    risers = risers[(risers > low[0]) & (risers < high[0])]
    x = np.concatenate([[low[0]], np.repeat(risers, 2), [high[0]]])
    # a tread's height is that of its middle
    edges = np.concatenate([[low[0]], risers, [high[0]]])
    middles = 0.5 * (edges[1:] + edges[:-1])
    z = np.repeat(stairs.height(middles, np.zeros_like(middles)), 2)
    outline = np.stack([x, np.zeros_like(x), z], axis=-1)
    sides = [outline + np.array([0.0, y, 0.0]) for y in (low[1], high[1])]
    return _grid_mesh(np.stack(sides, axis=1))


def _grid_mesh(points: Array) -> Mesh:
    """Return the triangles of a grid of points, shape (nx, ny, 3), seen from above."""
    nx, ny, _ = points.shape
    place = np.arange(nx * ny, dtype=np.int32).reshape(nx, ny)
    a, b = place[:-1, :-1], place[1:, :-1]
    c, d = place[1:, 1:], place[:-1, 1:]
    triangles = np.concatenate(
        [np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)], axis=2
    )
    return Mesh(points.reshape(-1, 3).astype(np.float32), triangles.reshape(-1, 3))


def _block(block: Wall | Box) -> Block:
    half = 0.5 * block.yaw
    turn = [0.0, 0.0, math.sin(half), math.cos(half)]
    return Block(np.concatenate([block.centre, turn]), np.array(block.size))
