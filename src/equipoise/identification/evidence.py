"""What measurements say of their own errors: level, offsets, and how far CoMs may be.

Ground and soles give way, and no floor is quite level. Where up is tilted by δ, the
ground carries W (z + δ), and its torque is the CoM's arm c × W (z + δ): lateral forces
and tipping torques are wrong together. Lateral sensor errors look similar at first, but
do not tip. Sensors that were zeroed have small offsets, others have large ones in all
axes. Such causes, and their sizes, are chosen by the evidence: the probability of the
measurements, integrated over all masses, with a BIC penalty for each cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.estimate import HALF, estimate, information_root
from equipoise.identification.noise import SensorNoise
from equipoise.identification.prior import Prior, PriorBelief, prior_belief
from equipoise.identification.statics import (
    FEET,
    PER_SENSOR,
    WRENCH,
    Equations,
    StandingFrames,
    cross_matrix,
    link_parameters,
    offset_columns,
    total_com,
)
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

# Floors are not level to better than this [rad]. Where soles are more level, assuming
# it costs nothing: lateral forces show the tilt.
USUAL_LEVEL = 1e-3
# Hypotheses: tilts [rad], lateral and vertical forces as fractions of the weight, and
# factors on the sensors' noise; then factors around the best; and centres of pressure,
# as fractions of the CoM's height.
TILTS = tuple(USUAL_LEVEL * factor for factor in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0))
LATERAL_FRACTIONS = (0.0, 1e-4, 6e-4, 4e-3, 2.5e-2)
VERTICAL_FRACTIONS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2)
OWN_FRACTIONS = (1.0, 0.3, 0.1, 0.01, 0.0)
PRESSURES = (0.0, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2)
NOISES = (1.0, 3.0, 10.0)
STEPS, NOISE_STEPS = (0.4, 0.6, 1.0, 1.6, 2.5), (0.6, 1.0, 1.6)
# Soles tilt with the CoM over them, so that masses can explain part of a tilt, and it
# looks smaller than it is. Where lateral forces determine it, this factor is free.
TILT_ALLOWANCE = 4.0
# As many poses are enough to choose a hypothesis.
MOST_POSES = 40
# The effect of a tilt depends on the CoM that is to be found.
ROUNDS = 2
# How far CoMs may be from the model, as multiples of what is usual; and the standard
# deviation of the logarithm of this factor.
# That sensors were zeroed is believed if measurements speak for it by more than this.
DOUBT = 3.0
STRENGTHS, STRENGTH_SPREAD = (0.3, 1.0, 3.0, 10.0, 30.0), 1.2


class Offsets(NamedTuple):
    """What sensors' offsets may be, as multiples of the prior's standard deviations.

    Attributes:
        words: In words, for a notice.
        lateral: Of lateral forces.
        vertical: Of vertical forces.
        torque: Of torques.
    """

    words: str
    lateral: float
    vertical: float
    torque: float


# Lateral forces of a standing robot tell which: they must sum to nothing.
USUAL = Offsets("sensors have offsets of the usual size", 1.0, 1.0, 1.0)
ZEROED = Offsets("sensors were zeroed", 0.1, 0.1, 0.1)
NOT_ZEROED = Offsets("sensors were not zeroed", 3.0, 75.0, 2.0)
# Offsets that do not move the centre of pressure.
LATERAL_ONLY = Offsets("lateral forces alone have offsets", 1.0, 0.1, 0.1)


class Hypothesis(NamedTuple):
    """A belief before the measurements.

    Attributes:
        offsets: What sensors' offsets may be.
        strength: How far CoMs may be from the model, as a multiple of the prior's.
        belief: Mean and covariance of the parameters.
    """

    offsets: Offsets
    strength: float
    belief: PriorBelief

    @property
    def penalty(self) -> float:
        """How improbable it is before measurements, as a negative logarithm."""
        strength = 0.5 * float(np.log(self.strength) / STRENGTH_SPREAD) ** 2
        return strength + (DOUBT if self.offsets is ZEROED else 0.0)


def hypothesis(
    robot: Robot,
    prior: Prior,
    sensors: int,
    offsets: Offsets = USUAL,
    strength: float = 1.0,
) -> Hypothesis:
    """Return a belief, by factors on a prior's standard deviations."""
    prior = replace(
        prior,
        com_std=strength * prior.com_std,
        lateral_force_std=offsets.lateral * prior.lateral_force_std,
        vertical_force_std=offsets.vertical * prior.vertical_force_std,
        torque_std=offsets.torque * prior.torque_std,
    )
    zeros = prior.joint_zero_std > 0.0
    belief = prior_belief(robot, prior, sensors, joint_zeros=zeros)
    return Hypothesis(offsets, strength, belief)


