"""A robot into a file: the user's own file with new masses, or a new document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from equipoise.atomic_file import (
    write_bytes_atomically,
    write_files_atomically,
)
from equipoise.errors import EquipoiseError, RobotFileError
from equipoise.robot.description import Description, Inertial
from equipoise.robot.formats.export_mjcf import to_mjcf
from equipoise.robot.formats.export_urdf import to_urdf
from equipoise.robot.formats.rewrite import rewrite_mjcf, rewrite_urdf
from equipoise.robot.formats.settings_text import to_settings_toml
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.model import Robot
from equipoise.robot.tree import check_inertials

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
