"""Horizontal path of a swing foot whose foothold changes on the way.

In each tick the foot is on the cubic from where it is, with the velocity it has, to
rest at the foothold when it should come down. Of a cubic over the way d in the time T,
from the velocity v, the accelerations at its ends and the velocity at its middle are

    6 (d - 2/3 v T) / T²,   -6 (d - 1/3 v T) / T²,   3/2 (d - 1/6 v T) / T,

from which follows how long it takes at least. A foot that the largest speed has made
late would come to its foothold too fast to stop there, and reach the other foot: on a
distance s that is left, it is no faster than √(2 a s), from which it stops in time.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Array

# A path is not hurried more than for so many control periods.
LAST_PERIODS = 4.0


class SwingPath:
    """Where a swing foot is on its way, horizontally in the world.

    Args:
        period: Time between two ticks [s].
        speed: Largest speed [m/s].
        stopping: Deceleration at which it stops before its goal [m/s²].

    Attributes:
        place: Where it should be now [m], shape (2,).
        velocity: [m/s], shape (2,).
        acceleration: [m/s²], shape (2,).
    """

    def __init__(self, period: float, speed: float, stopping: float) -> None:
        self.period, self.speed, self.stopping = period, speed, stopping
        self.begin(np.zeros(2), np.zeros(2))

    def begin(self, place: Array, velocity: Array) -> None:
        """Begin where the foot is [m], with its velocity [m/s], shape (2,) each."""
        self.place, self.velocity = np.array(place), np.array(velocity)
        self.acceleration = np.zeros(2)

    def advance(self, goal: Array, time_left: float) -> None:
        """Go on for a period.

        Args:
            goal: Where the foot should be [m], shape (2,).
            time_left: And when from now [s].
        """
        dt, rest = self.period, max(time_left, LAST_PERIODS * self.period)
        rate = 6.0 * (goal - self.place) / rest**2 - 4.0 * self.velocity / rest
        velocity = self.velocity + dt * rate
        fastest = min(self.speed, self._stoppable(math.hypot(*(goal - self.place))))
        fastest = max(fastest, math.hypot(*self.velocity) - dt * self.stopping)
        velocity = velocity * min(1.0, fastest / max(math.hypot(*velocity), 1e-9))
        self.acceleration = (velocity - self.velocity) / dt
        self.place = self.place + 0.5 * dt * (self.velocity + velocity)
        self.velocity = velocity

    def _stoppable(self, distance: float) -> float:
        """Return the speed from which a foot stops on a distance, one period later."""
        ahead = self.stopping * self.period
        return math.sqrt(ahead**2 + 2.0 * self.stopping * distance) - ahead


def least_times(
    way: Array, velocity: Array, times: Array, speed: float, acceleration: float
) -> Array:
    """Return the times that ways take at least, were they to take given times [s].

    A time that is at least as long as what is returned for it is long enough.

    Args:
        way: Ways [m], shape (n, 2).
        velocity: At their beginning [m/s], shape (2,).
        times: In which they are to be made [s], shape (n,).
        speed: Largest speed [m/s].
        acceleration: Largest acceleration [m/s²].
    """
    gone = velocity * times[:, None]
    middle = np.linalg.norm(way - gone / 6.0, axis=1)
    start = np.linalg.norm(way - 2.0 / 3.0 * gone, axis=1)
    end = np.linalg.norm(way - gone / 3.0, axis=1)
    hardest = np.maximum(start, end)
    least = np.maximum(1.5 * middle / speed, np.sqrt(6.0 * hardest / acceleration))
    return np.asarray(least)