class Level(NamedTuple):
    """Standard deviations of errors of poses beside the sensors' noise.

    Attributes:
        tilt: Tilt of up against the soles' mean normal, in x and in y [rad].
        lateral_force: Each foot's lateral forces beyond a tilt [N].
        vertical_force: The vertical force of all sensors together [N].
        pressure: The centre of pressure, in x and in y [m].
        own: Fraction of these variances that the poses of a stretch do not share.
    """

    tilt: float
    lateral_force: float
    vertical_force: float = 0.0
    pressure: float = 0.0
    own: float = 1.0

    def covariances(self, frames: StandingFrames, values: Array) -> Array:
        """Return what this adds to the equations' covariances, shape (n, 6, 6).

        ``values`` are masses and first moments as far as they are known, (nx,).
        """
        tilting, pushing = tilt_lever(frames, values), lateral_lever(frames)
        return self.added(squared(tilting), squared(pushing), tilting[0, 0, 0])

    def added(self, by_tilt: Array, by_side: Array, weight: float) -> Array:
        """Return the same from what a radian and a newton add, and the weight [N]."""
        added: Array = self.tilt**2 * by_tilt + self.lateral_force**2 * by_side
        added[:, 2, 2] += self.vertical_force**2
        for tipping in (3, 4):
            added[:, tipping, tipping] += (self.pressure * weight) ** 2
        return added

    def expected_tilt(self, total: Array) -> Array:
        """Return the expected tilt of up in x and y [rad], shape (n, 2).

        ``total`` are wrenches of the ground without offsets [N, Nm], shape (n, 6).
        """
        tilted = (self.tilt * total[:, 2:3]) ** 2
        believed = tilted / np.maximum(tilted + 2.0 * self.lateral_force**2, 1e-300)
        return np.asarray(believed * total[:, :2] / total[:, 2:3])


LEVEL_SOLES = Level(0.0, 0.0)


def tilt_lever(frames: StandingFrames, values: Array) -> Array:
    """Return the derivative of the ground's wrench by the tilt of up, (n, 6, 2)."""
    masses = link_parameters(values, len(frames.link_names))[:, 0]
    weight = STANDARD_GRAVITY * float(masses.sum())
    lever = np.zeros((len(frames.tilt), WRENCH, 2))
    lever[:, :3] = np.eye(3)[:, :2]
    lever[:, 3:] = cross_matrix(total_com(frames, values))[..., :2]
    return weight * lever


def lateral_lever(frames: StandingFrames) -> Array:
    """Return the derivative of the total wrench by both lateral errors, (n, 6, 6).

    Sensors with lateral errors are wrong in the torque about the vertical, too: by the
    force times half the distance of the feet.
    """
    sensors = len(frames.sensor_in_level)
    columns = offset_columns(frames).reshape(-1, WRENCH, sensors, PER_SENSOR)
    columns = columns[..., [0, 1, 5]]
    left, right = (frames.sole_in_level[side][:, :3, 3] for side in FEET)
    half = 0.5 * np.linalg.norm(left - right, axis=1)
    columns[..., 2] *= half[:, None, None]
    return columns.reshape(-1, WRENCH, 3 * sensors)


def squared(lever: Array) -> Array:
    """Return L Lᵀ of levers (n, 6, k), shape (n, 6, 6)."""
    return np.asarray(lever @ np.swapaxes(lever, 1, 2))


