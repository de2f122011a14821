"""A posture with the soles and the centre of mass where they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.errors import EquipoiseError
from equipoise.kinematics.frames import frame_pose
from equipoise.robot.description import Array
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

TOLERANCE = 1e-10
MOST_ITERATIONS = 60
# Singular values below this share of the largest are not used: straight knees.
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
    """Return where a sole is, shape (…, 4, 4)."""
    sole = robot.soles[side]
    pose: Array = frame_pose(robot, q, sole.link) @ sole.transform_sole_to_link
    return pose


def find_stance(
    robot: Robot,
    start: ArrayLike,
    soles: Mapping[Side, Array],
    com: ArrayLike,
) -> Stance:
    """Return the posture nearest to another with soles and CoM in place.

    Gauss–Newton steps on base and joints together; joint limits are not looked at.

    Args:
        robot: The robot.
        start: Configuration to begin with, shape (nq,).
        soles: Wanted poses in the world, shape (4, 4) each.
        com: Wanted centre of mass in the world [m], shape (3,); components that are
            NaN are free.

    Raises:
        EquipoiseError: If soles are wanted that the robot has not.
    """
    for side in soles:
        if side not in robot.soles:
            raise EquipoiseError(f"{robot.name} has no {side} sole")
    q = robot.check_q(start).copy()
    wanted = np.asarray(com, dtype=np.float64)
    given = ~np.isnan(wanted)
    best = Stance(q, np.inf)
    for _ in range(MOST_ITERATIONS):
        error, jacobian = _residual(robot, q, soles, wanted, given)
        worst = float(np.abs(error).max())
        if worst < best.error:
            best = Stance(q, worst)
        if worst < TOLERANCE:
            break
        step = np.linalg.pinv(jacobian, RANK_TOLERANCE) @ error
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
        q = pin.integrate(robot.model, q, step)
    return best


def _residual(
    robot: Robot, q: Array, soles: Mapping[Side, Array], com: Array, given: Array
) -> tuple[Array, Array]:
    """Return errors and their Jacobian with respect to velocities."""
    model, data = robot.model, robot.data
    jacobians = [pin.jacobianCenterOfMass(model, data, q)[given]]
    errors = [(com - data.com[0])[given]]
    for side, wanted in soles.items():
        sole = robot.soles[side]
        placed = pin.SE3(sole_pose(robot, q, side))
        errors.append(pin.log6(placed.actInv(pin.SE3(wanted))).vector)
        frame = robot.frame_id(sole.link)
        body = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)
        to_sole = pin.SE3(sole.transform_sole_to_link).toActionMatrixInverse()
        jacobians.append(to_sole @ body)
    return np.concatenate(errors), np.vstack(jacobians)
