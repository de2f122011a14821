"""What stays where it is: ground, grid, walls, boxes, footprints and paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Array
from equipoise.log.surroundings import Surroundings
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh, join_meshes
from equipoise.show.charts.chart import thin_path
from equipoise.show.palette import BOX, GROUND, SIDES, WALL
from equipoise.show.space.footprints import Footprint
from equipoise.show.space.scene import Path
from equipoise.show.space.solids import fan
from equipoise.show.viewer.scene_nodes import LAYER, add_lines, polygon_edges

if TYPE_CHECKING:
    import viser

# Ground whose heights differ by less is flat [m].
FLAT = 1e-6
PRINT_FILL = 0.18
# Lengths of pieces and dashes, as fractions of the longest limb.
PIECE, DASH = 0.015, 0.03
# Widths of lines [pixels].
PATH_PIXELS, PRINT_PIXELS = 2.0, 1.5
# Edge of a cell and radius of the grid, as fractions of the longest limb.
CELL, REACH = 0.25, 5.0
# Cells of a section.
SECTION = 5
FADING = 2.0
FINE: Colour = (222, 227, 232)
COARSE: Colour = (190, 199, 208)
MOST_PIECES = 1500


def flat_level(surroundings: Surroundings) -> float | None:
    """Return the height of flat ground [m]; None where it is not flat."""
    if surroundings.ground is None or len(surroundings.ground.vertices) == 0:
        return 0.0
    heights = surroundings.ground.vertices[:, 2]
    return float(heights[0]) if np.ptp(heights) < FLAT else None


class GroundNodes:
    """Ground, walls and boxes of a run, below a node; flat ground is the grid's."""

    def __init__(
        self, server: viser.ViserServer, root: str, surroundings: Surroundings
    ) -> None:
        scene = server.scene
        ground = surroundings.ground
        if ground is not None and flat_level(surroundings) is None:
            scene.add_mesh_simple(
                f"{root}/ground",
                ground.vertices,
                ground.triangles,
                color=GROUND,
                flat_shading=True,
                side="double",
                cast_shadow=False,
            )
        for number, wall in enumerate(surroundings.walls):
            scene.add_box(
                f"{root}/walls/{number}",
                WALL,
                wall.size,
                wxyz=wall.pose[[6, 3, 4, 5]],
                position=wall.pose[:3],
            )
        self._boxes = [
            scene.add_box(f"{root}/boxes/{number}", BOX, box.size)
            for number, box in enumerate(surroundings.boxes)
        ]

    def place(self, boxes: Array) -> None:
        """Move boxes: positions [m] and quaternions xyzw, shape (nb, 7)."""
        for node, pose in zip(self._boxes, boxes, strict=False):
            node.position = pose[:3]
            node.wxyz = pose[[6, 3, 4, 5]]


def add_paths(
    server: viser.ViserServer, root: str, paths: Sequence[Path], size: float
) -> viser.FrameHandle:
    """Add trajectories of CoM and ZMP below a node; planned ones are dashed.

    The size is the length of the robot's longest limb [m].
    """
    group = server.scene.add_frame(f"{root}/paths", show_axes=False)
    for number, path in enumerate(paths):
        points = path.points + np.array([0.0, 0.0, LAYER * size])
        lines = pieces(points, PIECE * size)
        colour: tuple[int, ...] = path.colour
        if path.planned:
            lines = dashes(points, DASH * size)
            colour = tuple(round(0.5 * (part + 255)) for part in path.colour)
        if len(lines):
            add_lines(server, f"{root}/paths/{number}", lines, colour, PATH_PIXELS)
    return group


