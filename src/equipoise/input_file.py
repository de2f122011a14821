"""Input files of unknown origin: regular files only, up to a size.

Pipes and devices may never end, and a file may be larger than the memory. Every file
that a user names is opened here.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from equipoise.errors import EquipoiseError

MEGABYTE = 1_000_000
# Sets the largest size of every kind of input, in megabytes.
LIMIT_VARIABLE = "EQUIPOISE_MAX_INPUT_MB"
# Robot files, settings, footsteps and other files that people write.
LARGEST_TEXT_BYTES = 64 * MEGABYTE
# Tables of numbers: logs in CSV, height fields.
LARGEST_TABLE_BYTES = 512 * MEGABYTE
BLOCK_BYTES = 1024 * 1024


def size_limit(usual: int) -> int:
    """Return the largest size of an input [bytes].

    Args:
        usual: The limit [bytes] where the environment variable
            ``EQUIPOISE_MAX_INPUT_MB`` is not set.

    Raises:
        EquipoiseError: If the variable is not a positive number.
    """
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return usual
    try:
        megabytes = float(text)
    except ValueError:
        megabytes = 0.0
    if not 0.0 < megabytes < 1e12:
        raise EquipoiseError(
            f"{LIMIT_VARIABLE} is '{text}'; a positive number of megabytes is needed"
        )
    return int(megabytes * MEGABYTE)


def too_large(size: int, limit: int) -> str:
    """Return a sentence on an input beyond its limit, and how to raise that."""
    return (
        f"{size / MEGABYTE:.3g} MB is too large (at most {limit / MEGABYTE:.3g} MB; "
        f"the environment variable {LIMIT_VARIABLE} sets another limit)"
    )


def open_input(
    path: Path,
    largest: int | None = None,
    error: type[EquipoiseError] = EquipoiseError,
) -> BinaryIO:
    """Open a regular file for reading bytes; nothing else is ever waited for.

    Args:
        path: The file.
        largest: Usual limit of its size [bytes]; none unless given, for files that
            are read piece by piece.
        error: The error that is raised.

    Raises:
        EquipoiseError: If there is no such file, it may not be read, is not a regular
            file or is too large.
    """
    try:
        _check(path, os.stat(path), largest, error)
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        file = os.fdopen(os.open(path, flags), "rb")
        try:
            # what has the name may be another file by now
            _check(path, os.fstat(file.fileno()), largest, error)
        except BaseException:
            file.close()
            raise
    except FileNotFoundError as missing:
        raise error(f"{path}: no such file") from missing
    except (OSError, ValueError) as reason:
        raise error(f"{path}: cannot be read ({_words(reason)})") from reason
    return file


def read_input(
    path: Path, largest: int, error: type[EquipoiseError] = EquipoiseError
) -> bytes:
    """Return all of a regular file; arguments and errors are those of `open_input`."""
    limit = size_limit(largest)
    blocks: list[bytes] = []
    size = 0
    with open_input(path, largest, error) as file:
        try:
            # some files, such as those of /proc, are longer than they say
            while block := file.read(BLOCK_BYTES):
                blocks.append(block)
                size += len(block)
                if size > limit:
                    raise error(f"{path}: {too_large(size, limit)}")
        except OSError as reason:
            raise error(f"{path}: cannot be read ({_words(reason)})") from reason
    return b"".join(blocks)


def read_input_text(
    path: Path, largest: int, error: type[EquipoiseError] = EquipoiseError
) -> str:
    """Return a file in UTF-8, with or without a byte-order mark, as text."""
    try:
        return read_input(path, largest, error).decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise error(f"{path}: is not a text in UTF-8 ({reason})") from reason


def _check(
    path: Path,
    state: os.stat_result,
    largest: int | None,
    error: type[EquipoiseError],
) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise error(f"{path}: is a folder, not a file")
    if not stat.S_ISREG(state.st_mode):
        raise error(f"{path}: is not a regular file; pipes and devices are not read")
    if largest is not None and state.st_size > size_limit(largest):
        raise error(f"{path}: {too_large(state.st_size, size_limit(largest))}")


def _words(reason: Exception) -> str:
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
