"""A robot into a file: the user's own file with new masses, or a new document."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.atomic_file import (
    naming_file,
    write_bytes_atomically,
    write_files_atomically,
)
from equipoise.errors import EquipoiseError, RobotFileError
from equipoise.robot.description import Description, check_inertials
from equipoise.robot.formats.export import to_urdf
from equipoise.robot.formats.mjcf_export import Keyframe, MjcfActuator, to_mjcf
from equipoise.robot.formats.rewrite import rewrite_mjcf, rewrite_urdf
from equipoise.robot.formats.settings import ACTUATOR_KEYS
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.robot.parts import NOT_GIVEN
from equipoise.rotations import rpy_from_rotation

Rewrite = Callable[[bytes, Mapping[str, Inertial], Path], bytes]
Export = Callable[[Description], str]
MJCF_ENDINGS = (".xml", ".mjcf")


def write_urdf(
    robot: Robot,
    path: Path | str,
    source: Path | str | None = None,
    inertials: Mapping[str, Inertial] | None = None,
) -> None:
    """Write a robot as URDF, whole or not at all.

    If the robot came from a URDF file, that file is copied with nothing changed but
    inertial entries; relative mesh paths in it hold only in its own folder. Any other
    robot is written as a new document.

    Args:
        robot: The robot.
        path: The file to write; its folder must exist.
        source: URDF file to copy instead of the robot's own.
        inertials: Mass distribution by link name; the robot's own by default.

    Raises:
        NameNotFoundError: If there is no link of a name.
        RobotFileError: If a mass or inertia is not possible, or ``source`` is not
            a URDF file.
        EquipoiseError: If the file cannot be written.
    """
    _write(robot, Path(path), "robot", source, inertials, rewrite_urdf, to_urdf)


def write_mjcf(
    robot: Robot,
    path: Path | str,
    source: Path | str | None = None,
    inertials: Mapping[str, Inertial] | None = None,
) -> None:
    """Write a robot as MJCF, in every other way as :func:`write_urdf`.

    Raises:
        ExportError: If a new document cannot express the robot.
    """
    _write(robot, Path(path), "mujoco", source, inertials, rewrite_mjcf, to_mjcf)


def export_robot(
    robot: Robot,
    path: Path | str,
    *,
    replace: bool = False,
    actuators: Sequence[MjcfActuator] | None = None,
) -> tuple[Path, Path]:
    """Write a robot as a new document, with its settings in a TOML beside it.

    MJCF has actuators, its postures as keyframes (``standing`` with both soles on
    z = 0), and copies of its meshes in the :func:`mesh_folder` beside it, so that all
    can be moved together. URDF names meshes by their absolute paths.

    Args:
        robot: What to write.
        path: The file to write, ending in ``.urdf``, or in ``.xml`` or ``.mjcf``.
        replace: Whether files that exist may be replaced.
        actuators: Of an MJCF file; motors with the robot's limits unless given.

    Returns:
        The robot file and the settings file.

    Raises:
        EquipoiseError: If the format does not exist or cannot express the robot, or
            the files cannot or must not be written; then none is.
    """
    path = Path(path)
    beside = path.with_suffix(".toml")
    ending, endings = path.suffix.lower(), (".urdf", *MJCF_ENDINGS)
    if ending not in endings:
        raise EquipoiseError(
            f"{path}: a robot is written to a file that ends in {', '.join(endings)}"
        )
    if ending not in MJCF_ENDINGS and actuators is not None:
        raise EquipoiseError(f"{path}: URDF has no actuators; MJCF has")
    if ending in MJCF_ENDINGS:
        motors = _motors(robot) if actuators is None else actuators
        document, meshes = _complete_mjcf(robot, path, motors)
    else:
        document, meshes = to_urdf(robot.description), {}
    files = {path: document.encode(), beside: to_settings_toml(robot).encode()}
    for file in (*files, *meshes):
        if file.exists() and not replace:
            raise EquipoiseError(f"{file}: exists already; replace=True replaces it")
    with _folder(mesh_folder(path), bool(meshes)):
        copies = {copy: read_bytes(mesh) for copy, mesh in meshes.items()}
        write_files_atomically({**copies, **files})
    return path, beside


def mesh_folder(path: Path) -> Path:
    """Return the folder of an exported MJCF file's meshes, if it has any."""
    return path.with_name(f"{path.stem}_meshes")


