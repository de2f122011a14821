"""Poses that are left out: errors in them, and which file predicts them best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.estimate import whitened
from equipoise.identification.hypotheses import NOT_ZEROED, Hypothesis
from equipoise.identification.pose_errors import LEVEL_SOLES, Level
from equipoise.identification.prior import PriorBelief
from equipoise.identification.statics import (
    PER_LINK,
    Equations,
    MeasuredPoses,
    StandingFrames,
    centre_of_pressure,
    equations,
    link_parameters,
    offset_columns,
)
from equipoise.robot.description import STANDARD_GRAVITY

# At most so many parts of the poses are left out, one after the other.
MOST_PARTS = 10
# With fewer stretches than this nothing can be confirmed; and how many blocks these are
# cut into.
FEWEST_STRETCHES, BLOCKS = 4, 8
# Strengths that err by less than this fraction more than the best are as good.
NOTABLY = 0.05

Parts = Sequence[NDArray[np.int64]]


class Errors(NamedTuple):
    """Errors of one model in poses that were left out.

    Attributes:
        pressure: Predicted minus measured centre of pressure, forward and to the left
            [m], shape (n, 2).
        weight: Predicted over measured weight, less one, shape (n,).
    """

    pressure: Array
    weight: Array

    @property
    def pressure_rms(self) -> float:
        """RMS distance of predicted and measured centre of pressure [m]."""
        return rms(self.pressure)

    @property
    def weight_rms(self) -> float:
        """RMS error of the weight, as a fraction of it."""
        return rms(self.weight[:, None])


def rms(errors: Array) -> float:
    """Return the root mean square of distances, of errors (n, k)."""
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))


def blocks_of(stretch: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return stretches, shape (n,), or blocks of them where there are only a few.

    What blocks of one stretch share is not seen if one of them is left out: nothing is
    confirmed by these, but they tell which of several files predicts best.
    """
    labels = np.unique(stretch, return_inverse=True)[1]
    count = int(labels.max()) + 1 if len(labels) else 0
    if count >= FEWEST_STRETCHES or len(stretch) <= FEWEST_STRETCHES:
        return np.asarray(labels, np.int64)
    blocks, first = np.zeros(len(stretch), np.int64), 0
    for label in range(count):
        rows = np.flatnonzero(labels == label)
        share = max(round(BLOCKS * len(rows) / len(stretch)), 1)
        for number, own in enumerate(np.array_split(rows, min(share, len(rows)))):
            blocks[own] = first + number
        first = int(blocks.max()) + 1
    return blocks


def parts_of(stretch: NDArray[np.int64], most: int = MOST_PARTS) -> Parts:
    """Return rows of parts: whole stretches, neighbours together."""
    order = list(dict.fromkeys(stretch.tolist()))
    groups = np.array_split(np.array(order), min(most, len(order)))
    return [np.flatnonzero(np.isin(stretch, group)) for group in groups]


def errors_of(
    poses: MeasuredPoses,
    frames: StandingFrames,
    mean: Array,
    level: Level = LEVEL_SOLES,
    *,
    offsets: bool = False,
) -> Errors:
    """Return the errors of parameters in poses.

    Args:
        poses: The poses.
        frames: Their frames.
        mean: Masses, first moments and offsets, shape (nx,).
        level: The CoM is above the centre of pressure along the line of force, as far
            as lateral forces come from soles that are not level.
        offsets: Whether the measured wrenches are taken without the offsets.
    """
    right = equations(frames, poses).right
    columns = offset_columns(frames) if offsets else None
    return _errors(frames.link_arms, right, columns, mean, level)


def _errors(
    link_arms: Array, total: Array, offsets: Array | None, mean: Array, level: Level
) -> Errors:
    """Return errors of the sum of wrenches, shape (n, 6), with columns of offsets."""
    links = link_parameters(mean, link_arms.shape[1])
    if offsets is not None:
        total = total - offsets @ mean[links.size :][: offsets.shape[2]]
    mass = float(links[:, 0].sum())
    centre = np.tensordot(link_arms, links, axes=([1, 3], [0, 1])) / mass
    predicted = centre[:, :2] - centre[:, 2:] * level.expected_tilt(total)
    weight = STANDARD_GRAVITY * mass / np.maximum(total[:, 2], 1e-9) - 1.0
    return Errors(np.asarray(predicted - centre_of_pressure(total)), weight)


def left_out_means(
    system: Equations, covariance: Array, belief: PriorBelief, parts: Parts
) -> list[Array]:
    """Return parameters from all poses but those of a part, for each part, (nx,).

    With the inverse Q of all measurements' covariance, that of a part's complement
    follows from Q's blocks, so that nothing is solved anew.
    """
    matrix, wanted = whitened(system, covariance)
    rows = matrix.shape[1]
    right = (wanted - matrix @ belief.mean).reshape(-1)
    design = matrix.reshape(len(right), -1) @ belief.root
    if len(right) > design.shape[1]:
        return _left_out_of_many(design, right, belief, parts, rows)
    inverse = np.linalg.inv(design @ design.T + np.eye(len(right)))
    weights = inverse @ right
    means = []
    for part in parts:
        here = (part[:, None] * rows + np.arange(rows)).ravel()
        others = np.setdiff1d(np.arange(len(right)), here)
        part_of = np.linalg.solve(inverse[np.ix_(here, here)], weights[here])
        left = weights[others] - inverse[np.ix_(others, here)] @ part_of
        means.append(belief.mean + belief.root @ (design[others].T @ left))
    return means