class Turned(NamedTuple):
    """Equations of poses, turned within each stretch so that errors are independent.

    The first of a stretch is the sum of its n poses over √n, in which the errors that
    they share count n times; in the others, differences of poses, they do not count.

    Attributes:
        turn: Orthogonal matrix by which poses were combined, shape (n, n).
        shared: How many times shared errors count, shape (n, 1, 1).
    """

    turn: Array
    shared: Array

    def equations(self, system: Equations) -> Equations:
        """Return the turned equations."""
        matrix = np.tensordot(self.turn, system.matrix, axes=1)
        return Equations(matrix, self.turn @ system.right)

    def covariances(self, covariance: Array) -> Array:
        """Return covariances of the turned equations, of those of poses (n, 6, 6)."""
        return np.tensordot(self.turn**2, covariance, axes=1)

    def times(self, level: Level) -> Array:
        """Return how many times an error of a pose counts, shape (n, 1, 1)."""
        return level.own + (1.0 - level.own) * self.shared


def turned(stretch: NDArray[np.int64]) -> Turned:
    """Return how poses of stretches, shape (n,), are combined (Helmert's matrices)."""
    count = len(stretch)
    turn, shared = np.zeros((count, count)), np.zeros((count, 1, 1))
    for label in np.unique(stretch):
        rows = np.flatnonzero(stretch == label)
        block = np.eye(len(rows))
        for at in range(1, len(rows)):
            block[at, :at], block[at, at] = 1.0, -at
            block[at] /= np.sqrt(at * (at + 1.0))
        block[0] = 1.0 / np.sqrt(len(rows))
        turn[np.ix_(rows, rows)] = block
        shared[rows[0]] = len(rows)
    return Turned(turn, shared)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The most probable causes of errors.

    Attributes:
        level: Errors of poses.
        hypothesis: The belief before the measurements.
        covariance: Covariances of the equations with these errors, shape (n, 6, 6).
    """

    level: Level
    hypothesis: Hypothesis
    covariance: Array


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
    best = hypotheses[0]
    few = _some(stretches)
    # outliers are not for the level to explain
    weights = estimate(system.take(few), covariance[few], best.belief).weights
    few = few[weights > HALF] if np.any(weights > HALF) else few

    def by_tilt(values: Array) -> Array:
        return stretches.covariances(squared(tilt_lever(frames, values)))[few]

    weight = float(tilt_lever(frames, best.belief.mean)[0, 0, 0])
    poses = _Evidence(
        system.take(few),
        covariance[few],
        by_tilt(best.belief.mean),
        stretches.covariances(squared(lateral_lever(frames)))[few],
        weight,
        Turned(stretches.turn[few], stretches.shared[few]),
    )
    height = float(np.median(total_com(frames, best.belief.mean)[:, 2]))
    tilts = TILTS if noise.level is None else (noise.level,)
    alone = bool((stretches.shared == 1.0).all())

    def better(causes: Sequence[_Causes]) -> _Causes:
        return max(causes, key=poses.penalised)

    def improved(causes: _Causes) -> _Causes:
        """Change one or two causes after the other."""
        if not alone:
            causes = better([causes.with_level(own=own) for own in OWN_FRACTIONS])
        causes = better(
            [causes.with_level(vertical_force=f * weight) for f in VERTICAL_FRACTIONS]
        )
        causes = better(
            [
                causes._replace(hypothesis=other).with_level(pressure=p * height)
                for p, other in product(PRESSURES, hypotheses)
            ]
        )
        causes = better([causes.with_level(tilt=tilt) for tilt in tilts])
        return better(causes.nearby())

    begin = better(
        [
            _Causes(Level(tilt, fraction * weight, 0.0), times, best)
            for tilt, fraction, times in product(tilts, LATERAL_FRACTIONS, NOISES)
        ]
    )
    # errors that stretches share, and noise of all poses, are two ways to begin
    shared = begin._replace(times=1.0)
    shared = shared.with_level(pressure=PRESSURES[-3] * height, own=OWN_FRACTIONS[-1])
    causes = better([improved(begin), improved(shared)])
    for _ in range(ROUNDS):
        values = poses.fit(causes)[1]
        poses = poses._replace(by_tilt=by_tilt(values))
        causes = improved(causes)
    values = poses.fit(causes)[1]
    level, taken = causes.level, causes.level
    if noise.level is None and level.lateral_force == 0.0:
        taken = level._replace(tilt=TILT_ALLOWANCE * level.tilt)
    found = stretches.covariances(taken.covariances(frames, values))
    found = covariance + found * stretches.times(taken)
    return Chosen(level, causes.hypothesis, found)


def _some(stretches: Turned) -> NDArray[np.int64]:
    """Return some rows: the first of stretches, and as many others."""
    first = np.flatnonzero(stretches.shared[:, 0, 0] > 0.0)
    others = np.flatnonzero(stretches.shared[:, 0, 0] == 0.0)
    chosen = [
        rows[np.unique(np.linspace(0, len(rows) - 1, MOST_POSES).astype(int))]
        for rows in (first, others)
        if len(rows)
    ]
    return np.sort(np.concatenate(chosen))


class _Causes(NamedTuple):
    """Causes of errors: level, factor on the sensors' noise, and belief before."""

    level: Level
    times: float
    hypothesis: Hypothesis

    def with_level(self, **changes: float) -> _Causes:
        return self._replace(level=self.level._replace(**changes))

    def nearby(self) -> list[_Causes]:
        """Return the same with other lateral forces and noise nearby."""
        force = self.level.lateral_force
        forces = {0.0, *(force * step for step in STEPS)}
        noises = {max(1.0, self.times * step) for step in NOISE_STEPS}
        return [
            self._replace(level=self.level._replace(lateral_force=force), times=times)
            for force, times in product(sorted(forces), sorted(noises))
        ]


