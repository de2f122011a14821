"""Columns of numbers out of a CSV file with a row of names."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError

DELIMITERS = ",;\t"


class CsvColumns(NamedTuple):
    """What a CSV file holds.

    Attributes:
        columns: Numbers by name, n rows each; NaN where a cell is empty.
        notices: What was left out, a sentence each.
    """

    columns: dict[str, Array]
    notices: list[str]


def csv_columns(
    file: Path, *, may_be_cut_off: bool, unread: Collection[str] = ()
) -> CsvColumns:
    """Read a CSV file; commas, semicolons or tabs are told by its first line.

    Args:
        file: The file.
        may_be_cut_off: Whether a last row that is too short is left out, with a
            notice, instead of refused.
        unread: Columns to leave out, in small letters.

    Raises:
        EquipoiseError: If it is none; names the row or column at fault.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            head = stream.readline()
            delimiter = max(DELIMITERS, key=head.count)
            names = next(csv.reader([head.lstrip("#")], delimiter=delimiter), [])
            rows = [row for row in csv.reader(stream, delimiter=delimiter) if row]
    except FileNotFoundError as error:
        raise EquipoiseError(f"{file}: no such file or folder") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EquipoiseError(f"{file}: cannot be read as CSV ({error})") from error
    names = [name.strip() for name in names]
    notices: list[str] = []
    if may_be_cut_off and rows and len(rows[-1]) < len(names):
        rows.pop()
        notices.append(f"{file.name} is cut off: its last row is lost")
    _check_table(file, names, rows)
    columns = {}
    for name, texts in zip(names, zip(*rows, strict=True), strict=True):
        if name.lower() in unread:
            continue
        try:
            columns[name] = np.array([text.strip() or "nan" for text in texts], float)
        except ValueError:
            notices.append(f"column '{name}' is left out: it holds texts")
    return CsvColumns(columns, notices)


def _check_table(file: Path, names: list[str], rows: list[list[str]]) -> None:
    if not rows or len(names) < 2:
        raise EquipoiseError(f"{file}: is no CSV file of a row of names and numbers")
    if len(set(names)) < len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise EquipoiseError(f"{file}: two columns have the name '{doubled}'")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise EquipoiseError(
                f"{file}: row {number} has {len(row)} columns, the first has "
                f"{len(names)}"
            )
