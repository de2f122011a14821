"""A robot into a file: the user's own file with new masses, or a new document."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.atomic_file import (
    write_bytes_atomically,
    write_files_atomically,
)
from equipoise.errors import EquipoiseError, RobotFileError
from equipoise.robot.description import Description, check_inertials
from equipoise.robot.formats.export import to_mjcf, to_urdf
from equipoise.robot.formats.rewrite import rewrite_mjcf, rewrite_urdf
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.robot.parts import Actuator, Limb, Sole
from equipoise.rotations import rpy_from_rotation

Rewrite = Callable[[bytes, Mapping[str, Inertial], Path], bytes]
Export = Callable[[Description], str]


def write_urdf(
    robot: Robot,
    path: Path | str,
    source: Path | str | None = None,
    inertials: Mapping[str, Inertial] | None = None,
) -> None:
    """Write a robot as URDF, whole or not at all.

    If the robot came from a URDF file, that file is copied with nothing changed but
    inertial entries; paths in it stay as they are, so relative mesh paths hold only
    in its own folder. Any other robot is written as a new document.

    Args:
        robot: The robot.
        path: The file to write; its folder must exist.
        source: URDF file to copy instead of the robot's own.
        inertials: Mass distribution by link name; the robot's own by default.

    Raises:
        NameNotFoundError: If there is no link of a name.
        RobotFileError: If a mass or inertia is not possible, or ``source`` is no URDF.
        EquipoiseError: If the file cannot be written.
    """
    _write(robot, Path(path), "robot", source, inertials, rewrite_urdf, to_urdf)


def write_mjcf(
    robot: Robot,
    path: Path | str,
    source: Path | str | None = None,
    inertials: Mapping[str, Inertial] | None = None,
) -> None:
    """Write a robot as MJCF, whole or not at all.

    If the robot came from an MJCF file, that file is copied with nothing changed but
    inertial entries; paths in it stay as they are, so relative includes and meshes
    hold only in its own folder. Any other robot is written as a new document.

    Args:
        robot: The robot.
        path: The file to write; its folder must exist.
        source: MJCF file to copy instead of the robot's own.
        inertials: Mass distribution by link name; the robot's own by default.

    Raises:
        NameNotFoundError: If there is no link of a name.
        RobotFileError: If a mass or inertia is not possible, or ``source`` is no MJCF.
        ExportError: If a new document cannot express the robot.
        EquipoiseError: If the file cannot be written.
    """
    _write(robot, Path(path), "mujoco", source, inertials, rewrite_mjcf, to_mjcf)


def export_robot(
    robot: Robot, path: Path | str, *, replace: bool = False
) -> tuple[Path, Path]:
    """Write a robot as a new document, with its settings in a TOML beside it.

    Args:
        robot: The robot.
        path: The file to write, ending in ``.urdf``, or in ``.xml`` or ``.mjcf``.
        replace: Whether files that exist may be replaced.

    Returns:
        The robot file and the settings file.

    Raises:
        EquipoiseError: If the format does not exist or cannot express the robot, or
            the files cannot or must not be written; then none is.
    """
    path = Path(path)
    beside = path.with_suffix(".toml")
    exports: dict[str, Export] = {".urdf": to_urdf, ".xml": to_mjcf, ".mjcf": to_mjcf}
    if path.suffix.lower() not in exports:
        raise EquipoiseError(
            f"{path}: a robot is written to a file that ends in {', '.join(exports)}"
        )
    for file in (path, beside):
        if file.exists() and not replace:
            raise EquipoiseError(f"{file}: exists already; --force replaces it")
    document = exports[path.suffix.lower()](robot.description)
    settings = to_settings_toml(robot)
    write_files_atomically({path: document.encode(), beside: settings.encode()})
    return path, beside


def _write(
    robot: Robot,
    path: Path,
    root_tag: str,
    source: Path | str | None,
    inertials: Mapping[str, Inertial] | None,
    rewrite: Rewrite,
    export: Export,
) -> None:
    description = robot.description
    if inertials is None:
        inertials = {
            link.name: link.inertial
            for link in description.links
            if link.inertial is not None
        }
    check_inertials(description, inertials, robot.name)
    if source is not None:
        file: Path | None = Path(source)
        original = read_bytes(Path(source))
        if parse_xml(original, Path(source)).tag != root_tag:
            raise RobotFileError(f"{source}: is not a file with root <{root_tag}>")
    else:
        file, original = _own_source(robot, root_tag)
    if file is not None:
        content = rewrite(original, inertials, file)
    else:
        content = export(description.with_inertials(inertials)).encode()
    write_bytes_atomically(path, content)


def _own_source(robot: Robot, root_tag: str) -> tuple[Path | None, bytes]:
    """Return the robot's file and content if it is still there and of the format."""
    if robot.source is None or not robot.source.is_file():
        return None, b""
    original = read_bytes(robot.source)
    try:
        tag = parse_xml(original, robot.source).tag
    except RobotFileError:  # a table of DH parameters, not XML
        return None, b""
    return (robot.source, original) if tag == root_tag else (None, b"")


def to_settings_toml(robot: Robot) -> str:
    """Return settings with which an exported file is the same robot again.

    See :mod:`equipoise.robot.formats.settings` for the format.
    """
    rotation = pin.Quaternion(robot.standing[3:7]).toRotationMatrix()
    lines = [f"assumptions = {_texts(robot.assumptions)}"]
    lines += ["", "[orientation]"]
    lines += [f"forward = {_numbers(rotation[0])}", f"up = {_numbers(rotation[2])}"]
    for limb in robot.limbs.values():
        if limb.kind in ("leg", "arm"):
            lines += _limb(limb)
    for sole in robot.soles.values():
        lines += _sole(sole)
    for actuator in robot.actuators:
        lines += _actuator(actuator)
    for name, q in robot.postures.items():
        lines += ["", f"[postures.{_key(name)}]"]
        for joint, joint_name in zip(
            robot.model.joints, robot.model.names, strict=True
        ):
            if joint_name in ("universe", "root_joint"):
                continue
            values = q[joint.idx_q : joint.idx_q + joint.nq]
            if joint.nq == 2:  # the angle reads back for every kind of hinge
                values = np.arctan2(values[1:], values[:1])
            lines.append(f"{_key(joint_name)} = {_numbers(values)}")
    return "\n".join(lines) + "\n"


def _limb(limb: Limb) -> list[str]:
    return ["", f"[limbs.{limb.name}]", f"joints = {_texts(limb.joints)}"]


def _sole(sole: Sole) -> list[str]:
    pose = sole.transform_sole_to_link
    corners = ", ".join(_numbers(corner) for corner in sole.polygon_in_sole)
    return [
        "",
        f"[soles.{sole.side}]",
        f"link = {json.dumps(sole.link)}",
        f"xyz = {_numbers(pose[:3, 3])}",
        f"rpy = {_numbers(rpy_from_rotation(pose[:3, :3]))}",
        f"polygon = [{corners}]",
    ]


def _actuator(actuator: Actuator) -> list[str]:
    figures = {
        "rotor_inertia": actuator.rotor_inertia,
        "viscous_friction": actuator.viscous_friction,
        "coulomb_friction": actuator.coulomb_friction,
        "effort_limit": actuator.effort_limit,
        "velocity_limit": actuator.velocity_limit,
    }
    lines = [
        f"{key} = {float(value)!r}"
        for key, value in figures.items()
        if math.isfinite(value)
    ]
    return ["", f"[actuators.{_key(actuator.joint)}]", *lines]


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _texts(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _numbers(values: Array) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"
