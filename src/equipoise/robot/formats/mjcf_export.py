"""A Description as a new MJCF document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.errors import ExportError
from equipoise.robot.description import (
    Description,
    Joint,
    Link,
    Shape,
    fractions_from_colour,
)
from equipoise.robot.formats.xml_file import (
    add,
    add_comment,
    document,
    numbers,
    unless_zero,
)
from equipoise.robot.inertias import Inertial, principal_inertia
from equipoise.robot.mesh import mujoco_reads
from equipoise.rotations import (
    inverse_transform,
    quaternion_from_rotation,
    wxyz_from_xyzw,
)

MJCF_TYPES = {
    **{"revolute": "hinge", "continuous": "hinge"},
    **{"prismatic": "slide", "spherical": "ball"},
}
SMALLEST = 1e-15  # mjMINVAL: masses and moments of moving bodies must be larger
STANDING = "standing"
LINK_CLASS = "link"
ORIGIN = frozen_array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
NARROWEST_RANGE = 1e-12  # MuJoCo wants upper limits above lower ones


@dataclass(frozen=True)
class MjcfActuator:
    """An actuator of a joint in an MJCF file: a motor, or a servo if it is stiff.

    Attributes:
        joint: Joint name.
        force_limit: Largest torque or force [Nm or N]; infinite: none is written.
        stiffness: Of a position servo [Nm/rad or N/m]; zero: a motor.
        damping: Of a position servo [Nm s/rad or N s/m].
        holding: What holds the standing posture [Nm or N]; a servo's target is moved
            by this over its stiffness in the keyframe, so that it stands at once.
    """

    joint: str
    force_limit: float
    stiffness: float = 0.0
    damping: float = 0.0
    holding: float = 0.0


class Keyframe(NamedTuple):
    """A configuration: position and quaternion xyzw of the base, joints by name."""

    base: Array
    positions: Mapping[str, ArrayLike]


def to_mjcf(
    description: Description,
    *,
    actuators: Sequence[MjcfActuator] = (),
    keyframes: Mapping[str, Keyframe] | None = None,
    mesh_file: Callable[[str, Path], str] | None = None,
) -> str:
    """Write a robot as MJCF, its base floating freely, without floor.

    Massless links without shapes between two joints are joined into the link below,
    as a body with several joints. Speed limits are not written: MJCF has none.
    Meshes that MuJoCo cannot read are left out with a comment.

    Args:
        description: The robot.
        actuators: Actuators of joints of one degree of freedom; none by default. With
            them links touch the world but not each other, by the default of their
            geoms' class.
        keyframes: Configurations by name; the postures of the description, the base at
            the origin, by default.
        mesh_file: Gets name and file of a mesh, and returns how the document names its
            file; by its absolute path by default.

    Returns:
        The document, numbers in full precision.

    Raises:
        ExportError: For helical joints, floating joints below the base, moving links
            without mass or inertia.
        RobotFileError: For inertias that no rigid body has.
    """
    if keyframes is None:
        postures = description.postures.items()
        keyframes = {name: Keyframe(ORIGIN, joints) for name, joints in postures}
    writer = _MjcfWriter(description, mesh_file or _absolute, bool(actuators))
    writer.actuators(actuators)
    writer.keyframes(keyframes, actuators)
    return document(writer.root)


def _absolute(name: str, file: Path) -> str:
    return str(file.absolute())


class _MjcfWriter:
    """Builds the document body by body."""

    def __init__(
        self,
        description: Description,
        mesh_file: Callable[[str, Path], str],
        actuated: bool,
    ) -> None:
        self.description, self.mesh_file = description, mesh_file
        self.actuated = actuated
        self.root = Element("mujoco", model=description.name)
        off = dict.fromkeys(("inertiafromgeom", "balanceinertia"), "false")
        bounds = {"boundmass": "0", "boundinertia": "0"}
        add(self.root, "compiler", angle="radian", autolimits="true", **off, **bounds)
        if actuated:
            # links touch the world, not each other: hulls of meshes overlap
            own = add(add(self.root, "default"), "default", **{"class": LINK_CLASS})
            add(own, "geom", contype="0", conaffinity="1")
        self.assets = add(self.root, "asset")
        self.mesh_names: dict[tuple[Path, tuple[float, ...]], str] = {}
        self.moving: list[Joint] = []
        base = self.body(add(self.root, "worldbody"), description.root, np.eye(4), [])
        base.insert(0, Element("freejoint"))
        if actuated:
            base.set("childclass", LINK_CLASS)

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
        # zero is no limit of an actuator, but one that a file does not have
        effort = joint.effort_limit or (np.inf if self.actuated else 0.0)
        self.moving.append(joint)
        add(
            body,
            "joint",
            name=joint.name,
            type=MJCF_TYPES[joint.kind],
            pos=numbers(anchor) if np.abs(anchor).max() > 1e-15 else None,
            axis=None if ball else numbers(rotation @ joint.axis),
            range=_range(joint.lower, joint.upper) if limited else None,
            damping=unless_zero(joint.damping),
            frictionloss=unless_zero(joint.friction),
            armature=unless_zero(joint.armature),
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
            named = self.mesh_file(name, file)
            given = {"name": name, "file": named, "scale": numbers(scale)}
            # a shell has a centre and axes even where it encloses no volume
            add(self.assets, "mesh", **given, inertia="shell")
        return self.mesh_names[key]

    def actuators(self, given: Sequence[MjcfActuator]) -> None:
        """Write motors and servos, named as their joints."""
        if not given:
            return
        if any(actuator.stiffness for actuator in given):
            # servos' damping is integrated implicitly
            add(self.root, "option", integrator="implicitfast")
        actuators = add(self.root, "actuator")
        moving = {joint.name: joint for joint in self.moving}
        for actuator in given:
            limit, stiffness = actuator.force_limit, actuator.stiffness
            force = _range(-limit, limit)
            named = {"name": actuator.joint, "joint": actuator.joint}
            if not stiffness:
                add(actuators, "motor", **named, ctrlrange=force, forcerange=force)
                continue
            # beyond this the torque is at its limit anyway
            reach, joint = limit / stiffness, moving[actuator.joint]
            turns = joint.kind == "continuous"
            lower, upper = joint.lower - reach, joint.upper + reach
            add(
                actuators,
                "position",
                **named,
                kp=repr(float(stiffness)),
                kv=repr(float(actuator.damping)),
                ctrlrange=None if turns else _range(lower, upper),
                forcerange=force,
            )

    def keyframes(
        self, keyframes: Mapping[str, Keyframe], actuators: Sequence[MjcfActuator]
    ) -> None:
        """Write configurations, and the targets with which servos hold them."""
        frames = add(self.root, "keyframe") if keyframes else self.root
        for name, frame in keyframes.items():
            joints = {j.name: self.in_mujoco(j, frame.positions) for j in self.moving}
            qpos = [*frame.base[:3], *wxyz_from_xyzw(frame.base[3:])]
            for values in joints.values():
                qpos += values
            control = [
                joints[item.joint][0]
                + (item.holding / item.stiffness if name == STANDING else 0.0)
                if item.stiffness
                else 0.0
                for item in actuators
            ]
            servos = any(item.stiffness for item in actuators)
            add(
                frames,
                "key",
                name=name,
                qpos=numbers(qpos),
                ctrl=numbers(control) if servos else None,
            )

    def in_mujoco(
        self, joint: Joint, positions: Mapping[str, ArrayLike]
    ) -> list[float]:
        """Return the entries of qpos of a joint."""
        given = np.ravel(positions.get(joint.name, 0.0))
        if joint.kind == "spherical":
            xyzw = given if joint.name in positions else ORIGIN[3:]
            return [float(value) for value in wxyz_from_xyzw(xyzw)]
        if joint.kind == "continuous" and len(given) == 2:
            return [float(np.arctan2(given[1], given[0]))]
        return [float(given[0])]


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
