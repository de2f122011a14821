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
    """Return the joint torques that bear a weight on a point, without the legs' own.

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
    torque = [
        torques_to_carry(dynamics, frame, point, weight)
        for point in np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ]
    slopes = np.stack((torque[1] - torque[0], torque[2] - torque[0]), axis=1)
    part: Support | None = sole
    for at_zero, slope, most in zip(torque[0], slopes, most_torque, strict=True):
        size = length_of(slope)
        if size < LEAST_SLOPE:
            if abs(at_zero) > most:
                return None
            continue
        for sign in (1.0, -1.0):
            if part is not None:
                normal = sign * slope / size
                part = part.clipped(normal, (most - sign * at_zero) / size)
    return part
