"""How fast a swing foot can be, and how quickly stopped, by the joints of its hip.

A hip joint whose axis passes the sole at a distance r moves it at r times its speed;
its torque τ stops it with r τ / M, where M is the inertia of the leg about that axis,
the rotor's included. Joints whose axes pass near the sole, as that of a hip's yaw,
limit neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics, sole_frame
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.joint_coordinates import degree_of

# Joints of a hip.
HIP = 3
# Axes that pass the sole at less than this part of the leg's length do not count.
LEAST_LEVER = 0.5


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
        for name in leg.joints[:HIP]:
            joint = degree_of(robot, name)
            lever = float(np.linalg.norm(moves[:, joint]))
            if lever > LEAST_LEVER * leg.length:
                fast, strong = speed[joint], torque[joint] / inertia[joint]
                most.append((lever * fast, lever * strong))
    fast, strong = np.min(most, axis=0).tolist() if most else (np.inf, np.inf)
    return SwingLimits(fast, strong)
