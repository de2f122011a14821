"""Where the base is when a posed robot keeps a foot on the ground."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

Fixed = Literal["left", "right", "level"]


def choices(robot: Robot) -> tuple[Fixed, ...]:
    """Return what can stay where it is: each sole, or only the base's attitude."""
    return (*robot.soles, "level")


def on_ground(robot: Robot, q: Array, fixed: Fixed) -> Array:
    """Return a configuration with its base moved to where the feet ask for it.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,); its joints are kept.
        fixed: A side: its sole is where it is in the standing posture. ``"level"``:
            the base is as upright as when standing, and the lowest corner of a sole
            touches the ground.

    Returns:
        Configuration, shape (nq,).
    """
    placed = q.copy()
    placed[:7] = robot.standing[:7]
    if fixed == "level":
        placed[2] -= _lowest(robot, placed)
        return placed
    wanted = pin.SE3(sole_pose(robot, robot.standing, fixed))
    found = pin.SE3(sole_pose(robot, placed, fixed))
    base = pin.XYZQUATToSE3(placed[:7])
    placed[:7] = pin.SE3ToXYZQUAT(wanted * found.inverse() * base)
    return placed


def sole_corners(robot: Robot, q: Array) -> Mapping[Side, Array]:
    """Return the corners of soles in the world [m], shape (k, 3) each."""
    corners = {}
    for side, sole in robot.soles.items():
        pose = sole_pose(robot, q, side)
        corners[side] = sole.polygon_in_sole @ pose[:3, :2].T + pose[:3, 3]
    return corners


def standing_on(robot: Robot, q: Array, tolerance: float) -> tuple[Side, ...]:
    """Return the feet with a corner on the ground.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        tolerance: How far above the ground still counts [m].
    """
    corners = sole_corners(robot, q)
    return tuple(s for s in corners if corners[s][:, 2].min() <= tolerance)


def _lowest(robot: Robot, q: Array) -> float:
    corners = sole_corners(robot, q)
    if corners:
        return float(min(points[:, 2].min() for points in corners.values()))
    pin.forwardKinematics(robot.model, robot.data, q)
    return float(np.min([pose.translation[2] for pose in robot.data.oMi[1:]]))
