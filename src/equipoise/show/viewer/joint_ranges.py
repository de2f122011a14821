"""How far joints can be moved by hand."""

from __future__ import annotations

import numpy as np

from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot

# Wider limits than this are none [rad].
WIDEST = 2.0 * np.pi


def joint_ranges(robot: Robot) -> list[tuple[float, float]]:
    """Return lower and upper ends for each entry of v[6:] [rad or m].

    A joint without limits turns by π, or slides by the longest limb, to each side. The
    standing posture is always within.
    """
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    standing = joint_positions(robot, robot.standing)
    model = robot.model
    ranges = []
    for body in range(2, model.njoints):
        joint = model.joints[body]
        reach = (
            robot.longest_limb if kinds.get(model.names[body]) == "prismatic" else np.pi
        )
        for place in range(joint.nv):
            low, high = -reach, reach
            if joint.nq == 1:
                given = (
                    model.lowerPositionLimit[joint.idx_q],
                    model.upperPositionLimit[joint.idx_q],
                )
                if given[0] < given[1] and given[1] - given[0] <= 2.0 * WIDEST:
                    low, high = given
            at = float(standing[joint.idx_v - 6 + place])
            ranges.append((_down(min(low, at)), _up(max(high, at))))
    return ranges


def _down(value: float) -> float:
    return float(np.floor(1e4 * value) / 1e4)


def _up(value: float) -> float:
    return float(np.ceil(1e4 * value) / 1e4)
