"""Limits of joint positions and speeds as bounds on accelerations.

A joint that moves towards its stop must be able to brake before it: with the
deceleration d that it can give, its speed may be √(2 d s) at the distance s. Bounds on
the acceleration keep it below that speed, so that there is always an acceleration that
keeps all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array


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
        up = np.maximum(self.upper - position, 0.0)
        down = np.maximum(position - self.lower, 0.0)
        fastest_up = np.minimum(self.speed, np.sqrt(2.0 * self.braking * up))
        fastest_down = np.minimum(self.speed, np.sqrt(2.0 * self.braking * down))
        most = (fastest_up - velocity) / time
        least = (-fastest_down - velocity) / time
        # braking is never asked for harder than the joint can, nor both at once
        most = np.maximum(most, -2.0 * self.braking)
        least = np.minimum(least, 2.0 * self.braking)
        return least, most
