"""How many samples of a correlated series count as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Array

# The sum of correlations ends where the lag is so many times the sum so far.
WINDOW = 6.0
MOST_ROUNDS = 20


def correlation_length(pieces: Sequence[Array]) -> float:
    """Return the number of consecutive samples that count as one, at least 1.

    It is τ = 1 + 2 Σ ρ_k with the autocorrelation ρ_k at lag k, pooled over pieces of
    one process that may have different means; the sum ends at the first lag k ≥ 6 τ
    (Sokal's window). The mean of n samples has the variance of n / τ independent ones.

    Args:
        pieces: Samples at equal time intervals, shape (n_i,) each.
    """
    centred = [piece - piece.mean() for piece in pieces if len(piece) > 1]
    if not centred or not any(np.any(piece != 0.0) for piece in centred):
        return 1.0
    longest = max(len(piece) for piece in centred)
    products, counts = np.zeros(longest), np.zeros(longest)
    for piece in centred:
        lags = len(piece)
        spectrum = np.fft.rfft(piece, 2 * lags)  # Σ_i x_i x_{i+k} for every lag k
        products[:lags] += np.fft.irfft(np.abs(spectrum) ** 2, 2 * lags)[:lags]
        counts[:lags] += np.arange(lags, 0, -1)
    covariance = products / counts
    mean_length = sum(len(piece) for piece in centred) / len(centred)
    length, lost = 1.0, 0.0
    for _ in range(MOST_ROUNDS):
        # subtracting the pieces' own means removed the variance of the mean
        rho = (covariance + lost) / (covariance[0] + lost)
        before, length = length, _summed(rho, mean_length)
        fraction = min(length / mean_length, 0.9)
        lost = covariance[0] * fraction / (1.0 - fraction)
        if abs(length - before) < 1e-3 * length:
            break
    return length


def _summed(rho: Array, most: float) -> float:
    sums = 1.0 + 2.0 * np.cumsum(np.append(0.0, rho[1:]))
    ends = np.flatnonzero(np.arange(len(rho)) >= WINDOW * np.maximum(sums, 1.0))
    end = int(ends[0]) if len(ends) else len(rho) - 1
    return float(min(max(sums[end], 1.0), max(most, 1.0)))
