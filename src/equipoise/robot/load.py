"""From a catalogue name or a file to a :class:`~equipoise.robot.model.Robot`."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path

from equipoise.errors import RobotFileError, UnknownRobotError, suggest
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
# Modules of the package robot_descriptions, and where they say that their files are.
DESCRIPTION_NAME = re.compile(r"[A-Za-z0-9]\w*_description", re.ASCII)
DESCRIPTION_FILES = ("URDF_PATH", "MJCF_PATH")


def load(source: str | os.PathLike[str], settings: str | Path | None = None) -> Robot:
    """Load a biped.

    Limbs, soles and the standing posture are detected; a TOML beside the file (see
    :mod:`equipoise.robot.formats.settings`) overrides what is detected.

    Args:
        source: A name from the catalogue, or a path to a URDF, MJCF or DH file, or a
            name such as ``"g1_description"`` of the package robot_descriptions (extra
            ``descriptions``), which downloads it the first time.
        settings: A further settings file, which overrides the one beside the robot.

    Raises:
        EquipoiseError: If anything is wrong with the input; its message says what.
    """
    text = _as_text(source)
    path = Path(text) if _is_path(text) else None
    if path is None and _is_description(text):
        path = described_file(text)
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
        # a folder of a ROS workspace may have the name of a description
        return Path(text).exists() and not (
            Path(text).is_dir() and _is_description(text)
        )
    except (OSError, ValueError):  # longer than any file name can be
        return False


def _is_description(text: str) -> bool:
    return text not in catalogue_names() and bool(DESCRIPTION_NAME.fullmatch(text))


def described_file(name: str) -> Path:
    """Return the robot file of a module of the package robot_descriptions.

    Importing the module downloads its files where they are not there yet.

    Args:
        name: Name of the module, such as ``"g1_mj_description"``.

    Raises:
        UnknownRobotError: If the package or the module is not there, or if the module
            cannot get its files or has neither URDF nor MJCF.
    """
    try:
        package = importlib.import_module("robot_descriptions")
    except ImportError as error:
        raise UnknownRobotError(
            f"'{name}' is not a file; to load it by its name, install the package "
            "robot_descriptions: pip install 'equipoise[descriptions]'"
        ) from error
    where = "the package robot_descriptions"
    known = sorted(map(str, getattr(package, "DESCRIPTIONS", ())))
    try:
        module = importlib.import_module(f"robot_descriptions.{name}")
        files = [getattr(module, key, None) for key in DESCRIPTION_FILES]
    except Exception as error:  # of git, the network or the disk
        if getattr(error, "name", None) == f"robot_descriptions.{name}":
            raise UnknownRobotError(
                f"'{name}' is neither a file nor in {where}{suggest(name, known)}"
            ) from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UnknownRobotError(
            f"'{name}' could not be had from {where}: {reason}"
        ) from error
    found = [Path(file) for file in files if isinstance(file, str | os.PathLike)]
    if not found:
        raise UnknownRobotError(
            f"'{name}' of {where} has neither {' nor '.join(DESCRIPTION_FILES)}"
        )
    return found[0]


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
