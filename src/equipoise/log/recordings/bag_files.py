"""Which files a ROS 2 bag is made of."""

from __future__ import annotations

import re
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.log.folder import FILES
from equipoise.log.mcap_format.mcap_file import LOG_NAME

METADATA = "metadata.yaml"
BAG_ENDINGS = (".mcap", ".db3")
PACKED = ".zstd"
UNPACK = "unpack it (ros2 bag convert, or zstd -d)"


def check_there(path: Path) -> None:
    """Refuse a path at which nothing is.

    Raises:
        EquipoiseError: If there is neither file nor folder.
    """
    try:
        there = path.exists()
    except (OSError, ValueError):  # longer than any name can be
        there = False
    if not there:
        raise EquipoiseError(f"{path}: no such file or folder")


def bag_files(path: Path) -> list[Path]:
    """Return the files of a bag in order.

    Raises:
        EquipoiseError: If there are none, or they are compressed as a whole.
    """
    check_there(path)
    if not path.is_dir():
        _check_file(path)
        return [path]
    if any((path / name).is_file() for name in FILES):
        raise EquipoiseError(f"{path}: is no folder of a run: it has no {LOG_NAME}")
    metadata = path / METADATA
    files = _listed(metadata) if metadata.is_file() else []
    if not files:
        inside = [p for p in path.iterdir() if p.name.endswith(_endings())]
        files = sorted(inside, key=_natural)
    if not files:
        raise EquipoiseError(
            f"{path}: is no folder of a run, nor of a ROS 2 bag: it has neither "
            f"{LOG_NAME} nor {METADATA} nor any file that ends in "
            f"{' or '.join(BAG_ENDINGS)}"
        )
    for file in files:
        _check_file(file)
    return files


def _listed(metadata: Path) -> list[Path]:
    """Return the files that a bag's metadata names; it is YAML of one known form."""
    try:
        text = metadata.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EquipoiseError(f"{metadata}: cannot be read ({error})") from error
    if re.search(r"^\s*compression_mode:\s*['\"]?message\b", text, re.M | re.I):
        raise EquipoiseError(f"{metadata.parent}: its messages are packed; {UNPACK}")
    block = re.search(r"^\s*relative_file_paths:[ \t]*\n((?:\s*-.*\n?)+)", text, re.M)
    lines = block.group(1).splitlines() if block else []
    names = [line.strip().removeprefix("-").strip().strip("'\"") for line in lines]
    # older bags name their own folder as well
    return [metadata.parent / Path(name).name for name in names if name]


def _check_file(file: Path) -> None:
    if file.name.endswith(PACKED):
        raise EquipoiseError(f"{file}: is packed as a whole; {UNPACK}")
    if not file.is_file():
        raise EquipoiseError(f"{file}: no such file or folder")
    if file.suffix.lower() not in BAG_ENDINGS:
        raise EquipoiseError(
            f"{file}: is no log; logs are .mcap, .db3 and .csv files, folders of ROS 2 "
            "bags, and folders of runs"
        )


def _endings() -> tuple[str, ...]:
    return (*BAG_ENDINGS, *(f"{ending}{PACKED}" for ending in BAG_ENDINGS))


def _natural(file: Path) -> list[str | int]:
    """Order bag_2 before bag_10."""
    parts = re.split(r"(\d+)", file.name)
    return [int(part) if part.isdigit() else part for part in parts]
