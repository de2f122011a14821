"""Pose of the base from the joints alone: the stance foot stays where it is.

The ground is taken to be flat and level. The foot that carries the robot lies flat
where it was put down; the base follows from the joints of its leg.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import BASE_Q, configurations
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# The other foot becomes the stance foot if it carries so much more, as a fraction of
# the weight, or is so much lower, as a fraction of the leg's length.
LOAD_STEP, HEIGHT_STEP = 0.2, 0.01


def estimated_base(robot: Robot, positions: Array, load: Array | None) -> Array:
    """Return poses of the base, position and quaternion xyzw, shape (n, 7).

    The middle of the soles is at x = y = 0 at the beginning, facing x; the lowest
    corner of a sole is at z = 0 in every row.

    Args:
        robot: A robot with two soles.
        positions: Joint positions, shape (n, nv - 6).
        load: Load of the left foot less that of the right, as a fraction of the
            weight, shape (n,); None where that is not known.
    """
    at_origin = np.tile([0.0] * 6 + [1.0], (len(positions), 1))
    q = configurations(robot, at_origin, positions)
    left, right = sole_pose(robot, q, "left"), sole_pose(robot, q, "right")
    if load is None:
        leg_length = max(leg.length for leg in robot.legs.values())
        on_left = stance_is_left(_lift(left, right), HEIGHT_STEP * leg_length)
    else:
        on_left = stance_is_left(load, LOAD_STEP)
    base = _follow(left, right, on_left)
    base = np.linalg.inv(_start(base[0] @ left[0], base[0] @ right[0])) @ base
    base[:, 2, 3] -= lowest_corner(robot, base, {"left": left, "right": right})
    return as_poses(base)


def stance_is_left(signal: Array, step: float) -> NDArray[np.bool_]:
    """Return whether the left foot is the stance foot, without chatter.

    It changes only when the signal has gone from beyond one step to beyond the other,
    and then in the middle of that change.

    Args:
        signal: Positive where the left foot stands, shape (n,).
        step: Threshold of the signal.
    """
    sure = np.flatnonzero(np.abs(signal) > step)
    if len(sure) == 0:
        return np.full(len(signal), np.median(signal) >= 0.0)
    sides = signal[sure] > 0.0
    stance = np.empty(len(signal), dtype=np.bool_)
    stance[: sure[0]] = sides[0]
    for first, last, side in zip(sure, [*sure[1:], len(signal)], sides, strict=True):
        stance[first:last] = side
    for at in np.flatnonzero(sides[1:] != sides[:-1]):
        middle = (sure[at] + sure[at + 1] + 1) // 2
        stance[middle : sure[at + 1]] = sides[at + 1]
    return stance


def lowest_corner(robot: Robot, base: Array, soles_in_base: dict[Side, Array]) -> Array:
    """Return the height of the lowest corner of the soles [m], shape (n,).

    Args:
        robot: The robot.
        base: Transforms from base to world, shape (n, 4, 4).
        soles_in_base: Transforms from sole to base, shape (n, 4, 4) each.
    """
    heights = []
    for side, pose in soles_in_base.items():
        corners = robot.soles[side].polygon_in_sole
        upward = (base @ pose)[:, 2]
        heights.append(upward[:, None, :2] @ corners.T + upward[:, None, 3:])
    return np.asarray(np.concatenate(heights, axis=2).min(axis=(1, 2)))


def as_poses(transforms: Array) -> Array:
    """Return position and quaternion xyzw, shape (n, 7), of transforms (n, 4, 4)."""
    poses = np.empty((len(transforms), BASE_Q))
    poses[:, :3] = transforms[:, :3, 3]
    for row, transform in zip(poses, transforms, strict=True):
        row[3:] = pin.Quaternion(np.ascontiguousarray(transform[:3, :3])).coeffs()
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    return poses


def to_transforms(poses: Array) -> Array:
    """Return transforms (n, 4, 4) of position and quaternion xyzw, shape (n, 7)."""
    return np.stack([pin.XYZQUATToSE3(np.array(pose)).homogeneous for pose in poses])


def _lift(left: Array, right: Array) -> Array:
    """Return how much higher the right sole is, between what each sees as level."""
    right_in_left = np.linalg.inv(left) @ right
    left_in_right = np.linalg.inv(right) @ left
    return np.asarray(0.5 * (right_in_left[:, 2, 3] - left_in_right[:, 2, 3]))


def _follow(left: Array, right: Array, on_left: NDArray[np.bool_]) -> Array:
    """Return transforms from base to world, foothold by foothold, (n, 4, 4)."""
    base = np.empty_like(left)
    foothold = np.eye(4)
    starts = [0, *(np.flatnonzero(on_left[1:] != on_left[:-1]) + 1).tolist()]
    for first, last in zip(starts, [*starts[1:], len(left)], strict=True):
        foot = left if on_left[first] else right
        if first > 0:
            other = right if on_left[first] else left
            before = foothold @ np.linalg.inv(other[first])
            foothold = _level(before @ foot[first])
        base[first:last] = foothold @ np.linalg.inv(foot[first:last])
    return base


def _level(pose: Array) -> Array:
    """Return a pose turned about z only, at height zero."""
    return _heading(np.arctan2(pose[1, 0], pose[0, 0]), pose[:2, 3])


def _start(left: Array, right: Array) -> Array:
    """Return the pose between two feet: their middle and their mean heading."""
    ahead = left[:2, 0] + right[:2, 0]
    middle = 0.5 * (left[:2, 3] + right[:2, 3])
    return _heading(np.arctan2(ahead[1], ahead[0]), middle)


def _heading(angle: float, place: Array) -> Array:
    cosine, sine = np.cos(angle), np.sin(angle)
    pose = np.eye(4)
    pose[:2, :2] = [[cosine, -sine], [sine, cosine]]
    pose[:2, 3] = place
    return pose
