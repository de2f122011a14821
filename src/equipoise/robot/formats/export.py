"""A Description as a new URDF or MJCF document."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import ExportError
from equipoise.robot.description import (
    Description,
    Joint,
    Link,
    Shape,
    fractions_from_colour,
)
from equipoise.robot.formats.xml_file import add, add_comment, document, numbers
from equipoise.robot.inertias import INERTIA_ENTRIES, Inertial, principal_inertia
from equipoise.robot.mesh import mujoco_reads
from equipoise.rotations import (
    inverse_transform,
    quaternion_from_rotation,
    rpy_from_rotation,
    wxyz_from_xyzw,
)

ALWAYS_LIMITED = ("revolute", "prismatic")
MJCF_TYPES = {
    **{"revolute": "hinge", "continuous": "hinge"},
    **{"prismatic": "slide", "spherical": "ball"},
}
SMALLEST = 1e-15  # mjMINVAL: masses and moments of moving bodies must be larger
NARROWEST_RANGE = 1e-12  # MuJoCo wants upper limits above lower ones


def to_urdf(description: Description) -> str:
    """Write a robot as URDF.

    Helical and spherical joints and capsules use the extensions that
    :mod:`equipoise.robot.formats.urdf` reads. Unlimited positions, speeds and
    torques are written as the largest number there is, because URDF readers refuse
    ``inf``. Mimic joints, postures and meshes without a file name are not written.

    Returns:
        The document, numbers in full precision, meshes by their absolute path where
        they were found and else by their original name.
    """
    root = Element("robot", name=description.name)
    for link in description.links:
        _add_link(root, link)
    for joint in description.joints:
        _add_joint(root, joint)
    return document(root)


def _add_link(root: Element, link: Link) -> None:
    element = add(root, "link", name=link.name)
    if link.inertial is not None:
        inertial = add(element, "inertial")
        add(inertial, "origin", xyz=numbers(link.inertial.com_in_link), rpy="0 0 0")
        add(inertial, "mass", value=repr(float(link.inertial.mass)))
        inertia = link.inertial.inertia_in_link
        add(
            inertial,
            "inertia",
            **{key: numbers([inertia[i, j]]) for key, i, j in INERTIA_ENTRIES},
        )
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            if shape.kind != "mesh" or _mesh_file_name(shape):
                _add_shape(add(element, tag), shape)


def _add_shape(element: Element, shape: Shape) -> None:
    _add_origin(element, shape.transform_shape_to_link)
    geometry = add(element, "geometry")
    match shape.kind:
        case "box":
            add(geometry, "box", size=numbers(shape.size))
        case "sphere":
            add(geometry, "sphere", radius=numbers(shape.size))
        case "cylinder" | "capsule":
            radius, length = shape.size
            add(geometry, shape.kind, radius=repr(radius), length=repr(length))
        case "mesh":
            name = _mesh_file_name(shape)
            add(geometry, "mesh", filename=name, scale=numbers(shape.size))
    if shape.colour is not None:
        red, green, blue = shape.colour
        material = add(element, "material", name=f"rgb_{red}_{green}_{blue}")
        add(material, "color", rgba=numbers(fractions_from_colour(shape.colour)))


def _mesh_file_name(shape: Shape) -> str:
    """Return the absolute path of a mesh, or its original name if not found."""
    return str(shape.mesh.absolute()) if shape.mesh is not None else shape.mesh_name


def _add_joint(root: Element, joint: Joint) -> None:
    element = add(root, "joint", name=joint.name, type=joint.kind)
    _add_origin(element, joint.transform_joint_to_parent)
    add(element, "parent", link=joint.parent)
    add(element, "child", link=joint.child)
    if joint.kind in ("fixed", "floating"):
        return
    if joint.kind != "spherical":
        add(element, "axis", xyz=numbers(joint.axis))
    if joint.kind == "helical":
        add(element, "pitch", value=repr(float(joint.pitch)))
    bounds = (joint.lower, joint.upper, joint.effort_limit, joint.velocity_limit)
    if joint.kind in ALWAYS_LIMITED or np.isfinite(bounds).any():
        lower, upper, effort, velocity = (repr(_finite(bound)) for bound in bounds)
        turns = joint.kind == "continuous"
        add(
            element,
            "limit",
            lower=None if turns else lower,
            upper=None if turns else upper,
            effort=effort,
            velocity=velocity,
        )
    if joint.damping or joint.friction or joint.armature:
        add(
            element,
            "dynamics",
            damping=repr(float(joint.damping)),
            friction=repr(float(joint.friction)),
            armature=_unless_zero(joint.armature),
        )


def _add_origin(element: Element, pose: Array) -> None:
    rpy = numbers(rpy_from_rotation(pose[:3, :3]))
    add(element, "origin", xyz=numbers(pose[:3, 3]), rpy=rpy)


def _unless_zero(value: float) -> str | None:
    return repr(float(value)) if value else None


def _finite(value: float) -> float:
    largest = sys.float_info.max
    return min(max(float(value), -largest), largest)


def to_mjcf(description: Description) -> str:
    """Write a robot as MJCF, its base floating freely, without floor or actuators.

    Massless links without shapes between two joints are joined into the link below,
    as a body with several joints. Speed limits are not written: MJCF has none.
    Meshes that MuJoCo cannot read are left out with a comment.

    Returns:
        The document, numbers in full precision, meshes by their absolute path.

    Raises:
        ExportError: For helical joints, floating joints below the base, moving links
            without mass or inertia.
        RobotFileError: For inertias that no rigid body has.
    """
    return document(_MjcfWriter(description).root)


class _MjcfWriter:
    """Builds the document body by body."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.root = Element("mujoco", model=description.name)
        off = dict.fromkeys(("inertiafromgeom", "balanceinertia"), "false")
        bounds = {"boundmass": "0", "boundinertia": "0"}
        add(self.root, "compiler", angle="radian", autolimits="true", **off, **bounds)
        self.assets = add(self.root, "asset")
        self.mesh_names: dict[tuple[Path, tuple[float, ...]], str] = {}
        self.moving: list[Joint] = []
        base = self.body(add(self.root, "worldbody"), description.root, np.eye(4), [])
        base.insert(0, Element("freejoint"))
        self.keyframes()

    def error(self, message: str) -> ExportError:
        return ExportError(f"{self.description.name}: {message} in MJCF")

    def body(
        self, above: Element, name: str, pose: Array, joints: list[tuple[Joint, Array]]
    ) -> Element:
        """Write a link, the joints that carry it and all that hangs below it."""
        if name == "world":
            raise self.error("a link cannot be named 'world'")
        element = add(above, "body", name=name, **_placement(pose))
        for joint, pose_in_body in joints:
            self.joint(element, joint, pose_in_body)
        link = self.description.link_by_name[name]
        if joints or name == self.description.root:
            self.refuse_massless(link)
        if link.inertial is not None and not _is_massless(link.inertial):
            self.inertial(element, name, link.inertial)
        for shapes, solid in ((link.visuals, False), (link.collisions, True)):
            for shape in shapes:
                self.shape(element, shape, solid)
        for joint in self.description.joints_below[name]:
            self.chain(element, joint)
        return element

    def chain(self, above: Element, first: Joint) -> None:
        """Write the link below a joint, joining massless links on the way into it."""
        joints = [first]
        while first.kind != "fixed" and self.only_connects(joints[-1].child):
            joints.extend(self.description.joints_below[joints[-1].child])
        # pose of each joint's frame, at zero position, in the frame of the last link
        pose_in_body = np.eye(4)
        placed: list[tuple[Joint, Array]] = []
        for joint in reversed(joints):
            if joint.kind != "fixed":
                placed.append((joint, pose_in_body))
            parent_in_joint = inverse_transform(joint.transform_joint_to_parent)
            pose_in_body = pose_in_body @ parent_in_joint
        pose = inverse_transform(pose_in_body)
        self.body(above, joints[-1].child, pose, placed[::-1])

    def only_connects(self, name: str) -> bool:
        link = self.description.link_by_name[name]
        return (
            (link.inertial is None or _is_massless(link.inertial))
            and not (link.collisions or link.visuals)
            and len(self.description.joints_below[name]) == 1
        )

    def joint(self, body: Element, joint: Joint, pose_in_body: Array) -> None:
        if joint.kind not in MJCF_TYPES:
            raise self.error(
                f"joint '{joint.name}' is {joint.kind}, which cannot be expressed"
            )
        rotation, anchor = pose_in_body[:3, :3], pose_in_body[:3, 3]
        ball = joint.kind == "spherical"
        if ball and not np.allclose(rotation, np.eye(3), atol=1e-12):
            raise self.error(
                f"spherical joint '{joint.name}' above the massless link "
                f"'{joint.child}' cannot be expressed"
            )
        limited = not ball and joint.kind != "continuous"
        effort = joint.effort_limit
        self.moving.append(joint)
        add(
            body,
            "joint",
            name=joint.name,
            type=MJCF_TYPES[joint.kind],
            pos=numbers(anchor) if np.abs(anchor).max() > 1e-15 else None,
            axis=None if ball else numbers(rotation @ joint.axis),
            range=_range(joint.lower, joint.upper) if limited else None,
            damping=_unless_zero(joint.damping),
            frictionloss=_unless_zero(joint.friction),
            armature=_unless_zero(joint.armature),
            actuatorfrcrange=None if ball else _range(-effort, effort),
        )

    def inertial(self, body: Element, link: str, inertial: Inertial) -> None:
        """Write mass, centre of mass and principal moments.

        Moments and axes are computed here: MuJoCo refuses ``fullinertia`` of thin
        plates, whose A + B = C it misses by a rounding error.
        """
        where = f"{self.description.name}: link '{link}'"
        principal = principal_inertia(inertial.inertia_in_link, where)
        turned = principal.quaternion
        add(
            body,
            "inertial",
            pos=numbers(inertial.com_in_link),
            quat=None if turned is None else numbers(wxyz_from_xyzw(turned)),
            mass=repr(float(inertial.mass)),
            diaginertia=numbers(principal.moments),
        )

    def refuse_massless(self, link: Link) -> None:
        for name in self.rigidly_with(link.name):
            inertial = self.description.link_by_name[name].inertial
            if inertial is not None and inertial.mass > SMALLEST:
                moments = np.linalg.eigvalsh(inertial.inertia_in_link)
                if moments[0] > SMALLEST:
                    return
        raise self.error(
            f"moving link '{link.name}' has no mass or no rotational inertia, which "
            "cannot be expressed"
        )

    def rigidly_with(self, name: str) -> Iterator[str]:
        stack = [name]
        while stack:
            link = stack.pop()
            yield link
            below = self.description.joints_below[link]
            stack.extend(joint.child for joint in below if joint.kind == "fixed")

    def shape(self, body: Element, shape: Shape, solid: bool) -> None:
        size: str | None = None
        mesh: str | None = None
        if shape.kind != "mesh" and min(shape.size) <= 0.0:
            add_comment(body, f"{shape.kind} of size zero is left out")
            return
        match shape.kind:
            case "box":
                size = numbers(0.5 * edge for edge in shape.size)
            case "sphere":
                size = numbers(shape.size)
            case "cylinder" | "capsule":
                size = numbers((shape.size[0], 0.5 * shape.size[1]))
            case "mesh":
                if shape.mesh is None or not mujoco_reads(shape.mesh):
                    name = shape.mesh_name or shape.mesh
                    add_comment(body, f"mesh {name} is left out: MuJoCo cannot read it")
                    return
                mesh = self.mesh_asset(shape.mesh, shape.size)
        add(
            body,
            "geom",
            type=shape.kind,
            size=size,
            mesh=mesh,
            contype=None if solid else "0",
            conaffinity=None if solid else "0",
            group="3" if solid else "2",
            rgba=shape.colour and numbers(fractions_from_colour(shape.colour)),
            **_placement(shape.transform_shape_to_link),
        )

    def mesh_asset(self, file: Path, scale: tuple[float, ...]) -> str:
        key = (file.absolute(), scale)
        if key not in self.mesh_names:
            name = f"{file.stem}_{len(self.mesh_names)}"
            self.mesh_names[key] = name
            given = {"name": name, "file": str(key[0]), "scale": numbers(scale)}
            # a shell has a centre and axes even where it encloses no volume
            add(self.assets, "mesh", **given, inertia="shell")
        return self.mesh_names[key]

    def keyframes(self) -> None:
        """Write the postures, the base at the origin."""
        postures = self.description.postures
        frames = add(self.root, "keyframe") if postures else self.root
        for name, positions in postures.items():
            qpos = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
            for joint in self.moving:
                given = np.ravel(positions.get(joint.name, 0.0))
                if joint.kind == "spherical":
                    xyzw = given if joint.name in positions else [0.0, 0.0, 0.0, 1.0]
                    qpos += wxyz_from_xyzw(xyzw).tolist()
                elif joint.kind == "continuous" and len(given) == 2:
                    qpos.append(float(np.arctan2(given[1], given[0])))
                else:
                    qpos.append(float(given[0]))
            add(frames, "key", name=name, qpos=numbers(qpos))


def _placement(pose: Array) -> dict[str, str]:
    attributes = {}
    if pose[:3, 3].any():
        attributes["pos"] = numbers(pose[:3, 3])
    if (pose[:3, :3] != np.eye(3)).any():
        quaternion = quaternion_from_rotation(pose[:3, :3])
        attributes["quat"] = numbers(wxyz_from_xyzw(quaternion))
    return attributes


def _range(lower: float, upper: float) -> str | None:
    if not np.isfinite([lower, upper]).any():
        return None
    if upper <= lower:
        upper = lower + NARROWEST_RANGE * max(1.0, abs(lower))
    return numbers((lower, upper))


def _is_massless(inertial: Inertial) -> bool:
    return inertial.mass == 0.0 and not inertial.inertia_in_link.any()
