"""Momentum of the whole robot about its centre of mass."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, DTypeLike

from equipoise.kinematics.batch import Floats, check_target, device_tree
from equipoise.robot.model import Robot


def centroidal_momentum(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return linear momentum, and angular momentum about the centre of mass.

    Rotor inertias (armature) are not part of it.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,) or (n, nq).
        v: Velocity, shape (nv,) or (n, nv), as many rows as ``q``.
        device: As for :func:`~equipoise.kinematics.com.com`.
        dtype: As for :func:`~equipoise.kinematics.com.com`.

    Returns:
        Linear [N s] and angular [N m s] momentum in world axes, shape (6,) or (n, 6).
    """
    q = robot.check_q(q)
    v = robot.check_v(v, like=q)
    numbers = check_target(device, dtype)
    if q.ndim == 1:
        momentum = pin.computeCentroidalMomentum(robot.model, robot.data, q, v)
        return np.array(momentum.vector, numbers)
    from equipoise.kernels import momentum as kernels

    return kernels.centroidal_momentum(device_tree(robot, device, numbers), q, v)