def add_footprints(
    server: viser.ViserServer, root: str, prints: Sequence[Footprint], size: float
) -> None:
    """Add footprints below a node, filled and with an edge, in their side's colour.

    The size is the length of the robot's longest limb [m].
    """
    lift = np.array([0.0, 0.0, LAYER * size])
    for side, colour in SIDES.items():
        polygons = [p.polygon_in_world + lift for p in prints if p.side == side]
        polygons = [corners for corners in polygons if len(corners) > 2]
        if not polygons:
            continue
        filled = join_meshes(
            Mesh(corners.astype(np.float32), fan(len(corners))) for corners in polygons
        )
        server.scene.add_mesh_simple(
            f"{root}/{side}",
            filled.vertices,
            filled.triangles,
            color=colour,
            opacity=PRINT_FILL,
            side="double",
            cast_shadow=False,
        )
        edges = np.concatenate([polygon_edges(corners) for corners in polygons])
        add_lines(server, f"{root}/{side}-edges", edges, colour, PRINT_PIXELS)


class GridNodes:
    """A subtle grid about the robot, without a visible end: flat ground.

    It is at a height [m], for a robot whose longest limb has a length [m]. It fades
    into the page's white, and moves by whole sections. Lines cost a fraction of viser's
    own grid, whose every pixel is computed.
    """

    def __init__(
        self, server: viser.ViserServer, name: str, level: float, size: float
    ) -> None:
        cell = round_length(CELL * size)
        self._section, self._level = SECTION * cell, level
        reach = SECTION * cell * np.ceil(REACH * size / (SECTION * cell))
        fine, coarse = _grid_lines(cell, float(reach))
        for lines, colour, kind in ((fine, FINE, "fine"), (coarse, COARSE, "coarse")):
            far = np.linalg.norm(lines, axis=2) / reach
            strength = (np.clip(1.0 - far, 0.0, 1.0) ** FADING)[..., None]
            shade = 255.0 - strength * (255.0 - np.array(colour))
            add_lines(server, f"{name}/{kind}", lines, shade.astype(np.uint8), 1.0)
        self._node = server.scene.add_frame(
            name, show_axes=False, position=(0.0, 0.0, level)
        )

    def follow(self, place: Array) -> None:
        """Move along with the robot, which is at a place [m], shape (2,)."""
        x, y = self._section * np.round(place / self._section)
        self._node.position = (float(x), float(y), self._level)


def round_length(length: float) -> float:
    """Return the nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(length))
    steps = power * np.array([1.0, 2.0, 5.0, 10.0])
    return float(steps[np.argmin(np.abs(np.log(steps / length)))])


def _grid_lines(cell: float, reach: float) -> tuple[Array, Array]:
    """Return pieces of the lines within a circle, of cells and of sections."""
    at = np.arange(-round(reach / cell), round(reach / cell) + 1)
    stops = cell * at[::SECTION]
    across = np.repeat(at, len(stops) - 1)
    begin, end = np.tile(stops[:-1], len(at)), np.tile(stops[1:], len(at))
    flat = np.zeros(len(across))
    along_y = np.stack(
        [
            np.stack([cell * across, begin, flat], axis=1),
            np.stack([cell * across, end, flat], axis=1),
        ],
        axis=1,
    )
    lines = np.concatenate([along_y, along_y[:, :, [1, 0, 2]]])
    whole = np.tile(across % SECTION == 0, 2)
    near = np.linalg.norm(lines, axis=2).min(axis=1) < reach
    return lines[near & ~whole], lines[near & whole]


def pieces(points: Array, length: float, most: int = MOST_PIECES) -> Array:
    """Return a line as pieces, both ends of each, shape (k, 2, 3); gaps stay gaps.

    Arguments are those of :func:`~equipoise.show.charts.chart.thin_path` [m].
    """
    chosen = thin_path(points, length, most)
    ends = np.stack([chosen[:-1], chosen[1:]], axis=1)
    return ends[np.isfinite(ends).all(axis=(1, 2))]


def dashes(points: Array, length: float, most: int = MOST_PIECES) -> Array:
    """Return a line as dashes with gaps as long as themselves, as :func:`pieces` does.

    NaN rows are left out.
    """
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 2:
        return np.zeros((0, 2, 3))
    way = np.insert(np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)), 0, 0.0)
    count = int(min(max(way[-1] / (2.0 * length), 1.0), most))
    at = np.linspace(0.0, way[-1], 2 * count)
    along = np.stack([np.interp(at, way, points[:, axis]) for axis in range(3)], axis=1)
    return along.reshape(count, 2, 3)
