"""The robot on the page, and the marks of a moment: CoM, ZMP, support, forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh
from equipoise.show.palette import COM, FORCE, SUPPORT, ZMP, rgb
from equipoise.show.space.scene import Moment
from equipoise.show.space.solids import Body, fan, revolved, sphere

if TYPE_CHECKING:
    import viser

# Through a translucent robot its centre of mass is seen.
Look = Literal["translucent", "solid", "hidden"]
LOOKS: tuple[Look, ...] = ("translucent", "solid", "hidden")
OPACITY = 0.4
# Sizes as fractions of the longest limb.
BALL, DISC, SHAFT, HEAD, HEAD_LENGTH = 0.075, 0.05, 0.008, 0.02, 0.04
# Widths of lines [pixels].
PLUMB_PIXELS, OUTLINE_PIXELS = 3.0, 2.5
# What lies on the ground is lifted by this fraction of the longest limb per layer, so
# that none hides in another.
LAYER = 0.004
SUPPORT_LAYER, COM_LAYER, ZMP_LAYER = 2, 3, 4
DASHES = 12
# What changes by less than this fraction of the longest limb is not drawn again.
SAME = 0.001
FILL = 0.35
# Labels, and which of their edges is at the mark.
LABELS: Mapping[str, Any] = MappingProxyType(
    {"CoM": "bottom-left", "ZMP": "top-center"}
)
WHITE: Colour = (250, 250, 250)
LOST = rgb("bad")


class RobotNodes:
    """A robot below a node: a frame for each joint, and its solids below that."""

    def __init__(
        self, server: viser.ViserServer, root: str, bodies: Sequence[Body]
    ) -> None:
        scene = server.scene
        self._group = scene.add_frame(f"{root}/robot", show_axes=False)
        self._frames = {
            joint: scene.add_frame(f"{root}/robot/{joint}", show_axes=False)
            for joint in sorted({body.joint for body in bodies})
        }
        self._meshes = [
            scene.add_mesh_simple(
                f"{root}/robot/{body.joint}/{body.name.replace('/', '_')}",
                body.mesh.vertices,
                body.mesh.triangles,
                color=body.colour,
                opacity=OPACITY,
            )
            for body in bodies
        ]

    def place(self, joint_poses: Array) -> None:
        """Move to where the joints are: [m] and quaternions xyzw, (njoints, 7)."""
        poses = joint_poses.tolist()
        for joint, frame in self._frames.items():
            x, y, z, qx, qy, qz, qw = poses[joint]
            frame.position = (x, y, z)
            frame.wxyz = (qw, qx, qy, qz)

    def set_look(self, look: Look) -> None:
        """Show it translucent or solid, or hide it."""
        self._group.visible = look != "hidden"
        for mesh in self._meshes:
            mesh.opacity = OPACITY if look == "translucent" else None


class MarkerNodes:
    """Marks of a moment, below a node; groups of them can be hidden.

    They are for a robot whose longest limb has a size [m], and for support polygons of
    at most so many corners.
    """

    def __init__(
        self, server: viser.ViserServer, root: str, size: float, corners: int
    ) -> None:
        self._scene = server.scene
        self._height = 0.0
        self._size, self._corners = size, max(corners, 3)
        self._polygon = np.zeros((self._corners, 3), dtype=np.float32)
        groups = ("points", "support", "forces", "labels")
        self.points, self.support, self.forces, self.labels = (
            self._scene.add_frame(f"{root}/{name}", show_axes=False) for name in groups
        )
        self._com, self._foot, self._zmp = (
            self._scene.add_frame(f"{root}/points/{name}", show_axes=False)
            for name in ("com", "com-on-ground", "zmp")
        )
        ball, flat = BALL * size, DISC * size
        marks = {
            "com/colour": (ball_octants(ball, False), COM),
            "com/white": (ball_octants(ball, True), WHITE),
            "com-on-ground/colour": (disc_quarters(flat, False), COM),
            "com-on-ground/white": (disc_quarters(flat, True), WHITE),
            "com-on-ground/rim": (disc(1.15 * flat, flat), COM),
            "zmp/disc": (disc(0.7 * flat), ZMP),
            "zmp/rim": (disc(0.95 * flat, 0.7 * flat), WHITE),
        }
        self._coloured = []
        for name, (mesh, colour) in marks.items():
            node = self._scene.add_mesh_simple(
                f"{root}/points/{name}",
                mesh.vertices,
                mesh.triangles,
                color=colour,
                cast_shadow=False,
            )
            self._coloured += [node] if colour == COM else []
        plumb = f"{root}/points/com-on-ground/plumb"
        self._plumb = add_lines(
            server, plumb, np.zeros((DASHES, 2, 3)), COM, PLUMB_PIXELS
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
        outline = np.zeros((self._corners, 2, 3))
        self._outline = add_lines(
            server, f"{root}/support/outline", outline, SUPPORT, OUTLINE_PIXELS
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
        above = np.array([0.0, 0.0, BALL * self._size])
        self._names["CoM"].position = moment.com + above
        self._zmp.visible = self._names["ZMP"].visible = moment.zmp is not None
        if moment.zmp is not None:
            self._zmp.position = moment.zmp + ZMP_LAYER * up
            self._names["ZMP"].position = moment.zmp - above
        self._place_support(moment.support + SUPPORT_LAYER * up)
        self._arrows.visible = bool(moment.forces)
        if moment.forces:
            self._arrows.points = np.array(
                [[arrow.start, arrow.end] for arrow in moment.forces], dtype=np.float32
            )

    def set_balanced(self, balanced: bool) -> None:
        """Show the CoM in its own colour, or in red where it is not held up."""
        com, support = (COM, SUPPORT) if balanced else (LOST, LOST)
        for node in self._coloured:
            node.color = com
        self._plumb.colors = np.array(com, dtype=np.uint8)
        self._outline.colors = np.array(support, dtype=np.uint8)
        self._fill.color = support

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
        points = np.linspace([0.0, 0.0, 0.0], [0.0, 0.0, height], 2 * DASHES)
        self._plumb.points = points.reshape(DASHES, 2, 3).astype(np.float32)

    def _place_support(self, polygon: Array) -> None:
        self._fill.visible = len(polygon) > 2
        self._outline.visible = len(polygon) > 1
        corners = padded(polygon[: self._corners], self._corners).astype(np.float32)
        if np.abs(corners - self._polygon).max() < SAME * self._size:
            return
        self._polygon = corners
        self._fill.vertices = corners
        self._outline.points = polygon_edges(corners)


def add_lines(
    server: viser.ViserServer, name: str, ends: Array, colour: Any, pixels: float
) -> viser.LineSegmentsHandle:
    """Add straight pieces, shape (k, 2, 3), as wide on the screen everywhere."""
    return server.scene.add_line_segments(
        name, ends, colour, thickness=pixels, thickness_units="screen"
    )


def polygon_edges(corners: NDArray[Any]) -> NDArray[Any]:
    """Return the edges of a polygon (k, 3), shape (k, 2, 3)."""
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def ball_octants(radius: float, odd: bool) -> Mesh:
    """Return every other eighth of a ball about the origin, radius in [m].

    Even and odd ones together are the sign of a centre of mass.
    """
    return _every_other(sphere(radius), 3, odd)


def disc(radius: float, inner: float = 0.0) -> Mesh:
    """Return a flat disc or ring on z = 0, seen from above."""
    return revolved([[radius, 0.0], [inner, 0.0]])


def disc_quarters(radius: float, odd: bool) -> Mesh:
    """Return every other quarter of a disc on z = 0, seen from above."""
    return _every_other(disc(radius), 2, odd)


def _every_other(mesh: Mesh, axes: int, odd: bool) -> Mesh:
    """Return the triangles of every other quarter or eighth, by two or three axes."""
    middle = mesh.vertices[mesh.triangles].mean(axis=1)
    chosen = (np.prod(middle[:, :axes], axis=1) < 0.0) == odd
    return Mesh(mesh.vertices, mesh.triangles[chosen])


def padded(polygon: Array, corners: int) -> Array:
    """Return a polygon with its last corner repeated, shape (corners, 3).

    Meshes whose size stays are updated in place by the page.
    """
    if (count := len(polygon)) == 0:
        return np.zeros((corners, 3))
    return polygon[np.minimum(np.arange(corners), count - 1)]
