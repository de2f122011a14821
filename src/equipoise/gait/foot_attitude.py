"""Attitude of a sole from yaw ψ, pitch θ and roll φ: R = Rz(ψ) Ry(θ) Rx(φ).

The angular velocity in world axes is ω = ψ̇ z + Rz(ψ) (φ̇ cos θ, θ̇, −φ̇ sin θ).
"""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array


def sole_transforms(coordinates: Array) -> Array:
    """Return the transforms from sole to world, shape (…, 4, 4).

    Args:
        coordinates: x, y, z [m], yaw, pitch, roll [rad], shape (…, 6).
    """
    yaw, pitch, roll = np.moveaxis(coordinates[..., 3:], -1, 0)
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    cr, sr = np.cos(roll), np.sin(roll)
    pose = np.zeros((*coordinates.shape[:-1], 4, 4))
    pose[..., 0, 0], pose[..., 1, 0], pose[..., 2, 0] = cy * cp, sy * cp, -sp
    pose[..., 0, 1] = cy * sp * sr - sy * cr
    pose[..., 1, 1] = sy * sp * sr + cy * cr
    pose[..., 2, 1] = cp * sr
    pose[..., 0, 2] = cy * sp * cr + sy * sr
    pose[..., 1, 2] = sy * sp * cr - cy * sr
    pose[..., 2, 2] = cp * cr
    pose[..., :3, 3] = coordinates[..., :3]
    pose[..., 3, 3] = 1.0
    return pose


def sole_twists(coordinates: Array, rates: Array) -> Array:
    """Return velocities of sole frames in world axes, shape (…, 6).

    Args:
        coordinates: x, y, z [m], yaw, pitch, roll [rad], shape (…, 6).
        rates: Their time derivatives, shape (…, 6).

    Returns:
        Linear velocity of the sole frame's origin [m/s], then angular velocity
        [rad/s].
    """
    yaw, pitch = coordinates[..., 3], coordinates[..., 4]
    yaw_rate, pitch_rate, roll_rate = np.moveaxis(rates[..., 3:], -1, 0)
    twist = np.array(rates)
    level = roll_rate * np.cos(pitch)
    twist[..., 3] = level * np.cos(yaw) - pitch_rate * np.sin(yaw)
    twist[..., 4] = level * np.sin(yaw) + pitch_rate * np.cos(yaw)
    twist[..., 5] = yaw_rate - roll_rate * np.sin(pitch)
    return twist


def sole_accelerations(coordinates: Array, rates: Array, second: Array) -> Array:
    """Return time derivatives of :func:`sole_twists`, shape (…, 6).

    Args:
        coordinates: x, y, z [m], yaw, pitch, roll [rad], shape (…, 6).
        rates: Their time derivatives, shape (…, 6).
        second: Their second time derivatives, shape (…, 6).

    Returns:
        Linear acceleration of the sole frame's origin [m/s²], then angular
        acceleration [rad/s²], in world axes.
    """
    yaw, pitch = coordinates[..., 3], coordinates[..., 4]
    yaw_rate, pitch_rate, roll_rate = np.moveaxis(rates[..., 3:], -1, 0)
    yaw_second, pitch_second, roll_second = np.moveaxis(second[..., 3:], -1, 0)
    cos_pitch, sin_pitch = np.cos(pitch), np.sin(pitch)
    # ω̇ = ψ̈ z + Rz(ψ) (u̇ + ψ̇ z × u) with u = (φ̇ cos θ, θ̇, −φ̇ sin θ)
    forward = roll_second * cos_pitch - roll_rate * pitch_rate * sin_pitch
    forward -= yaw_rate * pitch_rate
    left = pitch_second + yaw_rate * roll_rate * cos_pitch
    acceleration = np.array(second)
    acceleration[..., 3] = forward * np.cos(yaw) - left * np.sin(yaw)
    acceleration[..., 4] = forward * np.sin(yaw) + left * np.cos(yaw)
    acceleration[..., 5] = yaw_second - roll_second * sin_pitch
    acceleration[..., 5] -= roll_rate * pitch_rate * cos_pitch
    return acceleration
