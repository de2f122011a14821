"""A URDF written link by link, with boxes for bodies and files for meshes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import numpy as np

from equipoise.arrays import Array

Geometry = Literal["box", "mesh", "missing mesh", "visual box", "none"]
# Lowest and highest angle [rad]; None where the file does not give them.
Angles = tuple[float, float] | Literal["continuous"] | None
AXES = {"roll": 0, "pitch": 1, "yaw": 2}
# Triangles of a box whose corners are counted in binary, x slowest.
FACES = (
    *((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)),
    *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
)


@dataclass(frozen=True)
class Block:
    """A link as a box of uniform density.

    Attributes:
        name: Name of the link.
        mass: Its mass [kg].
        centre_in_link: Middle of the box [m], shape (3,).
        size: Length, width and height of the box [m], shape (3,).
        geometry: How the file gives the shape.
    """

    name: str
    mass: float
    centre_in_link: Array
    size: Array
    geometry: Geometry = "none"


@dataclass(frozen=True)
class Hinge:
    """A joint that turns about one axis of its parent link.

    Attributes:
        name: Name of the joint.
        about: Which axis.
        sign: Whether the axis points along (1) or against (-1) that of the parent.
        zero: Angle about the parent's axis, seen from parallel links, at which the
            joint's position is zero [rad].
        limits: Lowest and highest angle about the parent's axis, seen from parallel
            links [rad]; None for a file that does not give them, ``"continuous"`` for a
            joint that turns round.
    """

    name: str
    about: str
    sign: int = 1
    zero: float = 0.0
    limits: Angles = None

    @property
    def attributes(self) -> tuple[str, str]:
        """Type of the joint, and the lower and upper limits of its position."""
        if self.limits is None:
            return "revolute", ""
        if self.limits == "continuous":
            return "continuous", ""
        low, high = sorted(self.sign * (angle - self.zero) for angle in self.limits)
        return "revolute", f'lower="{low:.6g}" upper="{high:.6g}" '


@dataclass
class UrdfWriter:
    """Collects the elements of a robot and the mesh files that they name.

    Attributes:
        name: Name of the robot.
        effort: Torque limit of all joints [Nm].
        speed: Speed limit of all joints [rad/s].
        elements: What was added so far.
        meshes: Contents of STL files, by file name.
    """

    name: str
    effort: float
    speed: float
    elements: list[str] = field(default_factory=list)
    meshes: dict[str, bytes] = field(default_factory=dict)

    def add_link(self, block: Block) -> None:
        """Add a link."""
        inertia = block.mass / 12.0 * ((block.size**2).sum() - block.size**2)
        moments = " ".join(
            f'{name}="{value:.6e}"'
            for name, value in zip(("ixx", "iyy", "izz"), inertia, strict=True)
        )
        self.elements.append(
            f'<link name="{block.name}"><inertial>{_origin(block.centre_in_link)}'
            f'<mass value="{block.mass:.6g}"/>'
            f'<inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial>'
            f"{self._shape(block)}</link>"
        )

    def add_joint(self, hinge: Hinge, parent: str, child: str, at: Array) -> None:
        """Add a joint at a place in its parent's coordinates [m]."""
        axis = np.zeros(3)
        axis[AXES[hinge.about]] = hinge.sign
        turned = np.zeros(3)
        turned[AXES[hinge.about]] = hinge.zero
        kind, limits = hinge.attributes
        self.elements.append(
            f'<joint name="{hinge.name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/>{_origin(at, turned)}<axis xyz="{_text(axis)}"/>'
            f'<limit {limits}effort="{self.effort:.6g}" velocity="{self.speed:.6g}"/>'
            "</joint>"
        )

    def add_fixed(self, name: str, parent: str, child: str, at: Array) -> None:
        """Add a joint that does not move."""
        self.elements.append(
            f'<joint name="{name}" type="fixed"><parent link="{parent}"/>'
            f'<child link="{child}"/>{_origin(at)}</joint>'
        )

    def document(self) -> str:
        """Return the URDF."""
        lines = "\n".join(self.elements)
        return f'<?xml version="1.0"?>\n<robot name="{self.name}">\n{lines}\n</robot>\n'

    def _shape(self, block: Block) -> str:
        if block.geometry == "none":
            return ""
        content = f'<box size="{_text(block.size)}"/>'
        if block.geometry.endswith("mesh"):
            file = f"meshes/{block.name}.stl"
            content = f'<mesh filename="{file}"/>'
            if block.geometry == "mesh":
                self.meshes[file] = box_stl(block.size)
        inside = f"{_origin(block.centre_in_link)}<geometry>{content}</geometry>"
        visual = f"<visual>{inside}</visual>"
        if block.geometry == "visual box":
            return visual
        return f"{visual}<collision>{inside}</collision>"


def box_stl(size: Array) -> bytes:
    """Return a binary STL file of a box around the origin, of these sides [m]."""
    corners = np.array(list(product((-0.5, 0.5), repeat=3))) * size
    triangles = b"".join(
        struct.pack("<12fH", 0.0, 0.0, 0.0, *corners[list(face)].ravel(), 0)
        for face in FACES
    )
    return bytes(80) + struct.pack("<I", len(FACES)) + triangles


def _origin(xyz: Array, rpy: Array | None = None) -> str:
    turned = "" if rpy is None or not np.any(rpy) else f' rpy="{_text(rpy)}"'
    return f'<origin xyz="{_text(xyz)}"{turned}/>'


def _text(values: Iterable[float]) -> str:
    return " ".join(f"{value:.6g}" for value in values)
