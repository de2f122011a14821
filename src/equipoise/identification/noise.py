"""Covariances of measured poses: sensors of force, and encoders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.statics import (
    FEET,
    WRENCH,
    MeasuredPoses,
    StandingFrames,
    carried_weight,
    cross_matrix,
    wrench_transform,
)
from equipoise.kinematics.com import com, com_jacobian
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.kinematics.stance import sole_pose

# The rate of momentum of the model, scaled to the weight, is right to this fraction.
MOMENTUM_ERROR = 0.2


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
    turned, and with them the direction of up. The weight is the measured one, so that
    it balances the forces.
    """
    robot, q = poses.robot, poses.q
    weight = carried_weight(frames, poses)
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
