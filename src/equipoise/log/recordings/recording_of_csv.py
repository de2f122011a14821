"""Joints, wrenches and base out of a CSV file, by the names of its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, plausible
from equipoise.errors import EquipoiseError
from equipoise.input_file import LARGEST_TABLE_BYTES, open_input
from equipoise.log.mcap_format.log_size import FARTHEST_TIME
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.recordings.recording import (
    MeasuredImu,
    MeasuredWrench,
    Recording,
    Times,
    finite_rows,
    forward_filled,
    last_of_each_time,
    note_gaps,
    note_not_finite,
    poses_at,
    seconds_from,
    sorted_rows,
)
from equipoise.log.recordings.topic_series import measured_imu
from equipoise.robot.description import first_few

TIME = re.compile(
    r"(?:__)?(?:time|t|timestamp|stamp|secs?|seconds)"
    r"(?:[ _]?[\[(]?(s|ms|us|ns)[\])]?)?"
)
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
# Seconds since 1970 have ten digits; more are nanoseconds.
SURELY_NANOSECONDS = 1e16
WRENCH = re.compile(
    r"(.+)[._/](?:([fmt])([xyz])|(force|torque|moment)[._/]([xyz]))", re.IGNORECASE
)
PRESSURE = re.compile(r"(.+)[._/]cop[._/]?([xy])", re.IGNORECASE)
WRENCH_ORDER = tuple(f"{kind}{axis}" for kind in "fm" for axis in "xyz")
BASE = re.compile(
    r"((?:floating_?)?base(?:_link)?|root(?:_link)?|pelvis)[._/]"
    r"(x|y|z|roll|pitch|yaw|qx|qy|qz|qw)",
    re.IGNORECASE,
)
IMU = re.compile(
    r"((?:.*[._/])?[^./]*imu[^./]*)[._/](qx|qy|qz|qw|roll|pitch|yaw|a(?:cc)?_?[xyz])",
    re.IGNORECASE,
)
JOINT = re.compile(r"(?:.*/)?([^/]+?)(?:[./_](position|velocity|effort|torque))?")
DELIMITERS = ",;\t"
CELLS_AT_ONCE = 200_000
NOT_A_TABLE = "{}: is not a CSV file of a row of names and numbers"


def recording_of_csv(file: Path) -> Recording:
    """Return what a CSV file holds; see ``docs/logs.md`` for the names of columns.

    Raises:
        EquipoiseError: If it has no row of names, no time or no joints; names the
            line or column at fault.
    """
    table = csv_columns(file, may_be_cut_off=True)
    columns, notices = dict(table.columns), table.notices
    times = _times(file, columns, notices)
    order = sorted_rows(times, notices, file.name)
    kept = last_of_each_time(times[order], notices, file.name)
    rows = order[kept]
    time = seconds_from(times[rows], int(times[rows[0]]))
    note_gaps(time, notices, file.name)

    base, prefix = take_base(columns, notices)
    if base is not None:
        known = finite_rows(base[rows], notices, f"columns {prefix}.*")
        base = poses_at(time, time[known], base[rows][known]) if len(known) else None
    imu = _take_imu(columns, rows, time)
    wrenches = {}
    for name, wrench in take_wrenches(columns, notices).items():
        there = finite_rows(wrench.values[rows], notices, f"columns {name}.*")
        if len(there):
            own = wrench.values[rows][there]
            wrenches[name] = wrench._replace(time=time[there], values=own)
    groups: dict[str, dict[str, Array]] = {"position": {}, "velocity": {}, "effort": {}}
    broken = 0
    for name, column in columns.items():
        match = JOINT.fullmatch(name)
        if match and np.isfinite(column).any():
            broken += int(np.count_nonzero(~np.isfinite(column)))
            filled = forward_filled(column[order][:, None])[kept, 0]
            kind = (match.group(2) or "position").replace("torque", "effort")
            groups[kind][match.group(1)] = filled
    note_not_finite(broken, notices, file.name)
    if not groups["position"]:
        raise EquipoiseError(
            f"{file}: holds no joint positions; columns of joints have the names of "
            "the URDF's joints"
        )
    return Recording(
        source=file,
        time=time,
        joints=groups["position"],
        velocity=groups["velocity"],
        effort=groups["effort"],
        wrenches=wrenches,
        base_pose=base,
        base_source="" if base is None else f"columns {prefix}.*",
        notices=tuple(notices),
        imu=imu,
    )


def _times(file: Path, columns: dict[str, Array], notices: list[str]) -> Times:
    """Take the column of time out of a table, in nanoseconds from its beginning."""
    for name in columns:
        match = TIME.fullmatch(name.lower())
        if match is None:
            continue
        values = columns.pop(name)
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values))) + 2
            raise EquipoiseError(f"{file}: row {row} has no time")
        unit = match.group(1) or "s"
        if match.group(1) is None and values.max() > SURELY_NANOSECONDS:
            unit = "ns"
            notices.append(f"column '{name}' is taken for nanoseconds")
        since = (values - values.min()) * (NANOSECONDS / PER_SECOND[unit])
        if since.max() >= FARTHEST_TIME:
            years = since.max() / NANOSECONDS / 31_557_600.0
            raise EquipoiseError(f"{file}: its times span {years:.3g} years")
        return np.asarray(np.rint(since), dtype=np.int64)
    raise EquipoiseError(
        f"{file}: has no column of time ('time', 'time_s', 't', 'timestamp' or "
        f"'stamp'); its columns are: {', '.join(columns)}"
    )


def take_base(
    columns: dict[str, Array], notices: list[str]
) -> tuple[Array | None, str]:
    """Take the base's columns out of a table: pose (n, 7), and how they begin."""
    parts: dict[str, dict[str, Array]] = {}
    for name in list(columns):
        match = BASE.fullmatch(name)
        if match:
            own = parts.setdefault(match.group(1), {})
            own[match.group(2).lower()] = columns.pop(name)
    for prefix, own in parts.items():
        orientation = _orientation(own)
        if orientation is not None and own.keys() >= set("xyz"):
            position = np.stack([own[axis] for axis in "xyz"], axis=1)
            return np.hstack([position, orientation]), prefix
        notices.append(
            f"columns {prefix}.* are left out: x, y, z and roll, pitch, yaw or "
            "qx, qy, qz, qw are needed"
        )
    return None, ""


