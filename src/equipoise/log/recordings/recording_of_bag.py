"""Joints, wrenches and base out of a bag of ROS 2 messages."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_writer import SETTINGS_ATTACHMENT
from equipoise.log.recordings.bag import Bag, BagTopic, topic_names
from equipoise.log.recordings.base_series import base_series, static_frames
from equipoise.log.recordings.clock import with_log_time
from equipoise.log.recordings.measured_series import (
    JointSeries,
    Series,
    joint_series,
    stamped_series,
)
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.log.recordings.row_order import (
    finite_rows,
    held,
    last_of_each_time,
    note_gaps,
    note_no_numbers,
    poses_at,
    seconds_from,
    sorted_rows,
)
from equipoise.robot.description import Array

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
# Topics of joint states that say what was wanted, not what was.
WANTED_NOT_MEASURED = re.compile(r"command|cmd|desired|goal|reference|setpoint|target")
# Ends of a base's poses that joints go beyond by more than this are told [s].
LATE = 0.1


def is_measurement(name: str, kind: str) -> bool:
    """Whether a recording needs the messages of a topic."""
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
    notices = list(bag.notices)
    states = _joint_topics(bag)
    main, others = states[0], states[1:]
    wrenches = [
        stamped_series(topic, "wrench.force.x", 6) for topic in _of_type(bag, WRENCH)
    ]
    base = base_series(bag)
    used = [item.position for item in states] + wrenches + ([base] if base else [])
    logged = with_log_time(used, notices)

    times = _times(main.position, logged)
    order = sorted_rows(times, notices, f"'{main.position.topic}'")
    kept = last_of_each_time(times[order], notices, f"'{main.position.topic}'")
    times = times[order][kept]
    time = seconds_from(times, int(times[0]))
    note_gaps(time, notices, f"'{main.position.topic}'")
    joints, velocity, effort = (
        _columns(getattr(main, key), order, kept)
        for key in ("position", "velocity", "effort")
    )
    for other in others:
        rows = _rows_before(times, _times(other.position, logged))
        for found, key in (
            (joints, "position"),
            (velocity, "velocity"),
            (effort, "effort"),
        ):
            series = getattr(other, key)
            extra = _columns(series, rows[0], rows[1])
            found.update({k: v for k, v in extra.items() if k not in found})
    note_no_numbers(main.broken, notices, f"'{main.position.topic}'")
    _note_missing(main.position, notices)
    if not joints:
        raise EquipoiseError(
            f"{bag.path}: '{main.position.topic}' holds no joint positions"
        )
    return Recording(
        source=bag.path,
        time=time,
        joints=joints,
        velocity=velocity,
        effort=effort,
        wrenches={
            series.topic: MeasuredWrench(series.frame, own_time, values)
            for series in wrenches
            for own_time, values in [_clean(series, logged, times, notices)]
            if len(values)
        },
        base_pose=_base_at(time, base, logged, times, notices),
        base_source=base.topic if base else "",
        base_frame=base.frame if base else "",
        static_frames=static_frames(bag),
        urdf=_described(bag),
        settings=bag.attachments.get(SETTINGS_ATTACHMENT),
        notices=tuple(notices),
    )


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


def _times(series: Series, logged: bool) -> NDArray[np.int64]:
    return series.logged if logged else series.stamps


def _columns(
    series: Series, order: NDArray[np.int64], kept: NDArray[np.int64]
) -> dict[str, Array]:
    """Return the columns that have numbers, in order of time, by joint."""
    values = held(series.values[order])[kept]
    return {
        name: column
        for name, column in zip(series.names, values.T, strict=True)
        if np.isfinite(column).all()
    }


def _rows_before(
    times: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of another topic's rows, and the last one before each time."""
    order = np.argsort(own, kind="stable")
    before = np.searchsorted(own[order], times, side="right") - 1
    return order, np.maximum(before, 0)


def _clean(
    series: Series, logged: bool, times: NDArray[np.int64], notices: list[str]
) -> tuple[Array, Array]:
    """Return time [s] and values, sorted, each time once, numbers only."""
    own = _times(series, logged)
    order = np.argsort(own, kind="stable")
    order = order[finite_rows(series.values[order], notices, f"'{series.topic}'")]
    if len(order):
        order = order[last_of_each_time(own[order], [], series.topic)]
    return seconds_from(own[order], int(times[0])), series.values[order]


def _base_at(
    time: Array,
    base: Series | None,
    logged: bool,
    times: NDArray[np.int64],
    notices: list[str],
) -> Array | None:
    if base is None:
        return None
    own_time, poses = _clean(base, logged, times, notices)
    late = max(own_time[0] - time[0], time[-1] - own_time[-1])
    if late > LATE:
        notices.append(
            f"'{base.topic}' lacks up to {late:.2f} s at an end; its last pose is held"
        )
    return poses_at(time, own_time, poses)


def _note_missing(series: Series, notices: list[str]) -> None:
    known = np.asarray(np.isfinite(series.values).any(axis=0))
    lost = [name for name, any_ in zip(series.names, known, strict=True) if not any_]
    if lost:
        notices.append(f"no position is given of {_listed(lost)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _described(bag: Bag) -> str | None:
    for topic in bag.topics.values():
        if is_description(topic.name, topic.type) and topic.groups:
            return topic.groups[-1].layout.texts["data"]
    return None
