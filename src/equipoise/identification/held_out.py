"""Does the identified model predict poses that it has not seen?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.level import LEVEL_SOLES, Level
from equipoise.identification.measuring.measured_poses import MeasuredPoses
from equipoise.identification.standing_frames import StandingFrames
from equipoise.identification.statics import (
    PER_LINK,
    offset_columns,
    total_com,
    total_wrench,
)

MOST_FOLDS = 5
# Draws of the bootstrap, and the chance that an improvement is none.
DRAWS, CHANCE = 4000, 0.05


class Reduction(NamedTuple):
    """By how much an RMS error is smaller.

    Attributes:
        share: Of the error; negative if it is larger.
        interval: In which the share lies with 95 % probability.
    """

    share: float
    interval: tuple[float, float]

    @property
    def confirmed(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.interval[0] > 0.0


class HeldOut(NamedTuple):
    """Errors of the centre of pressure in poses that were left out.

    Attributes:
        folds: How many parts the poses were cut into; each was left out once.
        before: Of the original model, forward and to the left [m], shape (n, 2).
        offsets_only: Of the original model with sensors' offsets that were identified
            without the pose [m], shape (n, 2).
        after: Of models and offsets that were identified without the pose, likewise.
        reduction: From the original model to the identified one.
        over_offsets: From the original model with offsets to the identified one: what
            the masses do.
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

    Parts are stretches of neighbours, since these are most alike.

    Args:
        poses: What was measured.
        frames: Of these poses.
        original: Masses and first moments of the original model, no offsets, (nx,).
        level: How level the soles stood, as all poses together tell.
        fit: Identifies with the poses of some rows only; returns masses, first moments
            and offsets, shape (nx,).
        fits_of_offsets: The same, but for masses, which stay, each with the level that
            it takes; the one that predicts best counts.
        seed: Of the bootstrap.
    """
    count = len(poses)
    folds = min(MOST_FOLDS, count)
    # without sensors' offsets nobody could tell a tilt from forces sideways
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

    The CoM is above it along the line of force, as far as forces sideways come from
    soles that are not level.

    Args:
        poses: What was measured.
        frames: Of these poses.
        mean: Masses, first moments and offsets, shape (nx,).
        level: How level the soles stood.
    """
    offsets = offset_columns(frames) @ mean[PER_LINK * len(frames.link_names) :]
    total = total_wrench(frames, poses) - offsets
    measured = np.stack([-total[:, 4], total[:, 3]], axis=1) / total[:, 2:3]
    centre = total_com(frames, mean)
    error: Array = centre[:, :2] - centre[:, 2:] * level.leaning(total) - measured
    return error


def _reduction(before: Array, after: Array, seed: int) -> Reduction:
    """Return a reduction and where it lies, by drawing poses again and again."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(before), (DRAWS, len(before)))
    squares = [
        np.sum(errors**2, axis=1)[draws].mean(axis=1) for errors in (before, after)
    ]
    ratio = np.sqrt(squares[1] / np.maximum(squares[0], 1e-300))
    low, high = np.quantile(1.0 - ratio, [CHANCE / 2.0, 1.0 - CHANCE / 2.0])
    share = 1.0 - _rms(after) / max(_rms(before), 1e-300)
    return Reduction(share, (float(low), float(high)))


def _rms(errors: Array) -> float:
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))
