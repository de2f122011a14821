"""From a catalogue name or a file to a :class:`~equipoise.robot.model.Robot`."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.errors import RobotFileError, UnknownRobotError
from equipoise.robot.assemble import assemble
from equipoise.robot.catalogue import catalogue_names, read_catalogue
from equipoise.robot.description import Description
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.robot_toml import read_robot_toml
from equipoise.robot.formats.settings import (
    Settings,
    load_toml,
    parse_settings,
    read_sidecar,
)
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.model import Robot

FILE_ENDINGS = (".urdf", ".xml", ".mjcf", ".toml")


def load(source: str | os.PathLike[str], settings: str | Path | None = None) -> Robot:
    """Load a biped.

    Limbs, soles and the standing posture are detected; a TOML beside the file (see
    :mod:`equipoise.robot.formats.settings`) overrides what is detected.

    Args:
        source: A name from the catalogue, or a path to a URDF, MJCF or DH file.
        settings: A further settings file, which overrides the one beside the robot.

    Raises:
        EquipoiseError: If anything is wrong with the input; its message says what.
    """
    text = _as_text(source)
    path = Path(text) if _is_path(text) else None
    if path is not None:
        description, own = _read_file(path)
    else:
        description, table = read_catalogue(text)
        own = parse_settings(table, f"catalogue ({text})")
    if settings is not None:
        further = parse_settings(load_toml(Path(settings)), str(settings))
        own = own.overridden_by(further)
    return assemble(description, own, path)


def _as_text(source: object) -> str:
    text = os.fspath(source) if isinstance(source, os.PathLike) else source
    if not isinstance(text, str):
        raise UnknownRobotError(
            f"a robot is named by a text or a path, not by {type(source).__name__}"
        )
    if not text.strip() or "\0" in text:
        raise UnknownRobotError(f"{text!r} is neither a catalogue robot nor a file")
    return text


def _is_path(text: str) -> bool:
    if text in catalogue_names():
        return False
    separators = {os.sep, os.altsep or os.sep}
    if separators & set(text) or text.lower().endswith(FILE_ENDINGS):
        return True
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # longer than any file name can be
        return False


def _read_file(path: Path) -> tuple[Description, Settings]:
    if path.suffix.lower() == ".toml":
        description, table = read_robot_toml(path)
        return description, parse_settings(table, str(path))
    root = parse_xml(read_bytes(path), path)
    if root.tag == "robot":
        return read_urdf(root, path), read_sidecar(path)
    if root.tag == "mujoco":
        return read_mjcf(root, path), read_sidecar(path)
    raise RobotFileError(
        f"{path}: starts with <{root.tag}>; a URDF starts with <robot>, "
        "an MJCF file with <mujoco>"
    )
