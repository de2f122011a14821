"""Which part of a run the plots show."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

# Lengths of the parts by their names [s]; None is the whole.
SPANS: Mapping[str, float | None] = MappingProxyType(
    {"whole run": None, "60 s": 60.0, "10 s": 10.0, "2 s": 2.0}
)


class Page(NamedTuple):
    """A part of a run.

    Attributes:
        start: [s].
        end: [s].
    """

    start: float
    end: float

    def share(self, time: float) -> float:
        """Return where a time is, from 0 at the start to 1 at the end."""
        length = self.end - self.start
        if length <= 0.0:
            return 0.0
        return min(max((time - self.start) / length, 0.0), 1.0)


def page_at(whole: Page, length: float | None, time: float) -> Page:
    """Return the part that holds a time; parts follow each other, the last is full.

    Args:
        whole: The run.
        length: Of the parts [s]; None for the whole.
        time: Within the run [s].
    """
    if length is None or length >= whole.end - whole.start:
        return whole
    start = whole.start + length * int((time - whole.start) / length)
    start = min(start, whole.end - length)
    return Page(start, start + length)
