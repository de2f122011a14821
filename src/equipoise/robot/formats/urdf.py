"""URDF files into a :class:`~equipoise.robot.description.Description`.

Beyond the URDF standard, joints of type ``helical`` (alias ``screw``; with a child
``<pitch value="metres per radian"/>``) and ``spherical`` (alias ``ball``) are read,
so that every joint kind survives a round trip through this format.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import RobotFileError
from equipoise.robot.description import (
    JOINT_KINDS,
    LARGEST,
    Colour,
    Description,
    Joint,
    JointCommand,
    JointKind,
    Link,
    Shape,
    ShapeKind,
    check_tree,
    checked_name,
    colour_from_fractions,
    first_few,
)
from equipoise.robot.inertias import INERTIA_ENTRIES, Inertial
from equipoise.robot.mesh_files import MeshFiles
from equipoise.rotations import rotation_from_rpy, transform

# Joints that a URDF should give limits to.
LIMITED_KINDS = ("revolute", "prismatic", "helical")
LOOP_TAGS = ("loop", "loop_joint")
OPEN_LOOPS = "closed loops are not supported: left open"
KIND_ALIASES: dict[str, JointKind] = {"screw": "helical", "ball": "spherical"}


def read_urdf(root: Element, path: Path) -> Description:
    """Read a parsed URDF document.

    Messages and relative mesh paths start from ``path``.

    Raises:
        RobotFileError: If anything in it is missing, doubled or impossible.
    """
    if any("xacro" in element.tag for element in root.iter()):
        raise RobotFileError(
            f"{path}: holds xacro macros; expand it first: "
            f"xacro {path.name} > robot.urdf"
        )
    reader = _Reader(path, root)
    links = tuple(reader.link(element) for element in root.findall("link"))
    commands = _commands(root)
    joints = tuple(reader.joint(element, commands) for element in root.findall("joint"))
    # urdfdom, and so Pinocchio, visits the joints below a link by name
    joints = tuple(sorted(joints, key=lambda joint: joint.name))
    name = checked_name("robot", root.get("name") or path.stem, str(path))
    root_name = check_tree(links, joints, str(path))
    loops = _loops(root, {link.name for link in links})
    notices = reader.all_notices()
    if loops:
        pairs = [f"{one} to {other}" for one, other in loops]
        notices += (f"{OPEN_LOOPS} ({len(loops)}: {first_few(pairs)})",)
    return _without_explicit_floating_base(
        Description(name, links, joints, root_name, notices, loops=loops)
    )


def _loops(root: Element, links: set[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links that extensions of URDF close into loops.

    These are ``<loop>`` and ``<loop_joint>`` (URDF+ and others) and joints of SDFormat
    under ``<gazebo>``. Links are named there by attributes or by text.
    """
    found = []
    for element in (
        *(element for tag in LOOP_TAGS for element in root.findall(tag)),
        *root.findall("gazebo/joint"),
    ):
        named = [
            name.strip()
            for part in element.iter()
            for name in (part.get("link"), part.text)
            if name is not None and name.strip() in links
        ]
        one, *others = dict.fromkeys(named) or [""]
        if others:
            found.append((one, others[0]))
    return tuple(found)


def _commands(root: Element) -> dict[str, JointCommand]:
    """Return what joints are told, by transmissions (ROS) and ros2_control.

    A joint that can be told a position is not counted as one told torques.
    """
    offered: dict[str, set[str]] = {}
    for joint in root.findall("transmission/joint"):
        words = (element.text or "" for element in joint.findall("hardwareInterface"))
        # hardware_interface/EffortJointInterface, or without the package
        kinds = {word.strip().rpartition("/")[2].lower() for word in words}
        kinds = {kind.removesuffix("jointinterface") for kind in kinds}
        offered.setdefault(joint.get("name", ""), set()).update(kinds)
    for joint in root.findall("ros2_control/joint"):
        kinds = {item.get("name", "") for item in joint.findall("command_interface")}
        offered.setdefault(joint.get("name", ""), set()).update(kinds)
    return {
        name: "position" if "position" in kinds else "torque"
        for name, kinds in offered.items()
        if kinds & {"position", "effort"}
    }


def read_colour(material: Element) -> Colour | None:
    """Return the colour of a ``<material>``, None where it has none that can be."""
    element = material.find("color")
    words = "" if element is None else element.get("rgba", "")
    try:
        red, green, blue, *_ = (float(word) for word in words.split())
    except ValueError:
        return None
    return colour_from_fractions((red, green, blue))


