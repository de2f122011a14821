"""Momentum of the whole robot about its centre of mass."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, DTypeLike

from equipoise.kinematics.batch import device_tree
from equipoise.robot.description import Array
from equipoise.robot.model import Robot


def centroidal_momentum(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Array:
    """Return linear momentum, and angular momentum about the centre of mass.

    Rotor inertias (armature) are not part of it.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,) or (n, nq).
        v: Velocity, shape (nv,) or (n, nv), as many rows as ``q``.
        device: Where a batch is computed: ``"cpu"`` or ``"cuda"``.
        dtype: What a batch is computed in: ``float64`` or ``float32``.

    Returns:
        Linear [N s] and angular [N m s] momentum in world axes, shape (6,) or (n, 6).
    """
    q = robot.check_q(q)
    v = robot.check_v(v, like=q)
    if q.ndim == 1:
        momentum = pin.computeCentroidalMomentum(robot.model, robot.data, q, v)
        return np.array(momentum.vector)
    from equipoise.kernels import momentum as kernels

    return kernels.centroidal_momentum(device_tree(robot, device, dtype), q, v)
