"""Touchdown: the event that ends a swing phase.

Either the swing foot comes down to the level ground (``FootTouchdown``), or the stance
leg reaches a given angle, whatever the height of the foot (``PhaseTouchdown``: the
impact surface of [Grizzle2001], which is the same while the outputs are zero).

Without knees a swing foot does not pass the other without touching the ground. Scuffing
is ignored: touchdown counts only in front of the stance foot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array


class Touchdown(Protocol):
    """When a swing phase ends: an event function that rises through zero."""

    def value(self, theta: Array) -> Array:
        """Return e of angles (θ₁, θ₂, θ₃), shape (3, …) to (…)."""
        ...

    def rate(self, theta: Array, rates: Array) -> Array:
        """Return ė, shapes (3, …) to (…)."""
        ...

    def armed(self, theta: Array) -> NDArray[np.bool_]:
        """Return whether an event counts here, shape (3, …) to (…)."""
        ...


@dataclass(frozen=True)
class PhaseTouchdown:
    """Touchdown when the stance leg has reached an angle.

    Attributes:
        stance_angle: θ₁ at the impact [rad].
    """

    stance_angle: float

    def value(self, theta: Array) -> Array:
        """Return θ₁ less the angle."""
        return np.asarray(theta[0] - self.stance_angle)

    def rate(self, theta: Array, rates: Array) -> Array:
        """Return θ̇₁."""
        return np.asarray(rates[0])

    def armed(self, theta: Array) -> NDArray[np.bool_]:
        """Return true: it always counts."""
        return np.ones_like(theta[0], dtype=bool)


@dataclass(frozen=True)
class FootTouchdown:
    """Touchdown when the swing foot comes down to the ground, ahead of the stance foot.

    Attributes:
        shortest_step: How far ahead it must be at least, in leg lengths; nearer than
            this it scuffs, which is ignored.
    """

    shortest_step: float

    def value(self, theta: Array) -> Array:
        """Return the foot's depth in the ground, in leg lengths."""
        return np.asarray(np.cos(theta[1]) - np.cos(theta[0]))

    def rate(self, theta: Array, rates: Array) -> Array:
        """Return the rate of the depth, in leg lengths [1/s]."""
        down = np.sin(theta[0]) * rates[0] - np.sin(theta[1]) * rates[1]
        return np.asarray(down)

    def armed(self, theta: Array) -> NDArray[np.bool_]:
        """Return whether the foot is far enough ahead."""
        return np.asarray(np.sin(theta[0]) - np.sin(theta[1]) > self.shortest_step)
