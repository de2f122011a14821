"""Rows of a log brought into order: sorted, each time once, no value missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS

# Rows nearer than this in time are one [ns].
SAME_TIME = 1_000
# Longer than this, and than so many usual intervals, is a gap [s].
GAP_SECONDS, GAP_INTERVALS = 0.5, 20.0

Times = NDArray[np.int64]


def sorted_rows(times: Times, notices: list[str], name: str) -> NDArray[np.int64]:
    """Return which rows to take in which order, so that times do not decrease.

    Args:
        times: [ns], shape (n,).
        notices: Gets a sentence if rows had to change places.
        name: Of the log's topic or file, for the notice.
    """
    order = np.argsort(times, kind="stable")
    moved = int(np.count_nonzero(np.diff(times) < 0))
    if moved:
        notices.append(f"{name}: {_many(moved, 'row')} out of order, sorted by time")
    return np.asarray(order, dtype=np.int64)


def last_of_each_time(times: Times, notices: list[str], name: str) -> Times:
    """Return which rows to keep of times that do not decrease: the last of equals."""
    if len(times) == 0:
        raise EquipoiseError(f"{name}: has no row")
    kept = np.flatnonzero(np.append(np.diff(times) >= SAME_TIME, True))
    doubled = len(times) - len(kept)
    if doubled:
        notices.append(
            f"{name}: {_many(doubled, 'row')} with the time of the next, left out"
        )
    return kept


def note_gaps(time: Array, notices: list[str], name: str) -> None:
    """Say where a log was silent for long.

    Args:
        time: [s], shape (n,).
        notices: Gets the sentence.
        name: Of the log's topic or file.
    """
    steps = np.diff(time)
    if len(steps) == 0:
        return
    longest = max(GAP_SECONDS, GAP_INTERVALS * float(np.median(steps)))
    gaps = np.flatnonzero(steps > longest)
    if len(gaps):
        worst = gaps[np.argmax(steps[gaps])]
        notices.append(
            f"{name}: {_many(len(gaps), 'gap')}, the longest of {steps[worst]:.2f} s "
            f"from {time[worst]:.2f} s on"
        )


def note_no_numbers(count: int, notices: list[str], name: str) -> None:
    """Say how many values of joints were no numbers, if any."""
    if count:
        notices.append(
            f"{name}: {_many(count, 'value')} of joints not finite; the one before is "
            "held"
        )


def finite_rows(values: Array, notices: list[str], name: str) -> NDArray[np.intp]:
    """Return which rows hold numbers only; the others are to be left out.

    Args:
        values: Shape (n, k).
        notices: Gets a sentence if there are others.
        name: Of the topic or columns.
    """
    kept = np.flatnonzero(np.isfinite(values).all(axis=1))
    lost = len(values) - len(kept)
    if lost and len(kept):
        notices.append(
            f"{name}: {_many(lost, 'row')} with values that are not finite, left out"
        )
    elif lost:
        notices.append(f"{name} is left out: no row of it is of finite values")
    return kept


def held(values: Array) -> Array:
    """Return columns without NaN: the value before, or at the start the first.

    Args:
        values: Shape (n, k). Columns that hold no number at all stay NaN.
    """
    finite = np.isfinite(values)
    if finite.all():
        return values
    rows = np.arange(len(values))[:, None]
    known = np.maximum.accumulate(np.where(finite, rows, -1), axis=0)
    first = np.argmax(finite, axis=0)
    source = np.where(known < 0, first, known)
    filled: Array = np.take_along_axis(values, source, axis=0)
    return np.where(finite.any(axis=0), filled, np.nan)


def seconds_from(times: Times, start: int) -> Array:
    """Return times [ns] in seconds after a start [ns]."""
    return np.asarray((times - start) / NANOSECONDS, dtype=np.float64)


def poses_at(time: Array, own_time: Array, poses: Array) -> Array:
    """Return poses at other times, between the two nearest.

    Args:
        time: Wanted [s], shape (n,).
        own_time: Of the poses, increasing [s], shape (m,).
        poses: Position and unit quaternion xyzw, shape (m, 7).
    """
    if np.array_equal(time, own_time):
        return poses
    # q and -q are the same turn; between neighbours the nearer one is meant
    flips = np.einsum("ni,ni->n", poses[1:, 3:], poses[:-1, 3:]) < 0.0
    signs = np.cumprod(np.append(1.0, np.where(flips, -1.0, 1.0)))
    near = np.hstack([poses[:, :3], poses[:, 3:] * signs[:, None]])
    found = np.stack([np.interp(time, own_time, column) for column in near.T], axis=1)
    found[:, 3:] /= np.linalg.norm(found[:, 3:], axis=1, keepdims=True)
    return found


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
