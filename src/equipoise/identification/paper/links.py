"""Centres of mass of all links of a planar chain, Eq. (21)–(27) of [Muscolo2017].

Known are masses, lengths, angles and the feet; unknown are (r_v, l_v) of n links, 2n
numbers. Eq. (26) is linear in them::

    m_w t_i = Σ_v m_v s_iv,    s_iv = joint_iv + R(θ_iv) (r_v, l_v)

A pose whose CoM is known gives two equations, so n poses do. A pose of which only foot
wrenches are known gives one, X − β Z = α, so 2n poses are needed. Eq. (21) asks for
n + 1: enough with sensors for n = 1 only, and one more than enough without them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.identification.paper.chain import Chain

# Singular values below this share of the largest count as zero.
RANK_TOLERANCE = 1e-10
# A unit vector of the null space that touches an unknown by more leaves it open.
OPEN = 1e-6


class LinkComs(NamedTuple):
    """Centres of mass of the links, from the ankle up.

    Attributes:
        r: Across each link [m], shape (n,); NaN where not determined.
        l: Along each link [m], shape (n,); NaN where not determined.
        determined: Whether r and l are, shape (n, 2).
        rank: How many independent numbers were found, of 2n.
        residual: Largest error of an equation, as a CoM of the robot [m].
    """

    r: Array
    l: Array  # noqa: E741
    determined: NDArray[np.bool_]
    rank: int
    residual: float


def poses_needed(links: int, *, com_known: bool) -> int:
    """Return how many poses determine all links; compare Eq. (21) of [Muscolo2017].

    Args:
        links: Above the feet, n.
        com_known: Whether X and Z of the robot's CoM are known in each pose, or only
            the wrenches of the feet.
    """
    return links if com_known else 2 * links


def links_from_com(chain: Chain, angles: ArrayLike, com: ArrayLike) -> LinkComs:
    """Return the links' CoMs where the robot's CoM is known a priori, without sensors.

    Args:
        chain: The robot.
        angles: Of the links from the vertical in k poses [rad], shape (k, n).
        com: X and Z of the robot's CoM in each pose [m], shape (k, 2).

    Raises:
        ShapeError: If shapes do not go together.
    """
    blocks, known = _equations(chain, angles)
    place = _rows(com, known.shape, "com")
    right = chain.mass * place - known
    return _solve(chain, blocks.reshape(-1, 2 * len(chain)), right.ravel())


def links_from_feet(
    chain: Chain, angles: ArrayLike, alpha: ArrayLike, beta: ArrayLike
) -> LinkComs:
    """Return the links' CoMs from the wrenches of the feet.

    Args:
        chain: The robot.
        angles: Of the links from the vertical in k poses [rad], shape (k, n).
        alpha: α of each pose, Eq. (10) of [Muscolo2017] [m], shape (k,).
        beta: β of each pose, Eq. (11), shape (k,).

    Raises:
        ShapeError: If shapes do not go together.
    """
    blocks, known = _equations(chain, angles)
    start = _rows(alpha, known.shape[:1], "alpha")
    slope = _rows(beta, known.shape[:1], "beta")
    # Eq. (14), X − β Z = α, with X and Z from Eq. (26).
    matrix = blocks[:, 0] - slope[:, None] * blocks[:, 1]
    right = chain.mass * start - known[:, 0] + slope * known[:, 1]
    return _solve(chain, matrix, right)


def _equations(chain: Chain, angles: ArrayLike) -> tuple[Array, Array]:
    """Return m₂ (X, Z) as rows for (m r, m l) of links, (k, 2, 2n), and the rest."""
    theta = chain.check_angles(angles)
    sin, cos = np.sin(theta), np.cos(theta)
    blocks = np.stack(
        [np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], axis=1
    ).reshape(len(theta), 2, 2 * len(chain))  # Eq. (26), (27)
    feet = chain.feet.mass * np.array([chain.feet.r, chain.feet.l])
    return blocks, chain.masses @ chain.joints(theta) + feet


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
