"""Which poses motors can hold against gravity."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.posing.joint_ranges import bodies_above_legs
from equipoise.robot.model import Robot

# Of a joint's largest effort; the rest is for links that are heavier than modelled.
HELD_SHARE = 0.7


def effort_bounds(robot: Robot) -> Array:
    """Return the largest efforts for holding a pose [Nm or N], shape (nv - 6,).

    Infinite for joints of legs, which share their load as they like, for joints whose
    limits are not known, and for those that standing would overload already.
    """
    model = robot.model
    legs = {name for leg in robot.legs.values() for name in leg.subtree_joints}
    bounds = np.full(robot.nv - 6, np.inf)
    for joint in robot.description.joints:
        if not model.existJointName(joint.name) or joint.name in legs:
            continue
        at = model.joints[model.getJointId(joint.name)].idx_v - 6
        if at >= 0 and joint.effort_limit > 0.0:
            bounds[at] = HELD_SHARE * joint.effort_limit
    for body in bodies_above_legs(robot):  # they carry the legs, too
        first = model.joints[body].idx_v - 6
        bounds[first : first + model.joints[body].nv] = np.inf
    standing = np.abs(pin.computeGeneralizedGravity(model, robot.data, robot.standing))
    bounds[standing[6:] > bounds] = np.inf
    return bounds


def holdable(robot: Robot, q: Array, bounds: Array) -> NDArray[np.bool_]:
    """Return which of n configurations keep within the bounds, shape (n,)."""
    model, data = robot.model, robot.data
    efforts = np.array(
        [pin.computeGeneralizedGravity(model, data, row)[6:] for row in q]
    ).reshape(len(q), robot.nv - 6)
    return np.asarray(np.all(np.abs(efforts) <= bounds, axis=1))
