"""Figures that a user hands in, checked."""

from __future__ import annotations

import math

from equipoise.errors import EquipoiseError


def check_figure(
    name: str,
    value: float,
    unit: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> float:
    """Return a figure as a float.

    Args:
        name: What it is called in the message.
        value: The figure.
        unit: Its unit, for the message.
        least: It must not be less.
        above: It must be greater.
        below: It must be less.

    Raises:
        EquipoiseError: If it is no finite number, or not within its limits.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise EquipoiseError(f"{name} is {value!r}; it must be a number") from None
    if not math.isfinite(number):
        raise EquipoiseError(f"{name} is {number:g} {unit}; it must be finite")
    limits = [
        (least, number >= least, f"at least {least:g}"),
        (above, number > above, f"more than {above:g}"),
        (below, number < below, f"less than {below:g}"),
    ]
    if not all(within for _, within, _ in limits):
        needed = " and ".join(words for at, _, words in limits if math.isfinite(at))
        raise EquipoiseError(f"{name} is {number:g} {unit}; it must be {needed} {unit}")
    return number
