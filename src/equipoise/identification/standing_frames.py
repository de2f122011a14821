"""Poses as seen from the ground: a level frame between the soles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Soles that are tilted against each other by more than this do not both stand on the
# same level ground [rad].
MOST_TILT = np.deg2rad(5.0)


@dataclass(frozen=True, eq=False)
class StandingFrames:
    """Links and soles of n poses in the level frame.

    Its origin is midway between the soles' frames, z is up: the mean of the soles'
    normals. x is the mean of where the soles point.

    Attributes:
        link_names: Links that have mass, nl of them.
        link_rotation: From link to level axes, shape (n, nl, 3, 3).
        link_position: Of the links' origins [m], shape (n, nl, 3).
        sole_rotation: From sole to level axes, by side, shape (n, 3, 3).
        sole_position: Of the soles' origins [m], by side, shape (n, 3).
        tilt: Of the soles against each other [rad], shape (n,).
    """

    link_names: tuple[str, ...]
    link_rotation: Array
    link_position: Array
    sole_rotation: dict[Side, Array]
    sole_position: dict[Side, Array]
    tilt: Array


def links_with_mass(robot: Robot) -> tuple[str, ...]:
    """Return the names of the links that have mass, in the file's order."""
    return tuple(
        link.name
        for link in robot.description.links
        if link.inertial is not None and link.inertial.mass > 0.0
    )


def standing_frames(robot: Robot, q: Array) -> StandingFrames:
    """Return links and soles in the level frame.

    Args:
        robot: The robot.
        q: Configurations in which both soles are flat on level ground, shape (n, nq);
            their base poses are ignored.
    """
    model, data = robot.model, robot.data
    names = links_with_mass(robot)
    frames = [model.frames[model.getBodyId(name)] for name in names]
    soles = [robot.soles[side] for side in FEET]
    sole_frames = [model.frames[model.getBodyId(sole.link)] for sole in soles]
    joints = [int(frame.parentJoint) for frame in (*frames, *sole_frames)]
    places = np.array(
        [np.array(frame.placement.homogeneous) for frame in frames]
        + [
            np.array(frame.placement.homogeneous) @ sole.transform_sole_to_link
            for frame, sole in zip(sole_frames, soles, strict=True)
        ]
    ).reshape(-1, 4, 4)
    poses = np.zeros((len(q), len(joints), 4, 4))
    for row, configuration in enumerate(q):
        pin.forwardKinematics(model, data, configuration)
        by_joint = [data.oMi[joint].homogeneous for joint in joints]
        poses[row] = np.array(by_joint) @ places
    level = level_frames(poses[:, -2], poses[:, -1])
    poses = np.linalg.inv(level)[:, None] @ poses
    normals = poses[:, -2:, :3, 2]
    turn = np.linalg.norm(np.cross(normals[:, 0], normals[:, 1]), axis=1)
    return StandingFrames(
        names,
        poses[:, :-2, :3, :3],
        poses[:, :-2, :3, 3],
        {side: poses[:, at - 2, :3, :3] for at, side in enumerate(FEET)},
        {side: poses[:, at - 2, :3, 3] for at, side in enumerate(FEET)},
        np.asarray(np.arcsin(np.clip(turn, 0.0, 1.0))),
    )


def check_standing(frames: StandingFrames) -> None:
    """Refuse poses whose soles cannot both be flat on level ground.

    Raises:
        EquipoiseError: Naming the worst pose.
    """
    worst = int(np.argmax(frames.tilt))
    if frames.tilt[worst] > MOST_TILT:
        raise EquipoiseError(
            f"in pose {worst} the soles are tilted by "
            f"{np.rad2deg(frames.tilt[worst]):.1f}° against each other: the feet are "
            f"not both flat on the ground (at most {np.rad2deg(MOST_TILT):.0f}°)"
        )


def level_frames(left: Array, right: Array) -> Array:
    """Return the level frames between pairs of soles.

    Args:
        left: Transforms of left soles, shape (n, 4, 4).
        right: Transforms of right soles to the same frames, likewise.

    Returns:
        Transforms of level frames to the same frames, shape (n, 4, 4).
    """
    up = left[:, :3, 2] + right[:, :3, 2]
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    forward = left[:, :3, 0] + right[:, :3, 0]
    forward -= np.sum(forward * up, axis=1, keepdims=True) * up
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    level = np.tile(np.eye(4), (len(left), 1, 1))
    level[:, :3, :3] = np.stack([forward, np.cross(up, forward), up], axis=2)
    level[:, :3, 3] = 0.5 * (left[:, :3, 3] + right[:, :3, 3])
    return level
