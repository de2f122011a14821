"""The robot that a log describes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import Messages
from equipoise.log.mcap_format.mcap_writer import SETTINGS_ATTACHMENT
from equipoise.log.mcap_format.topics import ROBOT_DESCRIPTION
from equipoise.robot.assemble import assemble
from equipoise.robot.formats.settings import Settings, parse_settings
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml
from equipoise.robot.model import Robot


def described_robot(
    messages: Mapping[str, Messages], attachments: Mapping[str, bytes], file: Path
) -> Robot:
    """Return the robot that a log describes.

    Args:
        messages: The log's messages by topic.
        attachments: Its attachments by name.
        file: Where it lies, for messages and for meshes.

    Raises:
        EquipoiseError: If it describes none, or one that cannot be.
    """
    if ROBOT_DESCRIPTION not in messages:
        raise EquipoiseError(
            f"{file}: has no topic '{ROBOT_DESCRIPTION}'; name the robot that ran"
        )
    urdf = messages[ROBOT_DESCRIPTION].text("data")[0]
    return robot_of_urdf(urdf, attachments.get(SETTINGS_ATTACHMENT), file)


def robot_of_urdf(urdf: str, toml: bytes | None, file: Path) -> Robot:
    """Return the robot of a URDF that lies in a log.

    Args:
        urdf: The URDF itself.
        toml: Settings that go with it, if any.
        file: The log, for messages and for meshes.

    Raises:
        EquipoiseError: If there can be no such robot.
    """
    description = read_urdf(parse_xml(urdf.encode(), file), file)
    settings = Settings()
    if toml is not None:
        try:
            table = tomllib.loads(toml.decode())
        except ValueError as error:
            raise EquipoiseError(
                f"{file}: its {SETTINGS_ATTACHMENT} is no TOML ({error})"
            ) from error
        settings = parse_settings(table, f"{file}: {SETTINGS_ATTACHMENT}")
    return assemble(description, settings, None)
