"""Motions on two feet for comparing engines and time steps: shift, squat, arm swing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Command
from equipoise.kinematics.stance import find_stance, sole_pose
from equipoise.robot.joint_coordinates import joint_positions

DURATION = 2.0
KNOT = 0.02


def smooth(time: Array) -> Array:
    """Return a smooth rise from 0 to 1 in the first half and back in the second."""
    return 0.5 * (1.0 - np.cos(2.0 * np.pi * np.clip(time / DURATION, 0.0, 1.0)))


def stance_shift(robot: eq.Robot, dt: float) -> Command:
    """Move the CoM sideways by a fifth of the distance between the feet, and back."""
    poses = [sole_pose(robot, robot.standing, side) for side in robot.soles]
    width = abs(poses[0][1, 3] - poses[1][1, 3])
    return on_two_feet(robot, dt, lambda s: np.array([0.0, 0.2 * width * s, 0.0]))


def squat(robot: eq.Robot, dt: float) -> Command:
    """Lower the CoM by a tenth of the legs' length, and rise again."""
    leg = max(limb.length for limb in robot.legs.values())
    return on_two_feet(robot, dt, lambda s: np.array([0.0, 0.0, -0.1 * leg * s]))


def arm_swing(robot: eq.Robot, dt: float) -> Command:
    """Swing the first joint of the left arm forward by half a radian, and back."""
    command = on_two_feet(robot, dt, lambda s: np.zeros(3))
    joint = robot.model.joints[robot.joint_id(robot.arms["left"].joints[0])]
    time = dt * np.arange(1, len(command.position) + 1)
    swing = CubicSpline(time, 0.5 * smooth(time))
    command.position[:, joint.idx_v - 6] -= swing(time)
    command.velocity[:, joint.idx_v - 6] -= swing(time, 1)
    return command


MOTIONS = {"stance shift": stance_shift, "squat": squat, "arm swing": arm_swing}


def on_two_feet(
    robot: eq.Robot, dt: float, com_offset: Callable[[float], Array]
) -> Command:
    """Return joints of the legs that move the CoM while both soles stay.

    Args:
        robot: The robot.
        dt: Time step of the commands [s].
        com_offset: From standing [m], shape (3,), for a share from 0 to 1.

    Returns:
        Commands for the end of each step, shape (steps, nv - 6).
    """
    knots = np.arange(0.0, DURATION + 0.5 * KNOT, KNOT)
    soles = {side: sole_pose(robot, robot.standing, side) for side in robot.soles}
    com = eq.com(robot, robot.standing)
    legs = [name for limb in robot.legs.values() for name in limb.joints]
    q = robot.standing.copy()
    rows = []
    for share in smooth(knots):
        q = find_stance(robot, q, soles, com + com_offset(float(share)), legs).q
        rows.append(joint_positions(robot, q))
    spline = CubicSpline(knots, np.array(rows), bc_type="clamped")
    time = dt * np.arange(1, round(DURATION / dt) + 1)
    position = spline(time)
    return Command(position, spline(time, 1), np.zeros_like(position))
