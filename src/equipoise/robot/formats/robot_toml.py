"""A robot written as TOML: DH limbs or plain links and joints, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equipoise.errors import RobotFileError
from equipoise.robot.description import Description
from equipoise.robot.formats.dh import limb_settings, read_dh, read_dh_limbs
from equipoise.robot.formats.settings import load_toml
from equipoise.robot.formats.tree_toml import read_tree_toml

MODEL_KEYS = ("name", "base", "dh", "links", "joints")


def read_robot_toml(path: Path) -> tuple[Description, dict[str, Any]]:
    """Read a robot from a TOML file; its name is that of the file if none is given.

    Returns:
        Links and joints, and settings, as :func:`split_robot_table`.

    Raises:
        RobotFileError: If the file cannot be read or anything in it is wrong.
    """
    return split_robot_table({"name": path.stem} | load_toml(path), str(path))


def split_robot_table(
    table: Mapping[str, Any], source: str
) -> tuple[Description, dict[str, Any]]:
    """Read the robot of a parsed TOML file and return the rest of the file.

    Args:
        table: The file.
        source: Named in messages.

    Returns:
        The robot's links and joints, and its settings: title, source, assumptions
        and the sections that a sidecar file may have. Limbs of a DH robot are in
        the settings as if they had been written there.

    Raises:
        RobotFileError: If there is no robot in it, or anything in it is wrong.
    """
    settings = {key: value for key, value in table.items() if key not in MODEL_KEYS}
    if "dh" in table:
        description = read_dh(table, source)
        limbs = limb_settings(read_dh_limbs(table, source).values())
        if isinstance(given := settings.get("limbs", {}), dict):
            settings["limbs"] = limbs | given
        return description, settings
    if "links" in table:
        return read_tree_toml(table, source), settings
    raise RobotFileError(f"{source}: holds no robot: neither [dh.LIMB] nor [[links]]")
