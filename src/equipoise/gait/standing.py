"""Standing still as a reference: joints, torques, CoM, ZMP, soles and torso."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.control.blocks import Hold
from equipoise.gait.feedforward import standing_torques
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot


def standing_reference(robot: Robot, q: ArrayLike) -> Hold:
    """Return the reference of a robot that stands still on its soles.

    Its ZMP is below the CoM, in the mean plane of the soles; its torso is upright and
    faces where the soles do. Whether the posture is in balance is not checked.

    Args:
        robot: The robot as the controller knows it.
        q: Configuration, shape (nq,).

    Raises:
        ShapeError: If ``q`` is not a configuration of this robot.
    """
    q = np.array(robot.check_q(q))
    centre = np.asarray(com(robot, q), dtype=np.float64)
    soles = {side: frozen_array(sole_pose(robot, q, side)) for side in robot.soles}
    position, torque = joint_positions(robot, q), standing_torques(robot, q)
    if not soles:
        return Hold(position, centre, torque)
    mean = np.mean(list(soles.values()), axis=0)
    normal, origin = mean[:3, 2], mean[:3, 3]
    zmp = centre.copy()
    zmp[2] = origin[2] - normal[:2] @ (centre - origin)[:2] / normal[2]
    heading = math.atan2(mean[1, 0], mean[0, 0])
    return Hold(
        position,
        frozen_array(centre),
        torque,
        frozen_array(zmp),
        soles,
        frozen_array(_about_z(heading)),
    )


def _about_z(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
