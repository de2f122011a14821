"""The marks of a moment: CoM, its projection, ZMP, support polygon, forces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh
from equipoise.show.space.scene import Moment
from equipoise.show.space.scene_colours import COM, FORCE, SUPPORT, ZMP, rgb
from equipoise.show.viewer.symbols import (
    ball_octants,
    disc,
    disc_quarters,
    fan,
    padded,
)

if TYPE_CHECKING:
    import viser

# Sizes as shares of the longest limb.
BALL, FLAT, SHAFT, HEAD, HEAD_LENGTH = 0.075, 0.05, 0.008, 0.02, 0.04
# Widths of lines [pixels].
PLUMB_PIXELS, OUTLINE_PIXELS = 3.0, 2.5
# What lies on the ground is lifted by a share of the longest limb for each layer, so
# that none hides in another.
LAYER = 0.004
SUPPORT_LAYER, COM_LAYER, ZMP_LAYER = 2, 3, 4
DASHES = 12
# What changes by less than this share of the longest limb is not drawn anew.
SAME = 0.001
FILL = 0.35
# Labels, and which of their edges is at the mark.
LABELS: Mapping[str, Any] = MappingProxyType(
    {"CoM": "bottom-left", "ZMP": "top-center"}
)
WHITE: Colour = (250, 250, 250)
LOST = rgb("bad")


class MarkerNodes:
    """Marks of the scene; groups of them can be hidden."""

    def __init__(
        self, server: viser.ViserServer, root: str, size: float, corners: int
    ) -> None:
        """Add marks below a node.

        Args:
            server: The page's.
            root: Name of that node.
            size: Length of the robot's longest limb [m].
            corners: The most that a support polygon can have.
        """
        self._scene = server.scene
        self._height = 0.0
        self._size, self._corners = size, max(corners, 3)
        self._polygon = np.zeros((self._corners, 3), dtype=np.float32)
        self.points = self._group(f"{root}/points")
        self.support = self._group(f"{root}/support")
        self.forces = self._group(f"{root}/forces")
        self.labels = self._group(f"{root}/labels")
        self._com = self._group(f"{root}/points/com")
        self._foot = self._group(f"{root}/points/com-on-ground")
        self._zmp = self._group(f"{root}/points/zmp")
        ball, flat = BALL * size, FLAT * size
        self._coloured = [
            self._add(f"{root}/points/com/colour", ball_octants(ball, False), COM),
            self._add(
                f"{root}/points/com-on-ground/colour", disc_quarters(flat, False), COM
            ),
        ]
        self._add(f"{root}/points/com/white", ball_octants(ball, True), WHITE)
        self._add(
            f"{root}/points/com-on-ground/white", disc_quarters(flat, True), WHITE
        )
        rim = self._add(
            f"{root}/points/com-on-ground/rim", disc(1.15 * flat, flat), COM
        )
        self._coloured.append(rim)
        self._add(f"{root}/points/zmp/disc", disc(0.7 * flat), ZMP)
        self._add(f"{root}/points/zmp/rim", disc(0.95 * flat, 0.7 * flat), WHITE)
        self._plumb = self._scene.add_line_segments(
            f"{root}/points/com-on-ground/plumb",
            np.zeros((DASHES, 2, 3)),
            COM,
            thickness=PLUMB_PIXELS,
            thickness_units="screen",
        )
        self._fill = self._scene.add_mesh_simple(
            f"{root}/support/fill",
            np.zeros((self._corners, 3)),
            fan(self._corners),
            color=SUPPORT,
            opacity=FILL,
            side="double",
            cast_shadow=False,
        )
        self._outline = self._scene.add_line_segments(
            f"{root}/support/outline",
            np.zeros((self._corners, 2, 3)),
            SUPPORT,
            thickness=OUTLINE_PIXELS,
            thickness_units="screen",
        )
        self._arrows = self._scene.add_arrows(
            f"{root}/forces/arrows",
            np.zeros((1, 2, 3)),
            FORCE,
            shaft_radius=SHAFT * size,
            head_radius=HEAD * size,
            head_length=HEAD_LENGTH * size,
            visible=False,
        )
        self._names = {
            name: self._scene.add_label(f"{root}/labels/{name}", name, anchor=anchor)
            for name, anchor in LABELS.items()
        }

    def place(self, moment: Moment) -> None:
        """Move to where things are at a moment."""
        up = np.array([0.0, 0.0, LAYER * self._size])
        self._com.position = moment.com
        self._foot.position = moment.com_on_ground + COM_LAYER * up
        self._place_plumb(moment.com, moment.com_on_ground)
        aside = np.array([0.0, 0.0, BALL * self._size])
        self._names["CoM"].position = moment.com + aside
        self._zmp.visible = self._names["ZMP"].visible = moment.zmp is not None
        if moment.zmp is not None:
            self._zmp.position = moment.zmp + ZMP_LAYER * up
            self._names["ZMP"].position = moment.zmp - aside
        self._place_support(moment.support + SUPPORT_LAYER * up)
        self._arrows.visible = bool(moment.forces)
        if moment.forces:
            self._arrows.points = np.array(
                [[arrow.start, arrow.end] for arrow in moment.forces], dtype=np.float32
            )

    def set_balanced(self, balanced: bool) -> None:
        """Show the CoM in its own colour, or in red where it is not held up."""
        for node in self._coloured:
            node.color = COM if balanced else LOST
        colour = np.array(COM if balanced else LOST, dtype=np.uint8)
        self._plumb.colors = colour
        self._outline.colors = np.array(SUPPORT if balanced else LOST, dtype=np.uint8)
        self._fill.color = SUPPORT if balanced else LOST

    @property
    def com_position(self) -> Array:
        """Where the mark of the CoM is, in coordinates of its root [m], shape (3,)."""
        return np.array(self._com.position)

    def _place_plumb(self, top: Array, bottom: Array) -> None:
        # the line moves with the point on the ground; only its length is redrawn
        height = float(top[2] - bottom[2])
        if abs(height - self._height) < SAME * self._size:
            return
        self._height = height
        shares = np.linspace(0.0, 1.0, 2 * DASHES)[:, None]
        points = shares * np.array([0.0, 0.0, height])
        self._plumb.points = points.reshape(DASHES, 2, 3).astype(np.float32)

    def _place_support(self, polygon: Array) -> None:
        self._fill.visible = len(polygon) > 2
        self._outline.visible = len(polygon) > 1
        corners = padded(polygon[: self._corners], self._corners).astype(np.float32)
        if np.abs(corners - self._polygon).max() < SAME * self._size:
            return
        self._polygon = corners
        self._fill.vertices = corners
        self._outline.points = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)

    def _group(self, name: str) -> viser.FrameHandle:
        return self._scene.add_frame(name, show_axes=False)

    def _add(self, name: str, mesh: Mesh, colour: Colour) -> viser.MeshHandle:
        return self._scene.add_mesh_simple(
            name, mesh.vertices, mesh.triangles, color=colour, cast_shadow=False
        )
