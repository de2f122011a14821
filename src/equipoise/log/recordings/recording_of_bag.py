"""Joints, wrenches and base out of a bag of ROS 2 messages."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import plausible
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import Group, Messages
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.mcap_format.static_messages import SETTINGS_ATTACHMENT
from equipoise.log.mcap_format.topics import NOT_MEASURED
from equipoise.log.recordings.bag import Bag, topic_names
from equipoise.log.recordings.recording import Recording, StaticFrame
from equipoise.log.recordings.topic_series import (
    JointSeries,
    Series,
    recording_of_series,
    static_frame,
    valid_poses,
)

JOINT_STATE = "sensor_msgs/JointState"
WRENCH = "geometry_msgs/WrenchStamped"
USED_TYPES = (
    JOINT_STATE,
    WRENCH,
    "nav_msgs/Odometry",
    "tf2_msgs/TFMessage",
    "geometry_msgs/PoseStamped",
    "sensor_msgs/Imu",
)
DESCRIPTION = "robot_description"
# Topics of joint states and wrenches that hold desired, not measured values.
DESIRED = re.compile(r"command|cmd|desired|goal|reference|setpoint|target")
# Poses of other things than the base (goals, objects) are common.
BASE_WORD = re.compile(r"base|body|mocap|pelvis|root|torso|trunk|waist|vicon|optitrack")
IMU_WORD = re.compile(r"base|body|pelvis|root|trunk|waist|^/imu(/data)?$")
# Frames that do not move, in one of which the base's pose is given.
FIXED_FRAMES = ("world", "odom", "map")


def is_measurement(name: str, kind: str) -> bool:
    """Whether a recording needs the messages of a topic.

    The truth of a simulator, an estimator's joints and references of a run's log are
    not measurements.
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
    it lacks, and a joint that a message lacks stays as it was last.

    Raises:
        EquipoiseError: If it holds no joint positions.
    """
    wrenches = _measured(_by_name(_of_type(bag, WRENCH)))
    return recording_of_series(
        bag.path,
        _joint_topics(bag),
        [_stamped_series(topic, "wrench.force.x", 6) for topic in wrenches],
        _base_series(bag),
        _imu_series(bag),
        static_frames=_static_frames(bag),
        urdf=described_urdf(bag),
        settings=bag.attachments.get(SETTINGS_ATTACHMENT),
        notices=bag.notices,
    )


def _of_type(bag: Bag, kind: str) -> list[Messages]:
    topics = (topic for topic in bag.topics.values() if topic.type == kind)
    return [topic for topic in topics if topic.groups]


def _by_name(topics: list[Messages]) -> list[Messages]:
    return sorted(topics, key=lambda topic: topic.topic)


def _joint_topics(bag: Bag) -> list[JointSeries]:
    """Return joint states, the topic with most joints first."""
    topics = _by_name(_of_type(bag, JOINT_STATE))
    if not topics:
        raise EquipoiseError(
            f"{bag.path}: holds no joint positions: it has no topic of type "
            f"{JOINT_STATE}; its topics are: {topic_names(bag.topics.values())}"
        )
    found = [_joint_series(topic) for topic in _measured(topics) or topics[:1]]
    return sorted(found, key=_known_joints, reverse=True)


def _known_joints(states: JointSeries) -> int:
    return int(np.isfinite(states.position).any(axis=0).sum())


def _measured(topics: list[Messages]) -> list[Messages]:
    return [topic for topic in topics if not DESIRED.search(topic.topic.lower())]


def described_urdf(bag: Bag) -> str | None:
    """Return the URDF of a bag's robot, if there is one."""
    for topic in bag.topics.values():
        if is_description(topic.topic, topic.type) and topic.groups:
            return topic.groups[-1].layout.texts["data"]
    return None


def _base_series(bag: Bag) -> Series | None:
    """Return the poses of the base: of odometry, else of /tf, else stamped poses.

    Invalid poses (NaN, a quaternion of zeros) are NaN in all seven numbers.
    """
    for found in (_odometry(bag), _transform(bag), _stamped_pose(bag)):
        valid = valid_poses(found) if found else None
        if valid is not None:
            return valid
    return None


def _imu_series(bag: Bag) -> Series | None:
    """Return quaternion and specific force of the IMU with most messages.

    Quaternions are zero where the message says that there is no orientation.
    """
    topics = _of_type(bag, "sensor_msgs/Imu")
    if not topics:
        return None
    # an IMU of the base before others, of a foot or a camera
    best = max(
        topics,
        key=lambda topic: (bool(IMU_WORD.search(topic.topic)), len(topic.times)),
    )
    turned = _stamped_series(best, "orientation.x", 4)
    pushed = _stamped_series(best, "linear_acceleration.x", 3).values
    unknown = _stamped_series(best, "orientation_covariance", 1).values[:, 0] == -1.0
    orientation = np.where(unknown[:, None], 0.0, turned.values)
    return turned._replace(values=np.hstack([orientation, pushed]))


