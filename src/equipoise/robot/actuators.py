"""What drives the joints: figures of the robot file, overridden by settings."""

from __future__ import annotations

import math

from equipoise.errors import NameNotFoundError
from equipoise.robot.description import Description, Joint
from equipoise.robot.formats.settings import ActuatorSettings, Settings
from equipoise.robot.parts import Actuator

NOT_GIVEN = "not given"
ROBOT_FILE = "robot file"


def find_actuators(
    description: Description, settings: Settings
) -> tuple[Actuator, ...]:
    """Return an actuator for each joint of one degree of freedom.

    Raises:
        NameNotFoundError: If the settings name a joint that does not exist.
    """
    known = description.joint_by_name
    for layer in settings.actuators:
        for name in layer.figures:
            if name != "default" and name not in known:
                raise NameNotFoundError("joint", name, sorted(known), layer.source)
    return tuple(
        _actuator(joint, settings.actuators)
        for joint in description.joints_depth_first()
        if joint.kind not in ("fixed", "spherical", "floating")
    )


def _actuator(joint: Joint, layers: tuple[ActuatorSettings, ...]) -> Actuator:
    figures = {
        "rotor_inertia": joint.armature,
        "viscous_friction": joint.damping,
        "coulomb_friction": joint.friction,
        "effort_limit": joint.effort_limit,
        "velocity_limit": joint.velocity_limit,
    }
    silent = (0.0, math.inf)
    origins = {
        key: NOT_GIVEN if value in silent else ROBOT_FILE
        for key, value in figures.items()
    }
    for layer in layers:
        for name in ("default", joint.name):
            for key, value in layer.figures.get(name, {}).items():
                figures[key], origins[key] = value, layer.source
    return Actuator(
        joint.name, **figures, lower=joint.lower, upper=joint.upper, origins=origins
    )
