"""How much measured poses scatter: sensors of the feet, and encoders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.measured_poses import FEET, MeasuredPoses
from equipoise.identification.standing_frames import StandingFrames
from equipoise.identification.statics import WRENCH, wrench_transform
from equipoise.robot.description import STANDARD_GRAVITY


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations of what is measured.

    Attributes:
        force: Of one sample of a foot's force, each axis [N].
        torque: Of one sample of a foot's torque, each axis [Nm].
        joint: Of a joint's position in a pose [rad or m]. Averaging does not help
            against steps of encoders and play, so it counts once for each pose.
        level: Of up against the soles' mean normal in a pose, in x and in y [rad];
            None if forces sideways are to tell.
    """

    force: float = 0.5
    torque: float = 0.02
    joint: float = 1e-4
    level: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no standard deviation."""
        for name in ("force", "torque", "joint", "level"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0.0):
                raise EquipoiseError(f"noise of {name} is {value:g}; it must be ≥ 0")
        if self.force == 0.0 or self.torque == 0.0:
            raise EquipoiseError("noise of force and torque must be above zero")


def covariances(
    frames: StandingFrames, poses: MeasuredPoses, noise: SensorNoise
) -> Array:
    """Return how the equations scatter on soles that are level, shape (n, 6, 6)."""
    variance = np.repeat([noise.force**2, noise.torque**2], 3)
    total = np.zeros((len(poses), WRENCH, WRENCH))
    for side in FEET:
        transform = wrench_transform(
            frames.sole_rotation[side], frames.sole_position[side]
        )
        spread = transform * variance @ np.swapaxes(transform, 1, 2)
        total += spread / poses.samples[:, None, None]
    if noise.joint > 0.0:
        lever = joint_lever(poses, frames)
        total += noise.joint**2 * lever @ np.swapaxes(lever, 1, 2)
    return total


def joint_lever(poses: MeasuredPoses, frames: StandingFrames) -> Array:
    """Return how the balance of wrenches changes with the joints, (n, 6, nv - 6).

    Joints say where the soles are against the centre of mass, how they are turned, and
    with them what is up.
    """
    robot = poses.robot
    model, data = robot.model, robot.data
    weight = robot.mass * STANDARD_GRAVITY
    soles = [robot.soles[side] for side in FEET]
    links = [model.frames[model.getBodyId(sole.link)] for sole in soles]
    levers = np.zeros((len(poses), WRENCH, robot.nv - 6))
    for row, q in enumerate(poses.q):
        centre_jacobian = pin.jacobianCenterOfMass(model, data, q)[:, 6:]
        pin.computeJointJacobians(model, data, q)
        placed, turns, moves = [], [], []
        for link, sole in zip(links, soles, strict=True):
            joint = int(link.parentJoint)
            pose = data.oMi[joint] * link.placement
            pose = np.array(pose.homogeneous) @ sole.transform_sole_to_link
            jacobian = pin.getJointJacobian(
                model, data, joint, pin.LOCAL_WORLD_ALIGNED
            )[:, 6:]
            arm = pose[:3, 3] - data.oMi[joint].translation
            placed.append(pose)
            turns.append(jacobian[3:])
            moves.append(jacobian[:3] - pin.skew(arm) @ jacobian[3:])
        up = placed[0][:3, 2] + placed[1][:3, 2]
        up /= np.linalg.norm(up)
        middle = 0.5 * (placed[0][:3, 3] + placed[1][:3, 3])
        tilt = -0.5 * sum(
            pin.skew(pose[:3, 2]) @ turn
            for pose, turn in zip(placed, turns, strict=True)
        )
        arm = np.array(data.com[0]) - middle
        force = -weight * tilt
        torque = -weight * pin.skew(arm) @ tilt
        torque += weight * pin.skew(up) @ centre_jacobian
        for side, pose, turn, move in zip(FEET, placed, turns, moves, strict=True):
            wrench = poses.wrenches[side][row]
            push, twist = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
            turned = -pin.skew(push) @ turn
            force += turned
            torque -= pin.skew(twist) @ turn + pin.skew(push) @ move
            torque += pin.skew(pose[:3, 3] - middle) @ turned
        to_level = frames.sole_rotation["left"][row] @ placed[0][:3, :3].T
        levers[row] = np.concatenate([to_level @ force, to_level @ torque])
    return levers
