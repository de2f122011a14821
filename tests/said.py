"""What commands say and leave, for tests of verbs that simulate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

FILES = ["report.html", "run.mcap", "summary.json"]
COMMON_KEYS = {
    "verb",
    "robot",
    "engine",
    "achieved",
    "fell_at_s",
    "steps_done",
    "com_error_m",
    "zmp_margin_m",
    "duration_s",
    "dt_s",
    "wall_s",
    "realtime_factor",
    "seed",
    "versions",
}
# What differs between two runs of the same: time that passed, and the words.
OF_ONE_RUN = ("wall_s", "realtime_factor", "command")


class Said(NamedTuple):
    """What a command said, and its exit status."""

    status: int
    out: str
    err: str


Say = Callable[..., Said]


def no_constant(name: str) -> float:
    """Refuse what JSON has no word for."""
    raise AssertionError(f"summary.json holds {name}")


def summary_of(folder: Path) -> dict[str, Any]:
    """Return a run's figures; NaN and infinity are errors."""
    text = (folder / "summary.json").read_text(encoding="utf-8")
    figures: dict[str, Any] = json.loads(text, parse_constant=no_constant)
    return figures


def names_in(folder: Path) -> list[str]:
    """Return what lies in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def repeatable(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures that two runs of the same have in common."""
    return {key: value for key, value in figures.items() if key not in OF_ONE_RUN}
