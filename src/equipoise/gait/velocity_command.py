"""Commanded velocities over time: constant, a table, a file or a function."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import csv_table
from equipoise.input_file import LARGEST_TEXT_BYTES, read_input_text

COLUMNS = ("time", "vx", "vy", "yaw_rate")
MOST_ROWS = 100_000


class Velocity(NamedTuple):
    """A velocity of the robot over the ground, in the frame of its heading.

    Attributes:
        x: Forward [m/s].
        y: To the left [m/s].
        yaw_rate: Turn to the left [rad/s].
    """

    x: float = 0.0
    y: float = 0.0
    yaw_rate: float = 0.0


@dataclass(frozen=True)
class VelocityTable:
    """Velocities at times: linear in between, constant before and after.

    Twice the same time is a jump: the velocity is the second from then on.

    Attributes:
        times: In order [s].
        velocities: One for each time.
    """

    times: tuple[float, ...]
    velocities: tuple[Velocity, ...]

    def __post_init__(self) -> None:
        """Refuse tables that are empty, out of order or not finite."""
        if not self.times or len(self.times) != len(self.velocities):
            raise EquipoiseError(
                f"{len(self.times)} times and {len(self.velocities)} velocities; "
                "equally many are needed, one or more"
            )
        if not all(map(math.isfinite, self.times)):
            raise EquipoiseError("a time of the commanded velocity is not finite")
        for before, after in pairwise(self.times):
            if after < before:
                raise EquipoiseError(
                    f"times of the commanded velocity must be in order; {after:g} s "
                    f"comes after {before:g} s"
                )
        for time, velocity in zip(self.times, self.velocities, strict=True):
            _check(velocity, time)

    def __call__(self, time: float) -> Velocity:
        """Return the velocity at a time [s]."""
        after = bisect_right(self.times, time)
        if after == 0 or after == len(self.times):
            return self.velocities[min(after, len(self.times) - 1)]
        start, end = self.times[after - 1], self.times[after]
        fraction = (time - start) / (end - start)
        pair = zip(self.velocities[after - 1], self.velocities[after], strict=True)
        return Velocity(*(first + fraction * (last - first) for first, last in pair))


Command: TypeAlias = (
    Velocity | Sequence[float] | VelocityTable | Callable[[float], Sequence[float]]
)


def velocity_function(command: Command) -> Callable[[float], Velocity]:
    """Return a commanded velocity as a function of time [s], checked at each call.

    Args:
        command: (vx, vy, yaw rate) in m/s and rad/s; a table; or a function of time
            that returns such three numbers.

    Raises:
        EquipoiseError: If it is none of these, or not finite.
    """
    if isinstance(command, VelocityTable):
        return command
    if callable(command):
        function = command
        return lambda time: _check(function(time), time)
    constant = _check(command, 0.0)
    return lambda time: constant


def _check(values: Sequence[float], time: float) -> Velocity:
    try:
        velocity = Velocity(*(float(value) for value in values))
        complete = len(values) == len(Velocity._fields)
    except (TypeError, ValueError):
        complete = False
    if not (complete and all(map(math.isfinite, velocity))):
        raise EquipoiseError(
            f"the commanded velocity at {time:g} s is {values!r}; three finite numbers "
            "are needed: vx and vy in m/s, yaw rate in rad/s"
        )
    return velocity


def read_velocities(path: Path | str) -> VelocityTable:
    """Return the commanded velocity of a CSV file.

    Its header has the columns ``time`` [s], ``vx``, ``vy`` [m/s] and ``yaw_rate``
    [rad/s], in any order; empty lines and lines that begin with ``#`` do not count.

    Raises:
        EquipoiseError: If the file cannot be read or a row is wrong; names the line.
    """
    path = Path(path)
    text = read_input_text(path, LARGEST_TEXT_BYTES)
    numbers, header, table = csv_table(text, path)
    if sorted(header) != sorted(COLUMNS):
        raise EquipoiseError(
            f"{path}: the first line must name the columns {', '.join(COLUMNS)}"
        )
    if not 1 <= len(table) <= MOST_ROWS:
        raise EquipoiseError(
            f"{path}: holds {len(table)} velocities; 1 to {MOST_ROWS} are possible"
        )
    order = [header.index(name) for name in COLUMNS]
    times: list[float] = []
    velocities: list[Velocity] = []
    for number, row in zip(numbers[1:], table, strict=False):
        try:
            if len(row) != len(header):
                raise ValueError
            time, *velocity = (float(row[at]) for at in order)
            if not all(map(math.isfinite, [time, *velocity])):
                raise ValueError
        except ValueError:
            raise EquipoiseError(
                f"{path}, line {number}: has '{','.join(row)}'; finite numbers for "
                f"{', '.join(header)} are needed"
            ) from None
        if times and time < times[-1]:
            raise EquipoiseError(
                f"{path}, line {number}: {time:g} s comes after {times[-1]:g} s; times "
                "must be in order"
            )
        times.append(time)
        velocities.append(Velocity(*velocity))
    return VelocityTable(tuple(times), tuple(velocities))
