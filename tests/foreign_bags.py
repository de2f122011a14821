"""Bags as other programs write them, made with the packages of MCAP's own makers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from mcap.reader import make_reader
from mcap_ros2.writer import Writer

from equipoise.log.mcap_format.ros_types import definition, long_name
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot

# A robot's clock, not one that starts at zero [ns].
START = 1_700_000_000_000_000_000


class Sent(NamedTuple):
    """A message and when it was logged [ns]."""

    topic: str
    type: str
    message: dict[str, Any]
    time: int


def write_mcap_bag(file: Path, sent: Iterable[Sent]) -> Path:
    """Write an MCAP file with ``mcap_ros2``, in small chunks."""
    with file.open("wb") as stream:
        write_messages(stream, sent)
    return file


def write_messages(stream: BinaryIO, sent: Iterable[Sent]) -> None:
    """Write messages as MCAP."""
    writer = Writer(stream, chunk_size=4096)
    schemas: dict[str, Any] = {}
    for item in sent:
        if item.type not in schemas:
            name = long_name(item.type)
            schemas[item.type] = writer.register_msgdef(name, definition(item.type))
        writer.write_message(item.topic, schemas[item.type], item.message, item.time)
    writer.finish()


def encoded(sent: Iterable[Sent]) -> list[bytes]:
    """Return messages as ``mcap_ros2`` encodes them."""
    stream = BytesIO()
    write_messages(stream, sent)
    stream.seek(0)
    found = make_reader(stream).iter_messages(log_time_order=False)
    return [message.data for _, _, message in found]


def write_db3_bag(file: Path, sent: Iterable[Sent], *, newer: bool = False) -> Path:
    """Write a SQLite bag; newer ones hold the definitions of their messages."""
    database = sqlite3.connect(file)
    database.execute(
        "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT "
        "NULL, serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)"
    )
    database.execute(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, "
        "timestamp INTEGER NOT NULL, data BLOB NOT NULL)"
    )
    if newer:
        database.execute(
            "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT, "
            "encoding TEXT, encoded_message_definition TEXT, hash TEXT)"
        )
    topics: dict[str, int] = {}
    sent = list(sent)
    for item, data in zip(sent, encoded(sent), strict=True):
        name = long_name(item.type)
        if item.topic not in topics:
            topics[item.topic] = len(topics) + 1
            row = (topics[item.topic], item.topic, name, "cdr", "")
            database.execute("INSERT INTO topics VALUES (?, ?, ?, ?, ?)", row)
            if newer:
                described = (len(topics), name, "ros2msg", definition(item.type), "")
                database.execute(
                    "INSERT INTO message_definitions VALUES (?, ?, ?, ?, ?)", described
                )
        database.execute(
            "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)",
            (topics[item.topic], item.time, data),
        )
    database.commit()
    database.close()
    return file


def header(time: int, frame: str = "") -> dict[str, Any]:
    """Return a header with a stamp [ns]."""
    seconds, rest = divmod(time, 10**9)
    return {"stamp": {"sec": seconds, "nanosec": rest}, "frame_id": frame}


def joint_state(
    time: int,
    positions: dict[str, float],
    *,
    topic: str = "/joint_states",
    logged: int | None = None,
    **lists: list[float],
) -> Sent:
    """Return joint positions at a stamp, logged then unless told otherwise."""
    message = {
        "header": header(time),
        "name": list(positions),
        "position": list(positions.values()),
        "velocity": [],
        "effort": [],
        **lists,
    }
    when = time if logged is None else logged
    return Sent(topic, "sensor_msgs/JointState", message, when)


def wrench(time: int, topic: str, frame: str, values: np.ndarray) -> Sent:
    """Return a force-torque measurement."""
    parts = [
        dict(zip("xyz", map(float, part), strict=True)) for part in np.split(values, 2)
    ]
    message = {
        "header": header(time, frame),
        "wrench": {"force": parts[0], "torque": parts[1]},
    }
    return Sent(topic, "geometry_msgs/WrenchStamped", message, time)


def pose_message(pose: np.ndarray) -> dict[str, Any]:
    """Return position and quaternion xyzw as geometry_msgs/Pose."""
    numbers = [float(value) for value in pose]
    return {
        "position": dict(zip("xyz", numbers[:3], strict=True)),
        "orientation": dict(zip("xyzw", numbers[3:], strict=True)),
    }


def transform(time: int, parent: str, child: str, pose: np.ndarray) -> Sent:
    """Return one transform on /tf."""
    numbers = pose_message(pose)
    item = {
        "header": header(time, parent),
        "child_frame_id": child,
        "transform": {
            "translation": numbers["position"],
            "rotation": numbers["orientation"],
        },
    }
    return Sent("/tf", "tf2_msgs/TFMessage", {"transforms": [item]}, time)


def motion(robot: Robot, time: np.ndarray, q: np.ndarray) -> Iterator[Sent]:
    """Send the joint states of a motion, as a robot's driver does."""
    names = degree_names(robot)
    for when, row in zip(time, joint_positions(robot, q), strict=True):
        stamp = START + round(float(when) * 1e9)
        yield joint_state(stamp, dict(zip(names, map(float, row), strict=True)))
