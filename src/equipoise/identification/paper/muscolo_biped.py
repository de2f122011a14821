"""The virtual robot of Table 1 of [Muscolo2017] as a planar chain, from its file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.chain import Chain, Feet
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot

ROBOT = "muscolo-biped"
ANKLES = ("right_ankle", "left_ankle")
SIDES = ("right", "left")


class PaperRobot(NamedTuple):
    """Table 1 in the terms of Section 3.2; lengths in metres.

    Attributes:
        script: Chain of the paper's script: one leg, the waist lumped with its thigh.
        both: Chain of the robot: both legs, the waist on both thighs.
        l_b: Of the shin's CoM above the ankle [m].
        l_c: Of the thigh's CoM above the knee [m].
        thighs: Mass of both thighs [kg].
        waist: Mass of the waist [kg].
        length_c: From knee to waist [m].
        theta_b: Lean in configuration b [rad].
        theta_c: Lean in configuration c [rad].
    """

    script: Chain
    both: Chain
    l_b: float
    l_c: float
    thighs: float
    waist: float
    length_c: float
    theta_b: float
    theta_c: float


def read_paper_robot(robot: Robot) -> PaperRobot:
    """Return the figures of the catalogue's ``muscolo-biped``.

    Raises:
        EquipoiseError: If it is another robot.
    """
    if robot.name != ROBOT:
        raise EquipoiseError(
            f"the paper's validation (--paper) is one of {ROBOT}, not of {robot.name}"
        )
    foot, shin, thigh = (
        _inertial(robot, f"left_{part}") for part in ("foot", "shin", "thigh")
    )
    waist = _inertial(robot, "waist").mass
    above = robot.description.joint_by_name
    ankle_height = -float(robot.soles["left"].transform_sole_to_link[2, 3])
    length_b = -float(above["left_ankle"].transform_joint_to_parent[2, 3])
    length_c = -float(above["left_knee"].transform_joint_to_parent[2, 3])
    r_a, l_a = float(foot.com_in_link[0]), ankle_height + float(foot.com_in_link[2])
    return PaperRobot(
        script=Chain(
            Feet(foot.mass, r_a, l_a, ankle_height),
            np.array([shin.mass, thigh.mass + waist]),
            np.array([length_b]),
        ),
        both=Chain(
            Feet(2.0 * foot.mass, r_a, l_a, ankle_height),
            np.array([2.0 * shin.mass, 2.0 * thigh.mass + waist]),
            np.array([length_b]),
        ),
        l_b=length_b + float(shin.com_in_link[2]),
        l_c=length_c + float(thigh.com_in_link[2]),
        thighs=2.0 * thigh.mass,
        waist=waist,
        length_c=length_c,
        theta_b=-_angle(robot, "configuration_b", "left_ankle"),
        theta_c=-_angle(robot, "configuration_c", "left_knee"),
    )


def lean(robot: Robot, q: Array, turn: float, ankle_height: float) -> Array:
    """Return a configuration with all above the ankles leaning further.

    Args:
        robot: The catalogue's ``muscolo-biped``.
        q: A posture with both feet flat, ankles at x = 0, shape (nq,).
        turn: Forward [rad].
        ankle_height: Of the ankles' axis [m].
    """
    leaning = np.array(q)
    about_y = pin.exp3(np.array([0.0, turn, 0.0]))
    ankle = np.array([0.0, 0.0, ankle_height])
    turned = pin.SE3(about_y, ankle - about_y @ ankle)
    leaning[:7] = pin.SE3ToXYZQUAT(turned * pin.XYZQUATToSE3(leaning[:7]))
    for name in ANKLES:
        leaning[robot.model.joints[robot.joint_id(name)].idx_q] -= turn
    return leaning


def _inertial(robot: Robot, link: str) -> Inertial:
    inertial = robot.description.link_by_name[link].inertial
    if inertial is None:
        raise EquipoiseError(f"{robot.name}: link '{link}' has no mass")
    return inertial


def _angle(robot: Robot, posture: str, joint: str) -> float:
    at = robot.model.joints[robot.joint_id(joint)].idx_q
    return float(robot.posture(posture)[at])
