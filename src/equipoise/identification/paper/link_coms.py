"""Centres of mass of all links of a planar chain, Eq. (21)–(43) of [Muscolo2017].

The chain has feet on the ground and links in a row above them. Everything is in the
plane X–Z of P, which lies on the floor below the ankle's axis. Both legs move alike and
count as one. A link's CoM is (r, l): l along the link from its lower joint, r across
it, forward when the link is upright. Angles lean forward.

Known are masses, lengths, angles and the feet; unknown are (r_v, l_v) of n links, 2n
numbers. Eq. (26) is linear in them::

    m_w t_i = Σ_v m_v s_iv,    s_iv = joint_iv + R(θ_iv) (r_v, l_v)

A pose whose CoM is known gives two equations, so n poses do. A pose of which only foot
wrenches are known gives one, X − β Z = α, so 2n poses are needed. Eq. (21) asks for
n + 1: enough with sensors for n = 1 only, and one more than enough without them.

The closed form, Eq. (28)–(43), is for foot, shin and thigh. In configuration b shin and
thigh lean by θ_b about the ankle; in c the thigh leans by θ_c about the knee [rad]. X
and Z of the CoM in b and c, ``com_b`` and ``com_c`` [m] of shape (2,), are four
equations for r_b, l_b, r_c, l_c. Corrected here: the sign of r_c cos θ_c in Eq. (36),
(38), (40), (41), (43), and the last entry of Eq. (40)–(42), which is m_c cos θ_c. Then
det A = 2 m_b² m_c² (1 − cos θ_c): it does not depend on θ_b, which may be zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.identification.paper.foot_wrenches import (
    SMALLEST_TURN,
    Coefficients,
    Feet,
    two_pose_com,
)

# Singular values below this fraction of the largest count as zero.
RANK_TOLERANCE = 1e-10
# An unknown with a larger component in the null space is not determined.
OPEN = 1e-6


@dataclass(frozen=True, eq=False)
class Chain:
    """Feet and n links above them, one carried by the other.

    Attributes:
        feet: The feet.
        masses: Masses of the links, from the ankle up [kg], shape (n,).
        lengths: Lengths from joint to joint, but for the last link [m], shape (n − 1,).
    """

    feet: Feet
    masses: Array
    lengths: Array

    def __post_init__(self) -> None:
        """Check, copy and freeze."""
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

    def equations(self, angles: ArrayLike) -> tuple[Array, Array]:
        """Return m₂ (X, Z) as rows for (m r, m l) of links, (k, 2, 2n), and the rest.

        Eq. (26)–(27) of [Muscolo2017]; the rest is of shape (k, 2) [kg m]. ``angles``
        are those of the links from the vertical [rad], shape (k, n).
        """
        n, theta = len(self), np.asarray(angles, dtype=np.float64)
        if theta.ndim != 2 or theta.shape[1] != n:
            raise ShapeError(
                f"angles have shape {theta.shape}; a chain of {n} links needs (k, {n})"
            )
        if not np.isfinite(theta).all():
            raise ShapeError("angles must be finite")
        sin, cos = np.sin(theta), np.cos(theta)
        rows = np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], axis=1)
        joints = np.zeros((len(theta), n, 2))
        joints[..., 1] = self.feet.ankle_height
        joints[:, 1:] += np.cumsum(self.lengths[:, None] * rows[:, 0, :-1, ::-1], 1)
        feet = self.feet.mass * np.array([self.feet.r, self.feet.l])
        return rows.reshape(-1, 2, 2 * n), self.masses @ joints + feet

    def com(self, angles: ArrayLike, r: ArrayLike, l: ArrayLike) -> Array:  # noqa: E741
        """Return X and Z of the robot's CoM, Eq. (16)–(17) and (26) [m], shape (k, 2).

        ``r`` and ``l`` are the links' CoMs across and along [m], shape (n,).
        """
        rows, rest = self.equations(angles)
        moments = self.masses[:, None] * np.column_stack([r, l])
        return np.asarray((rows @ moments.ravel() + rest) / self.mass)


def remaining_com(feet: Feet, mass: float, com: ArrayLike) -> tuple[float, float]:
    """Return (r_w, l_w) of what the feet carry, Eq. (23), (30), (31) [m].

    From the mass of the robot with its feet, m₂ [kg], and X and Z of its CoM [m]; r_w
    is along X, l_w above the ankle.
    """
    x, z = np.asarray(com, dtype=np.float64).tolist()
    carried = mass - feet.mass  # Eq. (18)
    r = (x * mass - feet.mass * feet.r) / carried  # Eq. (23)
    return r, (z * mass - feet.mass * feet.l) / carried - feet.ankle_height


class LinkComs(NamedTuple):
    """Centres of mass of the links, from the ankle up.

    Attributes:
        r: Across each link [m], shape (n,); NaN where not determined.
        l: Along each link [m], shape (n,); NaN where not determined.
        determined: Whether r and l are, shape (n, 2).
        rank: Number of independent unknowns that were found, of 2n.
        residual: Largest error of an equation, as a CoM of the robot [m].
    """

    r: Array
    l: Array  # noqa: E741
    determined: NDArray[np.bool_]
    rank: int
    residual: float


def links_from_com(chain: Chain, angles: ArrayLike, com: ArrayLike) -> LinkComs:
    """Return the links' CoMs where the robot's CoM is known a priori, without sensors.

    Args:
        chain: The robot.
        angles: Angles of the links from the vertical in k poses [rad], shape (k, n).
        com: X and Z of the robot's CoM in each pose [m], shape (k, 2).
    """
    blocks, known = chain.equations(angles)
    place = _rows(com, known.shape, "com")
    right = chain.mass * place - known
    return _solve(chain, blocks.reshape(-1, 2 * len(chain)), right.ravel())


def links_from_feet(
    chain: Chain, angles: ArrayLike, alpha: ArrayLike, beta: ArrayLike
) -> LinkComs:
    """Return the links' CoMs from α [m] and β of each pose, shape (k,)."""
    blocks, known = chain.equations(angles)
    start = _rows(alpha, known.shape[:1], "alpha")
    slope = _rows(beta, known.shape[:1], "beta")
    # Eq. (14), X − β Z = α, with X and Z from Eq. (26).
    matrix = blocks[:, 0] - slope[:, None] * blocks[:, 1]
    right = chain.mass * start - known[:, 0] + slope * known[:, 1]
    return _solve(chain, matrix, right)


