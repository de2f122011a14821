"""Topics and frames of a run's log: desired, commanded, measured and true values.

Without sensors a robot is taken to measure the truth, which then has the topics of a
real robot's sensors. With sensors these hold what was measured, and the truth has
the same names below ``/true``.
"""

from __future__ import annotations

from collections.abc import Collection

from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

WORLD = "world"
JOINT_STATES = "/joint_states"
JOINT_ACCELERATIONS = "/joint_accelerations"
BASE_ACCELERATION = "/base/acceleration"
ODOMETRY, TRANSFORMS = "/odom", "/tf"
COM, ZMP, ZMP_MARGIN = "/com", "/zmp", "/zmp_margin"
CONTACTS, BOXES, EVENTS = "/contacts", "/boxes", "/events"
ROBOT_DESCRIPTION = "/robot_description"
STATIC_TRANSFORMS = "/tf_static"
SURROUNDINGS = "/surroundings"
IMU = "/imu"
JOINT_COMMANDS = "/joint_commands"
REFERENCES = "/references/"
# An estimator's joints; its base is on /odom and /tf.
ESTIMATED_JOINTS = "/estimated/joint_states"
TRUE = "/true"
# Prefixes of topics that hold no measurements.
NOT_MEASURED = (f"{TRUE}/", REFERENCES, "/estimated/")
NEEDED = (JOINT_STATES, JOINT_ACCELERATIONS, ODOMETRY, BASE_ACCELERATION, COM)


def true_prefix(topics: Collection[str]) -> str:
    """Return what the topics of a log's truth begin with: ``"/true"`` with sensors."""
    return TRUE if f"{TRUE}{JOINT_STATES}" in topics else ""


def needed_topics(topics: Collection[str]) -> tuple[str, ...]:
    """Return the topics that the log of a run must have.

    Args:
        topics: Topics that it has, which say whether it is one with sensors.
    """
    prefix = true_prefix(topics)
    of_sensors = (JOINT_STATES, IMU) if prefix else ()
    return (*of_sensors, *(prefix + topic for topic in NEEDED))


def wrench_topic(side: Side) -> str:
    """Return the topic of a foot's wrench."""
    return f"/foot/{side}/wrench"


def sole_frame(side: Side) -> str:
    """Return the name of a sole's frame."""
    return f"{side[0]}_sole"


def ankle_frame(robot: Robot, side: Side) -> str:
    """Return the name of the frame of a sensor at the last joint of a leg."""
    return _unused(robot, f"{side[0]}_ankle")


def imu_frame(robot: Robot) -> str:
    """Return the name of the IMU's own frame."""
    return _unused(robot, "imu")


def _unused(robot: Robot, name: str) -> str:
    return f"{name}_sensor" if robot.model.existFrame(name) else name
