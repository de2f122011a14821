"""Keys and values of a summary in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

UNITS = {
    "m": "m",
    "s": "s",
    "kg": "kg",
    "n": "N",
    "nm": "Nm",
    "rad": "rad",
    "radps": "rad/s",
    "hz": "Hz",
    "mps": "m/s",
    "mps2": "m/s²",
    "w": "W",
    "j": "J",
    "npm": "N/m",
    "nspm": "N s/m",
    "ns": "N s",
    "nspkg": "N s/kg",
    "share": "%",
    "fraction": "%",
    "deg": "°",
    "degps": "°/s",
}
# Units of small and of large values: the unit, its factor, above and below which size.
OTHER_UNITS = {
    "m": ("mm", 1e3, 0.0, 0.1),
    "s": ("ms", 1e3, 0.0, 0.1),
    "N/m": ("kN/m", 1e-3, 1e5, math.inf),
}
# Smaller values are shown as zero.
LEAST = {"mm": 1e-3, "ms": 1e-3}
NOTHING = 1e-9
DIGITS = 3
# Decimals that are added at most to tell a value from its limit.
MORE_DECIMALS = 5
NAMES = {"com": "CoM", "zmp": "ZMP", "cop": "CoP", "fz": "Fz", "rms": "RMS"}
# What a reader looks for first; the rest follows by name.
FIRST = (
    "verb",
    "robot",
    "engine",
    "duration_s",
    "dt_s",
    "steps_done",
    "steps_wanted",
    "fell_at_s",
    "landed_at_s",
    "feedback",
    "com_error_from_stance_m",
    "com_error_m",
    "placement_error_from_stance_m",
    "placement_error_m",
    "zmp_error_from_stance_m",
    "zmp_error_m",
    "zmp_margin_m",
    "zmp_inside_feet_fraction",
    "zmp_inside_fraction",
    "zmp_5mm_inside_fraction",
    "yaw_moment_rms_nm",
    "arms",
    "hand_error_m",
    "hand_way_m",
    "odometry_drift_m",
    "drift_over_distance_fraction",
    "estimator",
)
PHRASES = {
    "dt": "time step",
    "wall": "computing time",
    "realtime_factor": "real-time factor",
    "zmp_inside": "time with the ZMP inside",
    "zmp_5mm_inside": "single support with the ZMP 5 mm inside",
    "yaw_moment_rms": "yaw moment at the stance foot, RMS",
    "hand_error": "hand off its motion",
    "hand_way": "way of the hand",
    "zmp_inside_feet": "time with the ZMP inside the soles in support",
    "placement_error": "error of footfalls",
    "placement_error_from_stance": "error of footfalls from the stance foot",
    "zmp_error_from_stance": "ZMP error from the stance foot",
    "step_yaw_error": "largest turn of a footfall from the stance foot",
    "drift_over_distance": "odometry drift over the distance",
    "com_rms": "CoM from the stance foot, RMS",
    "com_velocity_rms": "velocity of the CoM, RMS",
    "com_offset_true": "offset of the CoM, true",
    "com_offset_found": "offset of the CoM, found",
    "com_offset_error": "offset of the CoM, error",
    "theoretical_limit": "theoretical limit J*",
    "limit": "impulse over J*",
    "com_excursion": "CoM off its place, peak",
    "com_end": "CoM off its place at the end",
    "com_speed": "speed of the CoM at the end",
    "sole_slip": "soles off their place at the end",
    "sole_lift": "height of a sole's edge",
    "com_error_from_stance": "CoM error from the stance foot",
    "end_error": "CoM off its plan at the end",
    "heading_error": "heading off its plan at the end",
    "peak_torque": "torque over its limit, peak",
    "peak_speed": "speed over its limit, peak",
    "at_limit": "time with a torque at its limit",
    "double_support": "double support, fraction of a step",
    "length": "step length",
    "width": "step width",
    "first": "foot that swings first",
    "iterations_mean": "iterations, mean",
    "kinematic_com_error": "CoM error before simulation",
    "com_error_mean": "CoM error, mean",
    "com_error_max": "CoM error, max",
    "zmp_deviation": "ZMP from below the held CoM",
    "zmp_deviation_x": "ZMP from below the held CoM, x",
    "zmp_deviation_y": "ZMP from below the held CoM, y",
    "planned_zmp_deviation": "the same before simulation",
    "arm_speed": "peak speed",
    "wanted_force": "force on the box, wanted",
    "largest_force": "largest force that can be asked for",
    "peak_force": "peak force",
    "steady_force": "force on the box while steady",
    "push_height": "height of the hands in the push",
    "box_acceleration": "acceleration of the box",
    "expected_acceleration": "acceleration expected, (F - μ m g) / m",
    "box_moved": "box moved",
    "timeline": "time line",
    "goal": "goal of the hand",
    "reached": "reached by the hand",
    "remaining": "distance that remains",
    "planned_remaining": "distance that remains, planned",
    "com_margin": "CoM from the edge of the soles at the end",
}


def readable_results(
    results: Mapping[str, Any], leave_out: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield results as label and value with its unit, in plain words.

    A key of results ends in its unit, as in ``com_error_m``; some are left out.
    """
    first = [key for key in FIRST if key in results]
    for key in [*first, *(key for key in results if key not in first)]:
        if key not in leave_out:
            yield from _rows(key, results[key])


