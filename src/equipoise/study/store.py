"""Results of many runs in one file, each on the disk as soon as it is known.

The file is an SQLite database: one table says what the results belong to, the other
has a row for each result. A transaction is kept when it ends, and one that a kill cut
off is as if it had not been begun. Rows are read one by one, so that their number does
not matter. A lock keeps two processes from writing to the same file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.atomic_file import naming_file
from equipoise.errors import EquipoiseError
from equipoise.log.folder import plain_summary
from equipoise.staging import LONGEST_NAME

ENDING = ".equipoise.runs"
# What SQLite keeps beside the file while it is open, and after a kill.
JOURNAL = "-wal"
FORMAT = "equipoise runs 1"
# Marks databases of ours: "eqrn" as a number.
APPLICATION = 0x6571726E
# What follows from other fields, or is a place for computing.
NOT_CONTENT = (pin.Model, threading.local)
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION}",
    "CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE results (number INTEGER PRIMARY KEY, row TEXT NOT NULL)",
)

Value = bool | int | float | str | None


def store_beside(folder: Path | str) -> Path:
    """Return the hidden file in which results are kept until a folder is written."""
    target = Path(os.path.realpath(folder))
    # long names that begin alike are different, too
    known = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    return target.with_name(f".{target.name[:LONGEST_NAME]}.{known}{ENDING}")


def remove_store(path: Path | str) -> None:
    """Remove a store that is not needed any more, with its journal."""
    path = Path(path)
    path.unlink(missing_ok=True)
    path.with_name(path.name + JOURNAL).unlink(missing_ok=True)


class ResultStore:
    """The file; use it as a context manager, which closes it.

    A store without results is removed when it is closed.

    Attributes:
        path: The file.
        columns: Names of the values of a row.
    """

    def __init__(
        self, path: Path | str, identity: Mapping[str, Any], columns: Sequence[str]
    ) -> None:
        """Open a file, or begin one.

        Args:
            path: The file; its folder must exist.
            identity: What the results belong to, as plain data.
            columns: Names of the values of a row.

        Raises:
            EquipoiseError: If it belongs to something else or is in use, is not such a
                file, or cannot be written.
        """
        self.path, self.columns = Path(path), tuple(columns)
        asked = {**identity, "format": FORMAT, "columns": list(columns)}
        self._wanted = json.loads(json.dumps(plain_summary(asked)))
        with self._naming():
            while (base := self._open()) is None:
                pass  # removed by its last owner before it was locked
        self._base = base

    def _open(self) -> sqlite3.Connection | None:
        """Return the database, locked; None if the file was removed meanwhile."""
        self.path.open("ab").close()
        before = self.path.stat().st_ino
        # transactions are begun and ended by hand
        base = sqlite3.connect(
            self.path, timeout=0.0, isolation_level=None, check_same_thread=False
        )
        try:
            # locked until it is closed, and no file of shared memory beside it
            base.execute("PRAGMA locking_mode = EXCLUSIVE")
            (found,) = base.execute("PRAGMA application_id").fetchone()
            (tables,) = base.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if found != APPLICATION and (found or tables):
                raise EquipoiseError(f"{self.path}: is not a store of results")
            base.execute("PRAGMA journal_mode = WAL")
            # what was committed outlives the process; a power cut may take the last
            base.execute("PRAGMA synchronous = NORMAL")
            base.execute("BEGIN EXCLUSIVE")
            if not self.path.exists() or self.path.stat().st_ino != before:
                base.close()
                return None
            if tables:
                self._check(base)
            else:
                self._begin(base)
            base.execute("COMMIT")
        except BaseException:
            base.close()
            raise
        return base

    def _begin(self, base: sqlite3.Connection) -> None:
        for statement in SCHEMA:
            base.execute(statement)
        rows = [(name, json.dumps(value)) for name, value in self._wanted.items()]
        base.executemany("INSERT INTO identity VALUES (?, ?)", rows)

    def _check(self, base: sqlite3.Connection) -> None:
        rows = base.execute("SELECT name, value FROM identity")
        found = {name: json.loads(value) for name, value in rows}
        if found == self._wanted:
            return
        names = sorted({*found, *self._wanted})
        other = [key for key in names if found.get(key) != self._wanted.get(key)]
        raise EquipoiseError(
            f"{self.path}: holds results of something else: another "
            f"{', '.join(name.replace('_', ' ') for name in other)}; ask for the same "
            "to go on with them, or remove that file to begin anew"
        )

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turn failures of SQLite into one line that names the file."""
        try:
            with naming_file(self.path):
                yield
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                said = "another process is at work on it"
            elif "not a database" in str(error) or "malformed" in str(error):
                said = "is not a store of results, or damaged"
            else:
                said = f"cannot be written ({error})"
            raise EquipoiseError(f"{self.path}: {said}") from error

    def __enter__(self) -> ResultStore:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; remove it if there is no result in it."""
        if self.count() == 0:
            remove_store(self.path)  # while it is locked
        self._base.close()

    def write(self, rows: Iterable[tuple[int, Sequence[Value]]]) -> None:
        """Keep results, all of them or none: they are kept when this returns.

        Args:
            rows: Number of each result, and its values in the order of the columns;
                floats that are not finite are missing values.

        Raises:
            EquipoiseError: If a number is there already, or cannot be written.
        """
        texts = [(number, self._text(values)) for number, values in rows]
        with self._naming():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                self._base.executemany("INSERT INTO results VALUES (?, ?)", texts)
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    def append(self, values: Mapping[str, Value]) -> None:
        """Keep one result, by the names of the columns, after all others."""
        self.write([(self.count(), [values[name] for name in self.columns])])

    def _text(self, values: Sequence[Value]) -> str:
        if len(values) != len(self.columns):
            raise EquipoiseError(
                f"{self.path}: a row of {len(values)} values for "
                f"{len(self.columns)} columns"
            )
        plain = [_finite(value) for value in values]
        return json.dumps(plain, allow_nan=False, ensure_ascii=False)

    def count(self) -> int:
        """Return how many results there are."""
        (count,) = self._base.execute("SELECT count(*) FROM results").fetchone()
        return int(count)

    def __contains__(self, number: int) -> bool:
        """Return whether there is a result of that number."""
        asked = "SELECT 1 FROM results WHERE number = ?"
        return self._base.execute(asked, (number,)).fetchone() is not None

    def missing(self, first: int, last: int) -> list[int]:
        """Return the numbers from one up to, and without, another without a result."""
        asked = "SELECT number FROM results WHERE number >= ? AND number < ?"
        there = {number for (number,) in self._base.execute(asked, (first, last))}
        return [number for number in range(first, last) if number not in there]

    def rows(self) -> Iterator[tuple[int, tuple[Value, ...]]]:
        """Yield number and values of each result, in the order of their numbers."""
        with self._naming():
            for number, text in self._base.execute(
                "SELECT number, row FROM results ORDER BY number"
            ):
                yield int(number), tuple(json.loads(text))


def _finite(value: Any) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


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
