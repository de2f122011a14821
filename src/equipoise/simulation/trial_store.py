"""Results of many trials in one file, each on the disk as soon as it is known.

The first line says what the trials belong to, each further line is a result, all JSON.
Whoever is killed loses what was not finished: a last line without an end is dropped
when the file is opened again. A lock keeps two processes from writing to it.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import pinocchio as pin

from equipoise.atomic_file import naming_file
from equipoise.errors import EquipoiseError
from equipoise.log.folder import plain_summary
from equipoise.staging import LONGEST_NAME

ENDING = ".equipoise.trials"
FORMAT = "equipoise trials 1"
# What follows from other fields, or is a place for computing.
NOT_CONTENT = (pin.Model, threading.local)


def store_beside(folder: Path | str) -> Path:
    """Return the hidden file in which trials are kept until a folder is written."""
    target = Path(os.path.realpath(folder))
    # long names that begin alike are different, too
    known = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    return target.with_name(f".{target.name[:LONGEST_NAME]}.{known}{ENDING}")


class TrialStore:
    """The file; use it as a context manager, which closes it.

    Attributes:
        path: The file.
        rows: Results that were in it when it was opened.
    """

    def __init__(self, path: Path | str, asked: Mapping[str, Any]) -> None:
        """Open a file, or begin one.

        Args:
            path: The file; its folder must exist.
            asked: What the trials belong to, as plain data.

        Raises:
            EquipoiseError: If it belongs to something else or is in use, is not such a
                file, or cannot be written.
        """
        self.path = Path(path)
        self._wanted = json.loads(json.dumps(plain_summary(asked)))
        with naming_file(self.path):
            self._file: BinaryIO = _locked(self.path)
            try:
                self.rows: tuple[dict[str, Any], ...] = self._read()
                self._empty = not self.rows
            except BaseException:
                self._file.close()
                raise

    def __enter__(self) -> TrialStore:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; remove it if there is nothing in it."""
        if self._empty:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def append(self, row: Mapping[str, Any]) -> None:
        """Keep a result: it is on the disk when this returns.

        Raises:
            EquipoiseError: If it cannot be written, or is not plain data.
        """
        with naming_file(self.path):
            self._write(plain_summary(row))
        self._empty = False

    def _read(self) -> tuple[dict[str, Any], ...]:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if not whole and _is_torn_head(content):
            self._file.truncate(0)
            self._write({"format": FORMAT, "asked": self._wanted})
            _sync_folder(self.path.parent)
            return ()
        try:
            lines = [json.loads(line) for line in content[:whole].splitlines()]
        except ValueError:
            lines = []
        if not lines or any(not isinstance(line, dict) for line in lines):
            raise EquipoiseError(f"{self.path}: is not a file of trials, or damaged")
        head, *rows = lines
        if head.get("format") != FORMAT:
            raise EquipoiseError(f"{self.path}: is not a file of trials of this kind")
        self._check(head.get("asked", {}))
        self._file.truncate(whole)
        return tuple(rows)

    def _check(self, found: Mapping[str, Any]) -> None:
        if found == self._wanted:
            return
        names = sorted({*found, *self._wanted})
        other = [key for key in names if found.get(key) != self._wanted.get(key)]
        raise EquipoiseError(
            f"{self.path}: holds trials that are not these: another "
            f"{', '.join(name.replace('_', ' ') for name in other)}; ask for the same "
            "to go on with them, or remove that file to begin anew"
        )

    def _write(self, value: object) -> None:
        line = json.dumps(value, allow_nan=False, ensure_ascii=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def _locked(path: Path) -> BinaryIO:
    """Open a file, made if it is not there, and lock it."""
    while True:
        file = path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise EquipoiseError(
                f"{path}: another process is doing these trials"
            ) from error
        except OSError:  # a file system without locks
            return file
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # removed by its last owner before it was locked


def _is_torn_head(content: bytes) -> bool:
    """Return whether a file is empty, or its first line was begun by us."""
    begun = json.dumps({"format": FORMAT})[:-1].encode()
    return begun.startswith(content) or content.startswith(begun)


def _sync_folder(folder: Path) -> None:
    """See to it that the name of a new file is on the disk, too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def content_hash(*values: object) -> str:
    """Return a number that is the same for the same content, in any process.

    Dataclasses count by their fields, arrays by their bytes, paths by the last part of
    their name. Pinocchio models do not count: they follow from descriptions.
    """
    digest = hashlib.sha256()
    for value in values:
        _feed(digest, value)
    return digest.hexdigest()


def code_hash(without: tuple[str, ...] = ()) -> str:
    """Return a number that is the same for the same source code of Equipoise.

    Args:
        without: Names of packages that do not count.
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in without:
            digest.update(f"{place.as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _feed(digest: Any, value: object) -> None:
    """Add a value to a hash: its type, then what it holds."""
    if isinstance(value, NOT_CONTENT):
        return
    digest.update(f"{type(value).__name__}(".encode())
    match value:
        case np.ndarray():
            digest.update(f"{value.dtype}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        case Path():
            digest.update(value.name.encode(errors="surrogateescape"))
        case bytes():
            digest.update(value)
        case str():
            digest.update(value.encode(errors="surrogateescape"))
        case Mapping():
            for key, item in value.items():
                _feed(digest, key)
                _feed(digest, item)
        case tuple() | list():
            for item in value:
                _feed(digest, item)
        case set() | frozenset():
            for item in sorted(value, key=repr):
                _feed(digest, item)
        case _ if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                digest.update(field.name.encode())
                _feed(digest, getattr(value, field.name))
        case _ if hasattr(value, "__dict__"):
            _feed(digest, dict(sorted(vars(value).items())))
        case _:  # numbers, None
            digest.update(repr(value).encode())
    digest.update(b")")
