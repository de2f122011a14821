"""The robot as its file describes it: links, joints, masses and shapes.

URDF, MJCF and DH readers all end here, and everything else (the Pinocchio model,
limb and sole detection, checks, export) starts from here. Frames follow URDF: the
frame of a link coincides with the frame of the joint above it at zero position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import NameNotFoundError, RobotFileError
from equipoise.robot.inertias import Inertial, check_inertial
from equipoise.rotations import transform

JointKind = Literal[
    "fixed", "revolute", "continuous", "prismatic", "helical", "spherical", "floating"
]
JOINT_KINDS: tuple[JointKind, ...] = get_args(JointKind)
# What the actuator of a joint is told.
JointCommand = Literal["position", "torque"]
JOINT_COMMANDS: tuple[JointCommand, ...] = get_args(JointCommand)

# Standard gravity [m/s²].
STANDARD_GRAVITY = 9.80665

# No length, mass or limit of a robot comes near it, and its square does not overflow.
LARGEST = 1e12

# A workspace of Pinocchio holds four arrays of nv³ numbers: half a gigabyte at this
# many degrees of freedom, and robots with two five-fingered hands have below 100.
MOST_DEGREES_OF_FREEDOM = 200
MOST_LINKS = 5_000
DEEPEST_CHAIN = 200  # links from the root outwards: documents are written recursively
# How the warning begins that names links whose collision meshes are missing.
STANDING_IN = "visual geometry stands in for missing collision meshes"
NAMES_SHOWN = 4  # in a warning that lists links, joints or files
DEGREES_OF_FREEDOM = {"fixed": 0, "spherical": 3, "floating": 6}  # else 1
JOINT_MAGNITUDES = (
    *("velocity_limit", "effort_limit", "damping", "friction", "armature"),
)

Colour = tuple[int, int, int]
ShapeKind = Literal["box", "sphere", "cylinder", "capsule", "mesh"]


@dataclass(frozen=True, eq=False)
class Shape:
    """One geometric primitive or mesh fixed to a link.

    Attributes:
        kind: Kind of shape.
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
        command: What its actuator is told, by the file; None where it says nothing.
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
    command: JointCommand | None = None


@dataclass(frozen=True, eq=False)
class Description:
    """A tree of links and joints as read from one file.

    Attributes:
        name: Robot name.
        links: All links, in file order.
        joints: All joints. Children of a link are visited in this order.
        root: Name of the root link.
        notices: Parts of the file that were left out or changed, one sentence each.
        assumptions: Choices of the reader where the file gives nothing, likewise.
        postures: Named joint positions from the file, each {joint: values}.
        loops: Pairs of links that the file ties together to close a loop. They are left
            open: links and joints are a tree.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    root: str
    notices: tuple[str, ...] = ()
    postures: dict[str, dict[str, Array]] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    loops: tuple[tuple[str, str], ...] = ()

    @cached_property
    def link_by_name(self) -> dict[str, Link]:
        """Links by name."""
        return {link.name: link for link in self.links}

    @cached_property
    def joint_by_name(self) -> dict[str, Joint]:
        """Joints by name."""
        return {joint.name: joint for joint in self.joints}

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


def colour_from_fractions(fractions: Sequence[float]) -> Colour | None:
    """Return a colour from red, green, blue in 0 to 1; None if one is not finite."""
    if not np.isfinite(fractions).all():
        return None
    red, green, blue = (round(255 * min(max(part, 0.0), 1.0)) for part in fractions)
    return red, green, blue


def fractions_from_colour(colour: Colour) -> tuple[float, ...]:
    """Return red, green, blue and opacity in 0 to 1, as robot files write them."""
    return (*(part / 255 for part in colour), 1.0)


def first_few(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: all, or the first and how many more."""
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_SHOWN])} and {len(names) - NAMES_SHOWN} more"


