"""Least squares with a prior: parameters, their covariance and identifiability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.prior import PriorBelief
from equipoise.identification.statics import (
    PER_LINK,
    WRENCH,
    Equations,
    StandingFrames,
    link_columns,
    link_parameters,
)

# A pose whose misfit is beyond what one in this many shows by chance counts less.
OUTLIER_CHANCE = 0.001
MOST_ROUNDS = 30
CONVERGED = 1e-6
# Misfit that is larger than expected by less than this many standard deviations of
# itself is chance.
CHANCE_DEVIATIONS = 3.0
# A pose that counts for less than this is an outlier.
HALF = 0.5
# Lateral forces and torque about the vertical, which do not depend on masses; then
# the weight and the tipping torques, which do. And the group of each: what one group
# fits worse than its noise says nothing of the others.
ORDER = np.array([0, 1, 5, 2, 3, 4])
GROUP = np.array([0, 0, 1, 2, 3, 3])
# Parameters of a link, in order.
UNKNOWNS = ("m", "m x", "m y", "m z")
# Directions this much weaker than the strongest are rounding errors.
ROUNDING = 1e-9
# Coefficients below this fraction of the largest are left out of a combination.
SMALL = 1e-6
# A link is observed if the standard deviation of its centre of mass falls below this
# fraction of the prior's; links whose errors correlate by more than this are one group.
OBSERVED, CORRELATED = 0.5, 0.9


class NoiseScale(NamedTuple):
    """Misfit over sensor noise, at least one.

    Attributes:
        lateral: Lateral forces, which determine offsets.
        yaw: Torques about the vertical, which determine offsets, too.
        weight: Vertical forces, which determine the mass.
        tipping: Tipping torques, which determine where it is.
    """

    lateral: float
    yaw: float
    weight: float
    tipping: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """The parameters after the measurements.

    Attributes:
        belief: The parameters before.
        moved: Best values in units of the prior, away from it, shape (nx,).
        mean: Best values, shape (nx,).
        covariance: Covariance of the best values, shape (nx, nx).
        singular_values: Prior standard deviation of each direction over the data's,
            shape (nx,).
        directions: Columns, in units of the prior, shape (nx, nx).
        weights: Weights of the poses; less than one where a pose does not fit, (n,).
        noise_scale: Factors by which misfits exceed the sensors' noise, at least one;
            uncertainties are widened by them.
    """

    belief: PriorBelief
    moved: Array
    mean: Array
    covariance: Array
    singular_values: Array
    directions: Array
    weights: Array
    noise_scale: NoiseScale


def estimate(equations: Equations, covariances: Array, belief: PriorBelief) -> Estimate:
    """Return the parameters that fit data and prior best, with their covariance.

    Misfits are weighted by the measurements' covariances; poses that fit badly count
    less (Huber's weights), and if all fit worse than the noise explains, the noise is
    taken to be as large as their misfits.

    Args:
        equations: Equations of n poses.
        covariances: Covariances of their right-hand sides, shape (n, 6, 6).
        belief: The parameters before.
    """
    from scipy.special import chdtri

    # lateral ones first; the others are what is left when these are known
    ordered = Equations(equations.matrix[:, ORDER], equations.right[:, ORDER])
    matrix, right = whitened(ordered, covariances[:, ORDER][:, :, ORDER])
    design = matrix @ belief.root
    wanted = right - matrix @ belief.mean
    limit = float(np.sqrt(chdtri(WRENCH, OUTLIER_CHANCE)))
    weights, moved = np.ones(len(right)), np.zeros(len(belief.mean))
    scales = np.ones(len(NoiseScale._fields))
    for _ in range(MOST_ROUNDS):
        factors = np.sqrt(weights)[:, None] / scales[GROUP]
        before = moved
        moved, taken = _quick_fit(design * factors[..., None], wanted * factors)
        misfit = wanted - design @ moved
        scales = _noise_scales(misfit, weights, taken)
        size = np.linalg.norm(misfit / scales[GROUP], axis=1)
        weights = np.minimum(1.0, limit / np.maximum(size, 1e-300))
        if np.abs(moved - before).max() < CONVERGED:
            break
    factors = np.sqrt(weights)[:, None] / scales[GROUP]
    scaled = design * factors[..., None]
    moved, singular, directions = _fit(
        scaled.reshape(-1, design.shape[2]), (wanted * factors).reshape(-1)
    )
    root = belief.root @ (directions / np.sqrt(1.0 + singular**2))
    return Estimate(
        belief=belief,
        moved=moved,
        mean=belief.mean + belief.root @ moved,
        covariance=root @ root.T,
        singular_values=singular,
        directions=directions,
        weights=weights,
        noise_scale=NoiseScale(*scales.tolist()),
    )


def fitted_covariances(covariances: Array, found: Estimate) -> Array:
    """Return covariances with the factors and weights that a fit has found, (n, 6, 6).

    Poses that count less have larger ones.
    """
    root = np.linalg.cholesky(covariances[:, ORDER][:, :, ORDER])
    root = root * np.array(found.noise_scale)[GROUP]
    root /= np.sqrt(found.weights)[:, None, None]
    back = np.argsort(ORDER)
    whole = root @ np.swapaxes(root, 1, 2)
    return np.asarray(whole[:, back][:, :, back])


def information_root(rows: Array) -> Array | None:
    """Return the Cholesky factor of I + BᵀB, lower, for rows B of shape (m, nx).

    None where the prior is so vague that squares lose all digits.
    """
    normal = rows.T @ rows
    normal[np.diag_indices_from(normal)] += 1.0
    try:
        return np.asarray(np.linalg.cholesky(normal), np.float64)
    except np.linalg.LinAlgError:
        return None


def _quick_fit(design: Array, wanted: Array) -> tuple[Array, Array]:
    """Return u by normal equations, and the fraction of each equation that it uses.

    Good enough to find the weights; shapes are (nx,) and (n, 6).
    """
    rows = design.reshape(-1, design.shape[2])
    root = information_root(rows)
    if root is None:
        moved, singular, directions = _fit(rows, wanted.reshape(-1))
        used = design @ (directions / np.sqrt(1.0 + singular**2))
        return moved, np.sum(used**2, axis=2)
    spread = np.linalg.solve(root, rows.T)
    best = np.asarray(np.linalg.solve(root.T, spread @ wanted.reshape(-1)), np.float64)
    return best, np.sum(spread**2, axis=0).reshape(wanted.shape)


def _fit(design: Array, wanted: Array) -> tuple[Array, Array, Array]:
    """Return u that minimises |design u - wanted|² + |u|², with σ and V of the SVD."""
    # the triangular factor has all that is needed, and few rows
    triangle: Array = np.linalg.qr(np.column_stack([design, wanted]), mode="r")  # type: ignore[assignment]
    left, values, right = np.linalg.svd(triangle[:, :-1], full_matrices=True)
    size = design.shape[1]
    singular = np.zeros(size)
    singular[: len(values)] = values
    projected = np.zeros(size)
    shared = min(left.shape[1], size)
    projected[:shared] = (left.T @ triangle[:, -1])[:shared]
    moved = right.T @ (singular / (1.0 + singular**2) * projected)
    return moved, singular, right.T


def _noise_scales(misfit: Array, weights: Array, taken: Array) -> Array:
    """Return the factors by which misfits exceed the noise, never less than one.

    ``misfit`` is in units of the noise, ``taken`` what :func:`_quick_fit` uses, (n, 6).
    """
    scales = np.ones(len(NoiseScale._fields))
    for group in range(len(scales)):
        rows = group == GROUP
        kept = weights > HALF
        free = float(np.sum(1.0 - taken[kept][:, rows]))
        if free < np.sum(rows):
            continue
        square = float(np.sum(weights[:, None] * misfit[:, rows] ** 2)) / free
        if square > 1.0 + CHANCE_DEVIATIONS * np.sqrt(2.0 / free):
            scales[group] = np.sqrt(square)
    return scales


def whitened(equations: Equations, covariances: Array) -> tuple[Array, Array]:
    """Return equations of poses in units of their noise, (n, 6, nx) and (n, 6)."""
    root = np.linalg.cholesky(covariances)
    right = np.linalg.solve(root, equations.right[..., None])[..., 0]
    return np.linalg.solve(root, equations.matrix), right


@dataclass(frozen=True)
class Identifiability:
    """Parameters that poses identify, and those that they do not.

    Attributes:
        unknowns: Number of the links' parameters.
        rank: Number of their combinations that standing still identifies without noise.
        better_than_prior: Number of directions that the data determine better than
            the prior, offsets included.
        condition: Strongest direction over the weakest of ``rank``.
        combinations: The combinations, as formulas.
        at_prior: Links whose centres of mass stay where the model has them.
        groups: Links that cannot be separated: only their sum is identifiable.
    """

    unknowns: int
    rank: int
    better_than_prior: int
    condition: float
    combinations: tuple[str, ...]
    at_prior: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


def identifiability(frames: StandingFrames, found: Estimate) -> Identifiability:
    """Return what the poses of an estimate identify."""
    names = found.belief.links
    count = PER_LINK * len(names)
    columns = link_columns(frames).reshape(-1, count)
    rows = columns @ found.belief.root[:count, :count]
    values = np.linalg.svd(rows, compute_uv=False)
    strongest = float(values[0]) if len(values) else 0.0
    rank = int(np.sum(values > ROUNDING * strongest))
    return Identifiability(
        unknowns=count,
        rank=rank,
        better_than_prior=int(np.sum(found.singular_values > 1.0)),
        condition=strongest / float(values[rank - 1]) if rank else np.inf,
        combinations=_combinations(columns, names, rank),
        at_prior=tuple(
            name
            for name, seen in zip(names, observed_links(found), strict=True)
            if not seen
        ),
        groups=_groups(found),
    )


def observed_links(found: Estimate) -> NDArray[np.bool_]:
    """Return whether the data determine a link's CoM better than the prior, (nl,)."""
    belief = found.belief
    before = link_com_deviations(
        belief.mean, belief.root @ belief.root.T, len(belief.links)
    )
    after = link_com_deviations(found.mean, found.covariance, len(belief.links))
    return np.asarray(np.any(after < OBSERVED * before, axis=1))


def link_com_deviations(mean: Array, covariance: Array, links: int) -> Array:
    """Return standard deviations of the links' centres of mass [m], shape (nl, 3)."""
    gradient, blocks = _link_blocks(mean, covariance, links)
    variances = np.einsum("lij,ljlk,lik->li", gradient, blocks, gradient)
    return np.asarray(np.sqrt(variances))


def _link_blocks(mean: Array, covariance: Array, count: int) -> tuple[Array, Array]:
    """Return derivatives of c = h / m by (m, h), (nl, 3, 4), and (nl, 4, nl, 4)."""
    links = link_parameters(mean, count)
    mass, moment = links[:, :1], links[:, 1:]
    gradient = np.zeros((len(links), 3, PER_LINK))
    gradient[..., 0] = -moment / mass**2
    gradient[..., 1:] = np.eye(3) / mass[..., None]
    return gradient, covariance[: links.size, : links.size].reshape(links.shape * 2)


def _combinations(rows: Array, names: Sequence[str], rank: int) -> tuple[str, ...]:
    """Return independent combinations of parameters in the equations.

    Columns are taken one by one while they are independent (QR with pivoting); the
    others are sums of these, and go with them [Gautier1991].
    """
    from scipy.linalg import qr, solve_triangular

    def unknown(column: int) -> str:
        link, which = divmod(column, PER_LINK)
        return f"{UNKNOWNS[which]}({names[link]})"

    _, triangle, order = qr(rows, mode="economic", pivoting=True)
    if rank == 0:
        return ()
    sums = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    found = []
    for at in np.argsort(order[:rank]):
        parts = [unknown(int(order[at]))]
        for other in np.flatnonzero(np.abs(sums[at]) > SMALL * np.abs(sums).max()):
            factor = float(sums[at, other])
            sign = "-" if factor < 0.0 else "+"
            parts.append(
                f"{sign} {abs(factor):.4g} {unknown(int(order[rank + other]))}"
            )
        found.append(" ".join(parts))
    return tuple(found)


def _groups(found: Estimate) -> tuple[tuple[str, ...], ...]:
    """Return links whose errors nearly cancel, joined with those of their partners."""
    from scipy.sparse.csgraph import connected_components

    names = np.array(found.belief.links)
    gradient, blocks = _link_blocks(found.mean, found.covariance, len(names))
    own = np.einsum("lij,ljlk,lmk->lim", gradient, blocks, gradient)
    white = np.linalg.solve(np.linalg.cholesky(own), gradient)
    shared = np.einsum("aij,ajbk,bmk->abim", white, blocks, white, optimize=True)
    together = np.linalg.norm(shared, 2, axis=(2, 3)) > CORRELATED
    count, label = connected_components(together, directed=False)
    groups = [tuple(names[label == at].tolist()) for at in range(count)]
    return tuple(group for group in groups if len(group) > 1)
