"""How level the soles stood, as forces sideways tell.

Ground and soles give way, and no floor is quite level. Where up is tilted by δ, the
ground carries W (z + δ), and its torque is the CoM's arm c × W (z + δ): forces sideways
and tipping torques are off together. Sensors that are off sideways look alike at first,
but do not tip. Which of the two it is, and how much of it, is what makes the poses most
probable, whatever the masses are.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.estimate import HALF, estimate, information_root
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.noise import SensorNoise
from equipoise.identification.prior import PriorBelief
from equipoise.identification.standing_frames import StandingFrames
from equipoise.identification.statics import (
    PER_FOOT,
    PER_LINK,
    WRENCH,
    Equations,
    cross_matrix,
    offset_columns,
    total_com,
)
from equipoise.robot.description import STANDARD_GRAVITY

# Floors are not level to better than this [rad]. Where soles stand better still, taking
# them so costs nothing: forces sideways tell.
USUAL_LEVEL = 1e-3
# What is tried: tilts [rad], forces sideways as shares of the weight, and by how much
# the sensors' noise is larger than told; then steps around the best of the two.
TILTS = tuple(USUAL_LEVEL * factor for factor in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0))
SHARES = (0.0, 1e-4, 6e-4, 4e-3, 2.5e-2)
NOISES = (1.0, 3.0, 10.0)
STEPS, NOISE_STEPS = (0.4, 0.6, 1.0, 1.6, 2.5), (0.6, 1.0, 1.6)
# Soles tilt with the CoM over them, so that masses can explain part of it, and tilts
# look smaller than they are. Where forces sideways tell them, so much room is free.
ROOM = 4.0
# As many poses tell enough.
MOST_POSES = 40
# How far a tilt tips the robot depends on the CoM that is looked for.
ROUNDS = 2


class Level(NamedTuple):
    """Standard deviations of what pushes sideways.

    Attributes:
        tilt: Of up against the soles' mean normal, in x and in y [rad].
        sideways: Of each foot's forces sideways beyond a tilt [N].
    """

    tilt: float
    sideways: float

    def covariances(self, frames: StandingFrames, values: Array) -> Array:
        """Return what this adds to the equations' scatter, shape (n, 6, 6).

        Args:
            frames: Of n poses.
            values: Masses and first moments, as far as they are known, shape (nx,).
        """
        return self.scatter(tilt_lever(frames, values), sideways_lever(frames))

    def scatter(self, tilting: Array, pushing: Array) -> Array:
        """Return the same from what :func:`tilt_lever` and the other one give."""
        added: Array = self.tilt**2 * tilting @ np.swapaxes(tilting, 1, 2)
        added += self.sideways**2 * pushing @ np.swapaxes(pushing, 1, 2)
        return added

    def leaning(self, total: Array) -> Array:
        """Return by how much up is tilted in x and y as forces sideways tell [rad].

        Args:
            total: Wrenches of the ground without offsets, shape (n, 6).
        """
        tilted = (self.tilt * total[:, 2:3]) ** 2
        believed = tilted / np.maximum(tilted + 2.0 * self.sideways**2, 1e-300)
        return np.asarray(believed * total[:, :2] / total[:, 2:3])


LEVEL_SOLES = Level(0.0, 0.0)


def tilt_lever(frames: StandingFrames, values: Array) -> Array:
    """Return how a tilt of up in x and y changes the ground's wrench, (n, 6, 2)."""
    links = values[: PER_LINK * len(frames.link_names)].reshape(-1, PER_LINK)
    weight = STANDARD_GRAVITY * float(links[:, 0].sum())
    lever = np.zeros((len(frames.tilt), WRENCH, 2))
    lever[:, :3] = np.eye(3)[:, :2]
    lever[:, 3:] = cross_matrix(total_com(frames, values))[..., :2]
    return weight * lever


def sideways_lever(frames: StandingFrames) -> Array:
    """Return how both feet's forces sideways change the sum of wrenches, (n, 6, 6).

    Sensors that are wrong sideways are so in the torque about the vertical, too: by
    the force times half the distance of the feet.
    """
    columns = offset_columns(frames).reshape(-1, WRENCH, len(FEET), PER_FOOT)
    columns = columns[..., [0, 1, 5]]
    left, right = (frames.sole_position[side] for side in FEET)
    half = 0.5 * np.linalg.norm(left - right, axis=1)
    columns[..., 2] *= half[:, None, None]
    return columns.reshape(-1, WRENCH, 3 * len(FEET))