def _solve(chain: Chain, matrix: Array, right: Array) -> LinkComs:
    left, values, turned = np.linalg.svd(matrix)
    largest = values[0] if len(values) else 0.0
    rank = int(np.sum(values > RANK_TOLERANCE * largest))
    moments = turned[:rank].T @ ((left.T @ right)[:rank] / values[:rank])
    error = np.abs(matrix @ moments - right)
    reach = np.linalg.norm(turned[rank:], axis=0)
    determined = (reach < OPEN).reshape(-1, 2)
    places = np.where(determined, moments.reshape(-1, 2), np.nan)
    places /= chain.masses[:, None]
    return LinkComs(
        places[:, 0],
        places[:, 1],
        determined,
        rank,
        float(error.max(initial=0.0)) / chain.mass,
    )


def _rows(values: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ShapeError(
            f"{name} must be finite, of shape {shape}; it has shape {array.shape}"
        )
    return array


class PlanarComs(NamedTuple):
    """CoMs of shin (b) and thigh (c), from the lower joint: r across, l along [m]."""

    r_b: float
    l_b: float
    r_c: float
    l_c: float


def planar_matrix(chain: Chain, theta_b: float, theta_c: float) -> Array:
    """Return A of Eq. (38), corrected, for (r_b, l_b, r_c, l_c), shape (4, 4) [kg]."""
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
    """Return det A of Eq. (38), corrected [kg⁴]."""
    m_b, m_c = _masses(chain)
    # 1 − cos θ written without the cancellation for small θ.
    return float(4.0 * (m_b * m_c * np.sin(0.5 * theta_c)) ** 2)


def planar_right(
    chain: Chain, theta_b: float, com_b: ArrayLike, com_c: ArrayLike
) -> Array:
    """Return a₁ … a₄ of Eq. (39), shape (4,) [kg m]."""
    m_b, m_c = _masses(chain)
    l_a, length = chain.feet.ankle_height, float(chain.lengths[0])
    m_w = chain.carried
    r_b, l_b = remaining_com(chain.feet, chain.mass, com_b)  # Eq. (30)
    r_c, l_c = remaining_com(chain.feet, chain.mass, com_c)  # Eq. (31)
    down = m_c * length
    return np.array(
        [
            m_w * r_b - down * np.sin(theta_b),
            m_w * (l_b + l_a) - m_b * l_a - down * np.cos(theta_b) - m_c * l_a,
            m_w * r_c,
            m_w * (l_c + l_a) - m_b * l_a - m_c * (l_a + length),
        ]
    )  # Eq. (39)


def planar_from_com(
    chain: Chain, theta_b: float, theta_c: float, com_b: ArrayLike, com_c: ArrayLike
) -> PlanarComs:
    """Return the links' CoMs where the robot's CoM is known a priori, without sensors.

    Cramer's rule, Eq. (40)–(43), corrected.

    Raises:
        EquipoiseError: If the chain does not have two links, or the thigh does not lean
            in configuration c.
    """
    determinant = planar_determinant(chain, theta_c)
    if abs(np.sin(0.5 * theta_c)) < 0.5 * SMALLEST_TURN:
        raise EquipoiseError(
            f"theta_c is {np.rad2deg(theta_c):.6g}°: where the knee does not bend, "
            "shin and thigh cannot be separated"
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
    """
    feet, mass = chain.feet, chain.mass
    b = two_pose_com(poses.a, poses.b, theta_b, feet, mass).com_b  # Eq. (28)
    c = two_pose_com(poses.c, poses.d, theta_d, feet, mass).com_a  # for Eq. (29)
    return planar_from_com(chain, theta_b, theta_c, b[[0, 2]], c[[0, 2]])


def _masses(chain: Chain) -> tuple[float, float]:
    if len(chain) != 2:
        raise EquipoiseError(
            f"the closed form is for two links above the feet, not for {len(chain)}"
        )
    return float(chain.masses[0]), float(chain.masses[1])
