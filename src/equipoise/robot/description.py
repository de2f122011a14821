"""The robot as its file describes it: links, joints, masses and shapes.

URDF, MJCF and DH readers all end here, and everything else (the Pinocchio model,
limb and sole detection, checks, export) starts from here. Frames follow URDF: the
frame of a link coincides with the frame of the joint above it at zero position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array

JointKind = Literal[
    "fixed",
    "revolute",
    "continuous",
    "prismatic",
    "helical",
    "spherical",
    "floating",
]
JOINT_KINDS: tuple[JointKind, ...] = get_args(JointKind)

Colour = tuple[int, int, int]
ShapeKind = Literal["box", "sphere", "cylinder", "capsule", "mesh"]


def transform(rotation: ArrayLike | None = None, translation: ArrayLike = 0.0) -> Array:
    """Build a read-only homogeneous transform, shape (4, 4)."""
    matrix = np.eye(4)
    if rotation is not None:
        matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    matrix.flags.writeable = False
    return matrix


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass distribution of one link.

    Attributes:
        mass: Mass [kg].
        com_in_link: Centre of mass in link coordinates [m], shape (3,).
        inertia_in_link: Rotational inertia about the centre of mass, in link axes
            [kg m²], shape (3, 3).
    """

    mass: float
    com_in_link: Array
    inertia_in_link: Array


@dataclass(frozen=True, eq=False)
class Shape:
    """One geometric primitive or mesh fixed to a link.

    Attributes:
        kind: Which shape.
        size: Box: full edge lengths (x, y, z). Sphere: (radius,). Cylinder and
            capsule: (radius, length) along z; a capsule's length is that of its
            cylindrical part. Mesh: scale (x, y, z). All [m] but the scale.
        transform_shape_to_link: Maps shape coordinates to link coordinates, (4, 4).
        mesh: Mesh file, or None where there is none or it was not found.
        mesh_name: The mesh as the robot file names it (empty for primitives).
        colour: Red, green, blue, from 0 to 255; None where the file gives none.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    transform_shape_to_link: Array = field(default_factory=transform)
    mesh: Path | None = None
    mesh_name: str = ""
    colour: Colour | None = None


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body with its mass and shapes; ``inertial`` is None if not given."""

    name: str
    inertial: Inertial | None = None
    collisions: tuple[Shape, ...] = ()
    visuals: tuple[Shape, ...] = ()


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two links.

    Attributes:
        name: Unique joint name.
        kind: One of :data:`JOINT_KINDS`.
        parent: Name of the parent link.
        child: Name of the child link.
        transform_joint_to_parent: Maps joint coordinates (= child coordinates at
            zero position) to parent link coordinates, (4, 4).
        axis: Unit axis in joint coordinates, shape (3,); unused by fixed,
            spherical and floating joints.
        lower: Lower position limit [rad or m].
        upper: Upper position limit [rad or m].
        velocity_limit: Largest speed [rad/s or m/s].
        effort_limit: Largest torque or force [Nm or N].
        damping: Viscous friction [Nm s/rad or N s/m].
        friction: Coulomb friction [Nm or N].
        armature: Rotor inertia seen at the joint, gear included [kg m² or kg].
        pitch: Advance along the axis per radian, helical joints only [m/rad].
        mimic: Name of the joint that this one should follow, if any.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    transform_joint_to_parent: Array = field(default_factory=transform)
    axis: Array = field(default_factory=lambda: frozen_array([1.0, 0.0, 0.0]))
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    pitch: float = 0.0
    mimic: str | None = None


@dataclass(frozen=True, eq=False)
class Description:
    """A tree of links and joints as read from one file.

    Attributes:
        name: Robot name.
        links: All links, in file order.
        joints: All joints. Children of a link are visited in this order.
        root: Name of the root link.
        notices: What the reader could not represent, one sentence each.
        assumptions: What the reader chose where the file is silent, likewise.
        postures: Named joint positions from the file, each {joint: values}.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    root: str
    notices: tuple[str, ...] = ()
    postures: dict[str, dict[str, Array]] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    @cached_property
    def link_by_name(self) -> dict[str, Link]:
        """Links by their name."""
        return {link.name: link for link in self.links}

    @cached_property
    def joint_by_name(self) -> dict[str, Joint]:
        """Joints by their name."""
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def joint_above(self) -> dict[str, Joint]:
        """The joint above each link; the root has none."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def joints_below(self) -> dict[str, tuple[Joint, ...]]:
        """The joints below each link, in order."""
        below: dict[str, list[Joint]] = {link.name: [] for link in self.links}
        for joint in self.joints:
            below[joint.parent].append(joint)
        return {name: tuple(joints) for name, joints in below.items()}

    def joints_depth_first(self) -> list[Joint]:
        """Return all joints, each before those below it, as Pinocchio orders them."""
        ordered: list[Joint] = []
        stack = list(reversed(self.joints_below[self.root]))
        while stack:
            joint = stack.pop()
            ordered.append(joint)
            stack.extend(reversed(self.joints_below[joint.child]))
        return ordered

    def with_inertials(self, inertials: Mapping[str, Inertial]) -> Description:
        """Return the description with other masses in the links named."""
        links = tuple(
            replace(link, inertial=inertials.get(link.name, link.inertial))
            for link in self.links
        )
        return replace(self, links=links)

    def chain(self, link: str) -> list[Joint]:
        """Return the joints from the root down to a link."""
        joints: list[Joint] = []
        while link in self.joint_above:
            joints.append(self.joint_above[link])
            link = joints[-1].parent
        return joints[::-1]


def colour_from_shares(shares: Sequence[float]) -> Colour | None:
    """Return a colour from red, green, blue in 0 to 1; None if one is not finite."""
    if not np.isfinite(shares).all():
        return None
    red, green, blue = (round(255 * min(max(share, 0.0), 1.0)) for share in shares)
    return red, green, blue


def shares_of_colour(colour: Colour) -> tuple[float, ...]:
    """Return red, green, blue and opacity in 0 to 1, as robot files write them."""
    return (*(part / 255 for part in colour), 1.0)


def rotation_from_rpy(rpy: Sequence[float]) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), the convention of URDF [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_from_quaternion(wxyz: Sequence[float]) -> Array:
    """Return the rotation of a quaternion, scalar first, normalising it."""
    w, x, y, z = np.asarray(wxyz, dtype=np.float64) / np.linalg.norm(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rpy_from_rotation(rotation: Array) -> Array:
    """Return roll, pitch and yaw of a rotation [rad], pitch in [-π/2, π/2].

    Exact to rounding near gimbal lock too: there yaw is mostly noise, and the roll
    that belongs to this yaw makes up for it.
    """
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    pitch = np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0]))
    cos, sin = np.cos(yaw), np.sin(yaw)
    roll = np.arctan2(
        sin * rotation[0, 2] - cos * rotation[1, 2],
        cos * rotation[1, 1] - sin * rotation[0, 1],
    )
    return np.array([roll, pitch, yaw])
