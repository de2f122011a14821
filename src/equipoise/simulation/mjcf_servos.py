"""Servos for a robot's MJCF file: the gains with which it is simulated here."""

from __future__ import annotations

import numpy as np

from equipoise.gait.feedforward import standing_torques
from equipoise.robot.formats.mjcf_export import MjcfActuator
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import actuation_of


def mjcf_servos(
    robot: Robot, *, bandwidth: float | None = None
) -> tuple[MjcfActuator, ...]:
    """Return position servos that hold the standing posture, for ``export_robot``.

    Gains and limits are those of :func:`~equipoise.simulation.actuation.actuation_of`.
    Its feed-forward torques become a shift of the servos' targets in the keyframe
    ``standing``: without them soft servos let the robot sink and fall.

    Args:
        robot: The robot.
        bandwidth: Bandwidth of the legs' servos in stance [Hz];
            :func:`~equipoise.simulation.actuation.stance_bandwidth` unless given.
    """
    actuation = actuation_of(robot, bandwidth=bandwidth)
    holding = np.zeros(robot.nv - 6)
    if robot.soles:
        holding = standing_torques(robot, robot.standing)
    found = []
    for actuator in robot.actuators:
        at = degree_of(robot, actuator.joint)
        found.append(
            MjcfActuator(
                actuator.joint,
                float(actuation.torque_limit[at]),
                float(actuation.stiffness[at]),
                float(actuation.damping[at]),
                float(holding[at]),
            )
        )
    return tuple(found)
