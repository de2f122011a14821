"""What each limb adds to the centre of mass, after [Choi2007].

With body centre r_o and its axes R_o, the whole robot's centre of mass is
c = r_o + R_o (°c_base + Σ °c_i), where °c_base is the constant part of the base link
itself and °c_i = Σ_k μ_k °c_k the contribution of limb i: its bodies' centres of mass,
each weighted with its fraction μ_k of the robot's mass. It is not the limb's own centre
of mass.
The velocity is Eq. (8) of [Choi2007]: ċ = ṙ_o + ω_o × (c - r_o) + Σ R_o °J_ci q̇.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, DTypeLike

from equipoise.arrays import Array
from equipoise.kinematics.batch import Floats, check_target, device_tree
from equipoise.robot.model import Robot
from equipoise.robot.pinocchio_model import workspace

BASE_NQ, BASE_NV = 7, 6
BASE_AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

# Pinocchio models of one limb by its name; they go when their robot goes.
_limb_models: WeakKeyDictionary[Robot, dict[str, pin.Model]] = WeakKeyDictionary()


class ComContributionAndJacobian(NamedTuple):
    """What a limb adds to the centre of mass, and its Jacobian.

    Attributes:
        contribution: °c_i in base coordinates [m], shape (3,) or (n, 3).
        jacobian: °J_ci in base axes, shape (3, nv) or (n, 3, nv).
    """

    contribution: Floats
    jacobian: Floats


def mass_influence(robot: Robot, limb: str) -> dict[str, float]:
    """Return the mass influence coefficients of a limb, Eq. (10) of [Choi2007].

    Returns:
        Mass of the body that each joint moves, as a fraction of the robot's mass.

    Raises:
        NameNotFoundError: If there is no such limb; the message lists all.
    """
    inertias = robot.model.inertias
    return {
        joint: float(inertias[robot.joint_id(joint)].mass) / robot.mass
        for joint in robot.limb(limb).subtree_joints
    }


def limb_com_contribution(
    robot: Robot,
    q: ArrayLike,
    limb: str,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return what a limb adds to the centre of mass, °c_i: not the limb's own centre.

    The contributions of all limbs and of the base add up to the robot's centre of mass
    as seen from the base. A limb's own centre of mass is its contribution over
    ``sum(mass_influence(robot, limb).values())``.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,) or (n, nq).
        limb: Name of a limb.
        device: As for :func:`~equipoise.kinematics.com.com`.
        dtype: As for :func:`~equipoise.kinematics.com.com`.

    Returns:
        Σ μ_k °c_k in base coordinates [m], shape (3,) or (n, 3).

    Raises:
        NameNotFoundError: If there is no such limb; the message lists all.
    """
    both = limb_com_contribution_and_jacobian(
        robot, q, limb, device=device, dtype=dtype
    )
    return both.contribution


def limb_com_jacobian(
    robot: Robot,
    q: ArrayLike,
    limb: str,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return the Jacobian of :func:`limb_com_contribution`, Eq. (9) of [Choi2007].

    Arguments are those of that function.

    Returns:
        Jacobian in base axes, shape (3, nv) or (n, 3, nv). Columns of the base are
        zero; those of joints between base and limb (a torso) are not.
    """
    return limb_com_contribution_and_jacobian(
        robot, q, limb, device=device, dtype=dtype
    ).jacobian


def limb_com_contribution_and_jacobian(
    robot: Robot,
    q: ArrayLike,
    limb: str,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> ComContributionAndJacobian:
    """Return :func:`limb_com_contribution` and its Jacobian, computed together.

    Arguments are those of :func:`limb_com_contribution`.
    """
    # Seen from the base, the base is at the origin; its own columns then drop out.
    q_from_base = np.array(robot.check_q(q))
    q_from_base[..., :BASE_NQ] = BASE_AT_ORIGIN
    joints = robot.limb(limb).subtree_joints
    numbers = check_target(device, dtype)
    if q_from_base.ndim == 1:
        contribution, jacobian = (
            values.astype(numbers) for values in _one_limb(robot, q_from_base, limb)
        )
    else:
        from equipoise.kernels import com as kernels

        tree = device_tree(robot, device, numbers, only=joints)
        contribution, jacobian = kernels.com_and_jacobian(tree, q_from_base)
    jacobian[..., :BASE_NV] = 0.0
    return ComContributionAndJacobian(contribution, jacobian)


def _one_limb(robot: Robot, q_from_base: Array, limb: str) -> tuple[Array, Array]:
    fraction = sum(mass_influence(robot, limb).values())
    if fraction == 0.0:
        return np.zeros(3), np.zeros((3, robot.nv))
    model = _limb_model(robot, limb)
    data = workspace(model)
    jacobian = pin.jacobianCenterOfMass(model, data, q_from_base, False)
    return fraction * data.com[0], fraction * jacobian


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
