"""Rotations and rigid transforms, converted between their notations.

Quaternions have their scalar last, (x, y, z, w), as Pinocchio's; MuJoCo and MJCF files
have it first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array


def transform(rotation: ArrayLike | None = None, translation: ArrayLike = 0.0) -> Array:
    """Build a read-only homogeneous transform, shape (4, 4)."""
    matrix = np.eye(4)
    if rotation is not None:
        matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    matrix.flags.writeable = False
    return matrix


def inverse_transform(pose: Array) -> Array:
    """Return the inverse of a homogeneous transform, shape (4, 4)."""
    rotation = pose[:3, :3].T
    return transform(rotation, -rotation @ pose[:3, 3])


def rotation_from_rpy(rpy: Sequence[float]) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), the convention of URDF [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(rotation: Array) -> Array:
    """Return roll, pitch and yaw of a rotation [rad], pitch in [-π/2, π/2].

    Exact to rounding near gimbal lock too: there yaw is mostly noise, and the roll
    that belongs to this yaw makes up for it.
    """
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    pitch = np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0]))
    cos, sin = np.cos(yaw), np.sin(yaw)
    roll = np.arctan2(
        sin * rotation[0, 2] - cos * rotation[1, 2],
        cos * rotation[1, 1] - sin * rotation[0, 1],
    )
    return np.array([roll, pitch, yaw])


def rotation_from_quaternion(xyzw: ArrayLike) -> Array:
    """Return the rotation matrix of a quaternion, which need not be of unit length."""
    wxyz = wxyz_from_xyzw(xyzw)
    wxyz = wxyz / np.abs(wxyz).max()  # squares of tiny numbers are zero
    w, x, y, z = wxyz / np.linalg.norm(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_rotation(rotation: Array) -> Array:
    """Return the unit quaternion xyzw of a rotation matrix, shape (4,)."""
    xyzw: Array = pin.Quaternion(np.array(rotation)).normalized().coeffs()
    return xyzw


def quaternion_from_rotation_vector(vectors: Array) -> Array:
    """Return quaternions xyzw, (n, 4), of axes times angles [rad], (n, 3)."""
    angle = np.linalg.norm(vectors, axis=1, keepdims=True)
    axis = vectors / np.where(angle > 0.0, angle, 1.0)
    return np.hstack([axis * np.sin(angle / 2.0), np.cos(angle / 2.0)])


def rotation_vector_from_quaternion(xyzw: Array) -> Array:
    """Return axes times angles [rad], (n, 3), of quaternions xyzw, (n, 4).

    Angles are from 0 to 2π, so that the sign of a quaternion is kept.
    """
    sine = np.linalg.norm(xyzw[:, :3], axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, xyzw[:, 3:])
    axis = np.where(sine > 0.0, xyzw[:, :3], [1.0, 0.0, 0.0])
    vectors: Array = angle * axis / np.where(sine > 0.0, sine, 1.0)
    return vectors


def rotate(xyzw: Array, vectors: Array) -> Array:
    """Return R(quaternion) · vector, shape (…, 3): Rodrigues' formula."""
    axis, w = xyzw[..., :3], xyzw[..., 3:]
    cross = np.cross(axis, vectors)
    return np.asarray(vectors + 2.0 * (w * cross + np.cross(axis, cross)))


def inverse_quaternion(xyzw: Array) -> Array:
    """Return the inverses of unit quaternions, shape (…, 4)."""
    return np.concatenate([-xyzw[..., :3], xyzw[..., 3:]], axis=-1)


def wxyz_from_xyzw(xyzw: ArrayLike) -> Array:
    """Return quaternions with their scalar first, shape (…, 4), from scalar last."""
    return np.roll(np.asarray(xyzw, dtype=np.float64), 1, axis=-1)


def xyzw_from_wxyz(wxyz: ArrayLike) -> Array:
    """Return quaternions with their scalar last, shape (…, 4), from scalar first."""
    return np.roll(np.asarray(wxyz, dtype=np.float64), -1, axis=-1)
