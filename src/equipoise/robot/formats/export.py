"""A Description as a new URDF document."""

from __future__ import annotations

import sys
from xml.etree.ElementTree import Element

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.description import (
    Description,
    Joint,
    Link,
    Shape,
    fractions_from_colour,
)
from equipoise.robot.formats.xml_file import add, document, numbers, unless_zero
from equipoise.robot.inertias import INERTIA_ENTRIES
from equipoise.rotations import rpy_from_rotation

ALWAYS_LIMITED = ("revolute", "prismatic")


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
            armature=unless_zero(joint.armature),
        )


def _add_origin(element: Element, pose: Array) -> None:
    rpy = numbers(rpy_from_rotation(pose[:3, :3]))
    add(element, "origin", xyz=numbers(pose[:3, 3]), rpy=rpy)


def _finite(value: float) -> float:
    largest = sys.float_info.max
    return min(max(float(value), -largest), largest)
