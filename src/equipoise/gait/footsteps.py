"""Footsteps: where feet stand, one after the other; from a plan or a file."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, suggest
from equipoise.input_file import LARGEST_TEXT_BYTES, read_input_text
from equipoise.robot.parts import Side

SIDES: tuple[Side, ...] = get_args(Side)
COORDINATES = ("x", "y", "z", "yaw", "pitch", "roll")


@dataclass(frozen=True)
class Footstep:
    """A sole on the ground, in the world.

    Attributes:
        side: Which foot.
        x: x-coordinate of the sole frame's origin, forward [m].
        y: y-coordinate, to the left [m].
        z: z-coordinate, up [m].
        yaw: Heading of the sole; positive turns left [rad].
        pitch: Positive puts the toes down [rad].
        roll: Positive puts the right edge down [rad].
    """

    side: Side
    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0

    def __post_init__(self) -> None:
        """Refuse unknown feet and coordinates that are not finite."""
        check_side(self.side)
        for name in COORDINATES:
            value = getattr(self, name)
            if not math.isfinite(value):
                raise EquipoiseError(
                    f"{name} of a {self.side} footstep is {value}; it must be finite"
                )

    @property
    def coordinates(self) -> Array:
        """x, y, z [m], yaw, pitch, roll [rad], shape (6,)."""
        return np.array([getattr(self, name) for name in COORDINATES])

    @property
    def position(self) -> Array:
        """Position of the sole frame's origin in the world [m], shape (3,)."""
        return self.coordinates[:3]

    @property
    def transform_sole_to_world(self) -> Array:
        """Maps sole coordinates to world coordinates, shape (4, 4)."""
        return sole_transforms(self.coordinates)


class Stride(NamedTuple):
    """One step of a walk.

    Attributes:
        number: 1 for the first step.
        start: Where the swing foot lifts off.
        end: Where it comes down.
        support: Where the other foot stands meanwhile.
    """

    number: int
    start: Footstep
    end: Footstep
    support: Footstep


@dataclass(frozen=True)
class Footsteps:
    """Where both feet stand at the start, and where they go, one after the other.

    Yaw angles are kept within half a turn of the footstep before, by whole turns.

    Attributes:
        left: Where the left foot stands at the start.
        right: Where the right foot stands at the start.
        steps: Where feet are put down, in order; a foot may step twice in a row.
    """

    left: Footstep
    right: Footstep
    steps: tuple[Footstep, ...]

    def __post_init__(self) -> None:
        """Refuse walks without steps, and take whole turns out of yaw angles."""
        if self.left.side != "left" or self.right.side != "right":
            raise EquipoiseError("left and right feet at the start are mixed up")
        if not self.steps:
            raise EquipoiseError("a walk needs at least one step")
        right = _near(self.right, self.left.yaw)
        steps, yaw = [], right.yaw
        for step in self.steps:
            steps.append(_near(step, yaw))
            yaw = steps[-1].yaw
        object.__setattr__(self, "right", right)
        object.__setattr__(self, "steps", tuple(steps))

    @property
    def feet(self) -> dict[Side, Footstep]:
        """Where the feet stand at the start, by side."""
        return {"left": self.left, "right": self.right}

    @property
    def feet_at_end(self) -> dict[Side, Footstep]:
        """Where the feet stand at the end, by side."""
        return self.feet | {step.side: step for step in self.steps}

    @property
    def strides(self) -> tuple[Stride, ...]:
        """Each step with where it starts from and what supports it."""
        feet = self.feet
        strides = []
        for number, step in enumerate(self.steps, start=1):
            support = feet[other(step.side)]
            strides.append(Stride(number, feet[step.side], step, support))
            feet[step.side] = step
        return tuple(strides)


def other(side: Side) -> Side:
    """Return the other side."""
    return "right" if side == "left" else "left"


def check_side(side: str) -> Side:
    """Return a side.

    Raises:
        EquipoiseError: If it is neither left nor right.
    """
    for valid in SIDES:
        if side == valid:
            return valid
    raise EquipoiseError(
        f"unknown foot '{side}'{suggest(str(side), SIDES)}; left or right is needed"
    )


def _near(step: Footstep, yaw: float) -> Footstep:
    """Return a footstep with its yaw within half a turn of another."""
    turns = round((step.yaw - yaw) / (2.0 * math.pi))
    return replace(step, yaw=step.yaw - 2.0 * math.pi * turns) if turns else step


NEEDED = ("side", "x", "y")
# Of one file; planning takes memory with the square of it.
MOST_STEPS = 1000
# No foot is put farther away [m], or turned more [rad].
FARTHEST = 1e6
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
    text = read_input_text(path, LARGEST_TEXT_BYTES)
    rows = readers[path.suffix.lower()](text, path)
    steps = tuple(_footstep(row, where) for where, row in islice(rows, MOST_STEPS + 1))
    if len(steps) > MOST_STEPS:
        raise EquipoiseError(f"{path}: holds more than {MOST_STEPS} steps")
    if not steps:
        raise EquipoiseError(f"{path}: holds no steps")
    return Footsteps(feet["left"], feet["right"], steps)


