"""The rolling-sphere model of a biped: a point mass at constant height, and its ZMP.

Section 2 of [Choi2007], known as the linear inverted pendulum. A sphere of mass m rolls
on a massless plate in the plane z = c_z above level ground. The plate stands on the
ground, which presses with the force

    f = m (c̈_x, c̈_y, g)

on the line through the CoM, as a point mass takes no moment. Its moment about the
origin on the ground is τ = c × f,

    τ_x =  m g c_y − m c̈_y c_z                                           (Eq. 1)
    τ_y = −m g c_x + m c̈_x c_z                                           (Eq. 2)
    τ_z = −m c̈_x c_y + m c̈_y c_x

and the ZMP is where this force alone has these moments about x and y:
p_x = −τ_y / (m g), p_y = τ_x / (m g). About the vertical through the ZMP there is then
no moment left: (c − p) is parallel to f. Yaw moments of a real robot come from its
angular momentum, which a point mass has not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.robot.description import STANDARD_GRAVITY


class StateSpace(NamedTuple):
    """A linear system of one axis: d/dt x = A x + B p, or x⁺ = A x + B p.

    The state x is CoM and CoM velocity along x or y, the input p the ZMP.

    Attributes:
        a: Matrix A, shape (2, 2).
        b: Column B, shape (2,).
    """

    a: Array
    b: Array


@dataclass(frozen=True)
class RollingSphere:
    """The model: mass, height and gravity.

    Attributes:
        mass: Mass of the robot, m [kg].
        height: Height of the CoM above the ground, c_z [m].
        gravity: Acceleration of gravity, g [m/s²].
    """

    mass: float
    height: float
    gravity: float = STANDARD_GRAVITY

    def __post_init__(self) -> None:
        """Refuse what is not positive.

        Raises:
            EquipoiseError: Which it is.
        """
        for item in fields(self):
            value = getattr(self, item.name)
            if not (math.isfinite(value) and value > 0.0):
                raise EquipoiseError(
                    f"rolling sphere: its {item.name} is {value:g}; it must be "
                    "positive and finite"
                )

    @property
    def omega(self) -> float:
        """Natural frequency ω_n = √(g / c_z) [rad/s]."""
        return math.sqrt(self.gravity / self.height)

    def ground_force(self, com_acceleration: ArrayLike) -> Array:
        """Return the force of the ground on the plate [N], shape (…, 3).

        Args:
            com_acceleration: Acceleration of the CoM along x and y [m/s²], (…, 2).
        """
        level = np.asarray(com_acceleration, dtype=np.float64)
        up = np.full((*level.shape[:-1], 1), self.gravity)
        return np.asarray(self.mass * np.concatenate([level, up], axis=-1))

    def ground_moment(self, com: ArrayLike, com_acceleration: ArrayLike) -> Array:
        """Return the moment of that force about the origin: Eq. (1) and (2).

        The third component is the moment about the vertical, which has no number.

        Args:
            com: CoM along x and y [m], shape (…, 2).
            com_acceleration: Its acceleration [m/s²], shape (…, 2).

        Returns:
            τ_x, τ_y and τ_z [Nm], shape (…, 3).
        """
        x, y = np.moveaxis(np.asarray(com, dtype=np.float64), -1, 0)
        acceleration = np.asarray(com_acceleration, dtype=np.float64)
        ddx, ddy = np.moveaxis(acceleration, -1, 0)
        m, g, z = self.mass, self.gravity, self.height
        about_x = m * g * y - m * ddy * z  # Eq. (1) of [Choi2007]
        about_y = -m * g * x + m * ddx * z  # Eq. (2)
        about_z = -m * ddx * y + m * ddy * x
        return np.stack([about_x, about_y, about_z], axis=-1)

    def zmp_of_moment(self, moment: ArrayLike) -> Array:
        """Return the ZMP of moments about the origin: p_x = −τ_y/mg, p_y = τ_x/mg.

        Args:
            moment: From :meth:`ground_moment` [Nm], shape (…, 3).

        Returns:
            ZMP [m], shape (…, 2).
        """
        about = np.asarray(moment, dtype=np.float64)
        turned = np.stack([-about[..., 1], about[..., 0]], axis=-1)
        return np.asarray(turned / (self.mass * self.gravity))

    def zmp(self, com: ArrayLike, com_acceleration: ArrayLike) -> Array:
        """Return the ZMP p = c − (c_z / g) c̈: Eq. (3) and (4).

        Args:
            com: CoM along x and y [m], shape (…, 2).
            com_acceleration: Its acceleration [m/s²], shape (…, 2).

        Returns:
            ZMP [m], shape (…, 2).
        """
        acceleration = np.asarray(com_acceleration, dtype=np.float64)
        return np.asarray(np.asarray(com) - self.height / self.gravity * acceleration)

    def com_acceleration(self, com: ArrayLike, zmp: ArrayLike) -> Array:
        """Return c̈ = ω² (c − p), Eq. (3) and (4) solved for it [m/s²], shape (…, 2).

        Args:
            com: CoM along x and y [m], shape (…, 2).
            zmp: ZMP [m], shape (…, 2).
        """
        return np.asarray(self.omega**2 * (np.asarray(com) - np.asarray(zmp)))

    def state_space(self) -> StateSpace:
        """Return A and B of Eq. (3) and (4) in continuous time."""
        squared = self.omega**2
        return StateSpace(
            np.array([[0.0, 1.0], [squared, 0.0]]), np.array([0.0, -squared])
        )

    def discretised(self, dt: float) -> StateSpace:
        """Return A and B over a time in which the ZMP is constant, exactly.

        About a constant ZMP the CoM moves as c − p = cosh(ωt) (c₀ − p) +
        sinh(ωt) ċ₀ / ω.

        Args:
            dt: That time [s]; negative goes back.
        """
        omega = self.omega
        c, s = math.cosh(omega * dt), math.sinh(omega * dt)
        a = np.array([[c, s / omega], [omega * s, c]])
        # 1 − cosh x = −2 sinh²(x / 2), without cancellation for short times
        b = np.array([-2.0 * math.sinh(0.5 * omega * dt) ** 2, -omega * s])
        return StateSpace(a, b)