def standing_scatter(
    frames: StandingFrames,
    system: Equations,
    spread: Array,
    noise: SensorNoise,
    belief: PriorBelief,
) -> tuple[Level, Array]:
    """Return how level the soles stood, and how the equations scatter with that.

    Args:
        frames: Of n poses.
        system: Their equations.
        spread: How these scatter on level soles, shape (n, 6, 6).
        noise: If it knows by how much they are tilted, that is taken.
        belief: The unknowns before.

    Returns:
        The level, and covariances of shape (n, 6, 6).
    """
    few = np.unique(np.linspace(0, len(spread) - 1, MOST_POSES).astype(int))
    # outliers are not for the level to explain
    weights = estimate(system.take(few), spread[few], belief).weights
    few = few[weights > HALF] if np.any(weights > HALF) else few
    tilting, pushing = tilt_lever(frames, belief.mean), sideways_lever(frames)
    matrix, right = system.take(few)
    poses = _Poses(
        matrix @ belief.root,
        right - matrix @ belief.mean,
        spread[few],
        tilting[few],
        pushing[few],
    )
    tilts = TILTS if noise.level is None else (noise.level,)
    causes = [
        (Level(tilt, share * poses.weight), times)
        for tilt, share, times in product(tilts, SHARES, NOISES)
    ]
    level, times = max(causes, key=poses.worth)
    for _ in range(ROUNDS):
        forces = {0.0, *(level.sideways * step for step in STEPS)}
        noises = {max(1.0, times * step) for step in NOISE_STEPS}
        causes = [
            (level._replace(sideways=force), more)
            for force, more in product(sorted(forces), sorted(noises))
        ]
        level, times = max(causes, key=poses.worth)
        values = belief.mean + belief.root @ poses.fit(level, times)[1]
        poses = poses._replace(tilting=tilt_lever(frames, values)[few])
    taken = level
    if noise.level is None and level.sideways == 0.0:
        taken = level._replace(tilt=ROOM * level.tilt)
    return level, spread + taken.covariances(frames, values)


class _Poses(NamedTuple):
    """What is known of n poses before their level is.

    Attributes:
        design: Equations for unknowns in units of the prior, shape (n, 6, nx).
        wanted: What they should give, shape (n, 6).
        spread: How they scatter on level soles, shape (n, 6, 6).
        tilting: As of :func:`tilt_lever`.
        pushing: As of :func:`sideways_lever`.
    """

    design: Array
    wanted: Array
    spread: Array
    tilting: Array
    pushing: Array

    @property
    def weight(self) -> float:
        """Of the robot as it is believed to be [N]."""
        return float(self.tilting[0, 0, 0])

    def worth(self, causes: tuple[Level, float]) -> float:
        """Return how well causes explain the poses; each must pay its way."""
        level, times = causes
        fee = 0.5 * float(np.log(WRENCH * len(self.spread)))
        return self.fit(level, times)[0] - fee * (
            (level.sideways > 0.0) + (times > 1.0)
        )

    def fit(self, level: Level, times: float) -> tuple[float, Array]:
        """Return how probable the poses are, and the best u, in units of the prior.

        It is the logarithm, but for a constant, of the integral over all masses as the
        prior weighs them.

        Args:
            level: Of the soles.
            times: How much larger than told the sensors' noise is.
        """
        added = level.scatter(self.tilting, self.pushing)
        root = np.linalg.cholesky(times**2 * self.spread + added)
        wanted = np.linalg.solve(root, self.wanted[..., None]).reshape(-1)
        design = np.linalg.solve(root, self.design).reshape(len(wanted), -1)
        factor = information_root(design)
        if factor is None:
            return -np.inf, np.zeros(design.shape[1])
        moved = np.linalg.solve(factor.T, np.linalg.solve(factor, design.T @ wanted))
        misfit = wanted - design @ moved
        logarithm = -0.5 * (misfit @ misfit + moved @ moved)
        logarithm -= np.log(np.diag(factor)).sum()
        logarithm -= np.log(np.diagonal(root, axis1=1, axis2=2)).sum()
        return float(logarithm), np.asarray(moved, np.float64)
