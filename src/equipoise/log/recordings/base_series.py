"""The pose of the base, and frames that do not move, out of a bag."""

from __future__ import annotations

import re

import numpy as np

from equipoise.arrays import Array
from equipoise.log.recordings.bag import Bag
from equipoise.log.recordings.measured_series import (
    FIXED_FRAMES,
    Series,
    stamped_series,
    transform_series,
)
from equipoise.log.recordings.recording import StaticFrame

# Poses of other things than the base (goals, objects) are common.
BASE_WORD = re.compile(r"base|body|mocap|pelvis|root|torso|trunk|waist|vicon|optitrack")
SHORTEST_QUATERNION = 1e-6


def base_series(bag: Bag) -> Series | None:
    """Return the poses of the base: of odometry, else of /tf, else stamped poses.

    Poses that are no poses (NaN, a quaternion of zeros) are NaN in all seven numbers.
    """
    for found in (_odometry(bag), _transform(bag), _stamped_pose(bag)):
        if found is not None:
            fair = fair_poses(found)
            if fair is not None:
                return fair
    return None


def fair_poses(series: Series) -> Series | None:
    """Return poses with quaternions of unit length, and NaN where they are none.

    None where not one of them is a pose.
    """
    values = np.array(series.values)
    length = np.linalg.norm(values[:, 3:], axis=1)
    fair = np.isfinite(values).all(axis=1) & (length > SHORTEST_QUATERNION)
    values[fair, 3:] /= length[fair, None]
    values[~fair] = np.nan
    return series._replace(values=values) if fair.any() else None


def static_frames(bag: Bag) -> dict[str, StaticFrame]:
    """Return frames that /tf_static fixes to others, by name."""
    found = {}
    for topic in bag.topics.values():
        if topic.type == "tf2_msgs/TFMessage" and topic.name.endswith("tf_static"):
            for (parent, child), series in transform_series(topic).items():
                pose = series.values[-1]
                if np.isfinite(pose).all() and np.any(pose[3:]):
                    found[child] = static_frame(parent, pose)
    return found


def static_frame(parent: str, pose: Array) -> StaticFrame:
    """Return a frame that is fixed to another.

    Args:
        parent: The other.
        pose: Position and quaternion xyzw there, of any length but zero, shape (7,).
    """
    return StaticFrame(parent, _homogeneous(pose))


def _odometry(bag: Bag) -> Series | None:
    topics = [
        topic
        for topic in bag.topics.values()
        if topic.type == "nav_msgs/Odometry" and topic.groups
    ]
    topics.sort(key=lambda topic: (topic.name != "/odom", -len(topic.times)))
    if not topics:
        return None
    return stamped_series(topics[0], "pose.pose.position.x", 7, "child_frame_id")


def _transform(bag: Bag) -> Series | None:
    moving: dict[tuple[str, str], Series] = {}
    for topic in bag.topics.values():
        if topic.type == "tf2_msgs/TFMessage" and not topic.name.endswith("tf_static"):
            moving.update(transform_series(topic))
    for fixed in FIXED_FRAMES:
        for (parent, child), series in moving.items():
            if parent == fixed and child not in FIXED_FRAMES:
                return series
    return None


def _stamped_pose(bag: Bag) -> Series | None:
    topics = [
        topic
        for topic in bag.topics.values()
        if topic.type == "geometry_msgs/PoseStamped"
        and topic.groups
        and BASE_WORD.search(topic.name.lower())
    ]
    if not topics:
        return None
    most = max(topics, key=lambda topic: len(topic.times))
    # its frame is the one that the pose is given in, not the base's own
    return stamped_series(most, "pose.position.x", 7)._replace(frame="")


def _homogeneous(pose: Array) -> Array:
    import pinocchio as pin

    return np.asarray(pin.XYZQUATToSE3(pose / _unit(pose)).homogeneous)


def _unit(pose: Array) -> Array:
    """Return what to divide by so that the quaternion is of unit length."""
    return np.append(np.ones(3), np.full(4, np.linalg.norm(pose[3:])))
