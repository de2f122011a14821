"""Where the bodies of an MJCF file are, and how their inertials are edited."""

from __future__ import annotations

import numpy as np

from equipoise.errors import RobotFileError
from equipoise.robot.description import Inertial
from equipoise.robot.formats.principal import principal_inertia, same_inertia
from equipoise.robot.formats.xml_edit import Node, XmlEditor
from equipoise.robot.formats.xml_file import numbers

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
INERTIAS = ("fullinertia", "diaginertia")
# With these, MuJoCo numbers bodies otherwise than this file's order.
RENUMBERING = ("include", "replicate", "attach", "flexcomp")
THIN = 1e-9


def body_nodes(root: Node) -> dict[str, Node]:
    """Return the bodies in this file by the names that the reader gives them.

    Unnamed bodies are ``body_{number}``, counted from 1 in file order; they are left
    out where included or repeated elements make that number uncertain.
    """
    certain = not any(root.descendants(tag) for tag in RENUMBERING)
    bodies = [
        body
        for world in root.children
        if world.tag == "worldbody"
        for body in world.descendants("body")
    ]
    nodes: dict[str, Node] = {}
    for number, body in enumerate(bodies, start=1):
        name = body.attributes.get("name", "")
        if name or certain:
            nodes[name or f"body_{number}"] = body
    return nodes


def edit_body(
    editor: XmlEditor,
    body: Node,
    name: str,
    current: Inertial | None,
    wanted: Inertial,
) -> None:
    """Write a new inertial into a body element."""
    where = f"{editor.path}: body '{name}'"
    element = body.find("inertial")
    if element is None:
        if _in_frame(body):
            raise RobotFileError(
                f"{where} has its <inertial> inside a <frame>: "
                "this cannot be rewritten in place"
            )
        inertia = " ".join(
            f'{key}="{value}"' for key, value in _inertia(wanted, where).items()
        )
        editor.insert_first(
            body,
            [
                f'<inertial pos="{numbers(wanted.com_in_link)}" '
                f'mass="{numbers([wanted.mass])}" {inertia}/>'
            ],
        )
        return
    if current is None or current.mass != wanted.mass:
        editor.set_attribute(element, "mass", numbers([wanted.mass]))
    if current is None or not np.array_equal(current.com_in_link, wanted.com_in_link):
        editor.set_attribute(element, "pos", numbers(wanted.com_in_link))
    if current is None or not same_inertia(
        current.inertia_in_link, wanted.inertia_in_link
    ):
        _edit_inertia(editor, element, _inertia(wanted, where))


def _edit_inertia(editor: XmlEditor, element: Node, new: dict[str, str]) -> None:
    """Put the new inertia where the old one was; old orientations go."""
    unplaced = dict(new)
    old = [key for key in (*INERTIAS, *ORIENTATIONS) if key in element.attributes]
    for key in old:
        if key in unplaced:
            editor.set_attribute(element, key, unplaced.pop(key))
    for key in old:
        if key in new:
            continue
        if unplaced and key in INERTIAS:
            name = next(iter(unplaced))
            editor.rename_attribute(element, key, name, unplaced.pop(name))
        else:
            editor.remove_attribute(element, key)
    for key, value in unplaced.items():
        editor.set_attribute(element, key, value)


def _inertia(wanted: Inertial, where: str) -> dict[str, str]:
    """Return the attributes for an inertia.

    It is ``fullinertia``, but principal moments and axes for thin plates and point
    masses: MuJoCo's own diagonalisation would refuse those.
    """
    inertia = wanted.inertia_in_link
    moments, quaternion = principal_inertia(inertia, where)
    if moments.min() > 0.0 and moments.sum() - 2.0 * moments.max() > (
        THIN * moments.max()
    ):
        entries = (*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
        return {"fullinertia": numbers(entries)}
    attributes = {"diaginertia": numbers(moments)}
    if quaternion is not None:
        attributes["quat"] = numbers(quaternion)
    return attributes


def _in_frame(body: Node) -> bool:
    """Whether an inertial lies in a frame of this body."""
    frames = [child for child in body.children if child.tag == "frame"]
    while frames:
        frame = frames.pop()
        if frame.find("inertial") is not None:
            return True
        frames.extend(child for child in frame.children if child.tag == "frame")
    return False
