"""The ZMP that a whole-body motion really has, all inertia included."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.kinematics.com import com
from equipoise.kinematics.momentum import centroidal_momentum
from equipoise.kinematics.velocities import velocities as velocities
from equipoise.robot.gravity import STANDARD_GRAVITY
from equipoise.robot.model import Robot


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
