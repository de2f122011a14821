"""Foot, shin and thigh in a plane: the closed form, Eq. (28)–(43) of [Muscolo2017].

In configuration b shin and thigh lean by θ_b about the ankle; in c the thigh leans by
θ_c about the knee. X and Z of the CoM in b and c are four equations for r_b, l_b, r_c,
l_c. Corrected here: the sign of r_c cos θ_c in Eq. (36), (38), (40), (41), (43), and
the last entry of Eq. (40)–(42), which is m_c cos θ_c.

Then det A = 2 m_b² m_c² (1 − cos θ_c): θ_b does not matter, and upright does for b.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.chain import Chain, remaining_com
from equipoise.identification.paper.coefficients import Coefficients
from equipoise.identification.paper.two_poses import SMALLEST_TURN, two_pose_com


class PlanarComs(NamedTuple):
    """Centres of mass of shin (b) and thigh (c), each from its lower joint.

    Attributes:
        r_b: Across the shin [m].
        l_b: Along the shin [m].
        r_c: Across the thigh [m].
        l_c: Along the thigh [m].
    """

    r_b: float
    l_b: float
    r_c: float
    l_c: float


def planar_matrix(chain: Chain, theta_b: float, theta_c: float) -> Array:
    """Return A of Eq. (38) of [Muscolo2017], corrected, for (r_b, l_b, r_c, l_c).

    Args:
        chain: The robot, of two links.
        theta_b: Lean of shin and thigh in configuration b [rad].
        theta_c: Lean of the thigh in configuration c [rad].

    Returns:
        Shape (4, 4) [kg].

    Raises:
        EquipoiseError: If the chain has not two links.
    """
    m_b, m_c = _masses(chain)
    s_b, c_b = np.sin(theta_b), np.cos(theta_b)
    s_c, c_c = np.sin(theta_c), np.cos(theta_c)
    return np.array(
        [
            [m_b * c_b, m_b * s_b, m_c * c_b, m_c * s_b],  # Eq. (34)
            [-m_b * s_b, m_b * c_b, -m_c * s_b, m_c * c_b],  # Eq. (35)
            [m_b, 0.0, m_c * c_c, m_c * s_c],  # Eq. (36), + r_c cos θ_c
            [0.0, m_b, -m_c * s_c, m_c * c_c],  # Eq. (37)
        ]
    )


def planar_determinant(chain: Chain, theta_c: float) -> float:
    """Return det A of Eq. (38) of [Muscolo2017], corrected [kg⁴].

    Args:
        chain: The robot, of two links.
        theta_c: Lean of the thigh in configuration c [rad].

    Raises:
        EquipoiseError: If the chain has not two links.
    """
    m_b, m_c = _masses(chain)
    # 1 − cos θ written without the cancellation for small θ.
    return float(4.0 * (m_b * m_c * np.sin(0.5 * theta_c)) ** 2)


def planar_right(
    chain: Chain, theta_b: float, com_b: ArrayLike, com_c: ArrayLike
) -> Array:
    """Return a₁ … a₄ of Eq. (39) of [Muscolo2017].

    Args:
        chain: The robot, of two links.
        theta_b: Lean of shin and thigh in configuration b [rad].
        com_b: X and Z of the robot's CoM in configuration b [m], shape (2,).
        com_c: The same in configuration c.

    Returns:
        Shape (4,) [kg m].

    Raises:
        EquipoiseError: If the chain has not two links.
    """
    m_b, m_c = _masses(chain)
    l_a, length = chain.feet.ankle_height, float(chain.lengths[0])
    m_w = chain.carried
    w_b = remaining_com(chain.feet, chain.mass, com_b)  # Eq. (30)
    w_c = remaining_com(chain.feet, chain.mass, com_c)  # Eq. (31)
    down = m_c * length
    return np.array(
        [
            m_w * w_b.r - down * np.sin(theta_b),
            m_w * (w_b.l + l_a) - m_b * l_a - down * np.cos(theta_b) - m_c * l_a,
            m_w * w_c.r,
            m_w * (w_c.l + l_a) - m_b * l_a - m_c * (l_a + length),
        ]
    )  # Eq. (39)


def planar_from_com(
    chain: Chain,
    theta_b: float,
    theta_c: float,
    com_b: ArrayLike,
    com_c: ArrayLike,
) -> PlanarComs:
    """Return the links' CoMs where the robot's CoM is known a priori, without sensors.

    Cramer's rule, Eq. (40)–(43) of [Muscolo2017], corrected.

    Args:
        chain: The robot, of two links.
        theta_b: Lean of shin and thigh in configuration b [rad]; may be zero.
        theta_c: Lean of the thigh in configuration c [rad].
        com_b: X and Z of the robot's CoM in configuration b [m], shape (2,).
        com_c: The same in configuration c.

    Raises:
        EquipoiseError: If the chain has not two links, or the thigh does not lean in
            configuration c.
    """
    determinant = planar_determinant(chain, theta_c)
    if abs(np.sin(0.5 * theta_c)) < 0.5 * SMALLEST_TURN:
        raise EquipoiseError(
            f"theta_c is {np.rad2deg(theta_c):.6g}°: where the knee does not bend, "
            "shin and thigh cannot be told apart"
        )
    matrix = planar_matrix(chain, theta_b, theta_c)
    right = planar_right(chain, theta_b, com_b, com_c)
    found = []
    for column in range(4):  # Eq. (40)–(43)
        replaced = matrix.copy()
        replaced[:, column] = right
        found.append(float(np.linalg.det(replaced)) / determinant)
    return PlanarComs(*found)


class PlanarPoses(NamedTuple):
    """Coefficients of the four poses that two links need; the paper has three.

    Attributes:
        a: Upright.
        b: As a, all above the ankles leaning by θ_b.
        c: The thigh leaning by θ_c over an upright shin.
        d: As c, all above the ankles leaning by θ_d more.
    """

    a: Coefficients
    b: Coefficients
    c: Coefficients
    d: Coefficients


def planar_from_feet(
    chain: Chain, theta_b: float, theta_c: float, theta_d: float, poses: PlanarPoses
) -> PlanarComs:
    """Return the links' CoMs from the wrenches of the feet.

    f of Eq. (28) finds the height of configuration b from a, since b is a, turned about
    the ankles. Configuration c is not, so Eq. (29) does not hold: c needs a pose d
    turned from it in the same way.

    Args:
        chain: The robot, of two links.
        theta_b: From a to b [rad].
        theta_c: Lean of the thigh in c [rad].
        theta_d: From c to d [rad].
        poses: What the feet said.

    Raises:
        EquipoiseError: If a turn is missing, or the chain has not two links.
    """
    feet, mass = chain.feet, chain.mass
    b = two_pose_com(poses.a, poses.b, theta_b, feet, mass).com_b  # Eq. (28)
    c = two_pose_com(poses.c, poses.d, theta_d, feet, mass).com_a  # for Eq. (29)
    return planar_from_com(chain, theta_b, theta_c, b[[0, 2]], c[[0, 2]])


def _masses(chain: Chain) -> tuple[float, float]:
    if len(chain) != 2:
        raise EquipoiseError(
            f"the closed form is one of two links above the feet, not of {len(chain)}"
        )
    return float(chain.masses[0]), float(chain.masses[1])
