"""Least squares with a prior, weights and doubt: what poses say about the unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.prior import PriorBelief
from equipoise.identification.statics import WRENCH, Equations

# A pose whose misfit is beyond what one in this many shows by chance counts less.
OUTLIER_CHANCE = 0.001
MOST_ROUNDS = 30
SETTLED = 1e-6
# Misfit that is larger than expected by less than this many standard deviations of
# itself is chance.
DOUBT = 3.0
# A pose that counts for less than this is an outlier.
HALF = 0.5
# Forces sideways and torque about the vertical, which masses do not move; then weight
# and tipping torques, which they do. And the group of each.
ORDER = np.array([0, 1, 5, 2, 3, 4])
GROUP = np.array([0, 0, 0, 1, 1, 1])


class NoiseScale(NamedTuple):
    """Misfit over noise of the sensors, at least one."""

    sideways: float
    upright: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """The unknowns after the data were seen.

    Attributes:
        belief: The unknowns before.
        moved: Best values in units of the prior, away from it, shape (nx,).
        mean: Best values, shape (nx,).
        covariance: Of the best values, shape (nx, nx).
        known: Share of each direction of ``directions`` that comes from the data, not
            from the prior, from 1 down to 0, shape (nx,).
        singular_values: How much better than the prior the data know each direction,
            shape (nx,).
        directions: Of the unknowns in units of their prior, columns, (nx, nx).
        weights: Of the poses; less than one where a pose does not fit, shape (n,).
        noise_scale: By how much misfits are larger than the sensors' noise explains,
            at least one: in weight and tipping, which tell of masses, and sideways,
            which tells of offsets. Uncertainties are widened by it.
        residuals: Of the equations [N, Nm], shape (n, 6).
    """

    belief: PriorBelief
    moved: Array
    mean: Array
    covariance: Array
    known: Array
    singular_values: Array
    directions: Array
    weights: Array
    noise_scale: NoiseScale
    residuals: Array


def estimate(equations: Equations, covariances: Array, belief: PriorBelief) -> Estimate:
    """Return the unknowns that fit data and prior best, with their uncertainty.

    Misfits are weighted by how the measurements scatter; poses that fit badly count
    less (Huber's weights), and if all fit worse than the noise explains, the noise is
    taken to be as large as they say.

    Args:
        equations: Of n poses.
        covariances: Of their right-hand sides, shape (n, 6, 6).
        belief: The unknowns before.
    """
    from scipy.special import chdtri

    matrix, right = _whitened(equations, covariances)
    design = matrix @ belief.root
    wanted = right - matrix @ belief.mean
    limit = float(np.sqrt(chdtri(WRENCH, OUTLIER_CHANCE)))
    weights, scales, moved = np.ones(len(right)), np.ones(2), np.zeros(len(belief.mean))
    for _ in range(MOST_ROUNDS):
        shares = np.sqrt(weights)[:, None] / scales[GROUP]
        scaled = design * shares[..., None]
        before = moved
        moved, taken = _quick_fit(scaled, wanted * shares)
        misfit = wanted - design @ moved
        scales = _noise_scales(misfit, weights, taken)
        size = np.linalg.norm(misfit / scales[GROUP], axis=1)
        weights = np.minimum(1.0, limit / np.maximum(size, 1e-300))
        if np.abs(moved - before).max() < SETTLED:
            break
    shares = np.sqrt(weights)[:, None] / scales[GROUP]
    scaled = design * shares[..., None]
    fit = _fit(scaled.reshape(-1, design.shape[2]), (wanted * shares).reshape(-1))
    moved = fit.moved
    spread = belief.root @ fit.shrunk
    mean = belief.mean + belief.root @ moved
    return Estimate(
        belief=belief,
        moved=moved,
        mean=mean,
        covariance=spread @ spread.T,
        known=fit.singular_values**2 / (1.0 + fit.singular_values**2),
        singular_values=fit.singular_values,
        directions=fit.directions,
        weights=weights,
        noise_scale=NoiseScale(sideways=float(scales[0]), upright=float(scales[1])),
        residuals=equations.right - equations.matrix @ mean,
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """Best values in units of the prior; ``shrunk`` is a root of their covariance."""

    moved: Array
    singular_values: Array
    directions: Array
    shrunk: Array


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
    """Return the same u by normal equations, good enough to find the weights.

    Args:
        design: Shape (n, 6, nx).
        wanted: Shape (n, 6).

    Returns:
        u, and how much of each equation it has used up, shape (n, 6).
    """
    rows = design.reshape(-1, design.shape[2])
    root = information_root(rows)
    if root is None:
        fit = _fit(rows, wanted.reshape(-1))
        return fit.moved, np.sum((design @ fit.shrunk) ** 2, axis=2)
    spread = np.linalg.solve(root, rows.T)
    moved = np.linalg.solve(root.T, spread @ wanted.reshape(-1))
    return np.asarray(moved, np.float64), np.sum(spread**2, axis=0).reshape(
        wanted.shape
    )


def _fit(design: Array, wanted: Array) -> _Fit:
    """Return the u that minimises |design u - wanted|² + |u|²."""
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
    return _Fit(moved, singular, right.T, right.T / np.sqrt(1.0 + singular**2))


def _noise_scales(misfit: Array, weights: Array, taken: Array) -> Array:
    """Return by how much misfits are larger than expected, never less than one.

    Args:
        misfit: In units of the noise, shape (n, 6).
        weights: Of the poses, shape (n,).
        taken: How much of each equation the fit has used up, shape (n, 6).
    """
    scales = np.ones(2)
    for group in range(2):
        rows = group == GROUP
        kept = weights > HALF
        free = float(np.sum(1.0 - taken[kept][:, rows]))
        if free < np.sum(rows):
            continue
        square = float(np.sum(weights[:, None] * misfit[:, rows] ** 2)) / free
        if square > 1.0 + DOUBT * np.sqrt(2.0 / free):
            scales[group] = np.sqrt(square)
    return scales


def _whitened(equations: Equations, covariances: Array) -> tuple[Array, Array]:
    """Return equations in units of the noise: sideways ones first, then the others.

    The others are those that are left when the sideways ones are known.
    """
    root = np.linalg.cholesky(covariances[:, ORDER][:, :, ORDER])
    matrix = np.linalg.solve(root, equations.matrix[:, ORDER])
    right = np.linalg.solve(root, equations.right[:, ORDER, None])[..., 0]
    return matrix, right