class _Evidence(NamedTuple):
    """The log evidence of n poses for causes of errors.

    Attributes:
        system: Their equations, turned within stretches.
        covariance: Covariances of these on level soles, shape (n, 6, 6).
        by_tilt: What a tilt of one radian adds to these, likewise.
        by_side: What lateral forces of one newton add.
        weight: The robot's weight [N].
        stretches: How they were turned.
    """

    system: Equations
    covariance: Array
    by_tilt: Array
    by_side: Array
    weight: float
    stretches: Turned

    def penalised(self, causes: _Causes) -> float:
        """Return the log evidence less a BIC penalty for each cause."""
        level = causes.level
        penalty = 0.5 * float(np.log(WRENCH * len(self.covariance)))
        number = (level.lateral_force > 0.0) + (level.vertical_force > 0.0)
        number += (level.pressure > 0.0) + (causes.times > 1.0)
        return self.fit(causes)[0] - penalty * number - causes.hypothesis.penalty

    def fit(self, causes: _Causes) -> tuple[float, Array]:
        """Return the log evidence but for a constant, and the best parameters.

        It is integrated over all masses by the prior.
        """
        belief = causes.hypothesis.belief
        level = causes.level
        added = level.added(self.by_tilt, self.by_side, self.weight)
        added *= self.stretches.times(level)
        root = np.linalg.cholesky(causes.times**2 * self.covariance + added)
        right = self.system.right - self.system.matrix @ belief.mean
        wanted = np.linalg.solve(root, right[..., None]).reshape(-1)
        design = np.linalg.solve(root, self.system.matrix).reshape(len(wanted), -1)
        design = design @ belief.root
        factor = information_root(design)
        if factor is None:
            return -np.inf, belief.mean
        moved = np.linalg.solve(factor.T, np.linalg.solve(factor, design.T @ wanted))
        misfit = wanted - design @ moved
        logarithm = -0.5 * (misfit @ misfit + moved @ moved)
        logarithm -= np.log(np.diag(factor)).sum()
        logarithm -= np.log(np.diagonal(root, axis1=1, axis2=2)).sum()
        return float(logarithm), np.asarray(belief.mean + belief.root @ moved)
