"""What measurements say of their own errors: level, offsets, and how far CoMs may be.

Floors tilt, stretches share errors (:mod:`equipoise.identification.pose_errors`), and
sensors that were zeroed have small offsets, others large ones in all axes. Of each such
cause several sizes are tried. Their evidence is the probability of the measurements,
integrated over all masses. The most probable causes are what a person is told; values
and uncertainties are averages over all that are nearly as probable (Bayesian model
averaging in Occam's window [Madigan1994]).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.estimate import (
    HALF,
    Estimate,
    estimate,
    fitted_covariances,
    information_root,
    whitened,
)
from equipoise.identification.hypotheses import Hypothesis
from equipoise.identification.noise import SensorNoise
from equipoise.identification.pose_errors import Level, Levers, Turned
from equipoise.identification.prior import PriorBelief
from equipoise.identification.statics import (
    WRENCH,
    Equations,
    StandingFrames,
    total_com,
)

# Floors are not level to better than this [rad]. Where soles are more level, assuming
# it costs nothing: lateral forces show the tilt.
USUAL_LEVEL = 1e-3
# Sizes of causes that are tried: tilts [rad]; lateral and vertical forces, as fractions
# of the weight; centres of pressure, as fractions of the CoM's height; which part of
# these poses do not share with their stretch; and factors on the sensors' noise.
TILTS = tuple(USUAL_LEVEL * factor for factor in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0))
LATERALS = (0.0, 1e-4, 3e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2)
VERTICALS = (0.0, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
PRESSURES = (0.0, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2)
OWN_FRACTIONS = (1.0, 0.3, 0.1, 0.01, 0.0)
NOISES = (1.0, 1.6, 3.0, 10.0)
# As many poses are enough to tell.
MOST_POSES = 40
# The effect of a tilt depends on the CoM that is to be found; and how often causes are
# gone through at most.
ROUNDS, MOST_CLIMBS = 2, 8
# Causes whose probability is below the best's by more than this factor do not count.
WINDOW, MOST_ALTERNATIVES = 20.0, 40


class Causes(NamedTuple):
    """Causes of errors.

    Attributes:
        level: Errors of poses.
        times: A factor on the sensors' noise.
        hypothesis: The belief before the measurements.
    """

    level: Level
    times: float
    hypothesis: Hypothesis

    def with_level(self, **changes: float) -> Causes:
        """Return the same with other errors of poses."""
        return self._replace(level=self.level._replace(**changes))


class Alternative(NamedTuple):
    """Causes that are nearly as probable as the best.

    Attributes:
        probability: Their probability among all alternatives.
        covariance: Covariances of the equations with these errors, shape (n, 6, 6).
        belief: The belief before the measurements.
    """

    probability: float
    covariance: Array
    belief: PriorBelief


@dataclass(frozen=True, eq=False)
class Chosen:
    """The most probable causes of errors, and others.

    Attributes:
        level: Errors of poses.
        hypothesis: The belief before the measurements.
        covariance: Covariances of the equations with these errors, shape (n, 6, 6).
        alternatives: All causes within Occam's window, the most probable among them.
    """

    level: Level
    hypothesis: Hypothesis
    covariance: Array
    alternatives: tuple[Alternative, ...]


def most_probable(
    frames: StandingFrames,
    system: Equations,
    covariance: Array,
    noise: SensorNoise,
    hypotheses: Sequence[Hypothesis],
    stretches: Turned,
) -> Chosen:
    """Return the most probable errors of poses and offsets of sensors.

    Args:
        frames: Frames of the poses.
        system: Their equations, turned within stretches.
        covariance: Covariances of these on level soles, shape (n, 6, 6).
        noise: Its level is taken where it has one.
        hypotheses: Beliefs to choose from; the first is taken to begin with.
        stretches: How they were turned.
    """
    first = hypotheses[0]
    few = _some(stretches)
    # outliers are not for the level to explain; what poses of a stretch share is
    weights = estimate(system.take(few), covariance[few], first.belief).weights
    kept = (weights > HALF) | (stretches.shared[few] > 1.0)
    few = few[kept] if kept.any() else few
    taken = system.take(few)
    levers = Levers.of(frames, first.belief.mean, stretches)
    tried = _Tried(
        _Evidence.of(taken, covariance[few], levers.take(few), hypotheses),
        TILTS if noise.level is None else (noise.level,),
        float(np.median(total_com(frames, first.belief.mean)[:, 2])),
        alone=bool((stretches.shared == 1.0).all()),
    )
    best = tried.climb(tried.starts(first))
    for _ in range(ROUNDS):
        error = best.times**2 * covariance[few] + best.level.added(levers.take(few))
        fitted = posterior(taken, error, best.hypothesis.belief)
        if fitted is not None:
            levers = Levers.of(frames, fitted[0], stretches)
        evidence = tried.evidence._replace(levers=levers.take(few))
        tried = replace(tried, evidence=evidence)
        best = tried.climb([best])

    def covariances(causes: Causes) -> Array:
        return np.asarray(covariance + causes.level.added(levers))

    return Chosen(
        best.level,
        best.hypothesis,
        covariances(best),
        tuple(
            Alternative(probability, covariances(causes), causes.hypothesis.belief)
            for probability, causes in tried.window(best)
        ),
    )


def averaged(system: Equations, chosen: Chosen) -> Estimate:
    """Return the estimate of the most probable causes, averaged over alternatives.

    Poses that do not fit, and misfits beyond noise, are those of the most probable.
    """
    found = estimate(system, chosen.covariance, chosen.hypothesis.belief)
    means, spreads, probabilities = [], [], []
    for probability, own, belief in chosen.alternatives:
        fitted = posterior(system, fitted_covariances(own, found), belief)
        if fitted is None:
            continue
        means.append(fitted[0])
        spreads.append(fitted[1])
        probabilities.append(probability)
    if not means:
        return found
    share = np.array(probabilities) / sum(probabilities)
    mean = share @ np.array(means)
    away = (np.array(means) - mean) * np.sqrt(share)[:, None]
    covariance = away.T @ away
    for part, root in zip(share, spreads, strict=True):
        covariance += part * (root @ root.T)
    return replace(found, mean=mean, covariance=covariance)


def posterior(
    system: Equations, covariance: Array, belief: PriorBelief
) -> tuple[Array, Array] | None:
    """Return the mean (nx,) and a root (nx, nx) of the covariance of parameters.

    None where the prior is so vague that squares lose all digits.
    """
    from scipy.linalg import solve_triangular

    matrix, right = whitened(system, covariance)
    wanted = (right - matrix @ belief.mean).reshape(-1)
    design = matrix.reshape(len(wanted), -1) @ belief.root
    factor = information_root(design)
    if factor is None:
        return None
    spread = solve_triangular(factor, belief.root.T, lower=True).T
    moved = solve_triangular(factor, design.T @ wanted, lower=True)
    return np.asarray(belief.mean + spread @ moved), np.asarray(spread)


def _some(stretches: Turned) -> NDArray[np.int64]:
    """Return some rows: the first of stretches, and as many others."""
    first = np.flatnonzero(stretches.shared > 0.0)
    others = np.flatnonzero(stretches.shared == 0.0)
    chosen = [
        rows[np.unique(np.linspace(0, len(rows) - 1, MOST_POSES).astype(int))]
        for rows in (first, others)
        if len(rows)
    ]
    return np.sort(np.concatenate(chosen))


class _Evidence(NamedTuple):
    """The log evidence of n poses for causes of errors.

    Attributes:
        misfit: Of the equations by the model, shape (6 n,).
        covariance: Covariances of these on level soles, shape (n, 6, 6).
        levers: What errors of poses add to these.
        explained: Covariance of all equations by what parameters may be, by belief,
            shape (6 n, 6 n).
    """

    misfit: Array
    covariance: Array
    levers: Levers
    explained: Mapping[Hypothesis, Array]

    @classmethod
    def of(
        cls,
        system: Equations,
        covariance: Array,
        levers: Levers,
        hypotheses: Sequence[Hypothesis],
    ) -> _Evidence:
        """Return that of equations; all beliefs have the model's mean."""
        matrix = system.matrix.reshape(-1, system.matrix.shape[2])
        explained = {}
        for own in hypotheses:
            design = matrix @ own.belief.root
            explained[own] = design @ design.T
        misfit = system.right.reshape(-1) - matrix @ hypotheses[0].belief.mean
        return cls(misfit, covariance, levers, explained)

    def logarithm(self, causes: Causes) -> float:
        """Return the log evidence but for a constant, integrated over all masses."""
        from scipy.linalg import cholesky, solve_triangular

        count = len(self.covariance)
        total = np.array(self.explained[causes.hypothesis])
        error = causes.times**2 * self.covariance + causes.level.added(self.levers)
        blocks = total.reshape(count, WRENCH, count, WRENCH)
        rows = np.arange(count)
        blocks[rows, :, rows, :] += error
        try:
            root = cholesky(total, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return -np.inf
        wanted = solve_triangular(root, self.misfit, lower=True, check_finite=False)
        return float(-0.5 * wanted @ wanted - np.log(np.diag(root)).sum())


@dataclass(frozen=True, eq=False)
class _Tried:
    """Causes that were tried, and their log probabilities but for a constant.

    Attributes:
        evidence: Of the poses.
        tilts: Tilts to try [rad].
        height: That of the CoM [m].
        alone: Whether no poses share a stretch.
        known: What was tried.
    """

    evidence: _Evidence
    tilts: tuple[float, ...]
    height: float
    alone: bool
    known: dict[Causes, float] = field(default_factory=dict, init=False)

    def probability(self, causes: Causes) -> float:
        """Return the log probability of causes."""
        if causes not in self.known:
            before = causes.hypothesis.penalty + float(np.log(causes.times))
            self.known[causes] = self.evidence.logarithm(causes) - before
        return self.known[causes]

    def starts(self, hypothesis: Hypothesis) -> list[Causes]:
        """Return causes to begin with: errors that stretches share, or noise."""
        weight = self.evidence.levers.weight
        begin = [
            Causes(Level(tilt, part * weight), times, hypothesis)
            for tilt, part, times in product(self.tilts[::2], LATERALS[::2], NOISES)
        ]
        noisy = max(begin, key=self.probability)
        shared = noisy._replace(times=1.0).with_level(
            pressure=PRESSURES[-3] * self.height,
            vertical_force=VERTICALS[-3] * weight,
            own=1.0 if self.alone else OWN_FRACTIONS[-2],
        )
        return [noisy, shared]

    def improved(self, causes: Causes) -> Causes:
        """Return causes after one or two at a time were changed to their best sizes."""
        weight = self.evidence.levers.weight

        def better(options: Iterable[Causes]) -> Causes:
            return max(options, key=self.probability)

        def beliefs(part: str) -> list[Hypothesis]:
            """Return those that differ from the present one in the other part."""
            own = getattr(causes.hypothesis, part)
            return [one for one in self.evidence.explained if getattr(one, part) == own]

        if not self.alone:
            causes = better(causes.with_level(own=own) for own in OWN_FRACTIONS)
        causes = better(
            causes.with_level(vertical_force=part * weight) for part in VERTICALS
        )
        causes = better(
            causes.with_level(pressure=part * self.height)._replace(hypothesis=other)
            for part, other in product(PRESSURES, beliefs("strength"))
        )
        causes = better(
            causes._replace(hypothesis=other) for other in beliefs("offsets")
        )
        causes = better(causes.with_level(tilt=tilt) for tilt in self.tilts)
        return better(
            causes.with_level(lateral_force=part * weight)._replace(times=times)
            for part, times in product(LATERALS, NOISES)
        )

    def climb(self, starts: Sequence[Causes]) -> Causes:
        """Return the best causes that starts lead to."""
        found = []
        for causes in starts:
            last = None
            for _ in range(MOST_CLIMBS):
                last, causes = causes, self.improved(causes)
                if causes == last:
                    break
            found.append(causes)
        return max(found, key=self.probability)

    def window(self, best: Causes) -> list[tuple[float, Causes]]:
        """Return all that is nearly as probable as the best, with probabilities.

        Tilts, lateral forces and centres of pressure are told apart with difficulty:
        changes of two of them at a time are tried as well.
        """
        level, weight = best.level, self.evidence.levers.weight
        sizes = (
            _near(self.tilts, level.tilt),
            _near([part * weight for part in LATERALS], level.lateral_force),
            _near([part * self.height for part in PRESSURES], level.pressure),
        )
        for tilt, side, pressure in product(*sizes):
            self.probability(
                best.with_level(tilt=tilt, lateral_force=side, pressure=pressure)
            )
        top = self.probability(best)
        near = sorted(
            ((own - top, at) for at, own in enumerate(self.known.values())),
            reverse=True,
        )[:MOST_ALTERNATIVES]
        causes = list(self.known)
        kept = [(np.exp(own), at) for own, at in near if own > -np.log(WINDOW)]
        total = sum(own for own, _ in kept)
        return [(float(own / total), causes[at]) for own, at in kept]


def _near(sizes: Sequence[float], size: float) -> Sequence[float]:
    """Return a size and those beside it."""
    at = int(np.argmin(np.abs(np.array(sizes) - size)))
    return [*sizes[max(at - 1, 0) : at], size, *sizes[at + 1 : at + 2]]
