"""Which rows of a log have wrenches that were measured then, not held or made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import SoleViews
from equipoise.log.recordings.recording import MeasuredWrench, Recording

# Rows farther from a wrench than so many of its usual intervals, and than this [s],
# have none.
FAR_INTERVALS, FAR_SECONDS = 3.0, 0.03
# A wrench that stays exactly the same while the CoM goes farther than this [m], for
# longer than this [s], is a sensor that was silent.
FROZEN_WAY, FROZEN_SECONDS = 0.002, 0.1
# More than this share of a log without wrenches is too much.
MOST_LOST = 0.5


def finite_wrenches(recording: Recording, notices: list[str]) -> Recording:
    """Return a recording without the samples of wrenches that are no numbers.

    Args:
        recording: What was measured.
        notices: Gets how many there were.

    Raises:
        EquipoiseError: If more than half of a topic's are.
    """
    wrenches = {}
    for name, own in recording.wrenches.items():
        good = np.asarray(np.isfinite(own.values).all(axis=1))
        lost = int(np.count_nonzero(~good))
        if lost > MOST_LOST * len(good):
            raise EquipoiseError(
                f"{recording.source}: {lost} of {len(good)} samples of wrench '{name}' "
                "are not numbers"
            )
        if lost:
            notices.append(
                f"{lost} of {len(good)} samples of wrench '{name}' are no numbers and "
                "are left out"
            )
        wrenches[name] = MeasuredWrench(own.frame, own.time[good], own.values[good])
    return replace(recording, wrenches=wrenches)


def measured_rows(
    recording: Recording, views: SoleViews, notices: list[str]
) -> NDArray[np.bool_]:
    """Return which rows have a wrench near them that was measured, shape (n,).

    Args:
        recording: What was measured.
        views: Of its rows.
        notices: Gets how many have none.

    Raises:
        EquipoiseError: If more than half have none.
    """
    time = recording.time
    usable = np.ones(len(time), dtype=np.bool_)
    for name, own in recording.wrenches.items():
        good = ~(_far(time, own.time) | _frozen(recording, views, own))
        lost = int(np.count_nonzero(~good))
        if lost > MOST_LOST * len(time):
            raise EquipoiseError(
                f"{recording.source}: wrench '{name}' is missing, or stays the same "
                f"while the robot moves, in {lost} of {len(time)} rows"
            )
        if lost:
            notices.append(
                f"wrench '{name}' is missing, or stays the same while the robot "
                f"moves, in {lost} of {len(time)} rows: they are left out"
            )
        usable &= good
    return usable


def _far(time: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which times lie in a gap of other times, or before or after them."""
    steps = np.diff(own)
    usual = float(np.median(steps)) if len(steps) else 0.0
    most = max(FAR_SECONDS, FAR_INTERVALS * usual)
    after = np.searchsorted(own, time)
    before = own[np.maximum(after - 1, 0)]
    next_one = own[np.minimum(after, len(own) - 1)]
    nearest = np.minimum(np.abs(time - before), np.abs(next_one - time))
    return np.asarray(nearest > most)


def _frozen(
    recording: Recording, views: SoleViews, own: MeasuredWrench
) -> NDArray[np.bool_]:
    """Return which rows have an old wrench, and another pose than when it was new."""
    frozen = np.zeros(len(recording.time), dtype=np.bool_)
    change = np.append(True, np.any(own.values[1:] != own.values[:-1], axis=1))
    starts = np.flatnonzero(change)
    ends = np.append(starts[1:], len(own.time)) - 1
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        if own.time[last] - own.time[first] < FROZEN_SECONDS:
            continue
        begin = int(np.searchsorted(recording.time, own.time[first]))
        end = int(np.searchsorted(recording.time, own.time[last], side="right"))
        for centre in views.com_in_sole.values():
            here = centre[begin:end]
            if len(here):
                away = np.linalg.norm(here - here[0], axis=1) > FROZEN_WAY
                frozen[begin:end] |= np.logical_or.accumulate(away)
    return frozen
