"""A run as streams of ROS 2 messages: which topic holds what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.log.mcap_format.sensor_streams import sensor_streams, static_transforms
from equipoise.log.mcap_format.stream import (
    Stream,
    base_streams,
    joint_states,
    points,
    wrenches,
)
from equipoise.log.mcap_format.topics import (
    BASE_ACCELERATION,
    BOXES,
    COM,
    CONTACTS,
    JOINT_ACCELERATIONS,
    JOINT_STATES,
    ROBOT_DESCRIPTION,
    STATIC_TRANSFORMS,
    SURROUNDINGS,
    TRUE,
    ZMP,
    ZMP_MARGIN,
    sole_frame,
    wrench_topic,
)
from equipoise.log.mcap_format.wanted_streams import (
    command_streams,
    reference_streams,
)
from equipoise.log.run import Run
from equipoise.log.surroundings import WORLD, to_markers
from equipoise.robot.joint_coordinates import BASE_V, degree_names, joint_positions

# Length of a contact force's arrow [m/N]; a power of two, so that no digit is lost.
ARROW_SCALE = 2.0**-10
ARROW, ADD, DELETE = 0, 0, 2
ARROW_COLOUR = {"r": 0.85, "g": 0.35, "b": 0.1, "a": 1.0}
# Diameters of shaft and head [m].
ARROW_SIZE = {"x": 0.008, "y": 0.016}
# Level INFO of rcl_interfaces/Log.
INFO = 20


def streams(run: Run) -> list[Stream]:
    """Return all that changes with time in a run."""
    true = TRUE if run.measured is not None else ""
    return [
        *sensor_streams(run),
        *_joints(run, true),
        *_base(run, true),
        *_balance(run, true),
        *_contacts(run, true),
        *command_streams(run),
        *reference_streams(run),
    ]


def still_messages(run: Run, urdf: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return topic, type and message of what is said once, at the beginning.

    Args:
        run: The run.
        urdf: The robot as URDF.
    """
    still: list[tuple[str, str, dict[str, Any]]] = [
        (ROBOT_DESCRIPTION, "std_msgs/String", {"data": urdf}),
        (
            STATIC_TRANSFORMS,
            "tf2_msgs/TFMessage",
            {"transforms": static_transforms(run)},
        ),
    ]
    if run.surroundings:
        markers = to_markers(run.surroundings)
        still.append((SURROUNDINGS, "visualization_msgs/MarkerArray", markers))
    return still


def event_message(text: str, seconds: int, nanoseconds: int) -> dict[str, Any]:
    """Return an event as rcl_interfaces/Log."""
    stamp = {"sec": seconds, "nanosec": nanoseconds}
    return {"stamp": stamp, "level": INFO, "name": "equipoise", "msg": text}


def _joints(run: Run, true: str) -> Iterator[Stream]:
    names = degree_names(run.robot)
    zeros = [0.0] * len(names)
    yield joint_states(
        true + JOINT_STATES,
        run.robot,
        position=joint_positions(run.robot, run.q),
        velocity=run.v[:, BASE_V:],
        effort=run.torque,
    )
    yield Stream(
        true + JOINT_ACCELERATIONS,
        "trajectory_msgs/JointTrajectory",
        {"joint_names": names, "points": [{"accelerations": zeros}]},
        {"points[0].accelerations": run.a[:, BASE_V:]},
    )


def _base(run: Run, true: str) -> Iterator[Stream]:
    yield from base_streams(run.robot, run.q, run.v, true)
    yield Stream(
        true + BASE_ACCELERATION,
        "geometry_msgs/AccelStamped",
        {"header": {"frame_id": run.robot.description.root}},
        {"accel.linear.x": run.a[:, :BASE_V]},
    )


def _balance(run: Run, true: str) -> Iterator[Stream]:
    for side, wrench in run.foot_wrench.items():
        yield wrenches(true + wrench_topic(side), sole_frame(side), wrench)
    yield points(true + COM, run.com)
    yield points(true + ZMP, run.zmp, run.supported)
    yield Stream(
        true + ZMP_MARGIN,
        "std_msgs/Float64",
        {},
        {"data": run.zmp_margin},
        (),
        run.supported,
    )


def _contacts(run: Run, true: str) -> Iterator[Stream]:
    if run.contact_names:
        markers = [
            {
                "header": {"frame_id": WORLD},
                "ns": name,
                "id": number,
                "type": ARROW,
                "pose": {"orientation": {"w": 1.0}},
                "scale": ARROW_SIZE,
                "color": ARROW_COLOUR,
                "points": [{}, {}],
            }
            for number, name in enumerate(run.contact_names)
        ]
        columns: dict[str, ArrayLike] = {}
        touching = np.any(run.contact_force != 0.0, axis=2)
        for at in range(len(run.contact_names)):
            columns[f"markers[{at}].pose.position.x"] = run.contact_position[:, at]
            # the tip; the tail is at the pose, the point itself
            tip = ARROW_SCALE * run.contact_force[:, at]
            columns[f"markers[{at}].points[1].x"] = tip
            shown = np.where(touching[:, at], ADD, DELETE)
            columns[f"markers[{at}].action"] = shown
        stamps = tuple(f"markers[{at}].header.stamp" for at in range(len(markers)))
        type_name = "visualization_msgs/MarkerArray"
        yield Stream(true + CONTACTS, type_name, {"markers": markers}, columns, stamps)
    count = run.boxes.shape[1]
    if count:
        yield Stream(
            true + BOXES,
            "geometry_msgs/PoseArray",
            {"header": {"frame_id": WORLD}, "poses": [{}] * count},
            {"poses[0].position.x": run.boxes.reshape(len(run.time), -1)},
        )
