"""Joints, wrenches and base out of a bag of ROS 2 messages."""

from __future__ import annotations

import re

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_writer import SETTINGS_ATTACHMENT
from equipoise.log.mcap_format.topics import NOT_MEASURED
from equipoise.log.recordings.bag import Bag, BagTopic, topic_names
from equipoise.log.recordings.base_series import base_series, static_frames
from equipoise.log.recordings.measured_series import (
    JointSeries,
    Series,
    joint_series,
    stamped_series,
)
from equipoise.log.recordings.recording import Recording
from equipoise.log.recordings.recording_of_series import recording_of_series

JOINT_STATE = "sensor_msgs/JointState"
WRENCH = "geometry_msgs/WrenchStamped"
USED_TYPES = (
    JOINT_STATE,
    WRENCH,
    "nav_msgs/Odometry",
    "tf2_msgs/TFMessage",
    "geometry_msgs/PoseStamped",
)
DESCRIPTION = "robot_description"
# Topics of joint states and wrenches that say what was wanted, not what was.
WANTED_NOT_MEASURED = re.compile(r"command|cmd|desired|goal|reference|setpoint|target")


def is_measurement(name: str, kind: str) -> bool:
    """Whether a recording needs the messages of a topic.

    What a simulator knows to be true, an estimator's joints and references of a run's
    log are no measurements.
    """
    if name.startswith(NOT_MEASURED):
        return False
    return kind in USED_TYPES or is_description(name, kind)


def is_description(name: str, kind: str) -> bool:
    """Whether a topic holds the robot's URDF."""
    return kind == "std_msgs/String" and name.split("/")[-1] == DESCRIPTION


def recording_of_bag(bag: Bag) -> Recording:
    """Return what a bag's robot has measured.

    Joints are those of the topic that has most of them; other topics add joints that
    it lacks, and what a message does not say stays as it was said last.

    Raises:
        EquipoiseError: If it holds no joint positions.
    """
    return recording_of_series(
        bag.path,
        _joint_topics(bag),
        [stamped_series(topic, "wrench.force.x", 6) for topic in _wrench_topics(bag)],
        base_series(bag),
        static_frames=static_frames(bag),
        urdf=_described(bag),
        settings=bag.attachments.get(SETTINGS_ATTACHMENT),
        notices=bag.notices,
    )


def _wrench_topics(bag: Bag) -> list[BagTopic]:
    topics = _of_type(bag, WRENCH)
    return [t for t in topics if not WANTED_NOT_MEASURED.search(t.name.lower())]


def _of_type(bag: Bag, kind: str) -> list[BagTopic]:
    topics = (topic for topic in bag.topics.values() if topic.type == kind)
    return sorted((t for t in topics if t.groups), key=lambda topic: topic.name)


def _joint_topics(bag: Bag) -> list[JointSeries]:
    """Return joint states, the topic with most joints first."""
    topics = _of_type(bag, JOINT_STATE)
    measured = [t for t in topics if not WANTED_NOT_MEASURED.search(t.name.lower())]
    if not topics:
        raise EquipoiseError(
            f"{bag.path}: holds no joint positions: it has no topic of type "
            f"{JOINT_STATE}; its topics are: {topic_names(bag.topics.values())}"
        )
    found = [joint_series(topic) for topic in measured or topics[:1]]
    return sorted(found, key=lambda item: -_known(item.position))


def _known(series: Series) -> int:
    return int(np.isfinite(series.values).any(axis=0).sum())


def _described(bag: Bag) -> str | None:
    for topic in bag.topics.values():
        if is_description(topic.name, topic.type) and topic.groups:
            return topic.groups[-1].layout.texts["data"]
    return None