def _take_imu(
    columns: dict[str, Array], rows: NDArray[np.int64], time: Array
) -> MeasuredImu | None:
    """Take an IMU's columns out of a table: orientation, specific force, or both."""
    parts: dict[str, dict[str, Array]] = {}
    for name in list(columns):
        match = IMU.fullmatch(name)
        if match:
            key = re.sub(r"^a(cc)?_?", "a", match.group(2).lower())
            parts.setdefault(match.group(1), {})[key] = columns.pop(name)[rows]
    for prefix, own in parts.items():
        if own.keys() >= {"roll", "pitch"}:  # up does not depend on yaw
            own.setdefault("yaw", np.zeros(len(time)))
        turned, nothing = _orientation(own), np.zeros(len(time))
        if turned is None:
            turned = np.zeros((len(time), 4))
        pushed = np.stack([own.get(f"a{axis}", nothing) for axis in "xyz"], axis=1)
        known = np.isfinite(turned).all(axis=1) & np.isfinite(pushed).all(axis=1)
        frame = prefix.split("/")[-1]
        found = measured_imu(frame, time[known], turned[known], pushed[known])
        if found is not None:
            return found
    return None


def _orientation(own: dict[str, Array]) -> Array | None:
    """Return quaternions xyzw of roll, pitch and yaw (URDF's: Rz Ry Rx), or given."""
    if own.keys() >= {"qx", "qy", "qz", "qw"}:
        given = np.stack([own[f"q{axis}"] for axis in "xyzw"], axis=1)
        length = np.linalg.norm(given, axis=1, keepdims=True)
        return np.asarray(given / np.where(length > 0.0, length, np.nan))
    if not own.keys() >= {"roll", "pitch", "yaw"}:
        return None
    roll, pitch, yaw = (own[name] / 2.0 for name in ("roll", "pitch", "yaw"))
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    cy, sy = np.cos(yaw), np.sin(yaw)
    return np.stack(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ],
        axis=1,
    )


def take_wrenches(
    columns: dict[str, Array], notices: list[str]
) -> dict[str, MeasuredWrench]:
    """Take wrenches out of a table by how columns begin, without their times.

    Feet may have F_z only, or F_z and a centre of pressure (insoles); force plates
    often have the three forces and a centre of pressure.
    """
    parts: dict[str, dict[str, str]] = {}
    for name in columns:
        match = WRENCH.fullmatch(name)
        if match:
            kind = (match.group(2) or match.group(4)[0]).lower().replace("t", "m")
            axis = (match.group(3) or match.group(5)).lower()
            parts.setdefault(match.group(1), {})[f"{kind}{axis}"] = name
        pressure = PRESSURE.fullmatch(name)
        if pressure:
            key = f"cop{pressure.group(2).lower()}"
            parts.setdefault(pressure.group(1), {})[key] = name
    wrenches = {}
    for prefix, names in parts.items():
        own = {key: columns.pop(name) for key, name in names.items()}
        if "fz" not in own:
            notices.append(
                f"columns {prefix}.* are left out: without fz they are no wrench"
            )
            continue
        whole = own.keys() >= set(WRENCH_ORDER)
        by_pressure = not whole and own.keys() >= {"copx", "copy"}
        if by_pressure:  # about the frame's origin, in whose plane z = 0 it is
            own["mx"] = own["copy"] * own["fz"]
            own["my"] = -own["copx"] * own["fz"]
        nothing = np.zeros(len(own["fz"]))
        values = np.stack([own.get(key, nothing) for key in WRENCH_ORDER], axis=1)
        measured = tuple(key in own for key in WRENCH_ORDER)
        frame = prefix.split("/")[-1]
        wrenches[prefix] = MeasuredWrench(frame, nothing, values, measured, by_pressure)
    return wrenches


