"""What stays where it is: ground, walls, boxes, footprints and paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Array
from equipoise.log.surroundings import Surroundings
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh
from equipoise.show.space.footprints import Footprint
from equipoise.show.space.scene import Path
from equipoise.show.space.scene_colours import BOX, GROUND, SIDES, WALL
from equipoise.show.viewer.line_pieces import dashes, pieces
from equipoise.show.viewer.marker_nodes import LAYER
from equipoise.show.viewer.symbols import fan

if TYPE_CHECKING:
    import viser

# Ground whose heights differ by less is flat [m].
FLAT = 1e-6
PRINT_FILL = 0.18
# Shares of the longest limb.
PIECE, DASH = 0.015, 0.03
# Widths of lines [pixels].
PATH_PIXELS, PRINT_PIXELS = 2.0, 1.5


def flat_level(surroundings: Surroundings) -> float | None:
    """Return the height of flat ground [m]; None where it is not flat."""
    if surroundings.ground is None or len(surroundings.ground.vertices) == 0:
        return 0.0
    heights = surroundings.ground.vertices[:, 2]
    return float(heights[0]) if np.ptp(heights) < FLAT else None


class GroundNodes:
    """Ground, walls and boxes of a run."""

    def __init__(
        self,
        server: viser.ViserServer,
        root: str,
        surroundings: Surroundings,
    ) -> None:
        """Add them below a node; flat ground is left to the grid.

        Args:
            server: The page's.
            root: Name of that node.
            surroundings: What the robot met.
        """
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
    """Add ways of CoM and ZMP; planned ones are dashed.

    Args:
        server: The page's.
        root: Name of the node they are below.
        paths: The ways.
        size: Length of the robot's longest limb [m].
    """
    group = server.scene.add_frame(f"{root}/paths", show_axes=False)
    for number, path in enumerate(paths):
        points = path.points + np.array([0.0, 0.0, LAYER * size])
        if path.planned:
            lines, colour = dashes(points, DASH * size), _lighter(path.colour)
        else:
            lines, colour = pieces(points, PIECE * size), path.colour
        if len(lines):
            server.scene.add_line_segments(
                f"{root}/paths/{number}",
                lines,
                colour,
                thickness=PATH_PIXELS,
                thickness_units="screen",
            )
    return group


def add_footprints(
    server: viser.ViserServer, root: str, prints: Sequence[Footprint], size: float
) -> None:
    """Add where feet stood, filled and with an edge, in the colour of their side.

    Args:
        server: The page's.
        root: Name of the node they are below.
        prints: The footprints.
        size: Length of the robot's longest limb [m].
    """
    lift = np.array([0.0, 0.0, LAYER * size])
    for side, colour in SIDES.items():
        polygons = [p.polygon_in_world + lift for p in prints if p.side == side]
        polygons = [corners for corners in polygons if len(corners) > 2]
        if not polygons:
            continue
        filled = _filled(polygons)
        server.scene.add_mesh_simple(
            f"{root}/{side}",
            filled.vertices,
            filled.triangles,
            color=colour,
            opacity=PRINT_FILL,
            side="double",
            cast_shadow=False,
        )
        edges = [np.stack([c, np.roll(c, -1, axis=0)], axis=1) for c in polygons]
        server.scene.add_line_segments(
            f"{root}/{side}-edges",
            np.concatenate(edges),
            colour,
            thickness=PRINT_PIXELS,
            thickness_units="screen",
        )


def _filled(polygons: Sequence[Array]) -> Mesh:
    """Return convex polygons as one mesh."""
    starts = np.cumsum([0, *(len(corners) for corners in polygons[:-1])])
    triangles = [
        fan(len(corners)) + start
        for corners, start in zip(polygons, starts, strict=True)
    ]
    vertices = np.concatenate(polygons).astype(np.float32)
    return Mesh(vertices, np.concatenate(triangles).astype(np.int32))


def _lighter(colour: Colour) -> Colour:
    red, green, blue = (round(0.5 * (part + 255)) for part in colour)
    return red, green, blue
