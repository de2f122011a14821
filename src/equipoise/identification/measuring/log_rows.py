"""Which rows of a log were used, which were left out, and why."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.measuring.balance_series import runs


class LogRows(NamedTuple):
    """Consecutive rows of a log, or of a table, that share a fate.

    Attributes:
        first: First row, from 0.
        end: Row after the last.
        start_s: Time of the first [s].
        end_s: Time of the last [s].
        pose: Number of the pose that they are, from 0; None where they are left out.
        reason: What they are used as, or why they are left out.
    """

    first: int
    end: int
    start_s: float
    end_s: float
    pose: int | None
    reason: str


class RowReasons:
    """Reasons of n rows, each set once: the first that is said of a row counts."""

    def __init__(self, count: int) -> None:
        self._code = np.full(count, -1, dtype=np.int64)
        self._texts: list[tuple[int | None, str]] = []

    def say(
        self,
        rows: NDArray[np.bool_] | slice,
        reason: str,
        *,
        pose: int | None = None,
        instead_of: str | None = None,
    ) -> None:
        """Set the reason of rows that have none yet.

        With a pose, and for rows whose reason begins with ``instead_of``, it replaces
        the one before.
        """
        old = [
            code
            for code, (_, text) in enumerate(self._texts)
            if instead_of is not None and text.startswith(instead_of)
        ]
        self._texts.append((pose, reason))
        own = self._code[rows]
        new = (own < 0) | np.isin(own, old) | (pose is not None)
        self._code[rows] = np.where(new, len(self._texts) - 1, own)

    def rows(self, time: Array) -> tuple[LogRows, ...]:
        """Return runs of rows that share a reason; ``time`` [s] has shape (n,)."""
        starts, ends = runs(self._code[1:] != self._code[:-1])
        found = []
        for first, end in zip(starts.tolist(), ends.tolist(), strict=True):
            code = int(self._code[first])
            pose, reason = self._texts[code] if code >= 0 else (None, "not used")
            found.append(
                LogRows(
                    first, end, float(time[first]), float(time[end - 1]), pose, reason
                )
            )
        return tuple(found)


def rows_as_csv(rows: Sequence[LogRows]) -> str:
    """Return a CSV table of the rows that were used and left out, with the reason."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["first_row", "last_row", "start_s", "end_s", "used", "pose", "reason"]
    )
    for own in rows:
        writer.writerow(
            [
                own.first,
                own.end - 1,
                f"{own.start_s:.3f}",
                f"{own.end_s:.3f}",
                "no" if own.pose is None else "yes",
                "" if own.pose is None else own.pose,
                own.reason,
            ]
        )
    return stream.getvalue()
