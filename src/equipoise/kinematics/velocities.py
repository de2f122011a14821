"""Velocities of a motion that is known by its configurations."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.robot.model import Robot


def velocities(robot: Robot, q: Array, dt: float | Array) -> Array:
    """Return velocities of a motion by central differences, shape (n, nv).

    Args:
        robot: The robot.
        q: Configurations, shape (n, nq), n ≥ 2.
        dt: Their distance of time [s]; or the times themselves [s], shape (n,).
    """
    from scipy.spatial.transform import Rotation  # slow to import

    v = np.zeros((len(q), robot.nv))
    turn = Rotation.from_quat(q[:, 3:7]).as_matrix()
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
