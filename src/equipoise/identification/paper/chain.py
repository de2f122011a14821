"""The planar robot of [Muscolo2017]: feet on the ground, links in a row above them.

Everything is in the plane X–Z of P, which lies on the floor below the ankle's axis.
Both legs move alike and count as one. A link's CoM is (r, l): l along the link from its
lower joint, r across it, forward when the link is upright. Angles lean forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, ShapeError


@dataclass(frozen=True)
class Feet:
    """Both feet, which stay flat on the ground; their figures come from the drawing.

    Attributes:
        mass: m_u, or m_a [kg].
        r: X of their CoM, r_u [m].
        l: Z of their CoM, l_u [m].
        ankle_height: Of the ankle's axis above P, U or L_a [m].
    """

    mass: float
    r: float
    l: float  # noqa: E741
    ankle_height: float


class RemainingCom(NamedTuple):
    """CoM of all that the feet carry, seen from the ankle: r_w, l_w.

    Attributes:
        r: Along X [m].
        l: Along Z, from the ankle [m].
        ankle_height: U [m].
    """

    r: float
    l: float  # noqa: E741
    ankle_height: float

    @property
    def distance(self) -> float:
        """From P, t of Eq. (25) and (32)–(33) of [Muscolo2017] [m]."""
        return float(np.hypot(self.r, self.l + self.ankle_height))

    @property
    def angle(self) -> float:
        """From the vertical, χ of Eq. (25) and (32)–(33) of [Muscolo2017] [rad]."""
        return float(np.arctan2(self.r, self.l + self.ankle_height))


@dataclass(frozen=True, eq=False)
class Chain:
    """Feet and n links above them, one carried by the other.

    Attributes:
        feet: The feet.
        masses: Of the links, from the ankle up [kg], shape (n,).
        lengths: From joint to joint, of all links but the last [m], shape (n − 1,).
    """

    feet: Feet
    masses: Array
    lengths: Array

    def __post_init__(self) -> None:
        """Check, copy and freeze.

        Raises:
            ShapeError: If numbers of masses and lengths do not go together.
            EquipoiseError: If a mass is not positive.
        """
        masses, lengths = frozen_array(self.masses), frozen_array(self.lengths)
        if masses.ndim != 1 or not len(masses) or lengths.shape != (len(masses) - 1,):
            raise ShapeError(
                "a chain of n links needs n masses and n - 1 lengths; they have "
                f"shapes {masses.shape} and {lengths.shape}"
            )
        if not (np.isfinite(masses).all() and np.isfinite(lengths).all()):
            raise ShapeError("masses and lengths must be finite")
        for number, mass in enumerate(masses):
            if mass <= 0.0:
                raise EquipoiseError(
                    f"link {number} has mass {mass:g} kg: a link without mass has no "
                    "centre of mass to be found"
                )
        object.__setattr__(self, "masses", masses)
        object.__setattr__(self, "lengths", lengths)

    def __len__(self) -> int:
        """Number of links above the feet, n."""
        return len(self.masses)

    @property
    def carried(self) -> float:
        """Mass above the feet, m_w of Eq. (18) of [Muscolo2017] [kg]."""
        return float(self.masses.sum())

    @property
    def mass(self) -> float:
        """Mass of the robot with its feet, m₂ of Eq. (18) of [Muscolo2017] [kg]."""
        return self.feet.mass + self.carried

    def check_angles(self, angles: ArrayLike) -> Array:
        """Return angles of poses as an array of shape (k, n).

        Raises:
            ShapeError: If the shape is another, or an angle is not finite.
        """
        array = np.asarray(angles, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self):
            raise ShapeError(
                f"angles have shape {array.shape}; a chain of {len(self)} links needs "
                f"(k, {len(self)})"
            )
        if not np.isfinite(array).all():
            raise ShapeError("angles must be finite")
        return array

    def joints(self, angles: ArrayLike) -> Array:
        """Return X and Z of each link's lower joint [m], shape (k, n, 2).

        Args:
            angles: Of the links from the vertical [rad], shape (k, n).
        """
        theta = self.check_angles(angles)[:, :-1]
        steps = self.lengths[:, None] * np.stack([np.sin(theta), np.cos(theta)], -1)
        joints = np.zeros((len(theta), len(self), 2))
        joints[..., 1] = self.feet.ankle_height
        joints[:, 1:] += np.cumsum(steps, axis=1)
        return joints

    def com(self, angles: ArrayLike, r: ArrayLike, l: ArrayLike) -> Array:  # noqa: E741
        """Return the robot's CoM, Eq. (16)–(17) and (26) of [Muscolo2017].

        Args:
            angles: Of the links from the vertical [rad], shape (k, n).
            r: Of the links' CoMs, across [m], shape (n,).
            l: Of the links' CoMs, along [m], shape (n,).

        Returns:
            X and Z [m], shape (k, 2).
        """
        theta = self.check_angles(angles)
        across, along = np.asarray(r, np.float64), np.asarray(l, np.float64)
        sin, cos = np.sin(theta), np.cos(theta)
        turned = np.stack([along * sin + across * cos, along * cos - across * sin], -1)
        moment = self.masses @ (self.joints(theta) + turned)  # Eq. (26)
        feet = self.feet.mass * np.array([self.feet.r, self.feet.l])
        return np.asarray((moment + feet) / self.mass)


def remaining_com(feet: Feet, mass: float, com: ArrayLike) -> RemainingCom:
    """Return the CoM of what the feet carry, Eq. (23), (30), (31) of [Muscolo2017].

    Args:
        feet: The feet.
        mass: Of the robot with its feet, m₂ [kg].
        com: X and Z of the robot's CoM [m], shape (2,).
    """
    x, z = np.asarray(com, dtype=np.float64)
    carried = mass - feet.mass  # Eq. (18)
    return RemainingCom(
        r=float((x * mass - feet.mass * feet.r) / carried),  # Eq. (23)
        l=float((z * mass - feet.mass * feet.l) / carried - feet.ankle_height),
        ankle_height=feet.ankle_height,
    )
