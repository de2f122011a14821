"""What a motion of the centre of mass is, whoever planned it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from equipoise.arrays import Array


class ComTable(NamedTuple):
    """A motion of the centre of mass at n times.

    Attributes:
        com: Position in the world [m], shape (n, 3).
        velocity: [m/s], shape (n, 3).
        acceleration: [m/s²], shape (n, 3).
        zmp: Where the zero-moment point is meant to be [m], shape (n, 3).
    """

    com: Array
    velocity: Array
    acceleration: Array
    zmp: Array


class ComMotion(Protocol):
    """A motion of the centre of mass over time."""

    def at(self, times: Array) -> ComTable:
        """Return the motion at times within it [s], shape (n,)."""
        ...


@dataclass(frozen=True)
class CorrectedMotion:
    """A motion of the centre of mass with a small one on top.

    The ZMP stays that of the first: the second is there to bring it about.

    Attributes:
        planned: What is corrected.
        correction: What is added to position, velocity and acceleration.
    """

    planned: ComMotion
    correction: ComMotion

    def at(self, times: Array) -> ComTable:
        """Return the motion at times within it [s], shape (n,)."""
        planned, added = self.planned.at(times), self.correction.at(times)
        return ComTable(
            planned.com + added.com,
            planned.velocity + added.velocity,
            planned.acceleration + added.acceleration,
            planned.zmp,
        )
