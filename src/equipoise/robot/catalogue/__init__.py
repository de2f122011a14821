"""The catalogue: robots that come with Equipoise, one TOML file each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from equipoise.errors import RobotFileError, UnknownRobotError, suggest

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from equipoise.robot.description import Description

MODEL_KEYS = ("name", "base", "dh", "links", "joints")


@dataclass(frozen=True)
class CatalogueSummary:
    """What a list of robots says of one.

    Attributes:
        name: Catalogue name.
        title: One line.
        source: Where the figures come from.
    """

    name: str
    title: str
    source: str


def catalogue_names() -> list[str]:
    """Return the names of all robots in the catalogue, sorted."""
    return sorted(_files())


def catalogue_summary(name: str) -> CatalogueSummary:
    """Return title and source of a robot without building it.

    Raises:
        UnknownRobotError: If there is no such robot.
    """
    table = read_catalogue_table(name)
    return CatalogueSummary(name, table["title"], table["source"])


def read_catalogue(name: str) -> tuple[Description, dict[str, Any]]:
    """Read a robot of the catalogue.

    Returns:
        The robot's links and joints, and its settings: title, source, assumptions
        and the sections that a sidecar file may have. Limbs of a DH robot are in
        the settings as if they had been written there.

    Raises:
        UnknownRobotError: If there is no such robot.
    """
    return _split(read_catalogue_table(name), f"{name}.toml")


def read_description(path: Path) -> tuple[Description, dict[str, Any]]:
    """Read a robot from a TOML file of DH limbs or of plain links and joints.

    Returns:
        Links and joints, and settings, as :func:`read_catalogue`.

    Raises:
        RobotFileError: If the file cannot be read or anything in it is wrong.
    """
    from equipoise.robot.formats.settings import load_toml

    return _split({"name": path.stem} | load_toml(path), str(path))


def read_catalogue_table(name: str) -> dict[str, Any]:
    """Return a robot's file as parsed TOML.

    Raises:
        UnknownRobotError: If there is no such robot.
    """
    files = _files()
    if name not in files:
        names = sorted(files)
        raise UnknownRobotError(
            f"'{name}' is neither a file nor in the catalogue{suggest(name, names)}; "
            f"the catalogue holds {', '.join(names)}"
        )
    return tomllib.loads(files[name].read_text(encoding="utf-8"))


def _split(table: dict[str, Any], source: str) -> tuple[Description, dict[str, Any]]:
    """Return the robot of a file and the rest of the file."""
    from equipoise.robot.formats.dh import limb_settings, read_dh, read_dh_limbs
    from equipoise.robot.formats.tree_toml import read_tree_toml

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


def _files() -> dict[str, Traversable]:
    folder = resources.files("equipoise.robot.catalogue")
    return {
        entry.name.removesuffix(".toml"): entry
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }
