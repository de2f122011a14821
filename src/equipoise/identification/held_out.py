"""Whether an identified model is better: errors in stretches that were left out.

What is judged is the file: its centre of mass above the measured centre of pressure,
and its weight, as the sensors show them, without offsets that only the identification
knows. Rivals are the original model, the same with one factor on all masses, the same
with offsets of the sensors, and plain ridge regression. Poses of one stretch share
their errors, so that they are left out together, and count as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.estimate import whitened
from equipoise.identification.hypotheses import Hypothesis
from equipoise.identification.left_out import (
    FEWEST_STRETCHES,
    Errors,
    Parts,
    Setting,
    choose_file,
    fitted_mean,
    left_out_means,
    mean_squares,
    parts_of,
    take,
)
from equipoise.identification.prior import PriorBelief
from equipoise.identification.statics import (
    PER_LINK,
    PER_SENSOR,
    Equations,
    total_com,
)
from equipoise.robot.description import STANDARD_GRAVITY

# The probability that a reduction is outside its interval, on either side.
CHANCE = 0.1
# Offsets explain what would be seen more often than this if they were all; draws of it,
# and how much larger they may be for this than usual.
LEAST_CHANCE, DRAWS, LARGE_OFFSETS = 0.01, 2000, 2.0
# Offsets of sensors are within so many standard deviations.
FAR_OFFSETS = 2.0
# An improvement matters if its whole interval is above this fraction of the error.
LEAST_REDUCTION = 0.05
# Errors of the centre of pressure below this part of the CoM's height do not matter.
LEAST_PRESSURE = 1e-3
# An error that grows by less than this fraction does not.
LEAST_HARM = 0.02
# A mass is confirmed if the model's is wrong by more than this fraction: gains of force
# sensors are not known better.
LEAST_MASS_ERROR = 0.01
# Equations that depend on masses, for ridge regression; and its penalties.
MASS_ROWS = [2, 3, 4]
PENALTIES = tuple(10.0**power for power in range(-4, 5))


class Reduction(NamedTuple):
    """Reduction of an RMS error.

    Attributes:
        fraction: Fraction of the error; negative if it grows.
        interval: 90 % interval of this fraction, by stretches: the true one is above
            its lower end with 95 % probability.
    """

    fraction: float
    interval: tuple[float, float]

    @property
    def matters(self) -> bool:
        """Whether the whole interval is above what matters."""
        return self.interval[0] > LEAST_REDUCTION

    @property
    def harms(self) -> bool:
        """Whether the error grows, by more than chance and rounding."""
        return self.interval[1] < -LEAST_HARM


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors in stretches that were left out.

    Attributes:
        stretches: Number of stretches.
        folds: Number of parts of these; each was left out once.
        original: Of the original model, as sensors show them.
        scaled: Of the same with one factor on all masses.
        offsets_only: Of the same, with offsets of the sensors.
        ridge: Of plain ridge regression of masses and first moments.
        file: Of the identified file, as sensors show them.
        with_offsets: Of masses that were identified together with offsets.
        reduction: Of the centre of pressure's error, from the original to the file.
        over_offsets: The same from ``offsets_only`` to ``with_offsets``: what the
            sensors' offsets do not explain.
        over_ridge: The same from ``ridge`` to the file.
        weight_reduction: Of the weight's error, from the original to the file.
        chance_of_offsets: Probability of measurements that speak as much for new masses
            if offsets and one factor on the masses are all that there is.
        weight_by_offsets: What offsets may add to the weight, as a fraction of it.
        least_pressure: Errors of the centre of pressure below this do not matter [m].
        zeroed: Whether sensors are known to have no offsets.
        moved: Whether the file's CoMs are others than the original's.
    """

    stretches: int
    folds: int
    original: Errors
    scaled: Errors
    offsets_only: Errors
    ridge: Errors
    file: Errors
    with_offsets: Errors
    reduction: Reduction
    over_offsets: Reduction
    over_ridge: Reduction
    weight_reduction: Reduction
    chance_of_offsets: float
    weight_by_offsets: float
    least_pressure: float
    zeroed: bool
    moved: bool = True

    @property
    def by_offsets(self) -> bool:
        """Whether the sensors' offsets may be all that there is."""
        return not self.zeroed and self.chance_of_offsets > LEAST_CHANCE

    @property
    def com_confirmed(self) -> bool:
        """Whether the file puts the CoM better, and offsets alone do not explain it."""
        enough = self.stretches >= FEWEST_STRETCHES
        enough = enough and self.original.pressure_rms > self.least_pressure
        enough = enough and self.moved
        return enough and self.reduction.matters and not self.by_offsets

    @property
    def mass_confirmed(self) -> bool:
        """Whether the file has a better mass, and offsets alone do not explain it."""
        enough = self.stretches >= FEWEST_STRETCHES
        least = max(LEAST_MASS_ERROR, self.weight_by_offsets)
        far = self.original.weight_rms > least
        return enough and far and self.weight_reduction.matters

    @property
    def confirmed(self) -> bool:
        """Whether the file alone is better in one, and not worse in the other."""
        heavier = (
            self.file.weight_rms > LEAST_MASS_ERROR and self.weight_reduction.harms
        )
        com = self.com_confirmed and not heavier
        far = self.file.pressure_rms > self.least_pressure and self.reduction.harms
        mass = self.mass_confirmed and not far
        return com or mass


