"""Measurements of single topics put together: one clock, one beginning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.recordings.clock import with_log_time
from equipoise.log.recordings.measured_series import JointSeries, Series
from equipoise.log.recordings.recording import (
    MeasuredWrench,
    Recording,
    StaticFrame,
)
from equipoise.log.recordings.row_order import (
    finite_rows,
    held,
    last_of_each_time,
    note_gaps,
    note_no_numbers,
    poses_at,
    seconds_from,
    sorted_rows,
)

# Ends of a base's poses that joints go beyond by more than this are told [s].
LATE = 0.1


def recording_of_series(
    source: Path,
    states: Sequence[JointSeries],
    wrenches: Sequence[Series],
    base: Series | None,
    *,
    static_frames: Mapping[str, StaticFrame],
    urdf: str | None = None,
    settings: bytes | None = None,
    notices: Iterable[str] = (),
) -> Recording:
    """Return a recording of what topics hold, in order of time.

    Args:
        source: The file or folder that they are from.
        states: Joints; the first gives the times, the others add joints that it lacks.
        wrenches: Of all sensors.
        base: Poses of the base, if they are known.
        static_frames: As for :class:`~.recording.Recording`.
        urdf: The same.
        settings: The same.
        notices: What was mended, assumed or left out before.

    Raises:
        EquipoiseError: If there are no joint positions.
    """
    notices = list(notices)
    main, others = states[0], states[1:]
    used = [item.position for item in states] + [*wrenches] + ([base] if base else [])
    logged = with_log_time(used, notices)

    times = _times(main.position, logged)
    order = sorted_rows(times, notices, f"'{main.position.topic}'")
    kept = last_of_each_time(times[order], notices, f"'{main.position.topic}'")
    times = times[order][kept]
    time = seconds_from(times, int(times[0]))
    note_gaps(time, notices, f"'{main.position.topic}'")
    joints, velocity, effort = (
        _columns(getattr(main, key), order, kept)
        for key in ("position", "velocity", "effort")
    )
    for other in others:
        rows = _rows_before(times, _times(other.position, logged))
        for found, key in (
            (joints, "position"),
            (velocity, "velocity"),
            (effort, "effort"),
        ):
            series = getattr(other, key)
            extra = _columns(series, rows[0], rows[1])
            found.update({k: v for k, v in extra.items() if k not in found})
    note_no_numbers(main.broken, notices, f"'{main.position.topic}'")
    _note_missing(main.position, notices)
    if not joints:
        raise EquipoiseError(
            f"{source}: '{main.position.topic}' holds no joint positions"
        )
    return Recording(
        source=source,
        time=time,
        joints=joints,
        velocity=velocity,
        effort=effort,
        wrenches={
            series.topic: MeasuredWrench(series.frame, own_time, values)
            for series in wrenches
            for own_time, values in [_clean(series, logged, times, notices)]
            if len(values)
        },
        base_pose=_base_at(time, base, logged, times, notices),
        base_source=base.topic if base else "",
        base_frame=base.frame if base else "",
        static_frames=static_frames,
        urdf=urdf,
        settings=settings,
        notices=tuple(notices),
    )


def _times(series: Series, logged: bool) -> NDArray[np.int64]:
    return series.logged if logged else series.stamps


def _columns(
    series: Series, order: NDArray[np.int64], kept: NDArray[np.int64]
) -> dict[str, Array]:
    """Return the columns that have numbers, in order of time, by joint."""
    values = held(series.values[order])[kept]
    return {
        name: column
        for name, column in zip(series.names, values.T, strict=True)
        if np.isfinite(column).all()
    }


def _rows_before(
    times: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of another topic's rows, and the last one before each time."""
    order = np.argsort(own, kind="stable")
    before = np.searchsorted(own[order], times, side="right") - 1
    return order, np.maximum(before, 0)


def _clean(
    series: Series, logged: bool, times: NDArray[np.int64], notices: list[str]
) -> tuple[Array, Array]:
    """Return time [s] and values, sorted, each time once, numbers only."""
    own = _times(series, logged)
    order = np.argsort(own, kind="stable")
    order = order[finite_rows(series.values[order], notices, f"'{series.topic}'")]
    if len(order):
        order = order[last_of_each_time(own[order], [], series.topic)]
    return seconds_from(own[order], int(times[0])), series.values[order]


def _base_at(
    time: Array,
    base: Series | None,
    logged: bool,
    times: NDArray[np.int64],
    notices: list[str],
) -> Array | None:
    if base is None:
        return None
    own_time, poses = _clean(base, logged, times, notices)
    late = max(own_time[0] - time[0], time[-1] - own_time[-1])
    if late > LATE:
        notices.append(
            f"'{base.topic}' lacks up to {late:.2f} s at an end; its last pose is held"
        )
    return poses_at(time, own_time, poses)


def _note_missing(series: Series, notices: list[str]) -> None:
    known = np.asarray(np.isfinite(series.values).any(axis=0))
    lost = [name for name, any_ in zip(series.names, known, strict=True) if not any_]
    if lost:
        notices.append(f"no position is given of {_listed(lost)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
