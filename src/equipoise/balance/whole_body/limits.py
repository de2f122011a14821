"""Limits of joint positions and speeds as bounds on accelerations.

A joint that moves towards its stop must be able to brake before it: with the
deceleration d that it can give, its speed may be √(2 d s) at the distance s. Bounds on
the acceleration keep it below that speed, so that there is always an acceleration that
keeps all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equipoise.arrays import Array, frozen_array


@dataclass(frozen=True, eq=False)
class JointRange:
    """Where joints may be and how fast, in the order of v[6:].

    Attributes:
        lower: Lower stops [rad or m], shape (n,).
        upper: Upper stops.
        speed: Largest speeds [rad/s or m/s].
        braking: Decelerations that joints can give before a stop [rad/s² or m/s²].
    """

    lower: Array
    upper: Array
    speed: Array
    braking: Array

    def acceleration_bounds(
        self, position: Array, velocity: Array, time: float
    ) -> tuple[Array, Array]:
        """Return the least and the largest accelerations, shape (n,) each.

        Args:
            position: Joint positions, shape (n,).
            velocity: Joint velocities, shape (n,).
            time: Time in which a velocity beyond its limit is brought back [s]; at
                least a control period.
        """
        most, least = room = self._stops - SIGNS * position
        np.maximum(room, 0.0, out=room)
        room *= self._twice_braking
        np.sqrt(room, out=room)
        np.minimum(room, self.speed, out=room)
        room -= SIGNS * velocity
        room *= 1.0 / time
        # braking is never asked for harder than the joint can, nor both at once
        np.maximum(room, -self._twice_braking, out=room)
        return -least, most

    @cached_property
    def _stops(self) -> Array:
        return np.stack((self.upper, -self.lower))

    @cached_property
    def _twice_braking(self) -> Array:
        return np.asarray(2.0 * self.braking)


# Towards the upper stops, and towards the lower ones.
SIGNS = frozen_array(np.array([[1.0], [-1.0]]))
