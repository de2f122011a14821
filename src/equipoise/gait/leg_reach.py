"""How far legs reach."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.optimize import minimize

from equipoise.arrays import Array, frozen_array
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Legs with fewer joints cannot keep the sole as it is: then the sole is their end.
JOINTS_FOR_A_POSE = 6
# Unlimited joints are searched within a turn [rad or m].
FULL_TURN = math.pi
# A joint bends the leg if its axis has this much of y in standing.
LATERAL = 0.7


@dataclass(frozen=True, eq=False)
class LegReach:
    """What a leg can span, and where it begins.

    Attributes:
        longest: Greatest distance from the hip to the ankle that knees (joints whose
            axis is lateral in standing) allow within their limits [m].
        hip_from_com: From the CoM to the hip, standing, in axes that turn with the
            heading [m], shape (3,). That it is constant is an approximation, and
            good to a centimetre or so: legs have mass.
        ankle_in_sole: [m], shape (3,).
    """

    longest: float
    hip_from_com: Array
    ankle_in_sole: Array


def leg_reaches(robot: Robot) -> dict[Side, LegReach]:
    """Return the reach of both legs.

    The hip is the first joint of the leg. The ankle is its last, or the sole frame if
    the leg has fewer than six joints.
    """
    q = robot.standing
    centre = com(robot, q)
    reaches: dict[Side, LegReach] = {}
    for side, leg in robot.legs.items():
        last = leg.joints[-1] if len(leg.joints) >= JOINTS_FOR_A_POSE else None
        hip, ankle = _ends(robot, q, side, leg.joints[0], last)
        pose = sole_pose(robot, q, side)
        reaches[side] = LegReach(
            _longest(robot, side, leg.joints, last),
            frozen_array(hip - centre),
            frozen_array(pose[:3, :3].T @ (ankle - pose[:3, 3])),
        )
    return reaches


def _ends(
    robot: Robot, q: Array, side: Side, first: str, last: str | None
) -> tuple[Array, Array]:
    """Return hip and ankle in the world [m], shape (3,) each."""
    pin.forwardKinematics(robot.model, robot.data, q)
    hip = np.array(robot.data.oMi[robot.joint_id(first)].translation)
    if last is not None:
        ankle = np.array(robot.data.oMi[robot.joint_id(last)].translation)
    else:
        ankle = sole_pose(robot, q, side)[:3, 3]
    return hip, ankle


def _longest(
    robot: Robot, side: Side, joints: tuple[str, ...], last: str | None
) -> float:
    """Return the greatest distance from hip to ankle that knees allow [m]."""
    model = robot.model
    q = np.array(robot.standing)
    jacobians = pin.computeJointJacobians(model, robot.data, q)
    # neither the first joint nor the last changes the distance of their origins
    between = joints[1:-1] if last is not None else joints[1:]
    bending = [model.joints[robot.joint_id(name)] for name in between]
    indices = [
        joint.idx_q
        for joint in bending
        if joint.nq == 1 and abs(jacobians[4, joint.idx_v]) > LATERAL
    ]

    def nearness(values: Array) -> float:
        q[indices] = values
        hip, ankle = _ends(robot, q, side, joints[0], last)
        return -float(np.linalg.norm(ankle - hip))

    start = q[indices]
    if not indices:
        return -nearness(start)
    bounds = [
        (
            max(float(model.lowerPositionLimit[i]), -FULL_TURN),
            min(float(model.upperPositionLimit[i]), FULL_TURN),
        )
        for i in indices
    ]
    found = minimize(nearness, start, method="L-BFGS-B", bounds=bounds)
    return float(max(-found.fun, -nearness(start)))