def _without_explicit_floating_base(description: Description) -> Description:
    """Drop a massless ``world`` above a floating joint: every base floats."""
    below = description.joints_below[description.root]
    world = description.link_by_name[description.root]
    if len(below) != 1 or below[0].kind != "floating" or world.inertial is not None:
        return description
    joint = below[0]
    return replace(
        description,
        links=tuple(link for link in description.links if link is not world),
        joints=tuple(other for other in description.joints if other is not joint),
        root=joint.child,
        notices=(
            *description.notices,
            f"joint '{joint.name}' is taken as the floating base; "
            f"the massless link '{world.name}' above it is left out",
        ),
    )


class _Reader:
    """Reads elements one by one, naming file and element in every complaint."""

    def __init__(self, path: Path, root: Element) -> None:
        self.path = path
        self.notices: list[str] = []
        self.unlimited: list[str] = []
        self.meshes = MeshFiles(path)
        self.materials = {
            element.get("name"): read_colour(element)
            for element in root.iter("material")
            if element.find("color") is not None
        }

    def error(self, message: str) -> RobotFileError:
        return RobotFileError(f"{self.path}: {message}")

    def all_notices(self) -> tuple[str, ...]:
        unlimited = []
        if self.unlimited:
            unlimited.append(
                "joint limits are not given, taken as unlimited "
                f"({len(self.unlimited)}: {first_few(self.unlimited)})"
            )
        return (*self.notices, *unlimited, *self.meshes.notices())

    def link(self, element: Element) -> Link:
        name = element.get("name")
        if not name:
            raise self.error("a link has no name")
        where = f"link '{name}'"
        inertial = element.find("inertial")
        return Link(
            name,
            None if inertial is None else self.inertial(inertial, where),
            self.shapes(element.findall("collision"), where),
            self.shapes(element.findall("visual"), where),
        )

    def inertial(self, element: Element, where: str) -> Inertial:
        mass_element = element.find("mass")
        if mass_element is None:
            raise self.error(f"{where} has an <inertial> without <mass>")
        mass = self.number(mass_element, "value", where + ", mass")
        if mass < 0.0:
            raise self.error(f"{where} has negative mass {mass:g} kg")
        pose = self.origin(element, where + ", inertial")
        inertia = np.zeros((3, 3))
        inertia_element = element.find("inertia")
        if inertia_element is not None:
            for key, row, column in INERTIA_ENTRIES:
                value = self.number(inertia_element, key, f"{where}, {key}", 0.0)
                inertia[row, column] = inertia[column, row] = value
        rotation = pose[:3, :3]
        return Inertial(
            mass,
            frozen_array(pose[:3, 3]),
            frozen_array(rotation @ inertia @ rotation.T),
        )

    def shapes(self, elements: list[Element], where: str) -> tuple[Shape, ...]:
        shapes = []
        for element in elements:
            geometry = element.find("geometry")
            if geometry is None or len(geometry) == 0:
                continue
            shape = self.shape(geometry[0], self.origin(element, where), where)
            if shape is not None:
                shapes.append(replace(shape, colour=self.colour(element)))
        return tuple(shapes)

    def colour(self, element: Element) -> Colour | None:
        material = element.find("material")
        if material is None:
            return None
        return read_colour(material) or self.materials.get(material.get("name"))

    def shape(self, element: Element, pose: Array, where: str) -> Shape | None:
        size: tuple[float, ...]
        kind: ShapeKind
        match element.tag:
            case "box" as kind:
                size = self.vector(element, "size", 3, f"{where}, box size")
            case "sphere" | "cylinder" | "capsule" as kind:
                keys = ("radius",) if kind == "sphere" else ("radius", "length")
                size = tuple(
                    self.number(element, key, f"{where}, {kind} {key}") for key in keys
                )
            case "mesh":
                name = element.get("filename", "")
                one = (1.0, 1.0, 1.0)
                scale = self.vector(element, "scale", 3, f"{where}, mesh scale", one)
                if 0.0 in scale:
                    raise self.error(f"{where} has a mesh whose scale holds a zero")
                return Shape("mesh", scale, pose, self.meshes.find(name), name)
            case _:
                self.notices.append(
                    f"{where}: shape '{element.tag}' is not known and left out"
                )
                return None
        # zero stays: files for Drake mark contact points by spheres without radius
        if min(size) < 0.0:
            values = " ".join(f"{value:g}" for value in size)
            raise self.error(f"{where} has a {kind} of negative size {values}")
        return Shape(kind, size, pose)

    def joint(self, element: Element, commands: Mapping[str, JointCommand]) -> Joint:
        name = element.get("name")
        if not name:
            raise self.error("a joint has no name")
        where = f"joint '{name}'"
        kind = self.kind(element, where)
        parent, child = (self.end(element, end, where) for end in ("parent", "child"))
        limit = element.find("limit")
        lower, upper, velocity, effort = -math.inf, math.inf, math.inf, math.inf
        if limit is not None:
            velocity = self.magnitude(limit, "velocity", where)
            effort = self.magnitude(limit, "effort", where)
        if kind in LIMITED_KINDS:
            if limit is not None and limit.attrib.keys() & {"lower", "upper"}:
                lower = self.number(limit, "lower", where, 0.0, finite=False)
                upper = self.number(limit, "upper", where, 0.0, finite=False)
            else:
                self.unlimited.append(name)
        dynamics = element.find("dynamics")
        damping = friction = armature = 0.0
        if dynamics is not None:
            damping, friction, armature = (
                self.number(dynamics, key, where, 0.0)
                for key in ("damping", "friction", "armature")
            )
        pitch_element, pitch = element.find("pitch"), 0.0
        if pitch_element is not None:
            pitch = self.number(pitch_element, "value", where + ", pitch")
        elif kind == "helical":
            raise self.error(f"{where} is helical and needs <pitch value=.../>")
        mimic = element.find("mimic")
        origin, axis = self.origin(element, where), self.axis(element, kind, where)
        return Joint(
            *(name, kind, parent, child, origin, axis, lower, upper, velocity, effort),
            *(damping, friction, armature, pitch),
            None if mimic is None else mimic.get("joint"),
            commands.get(name),
        )

    def magnitude(self, limit: Element, key: str, where: str) -> float:
        """Return a limit of speed or torque; -1 is written for none, as in Atlas."""
        value = self.number(limit, key, where, math.inf, finite=False)
        if value >= 0.0:
            return value
        self.notices.append(
            f"{where} has {key} limit {value:g}, which is negative: taken as unlimited"
        )
        return math.inf

    def kind(self, element: Element, where: str) -> JointKind:
        text = element.get("type", "")
        kind = KIND_ALIASES.get(text, text)
        if kind in JOINT_KINDS:
            return kind
        raise self.error(
            f"{where} is of type '{text}', which is not supported; "
            f"supported are {', '.join(JOINT_KINDS)}"
        )

    def end(self, element: Element, end: str, where: str) -> str:
        link = element.find(end)
        if link is None or not link.get("link"):
            raise self.error(f"{where} has no {end} link")
        return link.get("link", "")

    def axis(self, element: Element, kind: JointKind, where: str) -> Array:
        axis_element = element.find("axis")
        if axis_element is None:
            return frozen_array([1.0, 0.0, 0.0])
        axis = np.array(self.vector(axis_element, "xyz", 3, where + ", axis"))
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            if kind in ("fixed", "spherical", "floating"):
                return frozen_array([1.0, 0.0, 0.0])
            raise self.error(f"{where} has a zero axis")
        return frozen_array(axis / length)

    def origin(self, element: Element, where: str) -> Array:
        origin = element.find("origin")
        if origin is None:
            return transform()
        zero = (0.0, 0.0, 0.0)
        xyz = self.vector(origin, "xyz", 3, where + ", origin xyz", zero)
        rpy = self.vector(origin, "rpy", 3, where + ", origin rpy", zero)
        return transform(rotation_from_rpy(rpy), xyz)

    def vector(
        self,
        element: Element,
        key: str,
        count: int,
        where: str,
        default: tuple[float, ...] | None = None,
    ) -> tuple[float, ...]:
        if default is not None and element.get(key) is None:
            return default
        text = self.text(element, key, where)
        values = tuple(self.to_float(word, where) for word in text.split())
        if len(values) != count:
            raise self.error(f"{where} needs {count} numbers, has '{text}'")
        return values

    def number(
        self,
        element: Element,
        key: str,
        where: str,
        default: float | None = None,
        *,
        finite: bool = True,
    ) -> float:
        if default is not None and element.get(key) is None:
            return default
        text = self.text(element, key, where)
        value = self.to_float(text, f"{where}, {key}", finite=finite)
        # urdfdom refuses "inf", so exporters write the largest number for it
        unlimited = not finite and abs(value) > LARGEST
        return math.copysign(math.inf, value) if unlimited else value

    def text(self, element: Element, key: str, where: str) -> str:
        text = element.get(key)
        if text is None:
            raise self.error(f"{where} is missing")
        return text

    def to_float(self, text: str, where: str, *, finite: bool = True) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isnan(value) or (finite and math.isinf(value)):
            raise self.error(f"{where}: '{text}' is not a finite number")
        if finite and abs(value) > LARGEST:
            raise self.error(f"{where}: '{text}' is impossibly large")
        return value
