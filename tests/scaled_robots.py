"""The same robot in other sizes and weights."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import equipoise as eq
from equipoise.robot.formats.export import to_urdf

SHAPES = ("box", "cylinder", "sphere", "capsule")


def scaled_robot(
    robot: eq.Robot, folder: Path, *, length: float = 1.0, mass: float = 1.0
) -> eq.Robot:
    """Return a robot with all lengths and all masses multiplied.

    Inertias, torque limits and speed limits are multiplied as dimensions ask for under
    the same gravity. Joints that slide keep their limits.
    """
    root = ElementTree.fromstring(to_urdf(robot.description))
    for element in root.iter():
        if element.tag == "origin" and "xyz" in element.attrib:
            _multiply(element, length, "xyz")
        elif element.tag == "mass":
            _multiply(element, mass)
        elif element.tag == "inertia":
            _multiply(element, mass * length**2)
        elif element.tag in SHAPES:
            _multiply(element, length)
        elif element.tag == "limit":
            _multiply(element, mass * length, "effort")
            _multiply(element, length**-0.5, "velocity")
    path = folder / f"scaled_{length:.4g}_{mass:.4g}.urdf"
    path.write_text(ElementTree.tostring(root, encoding="unicode"), encoding="utf-8")
    return eq.load(path)


def _multiply(element: ElementTree.Element, factor: float, *names: str) -> None:
    for name in names or tuple(element.attrib):
        if name in element.attrib:
            values = [factor * float(value) for value in element.attrib[name].split()]
            element.attrib[name] = " ".join(map(repr, values))
