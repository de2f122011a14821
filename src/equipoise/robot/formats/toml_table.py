"""Checked access to a parsed TOML table: every complaint names file and item."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.errors import RobotFileError, suggest
from equipoise.robot.tree import LARGEST

# What a robot's TOML may hold beside its links and joints: the same sections that a
# sidecar file beside a URDF may have.
SETTINGS_KEYS = (
    "title",
    "summary",
    "source",
    "assumptions",
    "format",
    "orientation",
    "limbs",
    "soles",
    "actuators",
    "postures",
)

_NUMBER = r"(\d+\.?\d*|\.\d+)"
_MULTIPLE_OF_PI = re.compile(rf"([+-]?)(?:{_NUMBER}\*?)?(?:pi|π)(?:/{_NUMBER})?")
_DEGREES = re.compile(rf"([+-]?){_NUMBER}(?:deg|°)")


class Table:
    """One table of a TOML file, with the words that name it in messages."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        """Wrap a parsed table.

        Args:
            values: The table as ``tomllib`` gives it.
            where: Names file and item, e.g. ``"robot.toml: [dh.left_leg] row 2"``.
        """
        self.values = values
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, message: str) -> RobotFileError:
        """Return an error that begins with file and item."""
        return RobotFileError(f"{self.where}: {message}")

    def check_keys(self, *valid: str) -> None:
        """Refuse keys that are not among the valid ones."""
        for key in self.values:
            if key not in valid:
                raise self.error(
                    f"unknown key '{key}'{suggest(key, valid)}; "
                    f"known are {', '.join(valid)}"
                )

    def text(self, key: str, default: str | None = None) -> str:
        """Return a non-empty string."""
        value = self._get(key, default)
        if not isinstance(value, str) or not value:
            raise self.error(f"'{key}' must be a name in quotes, is {value!r}")
        return value

    def choice(self, key: str, valid: Sequence[str], default: str | None = None) -> str:
        """Return a string that is one of the valid ones."""
        value = self.text(key, default)
        if value not in valid:
            raise self.error(
                f"{key} '{value}' is not known{suggest(value, valid)}; "
                f"choose from {', '.join(valid)}"
            )
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number; angles may be ``"pi/2"`` or ``"90 deg"``."""
        return self._to_float(self._get(key, default), key)

    def not_negative(self, key: str, default: float | None = None) -> float:
        """Return a finite number of zero or more, or the default."""
        if key not in self and default is not None:
            return default
        value = self.number(key)
        if value < 0.0:
            raise self.error(f"'{key}' is {value:g}, it must not be negative")
        return value

    def vector(
        self, key: str, count: int, default: Sequence[float] | None = None
    ) -> tuple[float, ...]:
        """Return a list of so many finite numbers."""
        values = self._get(key, default)
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise self.error(f"'{key}' needs a list of {count} numbers, is {values!r}")
        if len(values) != count:
            raise self.error(f"'{key}' needs {count} numbers, has {len(values)}")
        return tuple(self._to_float(value, key) for value in values)

    def table(self, key: str) -> Table:
        """Return the table under a key."""
        value = self._get(key, None)
        if not isinstance(value, Mapping):
            raise self.error(f"'{key}' must be a table, is {value!r}")
        return Table(value, f"{self.where}, {key}")

    def tables(self, key: str, *, required: bool = True) -> list[Table]:
        """Return the list of tables under a key, each named by its own name."""
        values = self._get(key, None if required else [])
        if not isinstance(values, list) or not all(
            isinstance(value, Mapping) for value in values
        ):
            raise self.error(f"'{key}' must be a list of tables")
        if required and not values:
            raise self.error(f"'{key}' is empty")
        return [
            Table(value, f"{self.where}, {key} {_label(value, number)}")
            for number, value in enumerate(values, start=1)
        ]

    def _get(self, key: str, default: Any) -> Any:
        if key in self.values:
            return self.values[key]
        if default is None:
            near = suggest(key, set(self.values))
            raise self.error(f"'{key}' is missing{near}")
        return default

    def _to_float(self, value: object, key: str) -> float:
        number = math.nan
        if isinstance(value, str):
            number = angle_from_text(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value) if abs(value) <= LARGEST else math.nan
        if not abs(number) <= LARGEST:
            raise self.error(
                f"'{key}' is {repr(value)[:40]}, not a finite number below {LARGEST:g} "
                '(angles may also be written "pi/2" or "90 deg")'
            )
        return number


def angle_from_text(text: str) -> float:
    """Return the angle that a text such as "-3pi/4" or "90 deg" names [rad].

    Only a multiple of π and degrees are understood; anything else gives NaN.
    """
    compact = "".join(text.split())
    if match := _MULTIPLE_OF_PI.fullmatch(compact):
        sign, factor, divisor = match.groups()
        size = float(factor or 1.0) * math.pi
        parts = float(divisor or 1.0)
        return math.nan if parts == 0.0 else math.copysign(size / parts, _unit(sign))
    if match := _DEGREES.fullmatch(compact):
        sign, degrees = match.groups()
        return math.copysign(math.radians(float(degrees)), _unit(sign))
    return math.nan


def _unit(sign: str) -> float:
    return -1.0 if sign == "-" else 1.0


def _label(value: Mapping[str, Any], number: int) -> str:
    """Name an entry of a list by its number and what it calls itself."""
    name = value.get("joint", value.get("name", value.get("link")))
    return f"{number} ('{name}')" if isinstance(name, str) else str(number)