def reduction(before: Array, after: Array, stretch: NDArray[np.int64]) -> Reduction:
    """Return the reduction of an RMS error, of errors (n, k), and its interval.

    The interval is Student's, of the mean difference of squares over stretches.
    """
    from scipy.special import stdtrit

    square = mean_squares(before, stretch)
    whole = max(float(square.mean()), 1e-300)
    gain = square - mean_squares(after, stretch)
    mean, count = float(gain.mean()), len(gain)
    spread = float(gain.std(ddof=1)) / np.sqrt(count) if count > 1 else np.inf
    wide = float(stdtrit(max(count - 1, 1), 1.0 - CHANCE / 2.0)) * spread
    low, middle, high = (
        1.0 - np.sqrt(max(1.0 - value / whole, 0.0))
        for value in (mean - wide, mean, mean + wide)
    )
    return Reduction(float(middle), (float(low), float(high)))


def judge(
    setting: Setting,
    hypotheses: Mapping[float, Hypothesis],
    likely: Hypothesis,
    rival: PriorBelief,
    *,
    zeroed: bool,
) -> HeldOut:
    """Leave out one part of the stretches after the other, and predict it.

    Args:
        setting: Poses and equations.
        hypotheses: Beliefs of the file by strength; that of each part is chosen without
            it.
        likely: The most probable belief, with offsets.
        rival: The belief that masses have one factor, and sensors offsets.
        zeroed: Whether sensors are known to have no offsets.
    """
    poses, stretch = setting.poses, setting.poses.stretch
    parts, rows = parts_of(stretch), np.arange(len(poses))
    means = []
    for part in parts:
        left = take(setting, np.setdiff1d(rows, part))
        own = choose_file(left, hypotheses, likely).belief
        means.append(fitted_mean(left.system, left.covariance, own))
    full, factor, by_offsets = (
        left_out_means(setting.system, setting.covariance, belief, parts)
        for belief in (likely.belief, hypotheses[0.0].belief, rival)
    )
    ridge = _ridge_means(setting, rival.mean, parts)
    original, scaled, by_ridge, file = (
        setting.left_out(own, parts, offsets=False)
        for own in ([rival.mean] * len(parts), factor, ridge, means)
    )
    corrected = setting.left_out(full, parts, offsets=True)
    offsets_only = setting.left_out(by_offsets, parts, offsets=True)

    def reduced(before: Array, after: Array) -> Reduction:
        return reduction(before, after, stretch)

    links = PER_LINK * len(rival.links)
    sensors = links + PER_SENSOR * len(poses.sensors)
    vertical = rival.root[links:sensors][2::PER_SENSOR]
    weight = STANDARD_GRAVITY * float(rival.mean[:links:PER_LINK].sum())
    return HeldOut(
        stretches=len(np.unique(stretch)),
        folds=len(parts),
        original=original,
        scaled=scaled,
        offsets_only=offsets_only,
        ridge=by_ridge,
        file=file,
        with_offsets=corrected,
        reduction=reduced(original.pressure, file.pressure),
        over_offsets=reduced(offsets_only.pressure, corrected.pressure),
        over_ridge=reduced(by_ridge.pressure, file.pressure),
        weight_reduction=reduced(original.weight[:, None], file.weight[:, None]),
        chance_of_offsets=chance_of_offsets(setting, rival, likely.belief),
        weight_by_offsets=FAR_OFFSETS * float(np.linalg.norm(vertical)) / weight,
        least_pressure=LEAST_PRESSURE * _height(setting, rival),
        zeroed=zeroed,
    )


