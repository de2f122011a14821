"""Footsteps from a file: CSV with a header, or TOML with ``[[step]]`` tables."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError, suggest
from equipoise.gait.footsteps import COORDINATES, SIDES, Footstep, Footsteps
from equipoise.robot.parts import Side

NEEDED = ("side", "x", "y")
COLUMNS = ("side", *COORDINATES)


def read_footsteps(path: Path | str, feet: Mapping[Side, Footstep]) -> Footsteps:
    """Return the footsteps of a file.

    A CSV file has a header with ``side``, ``x`` and ``y``, and may have ``z``, ``yaw``,
    ``pitch`` and ``roll``, in any order; empty lines and lines that begin with ``#`` do
    not count. A TOML file has a table ``[[step]]`` for each step with the same keys.
    Units are metres and radians; what is not given is zero.

    Args:
        path: The file, ``.csv`` or ``.toml``.
        feet: Where the feet stand at the start.

    Raises:
        EquipoiseError: If the file cannot be read or a row is wrong; names the row.
    """
    path = Path(path)
    readers = {".csv": _csv_rows, ".toml": _toml_rows}
    if path.suffix.lower() not in readers:
        raise EquipoiseError(
            f"{path}: a step file ends in .csv or .toml, not in '{path.suffix}'"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise EquipoiseError(f"{path}: cannot be read ({error})") from error
    rows = readers[path.suffix.lower()](text, path)
    steps = tuple(_footstep(row, where) for where, row in rows)
    if not steps:
        raise EquipoiseError(f"{path}: holds no steps")
    return Footsteps(feet["left"], feet["right"], steps)


def _csv_rows(text: str, path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    try:
        table = list(csv.reader((line for _, line in lines), strict=True))
    except csv.Error as error:
        raise EquipoiseError(f"{path}: is no CSV ({error})") from error
    header = [name.strip().lower() for name in table[0]] if table else []
    if len(table) > len(lines) or set(NEEDED) - set(header):
        raise EquipoiseError(
            f"{path}: the first line must name the columns {', '.join(NEEDED)} and "
            f"may name {', '.join(COLUMNS[len(NEEDED) :])}"
        )
    _check_names(header, str(path))
    rows = zip((number for number, _ in lines[1:]), table[1:], strict=False)
    for step, (line, row) in enumerate(rows, start=1):
        where = f"{path}, line {line} (step {step})"
        if len(row) != len(header):
            raise EquipoiseError(
                f"{where}: has {len(row)} columns; the first line has {len(header)}"
            )
        yield where, dict(zip(header, (cell.strip() for cell in row), strict=True))


def _toml_rows(text: str, path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    try:
        tables = tomllib.loads(text).get("step", [])
    except tomllib.TOMLDecodeError as error:
        raise EquipoiseError(f"{path}: is no TOML ({error})") from error
    if not isinstance(tables, list):
        raise EquipoiseError(f"{path}: steps must be tables [[step]]")
    for step, table in enumerate(tables, start=1):
        where = f"{path}, step {step}"
        if not isinstance(table, dict):
            raise EquipoiseError(f"{where}: must be a table [[step]]")
        _check_names(table, where)
        yield where, table


def _check_names(names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name not in COLUMNS:
            raise EquipoiseError(
                f"{where}: unknown column '{name}'{suggest(name, COLUMNS)}; "
                f"columns are {', '.join(COLUMNS)}"
            )
        if name in seen:
            raise EquipoiseError(f"{where}: column '{name}' is there twice")
        seen.add(name)


def _footstep(row: Mapping[str, Any], where: str) -> Footstep:
    for name in NEEDED:
        if name not in row:
            raise EquipoiseError(f"{where}: '{name}' is missing")
    side = str(row["side"]).lower()
    if side not in SIDES:
        raise EquipoiseError(
            f"{where}: side is '{row['side']}'{suggest(side, SIDES)}; "
            "left or right is needed"
        )
    numbers = {n: _number(row[n], f"{where}: {n}") for n in COORDINATES if n in row}
    return Footstep("left" if side == "left" else "right", **numbers)


def _number(value: object, what: str) -> float:
    """Return a finite number; booleans, words and NaN are none."""
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise EquipoiseError(f"{what} is '{value}'; a finite number is needed")
    return number
