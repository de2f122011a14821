"""Round numbers for axes."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers laid along a stretch of the picture.

    Attributes:
        low: Number at the beginning.
        high: Number at the end.
        begin: Where it begins in the picture [px].
        end: Where it ends [px].
        ticks: Round numbers on it.
        step: Between ticks.
    """

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[float, ...]
    step: float

    def place(self, value: float) -> float:
        """Return where a number is in the picture [px]."""
        share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def label(self, tick: float) -> str:
        """Return a tick's number, no longer than its neighbours need."""
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{tick + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def make_axis(
    low: float,
    high: float,
    begin: float,
    end: float,
    *,
    ticks: int = 6,
    least: float = 0.0,
    room: float = 0.0,
) -> Axis:
    """Return an axis that holds the numbers from low to high.

    Args:
        low: Least number.
        high: Greatest number.
        begin: Where it begins in the picture [px].
        end: Where it ends [px].
        ticks: About how many.
        least: It spans at least this much, so that noise looks like noise.
        room: Share of the span that is left free at both ends.
    """
    span = max(high - low, least, 1e-9 * max(abs(low), abs(high)), 1e-12)
    middle = 0.5 * (low + high)
    low, high = (middle + side * (0.5 + room) * span for side in (-1.0, 1.0))
    step = _round_step((high - low) / ticks)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    numbers = tuple(k * step for k in range(first, last + 1))
    return Axis(low, high, begin, end, numbers, step)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= step * 0.999)
