"""The ZMP that foot wrenches tell, and how far inside the soles it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.kinematics.hull_margins import hull_margins
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.gravity import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# A foot that carries less than this share of the weight does not stand.
LEAST_LOAD = 0.05


class MeasuredZmp(NamedTuple):
    """Zero-moment points of n rows.

    Attributes:
        position: In the world [m], shape (n, 3).
        supported: Whether the feet carry the robot, shape (n,).
        margin: Distance to the edge of the soles that stand, positive inside [m],
            shape (n,).
    """

    position: Array
    supported: NDArray[np.bool_]
    margin: Array


def measured_zmp(robot: Robot, q: Array, wrenches: Mapping[Side, Array]) -> MeasuredZmp:
    """Return where the wrenches of both feet have no horizontal moment.

    With F and M the sum of forces and of moments about the world's origin,
    p_x = (z F_x - M_y) / F_z and p_y = (z F_y + M_x) / F_z, at the height z of the
    soles, weighted by what they carry. Without the wrenches of both feet there is none.

    Args:
        robot: The robot.
        q: Configurations, shape (n, nq).
        wrenches: On each foot, about and in the sole's frame [N, Nm], shape (n, 6).
    """
    rows = len(q)
    position, margin = np.full((rows, 3), np.nan), np.full(rows, np.nan)
    if set(wrenches) != {"left", "right"}:
        return MeasuredZmp(position, np.zeros(rows, dtype=np.bool_), margin)
    least = LEAST_LOAD * robot.mass * STANDARD_GRAVITY
    poses = {side: sole_pose(robot, q, side) for side in wrenches}
    force, moment, heights = np.zeros((rows, 3)), np.zeros((rows, 3)), np.zeros(rows)
    carries: dict[Side, NDArray[np.bool_]] = {}
    loads = np.zeros(rows)
    for side, wrench in wrenches.items():
        turn, origin = poses[side][:, :3, :3], poses[side][:, :3, 3]
        own = np.einsum("nij,nj->ni", turn, wrench[:, :3])
        force += own
        moment += np.einsum("nij,nj->ni", turn, wrench[:, 3:]) + np.cross(origin, own)
        load = np.maximum(own[:, 2], 0.0)
        heights += load * origin[:, 2]
        loads += load
        carries[side] = own[:, 2] > least
    supported = force[:, 2] > least
    height = heights / np.where(loads > 0.0, loads, 1.0)
    upward = np.where(supported, force[:, 2], 1.0)
    position[:, 0] = (height * force[:, 0] - moment[:, 1]) / upward
    position[:, 1] = (height * force[:, 1] + moment[:, 0]) / upward
    position[:, 2] = height
    corners, counted = [], []
    nobody = ~np.any(list(carries.values()), axis=0)  # both a little: both count
    for side, pose in poses.items():
        flat = robot.soles[side].polygon_in_sole
        turned = flat @ np.swapaxes(pose[:, :2, :2], 1, 2) + pose[:, None, :2, 3]
        corners.append(turned)
        stands = carries[side] | nobody
        counted.append(np.repeat(stands[:, None], len(flat), axis=1))
    margin = hull_margins(
        np.concatenate(corners, axis=1),
        np.concatenate(counted, axis=1),
        position[:, :2],
    )
    return MeasuredZmp(position, supported, margin)
