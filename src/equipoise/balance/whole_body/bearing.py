"""On which part of its sole a leg can bear all of the weight."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.support import Support, length_of

# Torques that change less with where the weight is do not depend on it [Nm/m or N/m].
LEAST_SLOPE = 1e-6


def torques_to_carry(
    dynamics: Dynamics, frame: int, point: Array, weight: float
) -> Array:
    """Return the joint torques that bear a weight on a point, of that weight alone.

    Args:
        dynamics: Dynamics of the robot, up to date.
        frame: Number of the foot's frame.
        point: Where the ground bears it [m], shape (2,).
        weight: The weight [N].

    Returns:
        Torques [Nm or N], shape (nv - 6,).
    """
    jacobian, here = dynamics.jacobian(frame), dynamics.pose(frame).translation
    x, y = point - here[:2]
    upwards = jacobian[2] + y * jacobian[3] - x * jacobian[4]  # of that point
    return np.asarray(-weight * upwards[BASE_DOF:])


def bearable_part(
    dynamics: Dynamics, frame: int, sole: Support, weight: float, most_torque: Array
) -> Support | None:
    """Return the part of a sole on which its leg can bear a weight; None if nowhere.

    Torques are linear in the point that bears it, so that each limit is a straight
    edge.

    Args:
        dynamics: Dynamics of the robot, up to date.
        frame: Number of the foot's frame.
        sole: The sole.
        weight: The weight [N].
        most_torque: Largest torques of the joints [Nm or N], shape (nv - 6,).
    """
    at_zero, *at_unit = (
        torques_to_carry(dynamics, frame, point, weight)
        for point in np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    )
    slopes = np.stack(at_unit, axis=1) - at_zero[:, None]
    torques = np.abs(at_zero + sole.corners @ slopes.T)
    part: Support | None = sole
    # others are within their limits on all of the sole
    for joint in np.flatnonzero((torques > most_torque).any(axis=0)):
        zero, slope, most = at_zero[joint], slopes[joint], most_torque[joint]
        size = length_of(slope)
        if size < LEAST_SLOPE:
            return None
        for sign in (1.0, -1.0):
            if part is not None:
                normal = sign * slope / size
                part = part.clipped(normal, float((most - sign * zero) / size))
    return part
