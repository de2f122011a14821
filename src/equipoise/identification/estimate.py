"""Least squares with a prior, weights and doubt: what poses say about the unknowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.identification.prior import PriorBelief
from equipoise.identification.statics import WRENCH, Equations
from equipoise.robot.description import Array

# A pose whose misfit is beyond what one in this many shows by chance counts less.
OUTLIER_CHANCE = 0.001
MOST_ROUNDS = 50
SETTLED = 1e-9
# Misfit that is larger than expected by less than this many standard deviations of
# itself is chance.
DOUBT = 3.0


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
        noise_scale: By how much misfits are larger than the sensors' noise explains;
            uncertainties are widened by it.
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
    noise_scale: float
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
    from scipy.stats import chi2

    matrix, right = _whitened(equations, covariances)
    design = matrix @ belief.root
    wanted = right - matrix @ belief.mean
    count = len(right)
    limit = float(np.sqrt(chi2.isf(OUTLIER_CHANCE, WRENCH)))
    weights, scale, moved = np.ones(count), 1.0, np.zeros(len(belief.mean))
    for _ in range(MOST_ROUNDS):
        root = np.sqrt(weights)[:, None] / scale
        fit = _fit(
            (design * root[..., None]).reshape(-1, design.shape[2]),
            (wanted * root).reshape(-1),
        )
        before, moved = moved, fit.moved
        misfit = np.linalg.norm(wanted - design @ moved, axis=1)
        scale = _noise_scale(misfit, weights, fit.freedom)
        weights = np.minimum(1.0, limit * scale / np.maximum(misfit, 1e-300))
        if np.abs(moved - before).max() < SETTLED:
            break
    shrunk = fit.directions / np.sqrt(1.0 + fit.singular_values**2)
    spread = belief.root @ shrunk
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
        noise_scale=scale,
        residuals=equations.right - equations.matrix @ mean,
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    moved: Array
    singular_values: Array
    directions: Array
    freedom: float


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
    used = float(np.sum(singular**2 / (1.0 + singular**2)))
    return _Fit(moved, singular, right.T, used)


def _noise_scale(misfit: Array, weights: Array, used: float) -> float:
    """Return by how much misfits are larger than expected, never less than one."""
    free = WRENCH * float(np.sum(weights > 0.5)) - used
    if free < WRENCH:
        return 1.0
    mean_square = float(np.sum(weights * misfit**2)) / free
    by_chance = 1.0 + DOUBT * np.sqrt(2.0 / free)
    return float(np.sqrt(mean_square)) if mean_square > by_chance else 1.0


def _whitened(equations: Equations, covariances: Array) -> tuple[Array, Array]:
    root = np.linalg.cholesky(covariances)
    matrix = np.linalg.solve(root, equations.matrix)
    right = np.linalg.solve(root, equations.right[..., None])[..., 0]
    return matrix, right
