"""Keys and values of a summary in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

UNITS = {
    "m": "m",
    "s": "s",
    "kg": "kg",
    "n": "N",
    "nm": "Nm",
    "rad": "rad",
    "hz": "Hz",
    "mps": "m/s",
    "w": "W",
    "j": "J",
    "npm": "N/m",
    "nspm": "N s/m",
}
NAMES = {"com": "CoM", "zmp": "ZMP", "cop": "CoP", "dt": "time step", "fz": "Fz"}
# Smaller values are rounding errors.
NOTHING = 1e-9
# Lengths and times below a micrometre and a microsecond are shown as zero [mm, ms].
LEAST_MILLI = 1e-3
# What a reader looks for first; the rest follows by name.
FIRST = (
    "verb",
    "robot",
    "engine",
    "duration_s",
    "dt_s",
    "steps_done",
    "fell_at_s",
    "com_error_m",
    "zmp_margin_m",
)
PHRASES = {
    "fell_at": "fell at",
    "wall": "computing time",
    "realtime_factor": "real-time factor",
}


def readable_results(
    results: Mapping[str, Any], leave_out: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Go through results as label and value with its unit, in plain words.

    A key of results ends in its unit, as in ``com_error_m``; some are left out.
    """
    first = [key for key in FIRST if key in results]
    for key in [*first, *sorted(set(results) - set(first))]:
        if key not in leave_out:
            yield from _rows(key, results[key])


def value_with_unit(value: object, unit: str) -> str:
    """Return a value as text; small lengths in mm, short times in ms."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            if unit in ("m", "s") and 0.0 < abs(value) < 0.1:
                value, unit = 1000.0 * value, f"m{unit}"
            if abs(value) < (LEAST_MILLI if unit in ("mm", "ms") else NOTHING):
                value = 0.0
            digits = ".4g" if abs(value) < 1e4 else ".0f"
            shown = f"{value:{digits}}" if isinstance(value, float) else str(value)
            shown = shown.replace("-", "\N{MINUS SIGN}")
            return f"{shown} {unit}" if unit else shown
        case list():
            return ", ".join(value_with_unit(item, unit) for item in value) or "none"
        case _:
            return str(value)


def _rows(key: str, value: object) -> Iterator[tuple[str, str]]:
    stem, _, ending = key.rpartition("_")
    unit = UNITS.get(ending, "") if stem else ""
    name = stem if unit else key
    words = " ".join(NAMES.get(word, word) for word in name.split("_"))
    label = PHRASES.get(name, words)
    if not isinstance(value, Mapping):
        yield label, value_with_unit(value, unit)
        return
    for name, part in value.items():
        for sub_label, shown in _rows(f"{name}_{ending}" if unit else str(name), part):
            yield f"{label}, {sub_label}", shown
