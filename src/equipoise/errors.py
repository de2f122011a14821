"""Every error that Equipoise raises on purpose, under one root."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EquipoiseError(Exception):
    """Root of all errors raised on purpose; its message is one clear line."""


class RobotFileError(EquipoiseError):
    """A robot file is missing, malformed, unsafe or physically impossible."""


class ExportError(EquipoiseError):
    """The robot holds something that the file format cannot express."""


class UnknownRobotError(EquipoiseError):
    """A name is neither in the catalogue nor a file."""


class LegsNotFoundError(EquipoiseError):
    """The robot has not exactly two legs where two are needed."""


class NameNotFoundError(EquipoiseError):
    """A joint, link, frame, limb or posture of that name does not exist."""

    def __init__(self, kind: str, name: str, valid: Iterable[str], owner: str) -> None:
        """Say what is missing and what there is.

        Args:
            kind: What was looked for, e.g. ``"frame"``.
            name: The name that was not found.
            valid: The names that exist.
            owner: What was searched, e.g. the robot's name.
        """
        names = list(valid)
        super().__init__(
            f"{owner} has no {kind} '{name}'{suggest(name, names)}; "
            f"its {kind}s are: {', '.join(names) or 'none'}"
        )


class ShapeError(EquipoiseError):
    """An array argument has the wrong shape or impossible values."""


def suggest(name: str, valid: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the nearest valid name, or nothing."""
    near = difflib.get_close_matches(name.lower(), list(valid), n=1, cutoff=0.5)
    return f" (did you mean '{near[0]}'?)" if near else ""