class CsvColumns(NamedTuple):
    """Columns of a CSV file.

    Attributes:
        columns: Numbers by name, n rows each; NaN where a cell is empty.
        notices: What was left out, a sentence each.
    """

    columns: dict[str, Array]
    notices: list[str]


def csv_columns(
    file: Path, *, may_be_cut_off: bool, unread: Collection[str] = ()
) -> CsvColumns:
    """Read a CSV file; its first line shows whether commas, semicolons or tabs part it.

    Args:
        file: The file.
        may_be_cut_off: Whether a last row that is too short is left out, with a
            notice, instead of refused.
        unread: Columns to leave out, in small letters.

    Raises:
        EquipoiseError: If it is not a CSV file; names the row or column at fault.
    """
    try:
        with (
            open_input(file, LARGEST_TABLE_BYTES) as raw,
            io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream,
        ):
            head = stream.readline()
            delimiter = max(DELIMITERS, key=head.count)
            names = next(csv.reader([head.lstrip("#")], delimiter=delimiter), [])
            names = [name.strip() for name in names]
            _check_names(file, names)
            table = _Table(names, [name.lower() in unread for name in names])
            reader = csv.reader(stream, delimiter=delimiter)
            cut_off = _read_rows(file, reader, table)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EquipoiseError(f"{file}: cannot be read as CSV ({error})") from error
    notices: list[str] = []
    if cut_off is not None:
        if not may_be_cut_off:
            raise EquipoiseError(cut_off)
        notices.append(f"{file.name} is cut off: its last row is lost")
    if table.rows == 0:
        raise EquipoiseError(NOT_A_TABLE.format(file))
    texts = [name for name in names if name in table.texts]
    if len(texts) == 1:
        notices.append(f"column '{texts[0]}' is left out: it holds texts")
    elif texts:
        some = first_few([f"'{name}'" for name in texts])
        notices.append(f"{len(texts)} columns are left out: they hold texts ({some})")
    columns = table.columns()
    if not columns:
        raise EquipoiseError(f"{file}: none of its columns holds numbers")
    return CsvColumns(columns, notices)


def _check_names(file: Path, names: list[str]) -> None:
    if len(names) < 2:
        raise EquipoiseError(NOT_A_TABLE.format(file))
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise EquipoiseError(f"{file}: two columns have the name '{name}'")
        seen.add(name)


def _read_rows(file: Path, reader: Iterator[list[str]], table: _Table) -> str | None:
    """Add all rows to a table; return what is wrong with the last if it is short."""
    short = None
    for number, row in enumerate(filter(None, reader), start=2):
        if short is not None:  # not the last row: the file is not just cut off
            raise EquipoiseError(short)
        if len(row) != len(table.names):
            short = (
                f"{file}: row {number} has {len(row)} columns, the first has "
                f"{len(table.names)}"
            )
            if len(row) > len(table.names):
                raise EquipoiseError(short)
            continue
        table.add(row)
    table.flush()
    return short


class _Table:
    """Rows of texts, turned into numbers some thousand cells at a time.

    A cell takes thirty times the memory as a text.
    """

    def __init__(self, names: list[str], unread: list[bool]) -> None:
        self.names = names
        self.texts: set[str] = set()
        self.rows = 0
        self._read = [at for at, skip in enumerate(unread) if not skip]
        self._blocks: list[Array] = []
        self._waiting: list[list[str]] = []
        self._most = max(CELLS_AT_ONCE // len(names), 1)

    def add(self, row: list[str]) -> None:
        self._waiting.append(row)
        self.rows += 1
        if len(self._waiting) >= self._most:
            self.flush()

    def flush(self) -> None:
        """Turn the rows that wait into numbers; columns of texts are dropped."""
        cells = [
            [row[at].strip() or "nan" for at in self._read] for row in self._waiting
        ]
        self._waiting = []
        if not cells:
            return
        try:
            block = np.array(cells, dtype=np.float64)
        except ValueError:
            kept = [_are_numbers(column) for column in zip(*cells, strict=True)]
            for at, keep in zip(self._read, kept, strict=True):
                if not keep:
                    self.texts.add(self.names[at])
            self._read = [at for at, keep in zip(self._read, kept, strict=True) if keep]
            self._blocks = [before[:, kept] for before in self._blocks]
            rows = (
                [cell for cell, keep in zip(r, kept, strict=True) if keep]
                for r in cells
            )
            block = np.array(list(rows), dtype=np.float64)
        self._blocks.append(plausible(block))

    def columns(self) -> dict[str, Array]:
        numbers = np.ascontiguousarray(np.concatenate(self._blocks).T)
        return {
            self.names[at]: own for at, own in zip(self._read, numbers, strict=True)
        }


def _are_numbers(cells: Sequence[str]) -> bool:
    try:
        np.array(cells, dtype=np.float64)
    except ValueError:
        return False
    return True