def fitted_mean(system: Equations, covariance: Array, belief: PriorBelief) -> Array:
    """Return parameters from all poses, shape (nx,)."""
    return left_out_means(system, covariance, belief, [np.arange(0)])[0]


def _left_out_of_many(
    design: Array, right: Array, belief: PriorBelief, parts: Parts, rows: int
) -> list[Array]:
    """Return the same where equations are more than parameters: by normal equations."""
    normal = design.T @ design + np.eye(design.shape[1])
    moment, means = design.T @ right, []
    for part in parts:
        here = (part[:, None] * rows + np.arange(rows)).ravel()
        own = design[here]
        left = np.linalg.solve(normal - own.T @ own, moment - own.T @ right[here])
        means.append(belief.mean + belief.root @ left)
    return means


class Setting(NamedTuple):
    """What is fitted, and how: poses, equations and the errors of these.

    Attributes:
        poses: The poses.
        frames: Their frames.
        total: The sum of their wrenches in the level frame [N, Nm], shape (n, 6).
        system: Their equations, turned within stretches.
        covariance: Covariances of these, shape (n, 6, 6).
        level: Errors of poses.
    """

    poses: MeasuredPoses
    frames: StandingFrames
    total: Array
    system: Equations
    covariance: Array
    level: Level

    def left_out(
        self, means: Sequence[Array], parts: Parts, *, offsets: bool
    ) -> Errors:
        """Return errors in each part by the parameters found without it."""
        level = self.level if offsets else LEVEL_SOLES
        columns = offset_columns(self.frames) if offsets else None
        pressure, weight = np.zeros((len(self.poses), 2)), np.zeros(len(self.poses))
        for mean, part in zip(means, parts, strict=True):
            pressure[part], weight[part] = _errors(
                self.frames.link_arms[part],
                self.total[part],
                None if columns is None else columns[part],
                mean,
                level,
            )
        return Errors(pressure, weight)


def choose_file(
    setting: Setting, hypotheses: Mapping[float, Hypothesis], likely: Hypothesis
) -> Hypothesis:
    """Return the belief by which a file is made, by stretches that are left out.

    Its errors are those that sensors show, but for sensors that were not zeroed. The
    most probable strength is taken unless another errs notably less, then the smallest
    that is as good as the best. If it does not err less than the model's CoMs, by more
    than one standard deviation of chance, the most probable belief is taken if that
    does so beside the sensors' offsets; if not, CoMs stay, and masses have one factor
    where that makes weights better.

    Args:
        setting: Poses and equations.
        hypotheses: Beliefs of files by strength, 0.0 for one factor on all masses.
        likely: The most probable belief, with offsets.
    """
    parts = parts_of(setting.poses.stretch)
    if len(parts) < 2:
        return hypotheses[0.0]

    def left_out(own: Hypothesis, offsets: bool) -> Errors:
        means = left_out_means(setting.system, setting.covariance, own.belief, parts)
        return setting.left_out(means, parts, offsets=offsets)

    def errors(own: Hypothesis, offsets: bool) -> Array:
        return left_out(own, offsets).pressure

    corrected = likely.offsets is NOT_ZEROED
    found = {k: errors(own, corrected) for k, own in hypotheses.items()}
    others = sorted(strength for strength in hypotheses if strength > 0.0)
    least = min(rms(found[strength]) for strength in others)
    enough = [own for own in others if rms(found[own]) <= (1.0 + NOTABLY) * least]
    best = likely.strength if likely.strength in enough else enough[0]
    stretch = setting.poses.stretch
    if gains(found[0.0], found[best], stretch):
        return hypotheses[best]
    if gains(errors(hypotheses[0.0], True), errors(likely, True), stretch):
        return likely
    scaled = hypotheses[0.0]
    model = scaled._replace(belief=scaled_belief(scaled.belief, 0.0))
    weights = [left_out(own, False).weight_rms for own in (model, scaled)]
    return scaled if weights[1] < weights[0] else model


def mean_squares(errors: Array, stretch: NDArray[np.int64]) -> Array:
    """Return the mean square of errors (n, k) in each stretch, shape (ns,)."""
    labels = np.unique(stretch, return_inverse=True)[1]
    total = np.bincount(labels, np.sum(errors**2, axis=1))
    return np.asarray(total / np.bincount(labels))


def gains(before: Array, after: Array, stretch: NDArray[np.int64]) -> bool:
    """Return whether errors (n, k) shrink by more than one standard deviation."""
    gain = mean_squares(before, stretch) - mean_squares(after, stretch)
    return bool(gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)))


def scaled_belief(belief: PriorBelief, fraction: float) -> PriorBelief:
    """Return the belief that all masses have one factor, and CoMs are the model's."""
    links = PER_LINK * len(belief.links)
    root = np.zeros_like(belief.root)
    root[:links, 0] = fraction * belief.mean[:links]
    root[links:, links:] = belief.root[links:, links:]
    return PriorBelief(belief.links, belief.mean, root)


def take(setting: Setting, rows: NDArray[np.int64]) -> Setting:
    """Return the setting of some poses, whole stretches of them."""
    frames = setting.frames
    return Setting(
        setting.poses.take(rows),
        StandingFrames(
            frames.link_names,
            frames.link_arms[rows],
            {side: pose[rows] for side, pose in frames.sole_in_level.items()},
            {name: pose[rows] for name, pose in frames.sensor_in_level.items()},
            frames.tilt[rows],
        ),
        setting.total[rows],
        setting.system.take(rows),
        setting.covariance[rows],
        setting.level,
    )