def csv_table(text: str, path: Path) -> tuple[list[int], list[str], list[list[str]]]:
    """Return the rows of a CSV text that people write.

    Empty lines and lines that begin with ``#`` do not count.

    Args:
        text: The text.
        path: Its file, for the message.

    Returns:
        Line numbers, that of the header included; the header in lower case, empty if
        there is none; the rows below it.

    Raises:
        EquipoiseError: If it is not CSV.
    """
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    try:
        table = list(csv.reader((line for _, line in lines), strict=True))
    except csv.Error as error:
        raise EquipoiseError(f"{path}: is not CSV ({error})") from error
    header = [name.strip().lower() for name in table[0]] if table else []
    return [number for number, _ in lines], header, table[1:]


def _csv_rows(text: str, path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    numbers, header, table = csv_table(text, path)
    if len(table) >= max(len(numbers), 1) or set(NEEDED) - set(header):
        raise EquipoiseError(
            f"{path}: the first line must name the columns {', '.join(NEEDED)} and "
            f"may name {', '.join(COLUMNS[len(NEEDED) :])}"
        )
    _check_names(header, str(path))
    rows = zip(numbers[1:], table, strict=False)
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
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise EquipoiseError(f"{path}: is not TOML ({error})") from error
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
    if abs(number) > FARTHEST:
        raise EquipoiseError(f"{what} is '{value}'; at most {FARTHEST:g} is possible")
    return number


def sole_transforms(coordinates: Array) -> Array:
    """Return the transforms from sole to world, shape (…, 4, 4).

    Args:
        coordinates: x, y, z [m], yaw, pitch, roll [rad], shape (…, 6).
    """
    yaw, pitch, roll = np.moveaxis(coordinates[..., 3:], -1, 0)
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    cr, sr = np.cos(roll), np.sin(roll)
    pose = np.zeros((*coordinates.shape[:-1], 4, 4))
    pose[..., 0, 0], pose[..., 1, 0], pose[..., 2, 0] = cy * cp, sy * cp, -sp
    pose[..., 0, 1] = cy * sp * sr - sy * cr
    pose[..., 1, 1] = sy * sp * sr + cy * cr
    pose[..., 2, 1] = cp * sr
    pose[..., 0, 2] = cy * sp * cr + sy * sr
    pose[..., 1, 2] = sy * sp * cr - cy * sr
    pose[..., 2, 2] = cp * cr
    pose[..., :3, 3] = coordinates[..., :3]
    pose[..., 3, 3] = 1.0
    return pose


def sole_twists(coordinates: Array, rates: Array) -> Array:
    """Return velocities of sole frames in world axes, shape (…, 6).

    Args:
        coordinates: x, y, z [m], yaw, pitch, roll [rad], shape (…, 6).
        rates: Their time derivatives, shape (…, 6).

    Returns:
        Linear velocity of the sole frame's origin [m/s], then angular velocity
        [rad/s].
    """
    yaw, pitch = coordinates[..., 3], coordinates[..., 4]
    yaw_rate, pitch_rate, roll_rate = np.moveaxis(rates[..., 3:], -1, 0)
    twist = np.array(rates)
    level = roll_rate * np.cos(pitch)
    twist[..., 3] = level * np.cos(yaw) - pitch_rate * np.sin(yaw)
    twist[..., 4] = level * np.sin(yaw) + pitch_rate * np.cos(yaw)
    twist[..., 5] = yaw_rate - roll_rate * np.sin(pitch)
    return twist


def sole_accelerations(coordinates: Array, rates: Array, second: Array) -> Array:
    """Return time derivatives of :func:`sole_twists`, shape (…, 6).

    Args:
        coordinates: x, y, z [m], yaw, pitch, roll [rad], shape (…, 6).
        rates: Their time derivatives, shape (…, 6).
        second: Their second time derivatives, shape (…, 6).

    Returns:
        Linear acceleration of the sole frame's origin [m/s²], then angular
        acceleration [rad/s²], in world axes.
    """
    yaw, pitch = coordinates[..., 3], coordinates[..., 4]
    yaw_rate, pitch_rate, roll_rate = np.moveaxis(rates[..., 3:], -1, 0)
    yaw_second, pitch_second, roll_second = np.moveaxis(second[..., 3:], -1, 0)
    cos_pitch, sin_pitch = np.cos(pitch), np.sin(pitch)
    # ω̇ = ψ̈ z + Rz(ψ) (u̇ + ψ̇ z × u) with u = (φ̇ cos θ, θ̇, −φ̇ sin θ)
    forward = roll_second * cos_pitch - roll_rate * pitch_rate * sin_pitch
    forward -= yaw_rate * pitch_rate
    left = pitch_second + yaw_rate * roll_rate * cos_pitch
    acceleration = np.array(second)
    acceleration[..., 3] = forward * np.cos(yaw) - left * np.sin(yaw)
    acceleration[..., 4] = forward * np.sin(yaw) + left * np.cos(yaw)
    acceleration[..., 5] = yaw_second - roll_second * sin_pitch
    acceleration[..., 5] -= roll_rate * pitch_rate * cos_pitch
    return acceleration
