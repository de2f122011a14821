"""Covariances of measured poses: foot sensors, encoders, and soles that are not level.

Ground and soles give way, and no floor is quite level. Where up is tilted by δ, the
ground carries W (z + δ), and its torque is the CoM's arm c × W (z + δ): lateral forces
and tipping torques are wrong together. Lateral sensor errors look similar at first, but
do not tip. Both causes, and their sizes, are chosen by the evidence: the probability of
the measurements, integrated over all masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.estimate import HALF, estimate, information_root
from equipoise.identification.prior import PriorBelief
from equipoise.identification.statics import (
    FEET,
    PER_SENSOR,
    WRENCH,
    Equations,
    MeasuredPoses,
    StandingFrames,
    cross_matrix,
    link_parameters,
    offset_columns,
    total_com,
    wrench_transform,
)
from equipoise.kinematics.com import com, com_jacobian
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.description import STANDARD_GRAVITY

# Floors are not level to better than this [rad]. Where soles are more level, assuming
# it costs nothing: lateral forces show the tilt.
USUAL_LEVEL = 1e-3
# Hypotheses: tilts [rad], lateral forces as fractions of the weight, and factors on the
# sensors' noise; then factors around the best of the last two.
TILTS = tuple(USUAL_LEVEL * factor for factor in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0))
LATERAL_FRACTIONS = (0.0, 1e-4, 6e-4, 4e-3, 2.5e-2)
NOISES = (1.0, 3.0, 10.0)
STEPS, NOISE_STEPS = (0.4, 0.6, 1.0, 1.6, 2.5), (0.6, 1.0, 1.6)
# Soles tilt with the CoM over them, so that masses can explain part of a tilt, and it
# looks smaller than it is. Where lateral forces determine it, this factor is free.
TILT_ALLOWANCE = 4.0
# As many poses are enough to choose a hypothesis.
MOST_POSES = 40
# The model's rate of momentum is right to this fraction.
MOMENTUM_ERROR = 0.2
# The effect of a tilt depends on the CoM that is to be found.
ROUNDS = 2


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations of measurements.

    Attributes:
        force: One sample of a foot's force, each axis [N].
        torque: One sample of a foot's torque, each axis [Nm].
        joint: A joint's position in a pose [rad or m]. Averaging does not help against
            steps of encoders and backlash, so it counts once for each pose.
        level: Tilt of up against the soles' mean normal in a pose, in x and in y [rad];
            None: determined from lateral forces.
    """

    force: float = 0.5
    torque: float = 0.02
    joint: float = 1e-4
    level: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is not a standard deviation."""
        for name, value in vars(self).items():
            if value is not None and not (np.isfinite(value) and value >= 0.0):
                raise EquipoiseError(f"noise of {name} is {value:g}; it must be ≥ 0")
        if self.force == 0.0 or self.torque == 0.0:
            raise EquipoiseError("noise of force and torque must be above zero")


def covariances(
    frames: StandingFrames, poses: MeasuredPoses, noise: SensorNoise
) -> Array:
    """Return the equations' covariances on level soles, shape (n, 6, 6)."""
    variance = np.repeat([noise.force**2, noise.torque**2], 3)
    total = np.zeros((len(poses), WRENCH, WRENCH))
    for name, place in frames.sensor_in_level.items():
        transform = wrench_transform(place)
        of_sample = transform * variance @ np.swapaxes(transform, 1, 2)
        total += of_sample / poses.samples[:, None, None]
        if name in poses.missing_std:
            part = transform * poses.missing_std[name][:, None]
            total += part @ np.swapaxes(part, 1, 2)
    if poses.momentum_rate is not None:
        rate = MOMENTUM_ERROR * poses.momentum_rate
        total += rate[:, :, None] * rate[:, None, :]
    if noise.joint > 0.0:
        lever = joint_lever(poses, frames)
        total += noise.joint**2 * lever @ np.swapaxes(lever, 1, 2)
    return total


def joint_lever(poses: MeasuredPoses, frames: StandingFrames) -> Array:
    """Return the derivative of the wrench balance by the joints, (n, 6, nv - 6).

    Joints determine where the soles are against the centre of mass, how they are
    turned, and with them the direction of up.
    """
    robot, q = poses.robot, poses.q
    weight = robot.mass * STANDARD_GRAVITY
    soles = {side: sole_pose(robot, q, side) for side in FEET}
    middle = 0.5 * sum(pose[:, :3, 3] for pose in soles.values())
    up = sum(pose[:, :3, 2] for pose in soles.values())
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    tilt = np.zeros((len(q), 3, robot.nv - 6))
    force, torque = np.zeros_like(tilt), np.zeros_like(tilt)
    for side, pose in soles.items():
        link = robot.soles[side].link
        jacobian = np.asarray(frame_jacobian(robot, q, link))[..., 6:]
        turn, place = jacobian[:, 3:], pose[:, :3, 3]
        arm = place - frame_pose(robot, q, link)[:, :3, 3]
        move = jacobian[:, :3] - cross_matrix(arm) @ turn
        tilt -= 0.5 * cross_matrix(pose[:, :3, 2]) @ turn
        if side not in poses.wrenches:
            continue
        wrench = poses.wrenches[side].reshape(-1, 2, 3)
        push, twist = np.moveaxis(wrench @ np.swapaxes(pose[:, :3, :3], 1, 2), 1, 0)
        turned = -cross_matrix(push) @ turn
        force += turned
        torque -= cross_matrix(twist) @ turn + cross_matrix(push) @ move
        torque += cross_matrix(place - middle) @ turned
    force -= weight * tilt
    torque -= (
        weight * cross_matrix(np.asarray(com(robot, q) - middle, np.float64)) @ tilt
    )
    torque += weight * cross_matrix(up) @ com_jacobian(robot, q)[..., 6:]
    in_level = frames.sole_in_level["left"][:, :3, :3]
    to_level = in_level @ np.swapaxes(soles["left"][:, :3, :3], 1, 2)
    return np.concatenate([to_level @ force, to_level @ torque], axis=1)