def joint_use_rows(
    joints: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, ...]]:
    """Yield a head, then a row of texts for each joint: torque and speed, and limits.

    Args:
        joints: ``"joints"`` of ``"actuators"`` of a summary, by name.
    """
    yield (
        "joint",
        "peak [Nm]",
        "RMS [Nm]",
        "limit [Nm]",
        "peak [rad/s]",
        "limit [rad/s]",
    )
    keys = (
        "peak_torque_nm",
        "rms_torque_nm",
        "torque_limit_nm",
        "peak_speed_radps",
        "speed_limit_radps",
    )
    for name, use in joints.items():
        values = [use.get(key) for key in keys]
        yield name, *("–" if value is None else f"{value:.3g}" for value in values)


def compared_rows(
    compared: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, ...]]:
    """Yield a head, then a row of texts for each result, a column for each run.

    Args:
        compared: ``"compared"`` of a summary: results of each run by its name.
    """
    yield "", *compared
    for key in next(iter(compared.values())):
        shown = [dict(readable_results({key: own[key]})) for own in compared.values()]
        label = next(iter(shown[0]))
        yield label, *(next(iter(row.values())) for row in shown)


def push_rows(pushes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield label and words for each push of a summary's ``"pushes"``."""
    for push in pushes:
        until = push["start_s"] + push["duration_s"]
        towards = signed(push["direction_deg"], 0)
        yield (
            f"push at {push['link']}",
            f"{push['impulse_ns']:.3g} N s towards {towards}°, "
            f"{push['start_s']:.3g} to {until:.3g} s",
        )


def value_with_unit(value: object, unit: str) -> str:
    """Return a value as text, small ones in a smaller unit."""
    return values_with_unit([value], unit)[0]


def values_with_unit(values: Sequence[object], unit: str) -> list[str]:
    """Return values of one quantity as texts: one unit, and as many decimals.

    The largest of them decides: it has three digits at least.
    """
    return [_words(value, *_scale(values, unit)) for value in values]


def value_beside_limit(value: object, limit: object, unit: str) -> tuple[str, str]:
    """Return a value and its limit as texts that differ if they do."""
    unit, factor, decimals = _scale([value, limit], unit)
    for digits in range(decimals, decimals + MORE_DECIMALS):
        texts = (
            _words(value, unit, factor, digits),
            _words(limit, unit, factor, digits),
        )
        if value == limit or texts[0] != texts[1]:
            break
    return texts


def signed(value: float, digits: int) -> str:
    """Return a number with so many digits after the point, and a proper minus."""
    if not math.isfinite(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _scale(values: Sequence[object], unit: str) -> tuple[str, float, int]:
    """Return unit, factor and decimals in which values are shown."""
    flat = [
        x for value in values for x in (value if isinstance(value, list) else [value])
    ]
    sizes = [abs(float(x)) for x in flat if isinstance(x, int | float)]
    largest = max((size for size in sizes if math.isfinite(size)), default=0.0)
    factor = 100.0 if unit == "%" else 1.0
    if unit in OTHER_UNITS:
        other, own, low, high = OTHER_UNITS[unit]
        if low < largest < high:
            unit, factor = other, own
    decimals = 0
    if factor * largest >= LEAST.get(unit, NOTHING):
        decimals = max(DIGITS - 1 - math.floor(math.log10(factor * largest)), 0)
    return unit, factor, decimals


def _words(value: object, unit: str, factor: float, decimals: int) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            number = signed(factor * value, decimals)
            if decimals:
                number = number.rstrip("0").rstrip(".")
            return f"{number} {unit}".rstrip()
        case list():
            parts = [_words(part, "", factor, decimals) for part in value]
            return f"{', '.join(parts)} {unit}".rstrip() if parts else "none"
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
    elif unit and list(value) == ["x", "y", "z"]:
        yield f"{label} x, y, z", value_with_unit([*value.values()], unit)
    elif unit:
        shown = values_with_unit([*value.values()], unit)
        for part, text in zip(value, shown, strict=True):
            words = " ".join(NAMES.get(word, word) for word in str(part).split("_"))
            yield f"{label}, {words}", text
    else:
        for part_label, text in readable_results(value):
            yield f"{label}, {part_label}", text
