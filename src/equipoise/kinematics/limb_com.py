"""What each limb contributes to the centre of mass, after [Choi2007].

With body centre r_o and its axes R_o, the whole robot's centre of mass is
c = r_o + R_o (°c_base + Σ °c_i), where °c_base is the constant part of the base link
itself and °c_i the part of limb i. Its velocity is Eq. (8) of [Choi2007]:
ċ = ṙ_o + ω_o × (c - r_o) + Σ R_o °J_ci q̇.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, DTypeLike

from equipoise.kinematics.batch import device_tree
from equipoise.kinematics.com import ComAndJacobian
from equipoise.robot.description import Array
from equipoise.robot.model import Robot

BASE_NQ, BASE_NV = 7, 6
BASE_AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

_limb_models: WeakKeyDictionary[Robot, dict[str, pin.Model]] = WeakKeyDictionary()


def mass_influence(robot: Robot, limb: str) -> dict[str, float]:
    """Return the mass influence coefficients of a limb, Eq. (10) of [Choi2007].

    Returns:
        Mass of the body that each joint moves, as share of the robot's mass.

    Raises:
        NameNotFoundError: If there is no such limb; the message lists all.
    """
    inertias = robot.model.inertias
    return {
        joint: float(inertias[robot.joint_id(joint)].mass) / robot.mass
        for joint in robot.limb(limb).subtree_joints
    }


def limb_com(
    robot: Robot,
    q: ArrayLike,
    limb: str,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Array:
    """Return a limb's contribution °c_i to the centre of mass.

    It is weighted with the limb's share of mass: contributions of all limbs and the
    base add up to the centre of mass seen from the base.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,) or (n, nq).
        limb: Name of a limb.
        device: Where a batch is computed: ``"cpu"`` or ``"cuda"``.
        dtype: What a batch is computed in: ``float64`` or ``float32``.

    Returns:
        Σ μ_k °c_k in base coordinates [m], shape (3,) or (n, 3).
    """
    return limb_com_and_jacobian(robot, q, limb, device=device, dtype=dtype).com


def limb_com_jacobian(
    robot: Robot,
    q: ArrayLike,
    limb: str,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Array:
    """Return the Jacobian °J_ci of a limb's contribution, Eq. (9) of [Choi2007].

    Arguments are those of :func:`limb_com`.

    Returns:
        Jacobian in base axes, shape (3, nv) or (n, 3, nv). Columns of the base are
        zero; those of joints between base and limb (a torso) are not.
    """
    return limb_com_and_jacobian(robot, q, limb, device=device, dtype=dtype).jacobian


def limb_com_and_jacobian(
    robot: Robot,
    q: ArrayLike,
    limb: str,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> ComAndJacobian:
    """Return :func:`limb_com` and :func:`limb_com_jacobian`, computed together."""
    # Seen from the base, the base is at the origin; its own columns then drop out.
    q_from_base = np.array(robot.check_q(q))
    q_from_base[..., :BASE_NQ] = BASE_AT_ORIGIN
    joints = robot.limb(limb).subtree_joints
    if q_from_base.ndim == 1:
        part, jacobian = _one_limb(robot, q_from_base, limb)
    else:
        from equipoise.kernels import com as kernels

        tree = device_tree(robot, device, dtype, only=joints)
        part, jacobian = kernels.com_and_jacobian(tree, q_from_base)
    jacobian[..., :BASE_NV] = 0.0
    return ComAndJacobian(part, jacobian)


def _one_limb(robot: Robot, q_from_base: Array, limb: str) -> tuple[Array, Array]:
    share = sum(mass_influence(robot, limb).values())
    if share == 0.0:
        return np.zeros(3), np.zeros((3, robot.nv))
    model = _limb_model(robot, limb)
    data = model.createData()
    jacobian = pin.jacobianCenterOfMass(model, data, q_from_base, False)
    return share * data.com[0], share * jacobian


def _limb_model(robot: Robot, limb: str) -> pin.Model:
    """Return the robot with only the limb's bodies having mass."""
    models = _limb_models.setdefault(robot, {})
    if limb not in models:
        kept = {robot.joint_id(joint) for joint in robot.limb(limb).subtree_joints}
        model = robot.model.copy()
        for body in range(model.njoints):
            if body not in kept:
                model.inertias[body] = pin.Inertia.Zero()
        models[limb] = model
    return models[limb]