def _height(setting: Setting, model: PriorBelief) -> float:
    """Return the median height of a model's CoM above the soles [m]."""
    return float(np.median(total_com(setting.frames, model.mean)[:, 2]))


def chance_of_offsets(
    setting: Setting, rival: PriorBelief, likely: PriorBelief
) -> float:
    """Return the chance of measurements that speak so much for new masses.

    The measure is the ratio of evidences of two beliefs: masses that may be others, and
    one factor on the masses; both with the rival's offsets, made larger. Measurements
    are drawn from the latter.
    """
    links = PER_LINK * len(rival.links)
    matrix, right = whitened(setting.system, setting.covariance)
    wanted = (right - matrix @ rival.mean).reshape(-1)
    matrix = matrix.reshape(len(wanted), -1)
    if len(wanted) > matrix.shape[1]:  # what no parameter explains says nothing
        basis, matrix = np.linalg.qr(matrix)
        wanted = basis.T @ wanted
    sensors = PER_SENSOR * len(setting.poses.sensors)
    offsets = matrix[:, links:] @ rival.root[links:, links:]
    offsets[:, :sensors] *= LARGE_OFFSETS
    shared = offsets @ offsets.T + np.eye(len(wanted))
    parts = [matrix[:, :links] @ own.root[:links] for own in (rival, likely)]
    plain, moved = (shared + part @ part.T for part in parts)
    more = np.linalg.inv(plain) - np.linalg.inv(moved + plain - shared)
    draws = np.linalg.cholesky(plain) @ np.random.default_rng(0).standard_normal(
        (len(wanted), DRAWS)
    )
    drawn = np.einsum("ij,ij->j", draws, more @ draws)
    return float(np.mean(drawn >= wanted @ more @ wanted))


def _ridge_means(setting: Setting, mean: Array, parts: Parts) -> list[Array]:
    """Return what plain ridge regression finds without each part, (nx,) each."""
    links = PER_LINK * len(setting.frames.link_names)
    matrix = setting.system.matrix[:, MASS_ROWS, :links]
    right = setting.system.right[:, MASS_ROWS]
    rows, found = np.arange(len(right)), []
    model, no_offsets = mean[:links], np.zeros(len(mean) - links)
    for part in parts:
        others = np.setdiff1d(rows, part)
        inner = take(setting, others)
        inner_parts = parts_of(inner.poses.stretch)
        system = Equations(matrix[others], right[others])
        unit = np.tile(np.eye(len(MASS_ROWS)), (len(others), 1, 1))
        least, best = np.inf, PriorBelief((), model, np.zeros((links, links)))
        for penalty in PENALTIES:
            belief = PriorBelief((), model, np.eye(links) / np.sqrt(penalty))
            means = left_out_means(system, unit, belief, inner_parts)
            error = inner.left_out(means, inner_parts, offsets=False).pressure_rms
            if error < least:
                least, best = error, belief
        found.append(np.concatenate([fitted_mean(system, unit, best), no_offsets]))
    return found
