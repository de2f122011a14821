"""A paper's experiment in the report: its methods beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.show.pages.labels import value_with_unit
from equipoise.show.pages.markup import table, text

HEAD = ("method", "CoM error, mean", "max", "min", "ZMP inside", "a point", "outcome")
PRINTED = "as printed in the paper"


def paper_table(figures: Mapping[str, Any]) -> str:
    """Return the methods that a paper compares as a table.

    Args:
        figures: ``"paper"`` of a summary: a mapping for each method, with its name,
            ``com_error_m``, ``zmp_inside_share``, ``time_a_point_s``, ``steps_done``
            and ``fell_at_s``; ``"printed"`` lacks some.
    """
    methods = [value for value in figures.values() if isinstance(value, Mapping)]
    methods.sort(key=lambda method: "method" in method)
    return table(HEAD, [[text(cell) for cell in _row(m)] for m in methods])


def _row(method: Mapping[str, Any]) -> list[str]:
    error = method.get("com_error_m", {})
    inside = method.get("zmp_inside_share")
    return [
        str(method.get("method", PRINTED)),
        *(value_with_unit(error.get(key), "m") for key in ("mean", "max", "min")),
        "–" if inside is None else f"{100.0 * inside:.0f} %",
        value_with_unit(method.get("time_a_point_s"), "s"),
        _outcome(method),
    ]


def _outcome(method: Mapping[str, Any]) -> str:
    steps, fell = method.get("steps_done"), method.get("fell_at_s")
    after = "" if steps is None else f", {steps} steps"
    return f"stays up{after}" if fell is None else f"falls at {fell:.2f} s{after}"
