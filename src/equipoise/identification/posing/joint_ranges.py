"""How far each joint may be moved for a measurement."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.robot.model import Robot

# Joints stay away from their limits by this share of their range.
LIMIT_SHARE = 0.02
# A joint without limits turns so far to either side [rad].
UNLIMITED_TURN = 0.5 * np.pi
# Joints that move less than this share of the mass are not worth moving.
LEAST_MASS_SHARE = 1e-3


def joint_ranges(robot: Robot) -> Array:
    """Return lower and upper values for each number of a configuration, (2, nq).

    Both are that of the posture standing where a number is not to be drawn.
    """
    model = robot.model
    ranges = np.tile(robot.standing, (2, 1))
    masses = pin.Data(model)
    pin.computeSubtreeMasses(model, masses)
    followers = {j.name for j in robot.description.joints if j.mimic is not None}
    on_legs = {j for leg in robot.legs.values() for j in leg.subtree_joints}
    on_legs -= {j for leg in robot.legs.values() for j in leg.joints}
    on_legs |= {str(model.names[body]) for body in bodies_above_legs(robot)}
    for body in range(2, model.njoints):
        joint, name = model.joints[body], str(model.names[body])
        light = masses.mass[body] < LEAST_MASS_SHARE * robot.mass
        if joint.nq != 1 or light or name in followers | on_legs:
            continue
        at = joint.idx_q
        lower, upper = model.lowerPositionLimit[at], model.upperPositionLimit[at]
        if not np.isfinite([lower, upper]).all():
            turn = UNLIMITED_TURN if joint.shortname()[10] == "R" else 0.0
            lower = max(lower, robot.standing[at] - turn)
            upper = min(upper, robot.standing[at] + turn)
        room = LIMIT_SHARE * (upper - lower)
        ranges[:, at] = lower + room, upper - room
    return ranges


def within_ranges(q: Array, ranges: Array) -> NDArray[np.bool_]:
    """Return in which of n configurations all joints are in range, shape (n,)."""
    moved = ranges[1] > ranges[0]
    inside = (q >= ranges[0]) & (q <= ranges[1])
    return np.asarray(inside[:, moved].all(axis=1))


def bodies_above_legs(robot: Robot) -> set[int]:
    """Return the bodies between the base and the legs: a waist, say."""
    bodies = set()
    for leg in robot.legs.values():
        body = int(robot.model.parents[robot.joint_id(leg.joints[0])])
        while body > 1:
            bodies.add(body)
            body = int(robot.model.parents[body])
    return bodies
