"""Cross-validation: the identified model's errors in poses that were left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.noise import LEVEL_SOLES, Level
from equipoise.identification.statics import (
    PER_LINK,
    MeasuredPoses,
    StandingFrames,
    centre_of_pressure,
    offset_columns,
    total_com,
    total_wrench,
)

MOST_FOLDS = 5
# Draws of the bootstrap, and the probability that an improvement is chance.
DRAWS, CHANCE = 4000, 0.05


class Reduction(NamedTuple):
    """Reduction of an RMS error.

    Attributes:
        fraction: Fraction of the error; negative if it grows.
        interval: 95 % interval of this fraction.
    """

    fraction: float
    interval: tuple[float, float]

    @property
    def confirmed(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.interval[0] > 0.0


class HeldOut(NamedTuple):
    """Errors of the centre of pressure in poses that were left out.

    Attributes:
        folds: Number of parts of the poses; each was left out once.
        before: Errors of the original model, forward and to the left [m], (n, 2).
        offsets_only: Errors of the original model with sensor offsets that were
            identified without the pose [m], shape (n, 2).
        after: Errors of models and offsets that were identified without the pose.
        reduction: From the original model to the identified one.
        over_offsets: From the original model with offsets to the identified one: the
            effect of the masses.
    """

    folds: int
    before: Array
    offsets_only: Array
    after: Array
    reduction: Reduction
    over_offsets: Reduction

    @property
    def confirmed(self) -> bool:
        """Whether the identified masses are better, and not the offsets alone."""
        return self.reduction.confirmed and self.over_offsets.confirmed

    @property
    def rms_before(self) -> float:
        """RMS distance of predicted and measured centre of pressure [m]."""
        return _rms(self.before)

    @property
    def rms_offsets_only(self) -> float:
        """The same with identified offsets [m]."""
        return _rms(self.offsets_only)

    @property
    def rms_after(self) -> float:
        """The same with identified models and offsets [m]."""
        return _rms(self.after)


Fit = Callable[[NDArray[np.int64]], Array]


def held_out(
    poses: MeasuredPoses,
    frames: StandingFrames,
    original: Array,
    level: Level,
    fit: Fit,
    fits_of_offsets: Sequence[tuple[Fit, Level]],
    seed: int,
) -> HeldOut:
    """Leave out one part of the poses after the other, and predict it.

    Parts are runs of neighbours, since these are most alike.

    Args:
        poses: The measured poses.
        frames: Their level frames.
        original: Masses and first moments of the original model, no offsets, (nx,).
        level: Level of the soles, from all poses together.
        fit: Identifies from the poses of some rows only; returns masses, first moments
            and offsets, shape (nx,).
        fits_of_offsets: The same for offsets only, each with the level that it
            assumes; the one that predicts best counts.
        seed: Seed of the bootstrap.
    """
    count = len(poses)
    folds = min(MOST_FOLDS, count)
    # without sensor offsets a tilt cannot be separated from lateral forces
    before = cop_errors(poses, frames, original, LEVEL_SOLES)

    def left_out(fitted: Fit, level: Level) -> Array:
        errors = np.array(before)
        for part in np.array_split(np.arange(count), folds):
            others = np.setdiff1d(np.arange(count), part)
            if len(others):
                errors[part] = cop_errors(poses, frames, fitted(others), level)[part]
        return errors

    after = left_out(fit, level)
    offsets_only = min((left_out(*pair) for pair in fits_of_offsets), key=_rms)
    return HeldOut(
        folds,
        before,
        offsets_only,
        after,
        _reduction(before, after, seed),
        _reduction(offsets_only, after, seed),
    )


def cop_errors(
    poses: MeasuredPoses, frames: StandingFrames, mean: Array, level: Level
) -> Array:
    """Return predicted minus measured centre of pressure [m], shape (n, 2).

    The CoM is above it along the line of force, as far as lateral forces come from
    soles that are not level; ``mean`` are masses, first moments and offsets, (nx,).
    """
    offsets = offset_columns(frames) @ mean[PER_LINK * len(frames.link_names) :]
    total = total_wrench(frames.sole_in_level, poses.wrenches) - offsets
    measured = centre_of_pressure(total)
    centre = total_com(frames, mean)
    return np.asarray(
        centre[:, :2] - centre[:, 2:] * level.expected_tilt(total) - measured
    )


def _reduction(before: Array, after: Array, seed: int) -> Reduction:
    """Return a reduction and its bootstrap interval."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(before), (DRAWS, len(before)))
    squares = [
        np.sum(errors**2, axis=1)[draws].mean(axis=1) for errors in (before, after)
    ]
    ratio = np.sqrt(squares[1] / np.maximum(squares[0], 1e-300))
    low, high = np.quantile(1.0 - ratio, [CHANCE / 2.0, 1.0 - CHANCE / 2.0])
    fraction = 1.0 - _rms(after) / max(_rms(before), 1e-300)
    return Reduction(fraction, (float(low), float(high)))


def _rms(errors: Array) -> float:
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))
