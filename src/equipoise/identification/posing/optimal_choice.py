"""The best of many measurements: chosen greedily, then by exchange (Fedorov).

Measurement n adds BₙᵀBₙ to the information M. With P = M⁻¹, six rows change it by the
matrix inversion and determinant lemmas::

    P' = P - P Bᵀ S⁻¹ B P,    S = I + B P Bᵀ,    det M' = det M det S

When one is removed, P is computed anew: the lemma with the opposite sign loses all
digits where one measurement alone determines something.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array

Criterion = Literal["com", "com-mean", "all"]
MOST_SWEEPS = 4
# An exchange must be better by this to count.
BETTER = 1e-9
# Standard deviations below this fraction of the prior's need not become smaller.
FLOOR_FRACTION = 0.1


class Choice:
    """Measurements chosen so far, and the gain from each other one.

    Args:
        rows: B of N measurements, shape (N, 6, d).
        functionals: F of the quantities that are wanted, shape (r, d).
        information: M before any of them, shape (d, d).
        criterion: ``"com"``: log det of the functionals' covariance F P Fᵀ, with a
            floor for what is determined well enough; ``"com-mean"``: its trace;
            ``"all"``: log det of P.
    """

    def __init__(
        self, rows: Array, functionals: Array, information: Array, criterion: Criterion
    ) -> None:
        self.criterion = criterion
        self.chosen: list[int] = []
        self._rows = rows
        self._wanted = functionals
        self._root_before = np.linalg.cholesky(information).T
        self._renew()
        floor = FLOOR_FRACTION**2 * np.sum(functionals**2)
        self._floor = floor * np.eye(len(functionals))

    @property
    def covariance(self) -> Array:
        """Covariance of the functionals, F P Fᵀ, shape (r, r)."""
        return np.asarray(self._wanted @ self._inverse @ self._wanted.T)

    @property
    def variance(self) -> float:
        """Sum of the functionals' variances."""
        return float(np.trace(self.covariance))

    @property
    def value(self) -> float:
        """The quantity to minimise."""
        if self.criterion == "all":
            return float(np.linalg.slogdet(self._inverse)[1])
        if self.criterion == "com-mean":
            return self.variance
        return float(np.linalg.slogdet(self.covariance + self._floor)[1])

    def gains(self) -> Array:
        """Return the reduction of the value by each measurement, shape (N,)."""
        spread = np.eye(self._noise.shape[1]) + self._noise
        if self.criterion == "all":
            return np.asarray(np.linalg.slogdet(spread)[1])
        if self.criterion == "com-mean":
            square = self._seen @ np.swapaxes(self._seen, 1, 2)
            return np.asarray(np.einsum("nab,nba->n", np.linalg.inv(spread), square))
        scaled = np.linalg.inv(self.covariance + self._floor)
        square = self._seen @ scaled @ np.swapaxes(self._seen, 1, 2)
        left = np.linalg.slogdet(spread - square)[1]
        return np.asarray(np.linalg.slogdet(spread)[1] - left)

    def add(self, at: int) -> None:
        """Choose a measurement."""
        self.chosen.append(at)
        known, seen = self._known[at].copy(), self._seen[at].copy()
        inverse = np.linalg.inv(np.eye(len(known)) + self._noise[at])
        mixed = self._known @ self._rows[at].T  # Bₙ P Bᵀ
        gain = mixed @ inverse
        self._known -= gain @ known
        self._seen -= gain @ seen
        self._noise -= gain @ np.swapaxes(mixed, 1, 2)
        self._inverse -= known.T @ inverse @ known

    def remove(self, at: int) -> None:
        """Remove a chosen measurement."""
        self.chosen.remove(at)
        self._renew()

    def _renew(self) -> None:
        """Compute all from the chosen measurements."""
        own = self._rows[self.chosen].reshape(-1, self._rows.shape[2])
        stacked = np.vstack([self._root_before, own])
        root = np.linalg.inv(np.linalg.qr(stacked, mode="r"))
        self._inverse: Array = root @ root.T
        self._known: Array = self._rows @ self._inverse  # B P
        self._noise: Array = self._known @ np.swapaxes(self._rows, 1, 2)  # B P Bᵀ
        self._seen: Array = self._known @ self._wanted.T  # B P Fᵀ


def choose(
    rows: Array,
    functionals: Array,
    information: Array,
    count: int,
    criterion: Criterion = "com",
    progress: Callable[[float], None] = lambda fraction: None,
) -> list[int]:
    """Return which ``count`` measurements to make, none twice, the best first.

    ``progress`` is told the fraction that is done, at most; other arguments are those
    of :class:`Choice`.
    """
    choice = Choice(rows, functionals, information, criterion)
    total = count * (1 + MOST_SWEEPS)
    for done in range(count):
        progress(done / total)
        choice.add(_best(choice))
    for sweep in range(1, MOST_SWEEPS + 1):
        if not _sweep(choice, partial(_report, progress, sweep * count, total)):
            break
    chosen = choice.chosen
    few = Choice(rows[chosen], functionals, information, criterion)
    for _ in chosen:  # each the best after those before it
        few.add(_best(few))
    return [chosen[at] for at in few.chosen]


def _report(
    progress: Callable[[float], None], begun: int, total: int, done: int
) -> None:
    progress((begun + done) / total)


def _best(choice: Choice) -> int:
    gains = choice.gains()
    gains[choice.chosen] = -np.inf
    return int(np.argmax(gains))


def _sweep(choice: Choice, progress: Callable[[int], None]) -> bool:
    """Exchange each measurement for the best other one; return whether any was."""
    exchanged = False
    for done, at in enumerate(tuple(choice.chosen)):
        progress(done)
        before = choice.value
        choice.remove(at)
        better = _best(choice)
        if better != at and before - choice.value + choice.gains()[better] > BETTER:
            choice.add(better)
            exchanged = True
        else:
            choice.add(at)
    return exchanged


def variances_after(
    rows: Array, functionals: Array, information: Array, orders: NDArray[np.int64]
) -> Array:
    """Return the functionals' variance after 1, 2, … measurements, (k, n).

    ``orders`` are k orders of measurements, shape (k, n); other arguments are those of
    :class:`Choice`.
    """
    inverse = np.tile(np.linalg.inv(information), (len(orders), 1, 1))
    seen = inverse @ functionals.T
    variance = np.tile(np.einsum("ri,ir->", functionals, seen[0]), orders.shape).astype(
        np.float64
    )
    left = variance[:, 0].copy()
    for step, at in enumerate(orders.T):
        block = rows[at]
        known = block @ inverse
        spread = np.eye(rows.shape[1]) + known @ np.swapaxes(block, 1, 2)
        gain = np.linalg.solve(spread, known)
        wanted = known @ functionals.T
        left -= np.einsum("kar,kar->k", wanted, gain @ functionals.T)
        inverse -= np.swapaxes(known, 1, 2) @ gain
        variance[:, step] = left
    return variance
