"""What two foot sensors say of the centre of mass: α, β, γ, δ of [Muscolo2017].

The ground's wrenches on feet 0 and 1 add up to a force F and a moment M about the
origin P. All other forces on the robot act at its CoM p and balance them: gravity, and
inertia or a push through the CoM if there is one. So, whatever the joints do::

    M = p × F

This is a line along F, Eq. (14)–(15): X = α + β Z and Y = γ + δ Z. On level ground F is
the weight, β = δ = 0, and nothing is said of Z; on a slope the line is tilted against
the axes of P but says no more.

Motor torques are not part of it. A motor turns one link as much as it turns the other
one back, so the sum over the whole robot is zero, not the M₂ of Eq. (3). Eq. (8)–(12)
add M₂ all the same; it is right only as a couple from outside, which is what the
argument ``couple`` is for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, ShapeError


class FootWrench(NamedTuple):
    """What the ground does to a foot; all in the axes of P.

    Attributes:
        position: Of the sensor, p₀ or p₁ [m], shape (3,).
        force: On the robot [N], shape (3,).
        torque: On the robot, about the sensor [Nm], shape (3,).
    """

    position: Array
    force: Array
    torque: Array


class Coefficients(NamedTuple):
    """The line X = α + β Z, Y = γ + δ Z that holds the CoM.

    Attributes:
        alpha: X at Z = 0 [m].
        beta: Slope of X over Z.
        gamma: Y at Z = 0 [m].
        delta: Slope of Y over Z.
    """

    alpha: float
    beta: float
    gamma: float
    delta: float

    def com(self, height: float) -> Array:
        """Return the CoM at a height Z [m], Eq. (14)–(15) of [Muscolo2017], (3,)."""
        x = self.alpha + self.beta * height  # Eq. (14)
        y = self.gamma + self.delta * height  # Eq. (15)
        return np.array([x, y, height])

    def level(self) -> Coefficients:
        """Return the line upright, as it is if the ground is known to be level.

        The sensors' noise in horizontal force, times the height of the CoM, is then
        kept out of X and Z.
        """
        return self._replace(beta=0.0, delta=0.0)


def motor_torque(constant: ArrayLike, current: ArrayLike) -> Array:
    """Return motor torques from currents, Eq. (4) of [Muscolo2017].

    Args:
        constant: K of each motor, gear included [Nm/A].
        current: I of each motor [A].

    Returns:
        M_j = K I [Nm], of the shape of both.
    """
    k, i = np.asarray(constant, np.float64), np.asarray(current, np.float64)
    return np.asarray(k * i)  # Eq. (4)


def internal_torque(
    *,
    roll: Iterable[float] = (),
    pitch: Iterable[float] = (),
    yaw: Iterable[float] = (),
) -> Array:
    """Return M₂, the sum of motor torques by axis, Eq. (3) of [Muscolo2017].

    For joints whose axes stay parallel to those of P. It is not part of the robot's
    balance: see the top of this file.

    Returns:
        M₂ [Nm], shape (3,).
    """
    return np.array([sum(roll), sum(pitch), sum(yaw)], dtype=np.float64)  # Eq. (3)


def total_wrench(foot_0: FootWrench, foot_1: FootWrench) -> tuple[Array, Array]:
    """Return force [N] and moment about P [Nm] of both feet, shape (3,) each.

    Raises:
        ShapeError: If something is not three finite numbers.
        EquipoiseError: If the feet carry no weight.
    """
    force, moment = np.zeros(3), np.zeros(3)
    for number, foot in enumerate((foot_0, foot_1)):
        for name, values in zip(foot._fields, foot, strict=True):
            if np.shape(values) != (3,) or not np.isfinite(values).all():
                raise ShapeError(f"{name} of foot {number} must be 3 finite numbers")
        force += foot.force
        moment += foot.torque + np.cross(foot.position, foot.force)
    if not force[2] > 0.0:
        raise EquipoiseError(
            f"the feet carry no weight: their upward force is {force[2]:.6g} N"
        )
    return force, moment


def coefficients(
    foot_0: FootWrench, foot_1: FootWrench, couple: ArrayLike = (0.0, 0.0, 0.0)
) -> Coefficients:
    """Return α, β, γ, δ of a robot at rest, Eq. (10)–(13) of [Muscolo2017].

    Feet may be anywhere; the paper has p₀ = (0, −l, 0), p₁ = (0, l, 0).

    Args:
        foot_0: The ground on foot 0.
        foot_1: The ground on foot 1.
        couple: Moment on the robot from elsewhere than the feet [Nm], shape (3,).
            :func:`internal_torque` here gives the paper's figures, and a wrong CoM.

    Raises:
        ShapeError: If something is not three finite numbers.
        EquipoiseError: If the feet carry no weight.
    """
    force, moment = total_wrench(foot_0, foot_1)
    added = np.asarray(couple, dtype=np.float64)
    if added.shape != (3,) or not np.isfinite(added).all():
        raise ShapeError("couple must be 3 finite numbers")
    about_x, about_y, _ = moment + added
    return Coefficients(
        alpha=float(-about_y / force[2]),  # Eq. (10)
        beta=float(force[0] / force[2]),  # Eq. (11)
        gamma=float(about_x / force[2]),  # Eq. (12)
        delta=float(force[1] / force[2]),  # Eq. (13)
    )