def _static_frames(bag: Bag) -> dict[str, StaticFrame]:
    """Return frames that /tf_static fixes to others, by name."""
    found = {}
    for topic in bag.topics.values():
        if topic.type == "tf2_msgs/TFMessage" and topic.topic.endswith("tf_static"):
            for (parent, child), series in _transform_series(topic).items():
                pose = series.values[-1]
                if np.isfinite(pose).all() and np.any(pose[3:]):
                    found[child] = static_frame(parent, pose)
    return found


def _odometry(bag: Bag) -> Series | None:
    topics = _of_type(bag, "nav_msgs/Odometry")
    if not topics:
        return None
    best = min(topics, key=lambda topic: (topic.topic != "/odom", -len(topic.times)))
    return _stamped_series(best, "pose.pose.position.x", 7, "child_frame_id")


def _transform(bag: Bag) -> Series | None:
    moving: dict[tuple[str, str], Series] = {}
    for topic in bag.topics.values():
        if topic.type == "tf2_msgs/TFMessage" and not topic.topic.endswith("tf_static"):
            moving.update(_transform_series(topic))
    for fixed in FIXED_FRAMES:
        for (parent, child), series in moving.items():
            if parent == fixed and child not in FIXED_FRAMES:
                return series
    return None


def _stamped_pose(bag: Bag) -> Series | None:
    topics = _of_type(bag, "geometry_msgs/PoseStamped")
    topics = [topic for topic in topics if BASE_WORD.search(topic.topic.lower())]
    if not topics:
        return None
    most = max(topics, key=lambda topic: len(topic.times))
    # its frame is the one that the pose is given in, not the base's own
    return _stamped_series(most, "pose.position.x", 7)._replace(frame="")


def _joint_series(topic: Messages) -> JointSeries:
    """Return the joint states of a topic; messages may hold some joints each."""
    texts = [group.layout.list_texts("name[]") for group in topic.groups]
    names = tuple(dict.fromkeys(name for own in texts for name in own))
    place = {name: at for at, name in enumerate(names)}
    rows = len(topic.times)
    stamps = np.zeros(rows, dtype=np.int64)
    columns = {
        key: np.full((rows, len(names)), np.nan)
        for key in ("position", "velocity", "effort")
    }
    broken = 0
    for group, own in zip(topic.groups, texts, strict=True):
        stamps[group.places] = _stamps(group, "header.stamp")
        to = np.array([place[name] for name in own], dtype=np.int64)
        for key, values in columns.items():
            # drivers leave lists empty that they have no numbers for
            if own and group.layout.columns[key].length == len(own):
                numbers = plausible(group.numbers(key))
                values[np.ix_(group.places, to)] = numbers
                if key == "position":
                    broken += int(np.count_nonzero(~np.isfinite(numbers)))
    return JointSeries(
        topic.topic, topic.times, stamps, names, **columns, broken=broken
    )


def _stamped_series(
    topic: Messages, path: str, count: int, frame: str = "header.frame_id"
) -> Series:
    """Return numbers of messages that have a header, from a path on, and its frame."""
    rows = len(topic.times)
    values = np.full((rows, count), np.nan)
    stamps = np.zeros(rows, dtype=np.int64)
    for group in topic.groups:
        values[group.places] = plausible(group.numbers(path, count))
        stamps[group.places] = _stamps(group, "header.stamp")
    name = topic.groups[0].layout.texts[frame]
    return Series(topic.topic, name.lstrip("/"), topic.times, stamps, values)


def _transform_series(topic: Messages) -> dict[tuple[str, str], Series]:
    """Return the poses of a topic of transforms by parent and child."""
    found: dict[tuple[str, str], list[Series]] = {}
    for group in topic.groups:
        parents = group.layout.list_texts("transforms[].header.frame_id")
        children = group.layout.list_texts("transforms[].child_frame_id")
        for at, names in enumerate(zip(parents, children, strict=True)):
            path = f"transforms[{at}]"
            parent, child = (name.lstrip("/") for name in names)
            poses = plausible(group.numbers(f"{path}.transform.translation.x", 7))
            stamps = _stamps(group, f"{path}.header.stamp")
            logged = topic.times[group.places]
            part = Series(topic.topic, child, logged, stamps, np.array(poses))
            found.setdefault((parent, child), []).append(part)
    return {key: _joined(parts) for key, parts in found.items()}


def _joined(parts: list[Series]) -> Series:
    logged = np.concatenate([part.logged for part in parts])
    order = np.argsort(logged, kind="stable")
    return parts[0]._replace(
        logged=logged[order],
        stamps=np.concatenate([part.stamps for part in parts])[order],
        values=np.concatenate([part.values for part in parts])[order],
    )


def _stamps(group: Group, path: str) -> NDArray[np.int64]:
    seconds = group.numbers(f"{path}.sec")[:, 0].astype(np.int64)
    rest = group.numbers(f"{path}.nanosec")[:, 0].astype(np.int64)
    return np.asarray(seconds * NANOSECONDS + rest, dtype=np.int64)
