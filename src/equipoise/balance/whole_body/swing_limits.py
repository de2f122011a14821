"""How fast a swing foot can be, and how quickly stopped, by the joints of its hip.

A hip joint whose axis passes the sole at a distance r moves it at r times its speed;
its torque τ stops it with r τ / M, where M is the inertia of the leg about that axis,
the rotor's included. Joints whose axes pass near the sole, as that of a hip's yaw,
limit neither.

Where contacts cannot be kept, a leg that swings would be thrown about to keep them as
well as possible. While steps are changed, its hip is therefore not much faster than
what moves a sole at its largest speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics, sole_frame
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.limits import JointRange
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.model import Robot

# Joints of a hip.
HIP = 3
# Axes that pass the sole at less than this part of the leg's length do not count.
LEAST_LEVER = 0.5
# Speed of a hip over that which moves the sole at its largest speed: the pelvis moves,
# too, and a bound is kept from farther away than it is reached.
HIP_MARGIN = 1.5


class SwingLimits(NamedTuple):
    """What hips allow a swing foot.

    Attributes:
        speed: Largest speed [m/s].
        acceleration: Largest acceleration, of hips that do nothing else [m/s²].
    """

    speed: float
    acceleration: float


def swing_limits(dynamics: Dynamics, speed: Array, torque: Array) -> SwingLimits:
    """Return what the hips of a robot allow, in the standing posture.

    Args:
        dynamics: Its dynamics; brought to the standing posture.
        speed: Speed limits of the joints [rad/s or m/s], shape (nv - 6,).
        torque: Torque limits [Nm or N], shape (nv - 6,).
    """
    robot = dynamics.robot
    dynamics.update(robot.standing, np.zeros(robot.nv))
    inertia = np.diag(dynamics.mass_matrix)[BASE_DOF:]
    most = []
    for side in SIDES:
        leg = robot.legs[side]
        moves = dynamics.jacobian(dynamics.frame(sole_frame(side)))[:3, BASE_DOF:]
        for joint in hip_degrees(robot)[SIDES.index(side)]:
            lever = float(np.linalg.norm(moves[:, joint]))
            if lever > LEAST_LEVER * leg.length:
                fast, strong = speed[joint], torque[joint] / inertia[joint]
                most.append((lever * fast, lever * strong))
    fast, strong = np.min(most, axis=0).tolist() if most else (np.inf, np.inf)
    return SwingLimits(fast, strong)


def hip_degrees(robot: Robot) -> tuple[list[int], list[int]]:
    """Return which degrees of freedom are those of the left and of the right hip."""
    left, right = (
        [degree_of(robot, name) for name in robot.legs[side].joints[:HIP]]
        for side in SIDES
    )
    return left, right


def with_slow_hips(
    motion: JointRange, feet: Feet, hips: Sequence[list[int]]
) -> JointRange:
    """Return limits of joints in which hips of swing legs are slow enough.

    Args:
        motion: Limits of the joints.
        feet: What the feet do, and how fast they may be.
        hips: From :func:`hip_degrees`.
    """
    speed, most = motion.speed.copy(), HIP_MARGIN * feet.fastest / feet.length
    for foot, hip in zip(feet.feet, hips, strict=True):
        if not foot.state.carries:
            speed[hip] = np.minimum(speed[hip], most)
    return replace(motion, speed=speed)
