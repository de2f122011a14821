"""The table of a study: a row for each run, streamed to CSV and Parquet.

Its columns are the number of the run, the parameters that were varied, the outcomes,
and the error of a run that failed. Nothing keeps all rows in memory.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.study.outcomes import ERROR, Outcome
from equipoise.study.parameters import Parameter
from equipoise.study.store import Value
from equipoise.study.study_file import RUN, Study

CSV_NAME, PARQUET_NAME = "table.csv", "table.parquet"
# Rows of a group of a Parquet file, which lie in memory together.
GROUP_ROWS = 10_000
# Rows that are read for a report and for sensitivities.
MOST_ROWS = 200_000
KINDS = {"number": "float", "whole": "int", "text": "str"}

Rows = Iterable[tuple[int, tuple[Value, ...]]]


@dataclass(frozen=True, eq=False)
class StudyTable:
    """Columns of a study's table, or of a part of it.

    Attributes:
        parameters: What was varied.
        outcomes: What was measured.
        columns: Arrays by the names of the columns, ``"run"`` and ``"error"`` too, all
            of one length. Numbers and truth values are float64, NaN where a value is
            missing; texts are objects, None where one is missing.
        runs: Number of runs of the study; columns may have fewer rows.
    """

    parameters: tuple[Parameter, ...]
    outcomes: tuple[Outcome, ...]
    columns: dict[str, NDArray[Any]]
    runs: int


def column_types(study: Study) -> dict[str, str]:
    """Return the types of a table's columns by name: bool, int, float or str."""
    return {
        RUN: "int",
        **{own.name: KINDS[own.kind] for own in study.parameters},
        **{own.name: own.type for own in study.outcomes},
        ERROR: "str",
    }


def write_csv(path: Path, study: Study, rows: Rows) -> None:
    """Write a table as CSV: numbers to their last digit, missing values empty."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(column_types(study))
        writer.writerows((number, *values) for number, values in rows)
        stream.flush()
        os.fsync(stream.fileno())


def write_parquet(path: Path, study: Study, rows: Rows) -> None:
    """Write a table as Parquet, a group of rows after the other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "bool": pa.bool_(),
        "int": pa.int64(),
        "float": pa.float64(),
        "str": pa.string(),
    }
    types = column_types(study)
    schema = pa.schema([(name, kinds[kind]) for name, kind in types.items()])
    with pq.ParquetWriter(path, schema) as writer:
        for group in _groups(rows, GROUP_ROWS):
            columns = zip(*((number, *values) for number, values in group), strict=True)
            arrays = [
                pa.array(map(_caster(kind), column), kinds[kind])
                for column, kind in zip(columns, types.values(), strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _caster(kind: str) -> Any:
    """Return what makes a number of a column's type of one of another: 1 of 1.0."""
    cast = {"bool": bool, "int": int, "float": float, "str": str}[kind]
    return lambda value: None if value is None else cast(value)


def _groups(rows: Rows, size: int) -> Iterator[list[tuple[int, tuple[Value, ...]]]]:
    every = iter(rows)
    while group := list(islice(every, size)):
        yield group


def read_table(study: Study, rows: Rows, most: int = MOST_ROWS) -> StudyTable:
    """Return the columns of a table, of at most so many rows.

    Of larger tables the first rows are taken, which are a sample like the others; of
    grids rows at random, always the same.

    Args:
        study: The study.
        rows: Number and values of each run, in order.
        most: Number of rows.
    """
    runs, types = study.points.runs, column_types(study)
    if study.sampling.method == "sobol":  # whole base samples
        most -= most % (len(study.varied) + 2)
    count = min(runs, most)
    if study.sampling.method == "grid" and runs > most:
        drawn = np.random.default_rng(0).choice(runs, most, replace=False)
        chosen = set(drawn.tolist())
        rows = (row for row in rows if row[0] in chosen)
    columns: dict[str, NDArray[Any]] = {
        name: np.empty(count, dtype=object if kind == "str" else np.float64)
        for name, kind in types.items()
    }
    plain = [kind == "str" for kind in types.values()]
    into = list(columns.values())
    for at, (number, values) in enumerate(islice(rows, count)):
        for column, is_text, value in zip(into, plain, (number, *values), strict=True):
            column[at] = value if is_text or value is not None else np.nan
    return StudyTable(study.parameters, study.outcomes, columns, runs)
