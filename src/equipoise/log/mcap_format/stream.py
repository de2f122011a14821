"""One topic of a run: messages that differ in numbers only, at the run's times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.log.mcap_format.topics import ODOMETRY, TRANSFORMS
from equipoise.log.surroundings import WORLD
from equipoise.robot.joint_coordinates import BASE_Q, BASE_V, degree_names
from equipoise.robot.model import Robot


@dataclass(frozen=True, eq=False)
class Stream:
    """Messages of one topic at the times of a run.

    Attributes:
        topic: Topic name.
        type: Message type, as in ``"sensor_msgs/JointState"``.
        message: What is the same in all messages.
        columns: Numbers that change, n rows each, by the path of the first of them.
        stamps: Paths of the fields that hold the time.
        rows: At which times there is a message, shape (n,); None for all.
        stamped: Times that the stamps say [s], shape (n,); None for the run's.
    """

    topic: str
    type: str
    message: Mapping[str, Any]
    columns: Mapping[str, ArrayLike]
    stamps: tuple[str, ...] = ("header.stamp",)
    rows: NDArray[np.bool_] | None = None
    stamped: Array | None = None


def joint_states(
    topic: str, robot: Robot, stamped: Array | None = None, **columns: Array
) -> Stream:
    """Return joints as sensor_msgs/JointState.

    Args:
        topic: Topic name.
        robot: Whose joints they are.
        stamped: As for :class:`Stream`.
        columns: ``position``, ``velocity`` and ``effort``, or some of them, in the
            order of v[6:], shape (n, nv - 6) each.
    """
    names = degree_names(robot)
    zeros = dict.fromkeys(columns, [0.0] * len(names))
    message = {"name": names, **zeros}
    return Stream(topic, "sensor_msgs/JointState", message, columns, stamped=stamped)


def base_streams(
    robot: Robot, q: Array, v: Array, prefix: str, stamped: Array | None = None
) -> Iterator[Stream]:
    """Return pose and velocity of the base as transforms and odometry.

    Args:
        robot: The robot.
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        prefix: Of the topics.
        stamped: As for :class:`Stream`.
    """
    pose = q[:, :BASE_Q]
    in_world = {
        "header": {"frame_id": WORLD},
        "child_frame_id": robot.description.root,
    }
    yield Stream(
        prefix + TRANSFORMS,
        "tf2_msgs/TFMessage",
        {"transforms": [in_world]},
        {"transforms[0].transform.translation.x": pose},
        ("transforms[0].header.stamp",),
        stamped=stamped,
    )
    yield Stream(
        prefix + ODOMETRY,
        "nav_msgs/Odometry",
        in_world,
        {"pose.pose.position.x": pose, "twist.twist.linear.x": v[:, :BASE_V]},
        stamped=stamped,
    )


def wrenches(
    topic: str, frame: str, values: Array, stamped: Array | None = None
) -> Stream:
    """Return forces and torques [N, Nm], shape (n, 6), in a frame."""
    return Stream(
        topic,
        "geometry_msgs/WrenchStamped",
        {"header": {"frame_id": frame}},
        {"wrench.force.x": values},
        stamped=stamped,
    )


def points(topic: str, values: Array, rows: NDArray[np.bool_] | None = None) -> Stream:
    """Return points in the world [m], shape (n, 3)."""
    return in_world(topic, "geometry_msgs/PointStamped", "point.x", values, rows)


def in_world(
    topic: str,
    kind: str,
    path: str,
    values: Array,
    rows: NDArray[np.bool_] | None = None,
) -> Stream:
    """Return numbers that are given in the world's axes.

    Args:
        topic: Topic name.
        kind: Message type.
        path: Of the first number.
        values: Shape (n, k).
        rows: As for :class:`Stream`.
    """
    message = {"header": {"frame_id": WORLD}}
    return Stream(topic, kind, message, {path: values}, rows=rows)