def counted(count: int, what: str) -> str:
    """Return a number with its noun: ``"1 mesh file"``, ``"2 mesh files"``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def check_tree(links: Sequence[Link], joints: Sequence[Joint], source: str) -> str:
    """Check that links and joints form one tree of possible bodies; return its root.

    Raises:
        RobotFileError: For names that are empty, doubled or hold control characters,
            unknown links, several roots, loops, trees that are too large, negative
            limits or friction, and impossible masses or inertias.
    """
    if not links:
        raise RobotFileError(f"{source}: has no links")
    named: tuple[tuple[str, Sequence[Link | Joint]], ...]
    named = (("link", links), ("joint", joints))
    for kind, items in named:
        for item in items:
            checked_name(kind, item.name, source)
    _refuse_large(links, joints, source)
    for kind, items in named:
        for name, count in Counter(item.name for item in items).items():
            if count > 1:
                raise RobotFileError(f"{source}: {count} {kind}s are named '{name}'")
    names = {link.name for link in links}
    above: dict[str, Joint] = {}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in names:
                raise RobotFileError(
                    f"{source}: joint '{joint.name}' names link '{end}', "
                    "which does not exist"
                )
        _refuse_impossible(joint, source)
        if joint.child in above:
            raise RobotFileError(
                f"{source}: link '{joint.child}' hangs on two joints "
                f"('{above[joint.child].name}' and '{joint.name}'): "
                "closed loops are not supported"
            )
        above[joint.child] = joint
    roots = [link.name for link in links if link.name not in above]
    if not roots:
        raise RobotFileError(f"{source}: the joints form a loop, there is no root link")
    if len(roots) > 1:
        raise RobotFileError(
            f"{source}: has several root links ({', '.join(roots[:5])}); "
            "one tree is needed"
        )
    _refuse_loops_and_depth(links, above, source)
    for link in links:
        if link.inertial is not None:
            check_inertial(link.inertial, f"{source}: link '{link.name}'")
    if not any(link.inertial is not None and link.inertial.mass > 0 for link in links):
        raise RobotFileError(f"{source}: no link has a mass")
    return roots[0]


def checked_name(kind: str, name: str, source: str) -> str:
    """Return a name if it can be printed on one line.

    Raises:
        RobotFileError: If it is empty or blank, or holds control characters, line
            breaks or other characters that cannot be seen.
    """
    if not name.strip():
        raise RobotFileError(f"{source}: a {kind} has an empty name")
    if not name.isprintable():
        raise RobotFileError(
            f"{source}: the {kind} name {name!r} holds characters that cannot be "
            "printed"
        )
    return name


def check_inertials(
    description: Description, inertials: Mapping[str, Inertial], owner: str
) -> None:
    """Refuse masses for links that do not exist, or that no body can have.

    Raises:
        NameNotFoundError: If there is no link of a name.
        RobotFileError: If a mass or inertia is not possible.
    """
    known = description.link_by_name
    for name, inertial in inertials.items():
        if name not in known:
            raise NameNotFoundError("link", name, known, owner)
        check_inertial(inertial, f"{owner}: link '{name}'")


def _refuse_impossible(joint: Joint, source: str) -> None:
    for name in JOINT_MAGNITUDES:
        value = getattr(joint, name)
        if not value >= 0.0:
            raise RobotFileError(
                f"{source}: joint '{joint.name}' has {name.replace('_', ' ')} "
                f"{value:g}, which must not be negative"
            )
    if joint.lower == np.inf or joint.upper == -np.inf:
        raise RobotFileError(
            f"{source}: joint '{joint.name}' has limits {joint.lower:g} and "
            f"{joint.upper:g}, between which there is no position"
        )
    if not joint.lower <= joint.upper:
        raise RobotFileError(
            f"{source}: joint '{joint.name}' has its lower limit {joint.lower:g} "
            f"above its upper limit {joint.upper:g}"
        )


def _refuse_large(links: Sequence[Link], joints: Sequence[Joint], source: str) -> None:
    if len(links) > MOST_LINKS:
        raise RobotFileError(
            f"{source}: has {len(links)} links, at most {MOST_LINKS} are supported"
        )
    freedom = sum(DEGREES_OF_FREEDOM.get(joint.kind, 1) for joint in joints)
    if freedom > MOST_DEGREES_OF_FREEDOM:
        raise RobotFileError(
            f"{source}: its joints have {freedom} degrees of freedom, at most "
            f"{MOST_DEGREES_OF_FREEDOM} are supported"
        )


def _refuse_loops_and_depth(
    links: Sequence[Link], above: dict[str, Joint], source: str
) -> None:
    depths: dict[str, int] = {}
    for link in links:
        path: list[str] = []
        name = link.name
        while name in above and name not in depths:
            if name in path:
                raise RobotFileError(
                    f"{source}: the joints above link '{name}' form a loop"
                )
            path.append(name)
            name = above[name].parent
        depth = depths.setdefault(name, 0)
        depths |= {below: depth + k for k, below in enumerate(path[::-1], start=1)}
    deepest = max(depths, key=lambda name: depths[name])
    if depths[deepest] > DEEPEST_CHAIN:
        raise RobotFileError(
            f"{source}: link '{deepest}' is {depths[deepest]} joints away from the "
            f"root, at most {DEEPEST_CHAIN} are supported"
        )
