"""A posture with the soles and the centre of mass where they should be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import NameNotFoundError
from equipoise.kinematics.frames import frame_pose
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

TOLERANCE = 1e-10
MOST_ITERATIONS = 60
# Singular values below this fraction of the largest are not used: straight knees.
RANK_TOLERANCE = 1e-4
LONGEST_STEP = 0.2


class Stance(NamedTuple):
    """A posture that was found.

    Attributes:
        q: Configuration, shape (nq,).
        error: Largest error of a sole or of the centre of mass [m or rad].
    """

    q: Array
    error: float


def sole_pose(robot: Robot, q: ArrayLike, side: Side) -> Array:
    """Return the transform from sole to world, shape (4, 4) or (n, 4, 4).

    Args:
        robot: The robot.
        q: One configuration, shape (nq,), or many, shape (n, nq).
        side: Which foot.

    Raises:
        NameNotFoundError: If the robot has no such sole.
    """
    if side not in robot.soles:
        raise NameNotFoundError("sole", side, robot.soles, robot.name)
    sole = robot.soles[side]
    pose = frame_pose(robot, q, sole.link)
    return np.asarray(pose @ sole.transform_sole_to_link, dtype=np.float64)


def find_stance(
    robot: Robot,
    start: ArrayLike,
    soles: Mapping[Side, Array],
    com: ArrayLike,
    joints: Iterable[str] | None = None,
) -> Stance:
    """Return the posture nearest to another with soles and CoM in place.

    Gauss–Newton steps on base and joints together; joints that come to a limit stay
    there while they would go beyond it.

    Args:
        robot: The robot.
        start: Configuration to begin with, shape (nq,).
        soles: Wanted poses in the world, shape (4, 4) each.
        com: Wanted centre of mass in the world [m], shape (3,).
        joints: Joints that may move; all if not given. The base always may.

    Raises:
        NameNotFoundError: If a sole or joint is named that the robot has not.
    """
    q = robot.check_q(start).copy()
    wanted = np.asarray(com, dtype=np.float64)
    may_move = np.ones(robot.nv, dtype=bool)
    if joints is not None:
        may_move[6:] = False
        for name in joints:
            joint = robot.model.joints[robot.joint_id(name)]
            may_move[joint.idx_v : joint.idx_v + joint.nv] = True
    best = Stance(q, np.inf)
    held = np.zeros(robot.nv, dtype=bool)
    for _ in range(MOST_ITERATIONS):
        error, jacobian = _residual(robot, q, soles, wanted)
        worst = float(np.abs(error).max())
        if worst < best.error:
            best = Stance(q, worst)
        if worst < TOLERANCE:
            break
        free = may_move & ~held
        step = np.zeros(robot.nv)
        step[free] = np.linalg.pinv(jacobian[:, free], RANK_TOLERANCE) @ error
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
        q, held = _within_limits(robot, pin.integrate(robot.model, q, step))
    return best


def _within_limits(robot: Robot, q: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return a configuration with joints put back to limits, and which those are."""
    held = np.zeros(robot.nv, dtype=bool)
    inside = q.copy()
    for joint in list(robot.model.joints)[2:]:
        if joint.nq != 1:
            continue
        at = joint.idx_q
        lower, upper = (
            robot.model.lowerPositionLimit[at],
            robot.model.upperPositionLimit[at],
        )
        inside[at] = min(max(q[at], lower), upper)
        held[joint.idx_v] = inside[at] != q[at]
    return inside, held


def sole_errors(
    robot: Robot, q: Array, soles: Mapping[Side, Array]
) -> tuple[Array, Array]:
    """Return how far soles are from their places, and the Jacobian of that.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        soles: Wanted poses in the world, shape (4, 4) each.

    Returns:
        Twists to their places in sole axes, linear part first [m and rad], shape
        (6 k,), and what velocities do to them, shape (6 k, nv).
    """
    errors, jacobians = [], []
    for side, wanted in soles.items():
        sole = robot.soles[side]
        placed = pin.SE3(sole_pose(robot, q, side))
        errors.append(pin.log6(placed.actInv(pin.SE3(wanted))).vector)
        frame = robot.frame_id(sole.link)
        body = pin.computeFrameJacobian(robot.model, robot.data, q, frame, pin.LOCAL)
        to_sole = pin.SE3(sole.transform_sole_to_link).toActionMatrixInverse()
        jacobians.append(to_sole @ body)
    return np.concatenate(errors), np.vstack(jacobians)


def _residual(
    robot: Robot, q: Array, soles: Mapping[Side, Array], com: Array
) -> tuple[Array, Array]:
    """Return errors and their Jacobian with respect to velocities."""
    jacobian = pin.jacobianCenterOfMass(robot.model, robot.data, q)
    error = com - robot.data.com[0]
    if not soles:
        return error, jacobian
    of_soles, jacobian_of_soles = sole_errors(robot, q, soles)
    return np.concatenate([error, of_soles]), np.vstack([jacobian, jacobian_of_soles])
