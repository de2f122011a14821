"""What joints can do; limits of positions and speeds as bounds on accelerations.

A joint that moves towards its stop must be able to brake before it. With the
deceleration d that it can give, its speed v may be, at the distance s,

    f(s) = √(2 d s - d² T²)   from s = d T²,   s / T   nearer to the stop,

so that it comes to rest at the stop without a jump of its deceleration. Speeds stay
below it if what is left of it shrinks no faster than within the time T,

    a ≤ (f - v) / T - f' v,

and below their limits likewise. Such an acceleration always exists: on f itself it is
-d or less braking. Noise of s and v changes bounds little, as T is several periods.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equipoise.arrays import Array, frozen_array

# Dry friction is nearly all there at twice this speed [rad/s or m/s].
DRY_FRICTION_SPEED = 0.1


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
            time: T, in which a velocity beyond its limit is brought back [s]; at least
                two control periods.
        """
        rate, braking = 1.0 / time, self.braking
        speed = SIGNS * velocity
        distance = self._stops - SIGNS * position
        near = braking * time**2
        allowed = np.maximum(distance - 0.5 * near, 0.5 * near)
        allowed *= 2.0 * braking
        np.sqrt(allowed, out=allowed)
        allowed += rate * np.minimum(distance - near, 0.0)
        slope = braking / np.maximum(allowed, braking * time)
        bound = rate * allowed - (rate + slope) * speed
        np.minimum(bound, rate * (self.speed - speed), out=bound)
        # from where it cannot brake, braking is asked for up to twice as hard
        most, least = np.maximum(bound, -2.0 * braking, out=bound)
        return np.minimum(-least, most), most

    @cached_property
    def _stops(self) -> Array:
        return np.stack((self.upper, -self.lower))


@dataclass(frozen=True, eq=False)
class Joints:
    """What the controller knows of the actuators, in the order of v[6:].

    Attributes:
        torque: Largest torques [Nm or N], shape (nv - 6,).
        rotor_inertia: Rotor inertias seen at the joints [kg m² or kg].
        motion: Where the joints may be, and how fast.
        viscous_friction: Viscous friction [Nm s/rad or N s/m]; none unless given.
        coulomb_friction: Coulomb friction [Nm or N]; none unless given.
    """

    torque: Array
    rotor_inertia: Array
    motion: JointRange
    viscous_friction: Array | float = 0.0
    coulomb_friction: Array | float = 0.0

    @cached_property
    def has_friction(self) -> bool:
        """Whether a joint has friction."""
        return bool(np.any(self.viscous_friction) or np.any(self.coulomb_friction))

    def dry_friction(self, velocity: Array) -> Array:
        """Return the torques that Coulomb friction takes at joint velocities."""
        return np.asarray(
            self.coulomb_friction * np.tanh(velocity / DRY_FRICTION_SPEED)
        )


# Towards the upper stops, and towards the lower ones.
SIGNS = frozen_array(np.array([[1.0], [-1.0]]))
