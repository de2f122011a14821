"""Centre of mass, its velocity and Jacobian, the Jacobian's rate, the momentum.

One configuration goes through Pinocchio, a batch through compiled kernels: the same
functions, chosen by the shape of ``q``. Results are in world axes. One configuration is
always computed on the CPU in float64, then rounded to ``dtype``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, DTypeLike

from equipoise.kinematics.batch import Floats, check_target, device_tree
from equipoise.robot.model import Robot


class ComAndJacobian(NamedTuple):
    """Centre of mass and its Jacobian.

    Attributes:
        com: Centre of mass [m], shape (3,) or (n, 3).
        jacobian: ċ = J v, shape (3, nv) or (n, 3, nv).
    """

    com: Floats
    jacobian: Floats


def com(
    robot: Robot, q: ArrayLike, *, device: str = "cpu", dtype: DTypeLike = np.float64
) -> Floats:
    """Return the centre of mass of the whole robot.

    Args:
        robot: The robot.
        q: One configuration, shape (nq,), or a batch, shape (n, nq).
        device: Where a batch is computed: ``"cpu"`` or ``"cuda"``.
        dtype: What a batch is computed in, and results are given in: ``float64`` or
            ``float32``.

    Returns:
        Centre of mass in the world [m], shape (3,) or (n, 3).

    Raises:
        ShapeError: If ``q`` is not a configuration of this robot.
        EquipoiseError: If there is no such device, or for another ``dtype``.
    """
    q = robot.check_q(q)
    numbers = check_target(device, dtype)
    if q.ndim == 1:
        return np.array(pin.centerOfMass(robot.model, robot.data, q, False), numbers)
    from equipoise.kernels import com as kernels

    return kernels.com(device_tree(robot, device, numbers), q)


def com_velocity(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return the velocity of the centre of mass.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,) or (n, nq).
        v: Velocity, shape (nv,) or (n, nv), as many rows as ``q``.
        device: As for :func:`com`.
        dtype: As for :func:`com`.

    Returns:
        Velocity in the world [m/s], shape (3,) or (n, 3).
    """
    q = robot.check_q(q)
    v = robot.check_v(v, like=q)
    numbers = check_target(device, dtype)
    if q.ndim == 1:
        pin.centerOfMass(robot.model, robot.data, q, v, False)
        return np.array(robot.data.vcom[0], numbers)
    from equipoise.kernels import com as kernels

    return kernels.com_velocity(device_tree(robot, device, numbers), q, v)


def com_jacobian(
    robot: Robot, q: ArrayLike, *, device: str = "cpu", dtype: DTypeLike = np.float64
) -> Floats:
    """Return the Jacobian J of the centre of mass, ċ = J v.

    Arguments are those of :func:`com`. The result has shape (3, nv) or (n, 3, nv).
    """
    return com_and_jacobian(robot, q, device=device, dtype=dtype).jacobian


def com_and_jacobian(
    robot: Robot, q: ArrayLike, *, device: str = "cpu", dtype: DTypeLike = np.float64
) -> ComAndJacobian:
    """Return the centre of mass and its Jacobian, computed together.

    Arguments are those of :func:`com`; shapes are those of :class:`ComAndJacobian`.
    """
    q = robot.check_q(q)
    numbers = check_target(device, dtype)
    if q.ndim == 1:
        data = robot.data
        jacobian = pin.jacobianCenterOfMass(robot.model, data, q, False)
        return ComAndJacobian(
            np.array(data.com[0], numbers), np.array(jacobian, numbers)
        )
    from equipoise.kernels import com as kernels

    tree = device_tree(robot, device, numbers)
    return ComAndJacobian(*kernels.com_and_jacobian(tree, q))


def com_jacobian_rate(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return the time derivative of the CoM Jacobian, c̈ = J v̇ + J̇ v.

    Arguments are those of :func:`com_velocity`. The result has shape (3, nv) or
    (n, 3, nv).
    """
    q = robot.check_q(q)
    v = robot.check_v(v, like=q)
    numbers = check_target(device, dtype)
    if q.ndim == 1:
        rate = pin.computeCentroidalMapTimeVariation(robot.model, robot.data, q, v)
        return np.array(rate[:3] / robot.mass, numbers)
    from equipoise.kernels import com as kernels

    return kernels.com_jacobian_rate(device_tree(robot, device, numbers), q, v)


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
        device: As for :func:`com`.
        dtype: As for :func:`com`.

    Returns:
        Linear [N s] and angular [N m s] momentum in world axes, shape (6,) or (n, 6).
    """
    q = robot.check_q(q)
    v = robot.check_v(v, like=q)
    numbers = check_target(device, dtype)
    if q.ndim == 1:
        momentum = pin.computeCentroidalMomentum(robot.model, robot.data, q, v)
        return np.array(momentum.vector, numbers)
    from equipoise.kernels import com as kernels

    return kernels.centroidal_momentum(device_tree(robot, device, numbers), q, v)
