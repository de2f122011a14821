"""Writing files so that they appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from equipoise.errors import EquipoiseError


def write_text_atomically(path: Path | str, text: str) -> None:
    """Write a text file as UTF-8, line ends as they are in the text.

    Args:
        path: The file; its folder must exist. An old file is replaced.
        text: The whole content.

    Raises:
        EquipoiseError: If the folder is missing or cannot be written to.
    """
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: Path | str, content: bytes) -> None:
    """Write a file; a reader sees the old content or the new, never a part.

    A symbolic link is followed, and an old file's permissions are kept.

    Args:
        path: The file; its folder must exist. An old file is replaced.
        content: The whole content.

    Raises:
        EquipoiseError: If the folder is missing or cannot be written to.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise EquipoiseError(f"{path}: the folder '{target.parent}' does not exist")
    if target.is_dir():
        raise EquipoiseError(f"{path}: is a folder, cannot be written as a file")
    try:
        _replace(target, content)
    except OSError as error:
        raise EquipoiseError(f"{path}: cannot be written ({error.strerror})") from error


def _replace(target: Path, content: bytes) -> None:
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name[:64]}.", suffix=".part"
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    # the process has no other way to ask for it than to set it
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