class Level(NamedTuple):
    """Standard deviations of the causes of lateral forces.

    Attributes:
        tilt: Tilt of up against the soles' mean normal, in x and in y [rad].
        lateral_force: Each foot's lateral forces beyond a tilt [N].
    """

    tilt: float
    lateral_force: float

    def covariances(self, frames: StandingFrames, values: Array) -> Array:
        """Return what this adds to the equations' covariances, shape (n, 6, 6).

        ``values`` are masses and first moments as far as they are known, (nx,).
        """
        return self.added(tilt_lever(frames, values), lateral_lever(frames))

    def added(self, tilting: Array, pushing: Array) -> Array:
        """Return the same from the two levers."""
        added: Array = self.tilt**2 * tilting @ np.swapaxes(tilting, 1, 2)
        added += self.lateral_force**2 * pushing @ np.swapaxes(pushing, 1, 2)
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


def level_of_soles(
    frames: StandingFrames,
    system: Equations,
    covariance: Array,
    noise: SensorNoise,
    belief: PriorBelief,
) -> tuple[Level, Array]:
    """Return the most probable level of the soles, and the covariances with it.

    ``covariance`` has those of the equations on level soles, shape (n, 6, 6); the level
    of ``noise`` is taken where it has one.
    """
    few = np.unique(np.linspace(0, len(covariance) - 1, MOST_POSES).astype(int))
    # outliers are not for the level to explain
    weights = estimate(system.take(few), covariance[few], belief).weights
    few = few[weights > HALF] if np.any(weights > HALF) else few
    tilting, pushing = tilt_lever(frames, belief.mean), lateral_lever(frames)
    matrix, right = system.take(few)
    poses = _Evidence(
        matrix @ belief.root,
        right - matrix @ belief.mean,
        covariance[few],
        tilting[few],
        pushing[few],
    )
    weight = float(tilting[0, 0, 0])
    tilts = TILTS if noise.level is None else (noise.level,)
    causes = [
        (Level(tilt, fraction * weight), times)
        for tilt, fraction, times in product(tilts, LATERAL_FRACTIONS, NOISES)
    ]
    level, times = max(causes, key=poses.penalised)
    for _ in range(ROUNDS):
        forces = {0.0, *(level.lateral_force * step for step in STEPS)}
        noises = {max(1.0, times * step) for step in NOISE_STEPS}
        causes = [
            (level._replace(lateral_force=force), more)
            for force, more in product(sorted(forces), sorted(noises))
        ]
        level, times = max(causes, key=poses.penalised)
        values = belief.mean + belief.root @ poses.fit(level, times)[1]
        poses = poses._replace(tilting=tilt_lever(frames, values)[few])
    taken = level
    if noise.level is None and level.lateral_force == 0.0:
        taken = level._replace(tilt=TILT_ALLOWANCE * level.tilt)
    return level, covariance + taken.covariances(frames, values)


class _Evidence(NamedTuple):
    """The log evidence of n poses for a level of the soles.

    Attributes:
        design: Equations for parameters in units of the prior, shape (n, 6, nx).
        wanted: Their right-hand sides, shape (n, 6).
        covariance: Covariances of these on level soles, shape (n, 6, 6).
        tilting: Result of :func:`tilt_lever`.
        pushing: Result of :func:`lateral_lever`.
    """

    design: Array
    wanted: Array
    covariance: Array
    tilting: Array
    pushing: Array

    def penalised(self, causes: tuple[Level, float]) -> float:
        """Return the log evidence less a BIC penalty for each cause."""
        level, times = causes
        penalty = 0.5 * float(np.log(WRENCH * len(self.covariance)))
        number = (level.lateral_force > 0.0) + (times > 1.0)
        return self.fit(level, times)[0] - penalty * number

    def fit(self, level: Level, times: float) -> tuple[float, Array]:
        """Return the log evidence but for a constant, and the best u.

        It is integrated over all masses by the prior; ``times`` is the factor on the
        sensors' noise.
        """
        added = level.added(self.tilting, self.pushing)
        root = np.linalg.cholesky(times**2 * self.covariance + added)
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
