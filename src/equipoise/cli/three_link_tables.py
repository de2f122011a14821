"""Results of ``equipoise three-link`` as tables, on the terminal and in files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cli.console import make_table

if TYPE_CHECKING:
    from rich.table import Table

    from equipoise.planar.classic import ClassicGait
    from equipoise.planar.hybrid import Walk

WALK_COLUMNS = (
    "time_s",
    "theta_1_rad",
    "theta_2_rad",
    "theta_3_rad",
    "rate_1_radps",
    "rate_2_radps",
    "rate_3_radps",
    "torque_1_nm",
    "torque_2_nm",
    "force_x_n",
    "force_z_n",
    "stance_foot_x_m",
    "stance_foot_z_m",
)


def walk_rows(walk: Walk) -> list[list[float]]:
    """Return a row for each time of a walk, as ``WALK_COLUMNS`` name them."""
    import numpy as np

    columns = (walk.time, walk.state, walk.torques, walk.force, walk.stance_foot)
    rows: list[list[float]] = np.column_stack(columns).tolist()
    return rows


def write_csv(file: Path, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write a table; the file appears whole or not at all."""
    from equipoise.atomic_file import write_text_atomically

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    write_text_atomically(file, stream.getvalue())


def walk_lines(results: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the results of a gait and its walk, as a table each."""
    from equipoise.show.pages.planar_report import result_rows

    for name, rows in result_rows(results).items():
        table = make_table(name, "")
        for label, value in rows:
            table.add_row(label, value)
        yield table


def sweep_row(gait: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a sweep's table has of a gait, by the keys of ``summary.json``."""
    from equipoise.show.pages.planar_report import SWEEP_COLUMNS

    return {key: gait[group][key] for group, key, _, _ in SWEEP_COLUMNS}


def sweep_lines(found: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yield the gaits of a sweep, a row each."""
    from equipoise.show.pages.planar_report import SWEEP_COLUMNS, sweep_rows

    heads = tuple(words for _, _, words, _ in SWEEP_COLUMNS)
    table = make_table(*heads, numbers=heads)
    for row in sweep_rows(found):
        table.add_row(*row)
    yield table


def classic_lines(gaits: Sequence[ClassicGait]) -> Iterator[Table | str]:
    """Yield the classic gaits, each as a table and why its columns differ."""
    from equipoise.show.pages.planar_report import (
        CLASSIC_HEAD,
        classic_notes,
        classic_rows,
    )

    numbers = CLASSIC_HEAD[1:]
    for gait in gaits:
        table = make_table(gait.name.replace("-", " "), *numbers, numbers=numbers)
        for row in classic_rows(gait):
            table.add_row(*row)
        yield table
        yield from (f"note: {words}" for words in classic_notes(gait))