def _complete_mjcf(
    robot: Robot, path: Path, actuators: Sequence[MjcfActuator]
) -> tuple[str, dict[Path, Path]]:
    """Return a document with actuators and keyframes, and meshes by their copies."""
    folder, copies = mesh_folder(path), {}

    def mesh_file(name: str, file: Path) -> str:
        copy = folder / f"{name}{file.suffix}"
        copies[copy] = file
        return f"{folder.name}/{copy.name}"

    joints = list(zip(robot.model.names, robot.model.joints, strict=True))[2:]
    keyframes = {
        name: Keyframe(q[:7], {own: q[j.idx_q : j.idx_q + j.nq] for own, j in joints})
        for name, q in robot.postures.items()
    }
    document = to_mjcf(
        robot.description,
        actuators=actuators,
        keyframes=keyframes,
        mesh_file=mesh_file,
    )
    return document, copies


def _motors(robot: Robot) -> list[MjcfActuator]:
    return [
        MjcfActuator(actuator.joint, actuator.effort_limit or math.inf)
        for actuator in robot.actuators
    ]


@contextmanager
def _folder(folder: Path, wanted: bool) -> Iterator[None]:
    """Make a folder if it is wanted; it is gone again if what is done there fails."""
    made = wanted and not folder.exists()
    if made:
        with naming_file(folder):
            folder.mkdir()
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):
                folder.rmdir()
        raise


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
        if parse_xml(read_bytes(Path(source)), Path(source)).tag != root_tag:
            raise RobotFileError(f"{source}: is not a file with root <{root_tag}>")
    else:
        file = robot.source if _own_file_is(robot, root_tag) else None
    if file is not None:
        content = rewrite(read_bytes(file), inertials, file)
    else:
        content = export(description.with_inertials(inertials)).encode()
    write_bytes_atomically(path, content)


def _own_file_is(robot: Robot, root_tag: str) -> bool:
    """Whether the robot's file is still there and of the format."""
    if robot.source is None or not robot.source.is_file():
        return False
    original = read_bytes(robot.source)
    try:
        return parse_xml(original, robot.source).tag == root_tag
    except RobotFileError:  # a TOML file, not XML
        return False


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
            lines += ["", f"[limbs.{limb.name}]", f"joints = {_texts(limb.joints)}"]
    for sole in robot.soles.values():
        pose = sole.transform_sole_to_link
        corners = ", ".join(_numbers(corner) for corner in sole.polygon_in_sole)
        lines += ["", f"[soles.{sole.side}]", f"link = {json.dumps(sole.link)}"]
        lines.append(f"xyz = {_numbers(pose[:3, 3])}")
        lines.append(f"rpy = {_numbers(rpy_from_rotation(pose[:3, :3]))}")
        lines.append(f"polygon = [{corners}]")
    for actuator in robot.actuators:
        lines += ["", f"[actuators.{_key(actuator.joint)}]"]
        parameters = {key: float(getattr(actuator, key)) for key in ACTUATOR_KEYS}
        lines += [f"{k} = {v!r}" for k, v in parameters.items() if math.isfinite(v)]
        if actuator.torque_constant is not None:
            lines.append(f"torque_constant = {float(actuator.torque_constant)!r}")
        if actuator.gear_ratio != 1.0:
            lines.append(f"gear_ratio = {float(actuator.gear_ratio)!r}")
        if actuator.origins["command"] != NOT_GIVEN:
            lines.append(f'command = "{actuator.command}"')
    text = "\n".join(lines) + "\n"
    for name, q in robot.postures.items():
        text += f"\n{posture_toml(robot, name, q)}"
    return text


def posture_toml(robot: Robot, name: str, q: Array) -> str:
    """Return settings with which a robot has one more posture.

    Args:
        robot: The robot.
        name: Name of the posture.
        q: Configuration whose joints are written, shape (nq,); the base follows from
            the soles when it is read.
    """
    lines = [f"[postures.{_key(name)}]"]
    for joint, joint_name in zip(robot.model.joints, robot.model.names, strict=True):
        if joint_name in ("universe", "root_joint"):
            continue
        values = q[joint.idx_q : joint.idx_q + joint.nq]
        if joint.nq == 2:  # the angle reads back for every kind of hinge
            values = np.arctan2(values[1:], values[:1])
        lines.append(f"{_key(joint_name)} = {_numbers(values)}")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _texts(values: Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _numbers(values: Array) -> str:
    return "[" + ", ".join(repr(float(value)) for value in values) + "]"
