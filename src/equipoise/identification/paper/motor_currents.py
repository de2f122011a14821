"""Joint torques from motor currents, Eq. (4) of [Muscolo2017], beside the model's.

A motor of constant K [Nm/A] behind a gear of ratio N turns its joint with τ = N K I. A
robot that stands still needs, by its model and the measured wrenches of the feet::

    τ = [ g(q) - Jᵀ w ]  without the six rows of the base

Torques cannot enter the balance of the whole robot: motors act between its links, and
their sum cancels (Eq. 2–3 and 8–12, see the errata). They are a check of masses,
friction and motor constants. Friction of the gears, which holds a joint as well, is in
what differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.paper.validation import sole_jacobian
from equipoise.identification.statics import FEET, MeasuredPoses, frames_of
from equipoise.kinematics.stance import sole_pose
from equipoise.log.recordings.recording import Recording
from equipoise.robot.description import first_few
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot

CURRENT = re.compile(r"(.+)[._/]current", re.IGNORECASE)


class TorqueCheck(NamedTuple):
    """Torques of a joint that stands still.

    Attributes:
        joint: Name.
        measured: From its motor's current [Nm or N], shape (n,).
        model: That hold it by the model and the feet's wrenches, likewise.
    """

    joint: str
    measured: Array
    model: Array

    @property
    def rms(self) -> float:
        """RMS difference [Nm or N]."""
        return float(np.sqrt(np.mean((self.measured - self.model) ** 2)))


def take_currents(
    recording: Recording, robot: Robot
) -> tuple[Recording, dict[str, Array]]:
    """Return a log without its motor currents, and these by joint [A], shape (n,).

    They are in columns ``JOINT_current`` or ``JOINT.current``.
    """
    known = set(degree_names(robot))
    currents, joints = {}, {}
    for name, values in recording.joints.items():
        match = CURRENT.fullmatch(name)
        if match and match.group(1) in known:
            currents[match.group(1)] = values
        else:
            joints[name] = values
    return replace(recording, joints=joints), currents


def torques_of_currents(
    robot: Robot, currents: Mapping[str, Array]
) -> dict[str, Array]:
    """Return joint torques from motor currents, Eq. (4) with a gear [Nm or N].

    Raises:
        EquipoiseError: If the constant of a motor is not given: which, and where.
    """
    actuators = {actuator.joint: actuator for actuator in robot.actuators}
    torques = {}
    for joint, current in currents.items():
        actuator = actuators.get(joint)
        if actuator is None or actuator.torque_constant is None:
            raise EquipoiseError(
                f"the log has currents of '{joint}', but {robot.name} has no "
                "torque_constant for it: give torque_constant [Nm/A] and gear_ratio in "
                f"[actuators.{joint}] or [actuators.default] of its TOML settings"
            )
        constant = actuator.gear_ratio * actuator.torque_constant
        torques[joint] = np.asarray(constant * np.asarray(current))  # Eq. (4)
    return torques


def standing_torques(poses: MeasuredPoses) -> Array:
    """Return torques that hold the joints by model and wrenches, shape (n, nv - 6).

    On the child link, about the joint's axis [Nm or N].
    """
    robot = poses.robot
    soles = sole_pose(robot, poses.q, FEET[0])
    to_level = frames_of(poses).sole_in_level[FEET[0]] @ np.linalg.inv(soles)
    torques = np.zeros((len(poses.q), robot.nv - 6))
    for row, q in enumerate(poses.q):
        upright = np.array(q)
        base = pin.SE3(to_level[row]) * pin.XYZQUATToSE3(upright[:7])
        upright[:7] = pin.SE3ToXYZQUAT(base)
        gravity = np.array(
            pin.computeGeneralizedGravity(robot.model, robot.data, upright)
        )
        for side in FEET:
            sole = sole_pose(robot, upright, side)
            jacobian = sole_jacobian(robot, upright, side, sole[:3, 3])
            wrench = poses.wrenches[side][row]
            turned = [sole[:3, :3] @ wrench[:3], sole[:3, :3] @ wrench[3:]]
            gravity -= jacobian.T @ np.concatenate(turned)
        torques[row] = gravity[6:]
    return torques


def torque_checks(
    poses: MeasuredPoses, currents: Mapping[str, Array]
) -> tuple[TorqueCheck, ...]:
    """Return torques by currents [A], shape (n,) each, beside those of the model.

    None where wrenches are not those of both feet: what each leg holds is not known.
    """
    if not currents or set(poses.wrenches) != set(FEET):
        return ()
    names = list(degree_names(poses.robot))
    model = standing_torques(poses)
    measured = torques_of_currents(poses.robot, currents)
    return tuple(
        TorqueCheck(joint, own, model[:, names.index(joint)])
        for joint, own in measured.items()
    )


class TableTorques(NamedTuple):
    """What the motor currents of a table say.

    Attributes:
        checks: Joints whose motors' constants are known.
        notices: What is missing for others, a sentence each.
    """

    checks: tuple[TorqueCheck, ...]
    notices: tuple[str, ...]


def table_torques(poses: MeasuredPoses, table: Path | str) -> TableTorques:
    """Return the check for poses of a CSV table, a row each; empty without currents."""
    robot = poses.robot
    recording, currents = take_currents(read_pose_table(table), robot)
    known = {own.joint for own in robot.actuators if own.torque_constant is not None}
    rows = np.searchsorted(recording.time, poses.start_s)
    used = {name: own[rows] for name, own in currents.items() if name in known}
    lacking = [name for name in currents if name not in known]
    notices = (
        f"motor currents of {first_few(lacking)} are not used: torque_constant [Nm/A] "
        "and gear_ratio are not in [actuators] of the robot's TOML settings",
    )
    return TableTorques(torque_checks(poses, used), notices if lacking else ())


def torque_summary(checks: tuple[TorqueCheck, ...]) -> dict[str, Any]:
    """Return the check as plain data, by joint."""
    return {
        own.joint: {
            "by_current": own.measured.tolist(),
            "by_model": own.model.tolist(),
            "rms_difference": own.rms,
        }
        for own in checks
    }
