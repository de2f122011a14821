"""Centre of mass and ground wrench of a log, row by row, as seen from the soles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.standing_frames import level_frames
from equipoise.kinematics.batch import Floats
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side


@dataclass(frozen=True, eq=False)
class SoleViews:
    """What joints tell of n rows, wherever the base is.

    The level frame is midway between the soles, z up along the mean of their normals,
    x the mean of where they point.

    Attributes:
        com_in_level: The model's centre of mass [m], shape (n, 3).
        com_in_sole: The same in each sole's frame [m], by side, shape (n, 3).
        sole_in_level: Transforms from sole to level frame, by side, shape (n, 4, 4).
        tilt: Of the soles against each other [rad], shape (n,).
    """

    com_in_level: Array
    com_in_sole: Mapping[Side, Array]
    sole_in_level: Mapping[Side, Array]
    tilt: Array

    def rows(self, at: NDArray[np.int64] | slice) -> SoleViews:
        """Return some of the rows."""
        return SoleViews(
            self.com_in_level[at],
            {side: own[at] for side, own in self.com_in_sole.items()},
            {side: own[at] for side, own in self.sole_in_level.items()},
            self.tilt[at],
        )


def sole_views(robot: Robot, q: Array) -> SoleViews:
    """Return a log's rows as seen from the soles.

    Args:
        robot: The robot, with two soles.
        q: Configurations, shape (n, nq).
    """
    centre = np.asarray(com(robot, q), dtype=np.float64)
    soles = {side: sole_pose(robot, q, side) for side in FEET}
    level = level_frames(soles["left"], soles["right"])
    inverse = np.linalg.inv(level)
    normals = [soles[side][:, :3, 2] for side in FEET]
    turn = np.linalg.norm(np.cross(normals[0], normals[1]), axis=1)
    upright = np.einsum("ni,ni->n", normals[0], normals[1])
    return SoleViews(
        _moved(inverse, centre),
        {side: _moved(np.linalg.inv(pose), centre) for side, pose in soles.items()},
        {side: inverse @ pose for side, pose in soles.items()},
        np.asarray(np.arctan2(turn, upright)),
    )


def total_wrench(views: SoleViews, wrenches: Mapping[Side, Array]) -> Array:
    """Return the ground's wrench on both feet, about and in the level frame.

    Args:
        views: Of n rows.
        wrenches: On each foot, about and in its sole's frame [N, Nm], shape (n, 6).

    Returns:
        Force and torque [N, Nm], shape (n, 6).
    """
    total = np.zeros((len(views.tilt), 6))
    for side in FEET:
        turn = views.sole_in_level[side][:, :3, :3]
        force = np.einsum("nij,nj->ni", turn, wrenches[side][:, :3])
        total[:, :3] += force
        total[:, 3:] += np.einsum("nij,nj->ni", turn, wrenches[side][:, 3:])
        total[:, 3:] += np.cross(views.sole_in_level[side][:, :3, 3], force)
    return total


def centre_of_pressure(wrench: Array) -> Array:
    """Return where wrenches have no horizontal torque in z = 0 [m], shape (n, 2).

    Zero where nothing pushes upward.
    """
    pushed = wrench[:, 2] > 0.0
    upward = np.where(pushed, wrench[:, 2], 1.0)[:, None]
    point = np.stack([-wrench[:, 4], wrench[:, 3]], axis=1) / upward
    return np.where(pushed[:, None], point, 0.0)


def _moved(transform: Floats, points: Array) -> Array:
    turned = np.einsum("nij,nj->ni", transform[:, :3, :3], points)
    return np.asarray(turned + transform[:, :3, 3])
