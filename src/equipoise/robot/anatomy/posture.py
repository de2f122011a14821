"""Standing: soles flat on the ground, facing forward."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from equipoise.errors import NameNotFoundError, RobotFileError
from equipoise.robot.description import Array, frozen_array
from equipoise.robot.model import Side, Sole

LEVELLING_STEPS = 50
LEVELLING_DAMPING = 1e-6
LEVEL = 1e-9


def base_rotation(forward: Array, up: Array) -> Array:
    """Return the rotation from base axes to world axes of a robot facing x."""
    left = np.cross(up, forward)
    return np.array([forward, left / np.linalg.norm(left), up])


def stand(
    model: pin.Model,
    q_joints: Array,
    soles: Mapping[Side, Sole],
    rotation_base_to_world: Array,
) -> Array:
    """Place the base so that the soles lie on z = 0, their middle at x = y = 0.

    Args:
        model: Pinocchio model.
        q_joints: Configuration whose joints are kept, shape (nq,).
        soles: Soles by side; without any the base stays at the origin.
        rotation_base_to_world: Attitude of the base with level soles, (3, 3). The
            base is tilted from it as far as the soles ask for.

    Returns:
        A read-only configuration, shape (nq,).
    """
    q = np.array(q_joints)
    q[:3] = 0.0
    quaternion = pin.Quaternion(rotation_base_to_world)
    quaternion.normalize()
    q[3:7] = quaternion.coeffs()
    if soles:
        normal = np.mean([pose[:3, 2] for pose in _sole_poses(model, q, soles)], axis=0)
        q[3:7] = (_turn_upright(normal) * quaternion).coeffs()
        poses = _sole_poses(model, q, soles)
        middle = np.mean([pose[:3, 3] for pose in poses], axis=0)
        q[:2] = -middle[:2]
        q[2] = -min(pose[2, 3] for pose in poses)
    return frozen_array(q)


def level_soles(
    model: pin.Model,
    q: Array,
    soles: Mapping[Side, Sole],
    legs: Mapping[Side, tuple[int, ...]],
    up: Array,
) -> tuple[Array, float]:
    """Turn leg joints, as little as possible, until both soles are level.

    Args:
        model: Pinocchio model.
        q: Start, shape (nq,).
        soles: Soles by side.
        legs: Bodies of each leg.
        up: Direction against gravity in base axes, shape (3,).

    Returns:
        The configuration, and the largest remaining tilt or height difference
        [rad, m].
    """
    columns = np.array(
        [
            model.joints[body].idx_v
            for path in legs.values()
            for body in path
            if model.joints[body].nv == 1
        ],
        dtype=int,
    )
    q = np.array(q)
    q[:7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    error, jacobian = _levelness(model, q, soles, up)
    for _ in range(LEVELLING_STEPS):
        if np.abs(error).max() < LEVEL:
            break
        part = jacobian[:, columns]
        damped = part @ part.T + LEVELLING_DAMPING * np.eye(len(error))
        step = np.zeros(model.nv)
        step[columns] = -part.T @ np.linalg.solve(damped, error)
        q = pin.integrate(model, q, step)
        q[7:] = np.clip(
            q[7:], model.lowerPositionLimit[7:], model.upperPositionLimit[7:]
        )
        error, jacobian = _levelness(model, q, soles, up)
    return q, float(np.abs(error).max())


def _levelness(
    model: pin.Model, q: Array, soles: Mapping[Side, Sole], up: Array
) -> tuple[Array, Array]:
    """Return tilt of each sole and their height difference, with the Jacobian."""
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    level = np.linalg.svd(up[None, :])[2][1:]
    errors: list[Array] = []
    rows: list[Array] = []
    heights: list[tuple[float, Array]] = []
    for sole in soles.values():
        frame = model.getBodyId(sole.link)
        pose = data.oMf[frame].homogeneous @ sole.transform_sole_to_link
        jacobian = pin.getFrameJacobian(
            model, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        arm = pose[:3, 3] - data.oMf[frame].translation
        errors.append(level @ pose[:3, 2])
        rows.append(-level @ pin.skew(pose[:3, 2]) @ jacobian[3:])
        point_jacobian = jacobian[:3] - pin.skew(arm) @ jacobian[3:]
        heights.append((float(up @ pose[:3, 3]), up @ point_jacobian))
    if len(heights) == 2:
        errors.append(np.array([heights[0][0] - heights[1][0]]))
        rows.append((heights[0][1] - heights[1][1])[None, :])
    return np.concatenate(errors), np.vstack(rows)


def _turn_upright(normal: Array) -> pin.Quaternion:
    """Return the smallest rotation that turns a direction up."""
    return pin.Quaternion.FromTwoVectors(normal, np.array([0.0, 0.0, 1.0]))


def _sole_poses(model: pin.Model, q: Array, soles: Mapping[Side, Sole]) -> list[Array]:
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return [
        data.oMf[model.getBodyId(sole.link)].homogeneous @ sole.transform_sole_to_link
        for sole in soles.values()
    ]


def with_joint_positions(
    model: pin.Model, q: Array, positions: Mapping[str, object], source: str
) -> Array:
    """Return a configuration with the named joints moved.

    Args:
        model: Pinocchio model.
        q: Start, shape (nq,).
        positions: Joint name to position; a number, or as many as the joint's part
            of q has. A continuous joint takes its angle [rad].
        source: Named in messages.
    """
    q = np.array(q)
    for name, value in positions.items():
        if name == "universe" or not model.existJointName(name):
            raise NameNotFoundError("joint", name, list(model.names)[2:], source)
        joint = model.joints[model.getJointId(name)]
        try:
            values = np.atleast_1d(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if joint.nq == 2 and values.shape == (1,):
            values = np.array([np.cos(values[0]), np.sin(values[0])])
        if values.shape != (joint.nq,) or not np.isfinite(values).all():
            raise RobotFileError(
                f"{source}: position of joint '{name}' must be {joint.nq} finite "
                f"number(s), not {value!r}"
            )
        q[joint.idx_q : joint.idx_q + joint.nq] = values
    return q
