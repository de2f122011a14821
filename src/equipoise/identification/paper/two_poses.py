"""The total centre of mass from two balance poses, Eq. (16)–(20) of [Muscolo2017].

In pose A the robot stands; in pose B all that the feet carry is turned about the ankles
by θ, stiff as it is. With s = sin θ, c = cos θ, and m_w r_w and m_w l_w its first
moments about the ankle, Eq. (14), (16) and (17) are two linear equations::

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

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.chain import Feet
from equipoise.identification.paper.coefficients import Coefficients

# Turns against gravity below this say nothing of the height [rad].
SMALLEST_TURN = 1e-6


class TwoPoseCom(NamedTuple):
    """What two poses tell.

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


class _System(NamedTuple):
    """Sine and cosine of the turn, K, b_A, b_B and D as above."""

    s: float
    c: float
    known: float
    b_a: float
    b_b: float
    d: float


def two_pose_com(
    pose_a: Coefficients, pose_b: Coefficients, turn: float, feet: Feet, mass: float
) -> TwoPoseCom:
    """Return the CoM in both poses, Eq. (19)–(20) of [Muscolo2017].

    Args:
        pose_a: Coefficients of pose A.
        pose_b: Coefficients of pose B.
        turn: θ_t by which all above the ankles leans forward from A to B [rad].
        feet: The feet.
        mass: Of the robot with its feet, m₂ [kg].

    Raises:
        EquipoiseError: If the body did not turn against gravity, or if the feet are
            all of the mass.
    """
    carried = mass - feet.mass  # Eq. (18)
    s, c, known, b_a, b_b, d = _system(pose_a, pose_b, turn, feet, mass)
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


def height_gradient(
    pose_a: Coefficients, pose_b: Coefficients, turn: float, feet: Feet, mass: float
) -> Array:
    """Return how heights follow the coefficients.

    Args:
        pose_a: Coefficients of pose A.
        pose_b: Coefficients of pose B.
        turn: θ_t [rad].
        feet: The feet.
        mass: m₂ [kg].

    Returns:
        Derivatives of (Z_A, Z_B) by (α_A, β_A, α_B, β_B), shape (2, 4). On level ground
        ∂Z_A/∂α_B = 1/sin θ: at 10° an error of 1 mm in X is one of 5.8 mm in Z.

    Raises:
        EquipoiseError: As :func:`two_pose_com`.
    """
    s, c, known, b_a, b_b, d = _system(pose_a, pose_b, turn, feet, mass)
    lean_a, lean_b = c - pose_a.beta * s, c + pose_b.beta * s
    top = np.array([b_b - lean_b * b_a, lean_a * b_b - b_a])
    d_top = np.array(
        [
            [-lean_b * mass, -lean_b * known, mass, known - s * b_a],
            [-mass, -known - s * b_b, lean_a * mass, lean_a * known],
        ]
    )
    d_d = np.array([0.0, s * pose_b.beta + c, 0.0, s * pose_a.beta - c])
    return np.asarray((d_top - np.outer(top, d_d) / d) / (d * mass))


def _system(
    pose_a: Coefficients, pose_b: Coefficients, turn: float, feet: Feet, mass: float
) -> _System:
    carried = mass - feet.mass
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
    return _System(s, c, known, b_a, b_b, d)
