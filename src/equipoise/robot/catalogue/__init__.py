"""The catalogue: robots that come with Equipoise, one TOML file each."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.errors import UnknownRobotError, suggest

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from equipoise.robot.description import Description


class CatalogueSummary(NamedTuple):
    """An entry in the list of robots: name, title, and source of its numbers."""

    name: str
    title: str
    source: str


def catalogue_names() -> list[str]:
    """Return the names of all robots in the catalogue, sorted."""
    return sorted(_files())


def catalogue_summary(name: str) -> CatalogueSummary:
    """Return title and source of a robot without building it."""
    table = read_catalogue_table(name)
    return CatalogueSummary(name, table["title"], table["source"])


def read_catalogue(name: str) -> tuple[Description, dict[str, Any]]:
    """Return links and joints of a robot, and its settings.

    See :func:`~equipoise.robot.formats.robot_toml.split_robot_table`.
    """
    from equipoise.robot.formats.robot_toml import split_robot_table

    return split_robot_table(read_catalogue_table(name), f"{name}.toml")


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


def _files() -> dict[str, Traversable]:
    folder = resources.files("equipoise.robot.catalogue")
    return {
        entry.name.removesuffix(".toml"): entry
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }
