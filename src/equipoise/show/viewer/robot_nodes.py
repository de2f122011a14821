"""The robot on the page: a frame for each joint, and its solids below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from equipoise.arrays import Array
from equipoise.show.space.bodies import Body

if TYPE_CHECKING:
    import viser

# Through a robot of glass its centre of mass is seen.
Look = Literal["glass", "solid", "hidden"]
LOOKS: tuple[Look, ...] = ("glass", "solid", "hidden")
GLASS = 0.4


class RobotNodes:
    """A robot of the scene."""

    def __init__(
        self, server: viser.ViserServer, root: str, bodies: Sequence[Body]
    ) -> None:
        """Add the robot below a node.

        Args:
            server: The page's.
            root: Name of that node, as ``"/world/run-1"``.
            bodies: What moves.
        """
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
                opacity=GLASS,
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
        """Show it as glass or solid, or hide it."""
        self._group.visible = look != "hidden"
        for mesh in self._meshes:
            mesh.opacity = GLASS if look == "glass" else None
