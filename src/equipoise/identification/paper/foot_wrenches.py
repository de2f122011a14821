"""The total centre of mass from two foot sensors, Eq. (3)–(20) of [Muscolo2017].

The ground's wrenches on feet 0 and 1 add up to a force F and a moment M about the
origin P. All other forces on the robot act at its CoM p and balance them: gravity, and
inertia or a push through the CoM if there is one. So, whatever the joints do::

    M = p × F

This is a line along F, Eq. (14)–(15): X = α + β Z and Y = γ + δ Z. On level ground F is
the weight, β = δ = 0, and Z is not determined; on a slope the line is tilted against
the axes of P, but Z is not determined either.

Motor torques are not part of it. A motor turns one link as much as it turns the other
one back, so the sum over the whole robot is zero, not the M₂ of Eq. (3). Eq. (8)–(12)
add M₂ all the same; it is right only as a couple from outside, which is what the
argument ``couple`` is for.

Two balance poses determine Z, Eq. (16)–(20). In pose A the robot stands; in pose B all
that the feet carry is turned about the ankles by θ as a rigid body. With s = sin θ,
c = cos θ, and m_w r_w and m_w l_w its first moments about the ankle, Eq. (14), (16) and
(17) are two linear equations::

    m_w [ r_w             − l_w β_A        ] = b_A,   b_i = m₂ α_i + β_i K − m_u r_u
    m_w [ r_w (c + β_B s) + l_w (s − β_B c)] = b_B,   K = m_u l_u + m_w U

The function f that the paper names and does not print follows from them::

    D   = s (1 + β_A β_B) + c (β_A − β_B)
    Z_A = [ K + (b_B − (c + β_B s) b_A) / D ] / m₂
    Z_B = [ K + ((c − β_A s) b_B − b_A) / D ] / m₂

With slopes β = tan φ, D = sin(θ + φ_A − φ_B) / (cos φ_A cos φ_B): heights are found if
and only if the body turned against gravity. On level ground that is θ ≠ 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, ShapeError

# Turns against gravity below this do not determine the height [rad].
SMALLEST_TURN = 1e-6


@dataclass(frozen=True)
class Feet:
    """Both feet, which stay flat on the ground; their parameters are known.

    Attributes:
        mass: m_u, or m_a [kg].
        r: X of their CoM, r_u [m].
        l: Z of their CoM, l_u [m].
        ankle_height: Height of the ankle's axis above P, U or L_a [m].
    """

    mass: float
    r: float
    l: float  # noqa: E741
    ankle_height: float


class FootWrench(NamedTuple):
    """Wrench of the ground on a foot; all in the axes of P.

    Attributes:
        position: Position of the sensor, p₀ or p₁ [m], shape (3,).
        force: Force on the robot [N], shape (3,).
        torque: Torque on the robot, about the sensor [Nm], shape (3,).
    """

    position: Array
    force: Array
    torque: Array


class Coefficients(NamedTuple):
    """The line X = α + β Z, Y = γ + δ Z that holds the CoM; α and γ in [m]."""

    alpha: float
    beta: float
    gamma: float
    delta: float

    def com(self, height: float) -> Array:
        """Return the CoM at a height Z [m], Eq. (14)–(15) of [Muscolo2017], (3,)."""
        x = self.alpha + self.beta * height  # Eq. (14)
        y = self.gamma + self.delta * height  # Eq. (15)
        return np.array([x, y, height])


def total_wrench(foot_0: FootWrench, foot_1: FootWrench) -> tuple[Array, Array]:
    """Return force [N] and moment about P [Nm] of both feet, shape (3,) each."""
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
        foot_0: Wrench of the ground on foot 0.
        foot_1: Wrench of the ground on foot 1.
        couple: Moment on the robot from elsewhere than the feet [Nm], shape (3,). The
            sum M₂ of motor torques here gives the paper's values, and a wrong CoM.

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


class TwoPoseCom(NamedTuple):
    """Centres of mass from two poses.

    Attributes:
        com_a: The robot's CoM in pose A [m], shape (3,).
        com_b: The robot's CoM in pose B [m], shape (3,).
        r_w: CoM of what the feet carry, across, from the ankle, in pose A [m].
        l_w: The same, up [m].
    """

    com_a: Array
    com_b: Array
    r_w: float
    l_w: float


def two_pose_com(
    pose_a: Coefficients, pose_b: Coefficients, turn: float, feet: Feet, mass: float
) -> TwoPoseCom:
    """Return the CoM in both poses, Eq. (19)–(20) of [Muscolo2017].

    Args:
        pose_a: Coefficients of pose A.
        pose_b: Coefficients of pose B.
        turn: θ_t by which all above the ankles leans forward from A to B [rad].
        feet: The feet.
        mass: Mass of the robot with its feet, m₂ [kg].

    Raises:
        EquipoiseError: If the body did not turn against gravity, or if the feet are
            all of the mass.
    """
    carried = mass - feet.mass  # Eq. (18)
    if carried <= 0.0:
        raise EquipoiseError(
            f"the feet ({feet.mass:g} kg) leave nothing of the robot ({mass:g} kg)"
        )
    s, c = float(np.sin(turn)), float(np.cos(turn))
    d = s * (1.0 + pose_a.beta * pose_b.beta) + c * (pose_a.beta - pose_b.beta)
    against = d / float(np.hypot(1.0, pose_a.beta) * np.hypot(1.0, pose_b.beta))
    if abs(against) < SMALLEST_TURN:
        raise EquipoiseError(
            f"between poses A and B the body turns by {np.rad2deg(turn):.6g}°, but not "
            "against gravity: the height of the centre of mass cannot be found"
        )
    known = feet.mass * feet.l + carried * feet.ankle_height  # K
    b_a, b_b = (
        mass * pose.alpha + pose.beta * known - feet.mass * feet.r
        for pose in (pose_a, pose_b)
    )
    up = (b_b - (c + pose_b.beta * s) * b_a) / d  # m_w l_w
    across = ((s - pose_b.beta * c) * b_a + pose_a.beta * b_b) / d  # m_w r_w
    z_a = (known + up) / mass  # Eq. (17) with θ = 0
    z_b = (known + ((c - pose_a.beta * s) * b_b - b_a) / d) / mass  # f of Eq. (19)
    return TwoPoseCom(
        pose_a.com(z_a),  # Eq. (20)
        pose_b.com(z_b),  # Eq. (19)
        across / carried,
        up / carried,
    )
