"""``equipoise identify --export``: files for other programs beside the robot's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.identification.identified import Identified

MJCF_NAME = "identified.xml"


def export_files(
    kinds: Sequence[str], robot_file: str, out: Path | None
) -> tuple[str, ...]:
    """Return the names of the files that are written.

    Raises:
        EquipoiseError: If there is no folder for them, or the robot's own file is MJCF.
    """
    from equipoise.errors import EquipoiseError
    from equipoise.identification.randomisation_files import EXPORT_FILES

    if kinds and out is None:
        raise EquipoiseError("--export writes files: --out DIR is needed")
    if "mjcf" in kinds and robot_file == MJCF_NAME:
        raise EquipoiseError(
            "--export mjcf: the robot's file is MJCF, and so is the corrected one"
        )
    names: dict[str, str] = {**EXPORT_FILES, "mjcf": MJCF_NAME}
    return tuple(dict.fromkeys(names[kind] for kind in kinds))


def write_exports(
    found: Identified, kinds: Sequence[str], folder: Path, robot_file: str
) -> None:
    """Write the files into a folder that holds the corrected robot already."""
    from equipoise.atomic_file import write_text_atomically
    from equipoise.identification.randomisation_files import EXPORT_FILES

    for kind in dict.fromkeys(kinds):
        if kind == "mjcf":
            found.robot.write_mjcf(folder / MJCF_NAME)
            continue
        text = found.export(kind, robot_file=folder / robot_file)
        write_text_atomically(folder / EXPORT_FILES[kind], text)
