"""New masses in a user's own robot file, every other byte kept.

Comments, white space, the order of attributes, quotes, line ends and encoding stay.
Values that are already right are not written again, so that rewriting a file with
its own inertials returns it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, RobotFileError
from equipoise.robot.description import Description
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import Node, XmlEditor, numbers, parse_xml
from equipoise.robot.inertias import (
    INERTIA_ENTRIES,
    SAME_INERTIA,
    Inertial,
    check_inertial,
    principal_inertia,
    same_inertia,
)
from equipoise.rotations import rotation_from_rpy, wxyz_from_xyzw

WRITTEN_INERTIA = 1e-9  # relative to the largest entry, once MuJoCo diagonalised it
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
INERTIAS = ("fullinertia", "diaginertia")
# With these, MuJoCo numbers bodies otherwise than this file's order.
RENUMBERING = ("include", "replicate", "attach", "flexcomp")
THIN = 1e-9


def rewrite_urdf(
    original: bytes, inertials: Mapping[str, Inertial], path: Path = Path("robot.urdf")
) -> bytes:
    """Change the inertial entries of some links of a URDF file.

    The rotation of an inertial origin is kept; the new inertia is written in it.

    Args:
        original: The file's content.
        inertials: New mass distribution by link name; other links stay.
        path: The file's path: for messages.

    Returns:
        The new content.

    Raises:
        NameNotFoundError: If there is no link of a name.
        RobotFileError: If the file is not a URDF in UTF-8, or an inertial is not
            possible.
        EquipoiseError: If the result does not read back as wanted.
    """
    return _rewrite(original, inertials, path, read_urdf, _link_nodes, _edit_link)


def rewrite_mjcf(
    original: bytes, inertials: Mapping[str, Inertial], path: Path = Path("robot.xml")
) -> bytes:
    """Change the inertial entries of some bodies of an MJCF file.

    Changed inertias are written as ``fullinertia``; a body whose inertia MuJoCo
    infers from its geoms gets an ``<inertial>`` only if it changes.

    Arguments and errors are those of :func:`rewrite_urdf`.

    Raises:
        RobotFileError: Also if MuJoCo refuses the file or a body comes from another.
    """
    return _rewrite(original, inertials, path, read_mjcf, _body_nodes, _edit_body)


def _rewrite(
    original: bytes,
    inertials: Mapping[str, Inertial],
    path: Path,
    read: Callable[[Element, Path], Description],
    find_nodes: Callable[[Node], dict[str, Node]],
    edit: Callable[[XmlEditor, Node, str, Inertial | None, Inertial], None],
) -> bytes:
    for name, inertial in inertials.items():
        check_inertial(inertial, f"{path}: link '{name}'")
    before = read(parse_xml(original, path), path)
    editor = XmlEditor(original, path)
    nodes = find_nodes(editor.root)
    # a URDF's massless world above a floating joint is a node, but not read as a link
    known = nodes if read is read_urdf else before.link_by_name
    for name, wanted in inertials.items():
        if name not in known:
            raise NameNotFoundError("link", name, known, str(path))
        current = _inertial_of(before, name)
        if _same_inertial(current, wanted):
            continue
        if name not in nodes:
            raise RobotFileError(
                f"{path}: link '{name}' is not written in this file (it comes from "
                "an include, a copy or a joint), its inertial cannot be changed here"
            )
        edit(editor, nodes[name], name, current, wanted)
    content = editor.result()
    if content != original:
        try:
            after = read(parse_xml(content, path), path)
        except RobotFileError as error:
            raise EquipoiseError(f"the new inertials are refused: {error}") from error
        _verify(before, after, inertials, path)
    return content


def _same_inertial(
    one: Inertial | None, other: Inertial | None, tolerance: float = SAME_INERTIA
) -> bool:
    """Whether two inertials are equal, the inertia but for rounding."""
    if one is None or other is None:
        return one is other
    return (
        one.mass == other.mass
        and np.array_equal(one.com_in_link, other.com_in_link)
        and same_inertia(one.inertia_in_link, other.inertia_in_link, tolerance)
    )


def _inertial_of(description: Description, name: str) -> Inertial | None:
    link = description.link_by_name.get(name)
    return None if link is None else link.inertial


def _link_nodes(root: Node) -> dict[str, Node]:
    links = (node for node in root.children if node.tag == "link")
    return {link.attributes.get("name", ""): link for link in links}


def _edit_link(
    editor: XmlEditor, link: Node, _: str, current: Inertial | None, wanted: Inertial
) -> None:
    """Write a new inertial into a link element."""
    element = link.find("inertial")
    if element is None or current is None:
        lines = ("  " + line for line in _inertial_lines(wanted))
        editor.insert_first(link, ["<inertial>", *lines, "</inertial>"])
        return
    origin, mass, inertia = (element.find(tag) for tag in ("origin", "mass", "inertia"))
    missing: list[str] = []
    rpy = "0 0 0" if origin is None else origin.attributes.get("rpy", "0 0 0")
    if not np.array_equal(current.com_in_link, wanted.com_in_link):
        if origin is None:
            missing.append(_inertial_lines(wanted)[0])
        else:
            editor.set_attribute(origin, "xyz", numbers(wanted.com_in_link))
    if mass is not None and current.mass != wanted.mass:
        editor.set_attribute(mass, "value", numbers([wanted.mass]))
    if not same_inertia(current.inertia_in_link, wanted.inertia_in_link):
        rotation = rotation_from_rpy([float(word) for word in rpy.split()])
        local = rotation.T @ wanted.inertia_in_link @ rotation
        rounding = SAME_INERTIA * float(np.abs(wanted.inertia_in_link).max())
        if inertia is None:
            missing.append(_inertia_line(local))
        else:
            for key, row, column in INERTIA_ENTRIES:
                value = float(local[row, column])
                if abs(float(inertia.attributes.get(key, "0")) - value) > rounding:
                    editor.set_attribute(inertia, key, numbers([value]))
    if missing:
        editor.insert_first(element, missing)


def _inertial_lines(inertial: Inertial) -> list[str]:
    return [
        f'<origin xyz="{numbers(inertial.com_in_link)}" rpy="0 0 0"/>',
        f'<mass value="{numbers([inertial.mass])}"/>',
        _inertia_line(inertial.inertia_in_link),
    ]


def _inertia_line(inertia: Array) -> str:
    entries = (f'{key}="{numbers([inertia[i, j]])}"' for key, i, j in INERTIA_ENTRIES)
    return f"<inertia {' '.join(entries)}/>"


def _verify(
    before: Description,
    after: Description,
    inertials: Mapping[str, Inertial],
    path: Path,
) -> None:
    """Check that the new file holds the wanted inertials and the old others."""
    for name in after.link_by_name:
        wanted = inertials.get(name, _inertial_of(before, name))
        found = _inertial_of(after, name)
        if not _same_inertial(found, wanted, WRITTEN_INERTIA):
            raise EquipoiseError(
                f"{path}: the inertial of link '{name}' does not read back as "
                "written; in MJCF, the compiler settings inertiafromgeom, "
                "settotalmass, boundmass, boundinertia and balanceinertia change "
                "what is written"
            )


def _body_nodes(root: Node) -> dict[str, Node]:
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


def _edit_body(
    editor: XmlEditor, body: Node, name: str, current: Inertial | None, wanted: Inertial
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
        given = {"pos": numbers(wanted.com_in_link), "mass": numbers([wanted.mass])}
        given |= _mjcf_inertia(wanted, where)
        entries = " ".join(f'{key}="{value}"' for key, value in given.items())
        editor.insert_first(body, [f"<inertial {entries}/>"])
        return
    if current is None or current.mass != wanted.mass:
        editor.set_attribute(element, "mass", numbers([wanted.mass]))
    if current is None or not np.array_equal(current.com_in_link, wanted.com_in_link):
        editor.set_attribute(element, "pos", numbers(wanted.com_in_link))
    if current is None or not same_inertia(
        current.inertia_in_link, wanted.inertia_in_link
    ):
        _edit_mjcf_inertia(editor, element, _mjcf_inertia(wanted, where))


def _edit_mjcf_inertia(editor: XmlEditor, element: Node, new: dict[str, str]) -> None:
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


def _mjcf_inertia(wanted: Inertial, where: str) -> dict[str, str]:
    """Return the attributes for an inertia.

    It is ``fullinertia``, but principal moments and axes for thin plates and point
    masses: MuJoCo's own diagonalisation would refuse those.
    """
    inertia = wanted.inertia_in_link
    moments, quaternion = principal_inertia(inertia, where)
    slack = moments.sum() - 2.0 * moments.max()
    if moments.min() > 0.0 and slack > THIN * moments.max():
        entries = (*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
        return {"fullinertia": numbers(entries)}
    attributes = {"diaginertia": numbers(moments)}
    if quaternion is not None:
        attributes["quat"] = numbers(wxyz_from_xyzw(quaternion))
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
