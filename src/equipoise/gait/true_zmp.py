"""The ZMP that a whole-body motion really has, all inertia included."""

from __future__ import annotations

import numpy as np

from equipoise.kinematics.com import com
from equipoise.kinematics.momentum import centroidal_momentum
from equipoise.robot.description import Array
from equipoise.robot.gravity import STANDARD_GRAVITY
from equipoise.robot.model import Robot


def velocities(robot: Robot, q: Array, dt: float) -> Array:
    """Return velocities of a motion by central differences, shape (n, nv).

    Args:
        robot: The robot.
        q: Configurations at equal distances of time, shape (n, nq).
        dt: That distance [s].
    """
    v = np.zeros((len(q), robot.nv))
    turn = _rotations(q[:, 3:7])
    travel = np.gradient(q[:, :3], dt, axis=0)
    v[:, :3] = np.einsum("nji,nj->ni", turn, travel)
    spin = np.einsum("nji,njk->nik", turn, np.gradient(turn, dt, axis=0))
    v[:, 3] = 0.5 * (spin[:, 2, 1] - spin[:, 1, 2])
    v[:, 4] = 0.5 * (spin[:, 0, 2] - spin[:, 2, 0])
    v[:, 5] = 0.5 * (spin[:, 1, 0] - spin[:, 0, 1])
    for joint in list(robot.model.joints)[2:]:
        own = q[:, joint.idx_q : joint.idx_q + joint.nq]
        if joint.nq == 2:
            own = np.unwrap(np.arctan2(own[:, 1:], own[:, :1]), axis=0)
        if joint.nv == 1:
            v[:, joint.idx_v] = np.gradient(own[:, 0], dt)
    return v


def true_zmp(
    robot: Robot, q: Array, dt: float, height: Array, gravity: float = STANDARD_GRAVITY
) -> Array:
    """Return where ground forces of a motion have no horizontal moment, shape (n, 2).

    p = c - ((c_z - z) F_xy + (L̇_y, -L̇_x)) / F_z, with F = Ṗ + m g and P, L the linear
    momentum and the angular momentum about the CoM c.

    Args:
        robot: The robot.
        q: Configurations at equal distances of time, shape (n, nq).
        dt: That distance [s].
        height: Of the ground z [m], shape (n,).
        gravity: Downwards [m/s²].
    """
    momentum = centroidal_momentum(robot, q, velocities(robot, q, dt))
    rate = np.gradient(momentum, dt, axis=0)
    centre = np.asarray(com(robot, q))
    force = rate[:, :3] + np.array([0.0, 0.0, robot.mass * gravity])
    lever = (centre[:, 2] - height)[:, None] * force[:, :2]
    turning = np.stack([rate[:, 4], -rate[:, 3]], axis=1)
    return np.asarray(centre[:, :2] - (lever + turning) / force[:, 2:])


def _rotations(xyzw: Array) -> Array:
    """Return rotation matrices (n, 3, 3) of quaternions."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(xyzw).as_matrix())
