"""A run as streams of ROS 2 messages: which topic holds what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from equipoise.log.run import Run
from equipoise.log.surroundings import WORLD, to_markers
from equipoise.robot.description import Array
from equipoise.robot.joint_coordinates import (
    BASE_Q,
    BASE_V,
    degree_names,
    joint_positions,
)
from equipoise.robot.parts import Side, Sole

JOINT_STATES = "/joint_states"
JOINT_ACCELERATIONS = "/joint_accelerations"
BASE_ACCELERATION = "/base/acceleration"
ODOMETRY = "/odom"
COM, ZMP, ZMP_MARGIN = "/com", "/zmp", "/zmp_margin"
CONTACTS, BOXES, EVENTS = "/contacts", "/boxes", "/events"
REFERENCES = "/references/"
ROBOT_DESCRIPTION = "/robot_description"
SURROUNDINGS = "/surroundings"

# Length of a contact force's arrow [m/N]; a power of two, so that no digit is lost.
ARROW_SCALE = 2.0**-10
ARROW, ADD, DELETE = 0, 0, 2
ARROW_COLOUR = {"r": 0.85, "g": 0.35, "b": 0.1, "a": 1.0}
# Diameters of shaft and head [m].
ARROW_SIZE = {"x": 0.008, "y": 0.016}
# Three numbers under a reference of such a name are a point in the world.
POINTS = ("com", "zmp", "dcm")
# Level INFO of rcl_interfaces/Log.
INFO = 20


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
    """

    topic: str
    type: str
    message: Mapping[str, Any]
    columns: Mapping[str, ArrayLike]
    stamps: tuple[str, ...] = ("header.stamp",)
    rows: NDArray[np.bool_] | None = field(default=None)


def wrench_topic(side: Side) -> str:
    """Return the topic of a foot's wrench."""
    return f"/foot/{side}/wrench"


def sole_frame(side: Side) -> str:
    """Return the name of a sole's frame."""
    return f"{side[0]}_sole"


def streams(run: Run) -> list[Stream]:
    """Return all that changes with time in a run."""
    return [
        *_joints(run),
        *_base(run),
        *_balance(run),
        *_contacts(run),
        *(_reference(run, name, values) for name, values in run.references.items()),
    ]


def still_messages(run: Run, urdf: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return topic, type and message of what is said once, at the beginning.

    Args:
        run: The run.
        urdf: The robot as URDF.
    """
    soles = [_sole_transform(sole) for sole in run.robot.soles.values()]
    still: list[tuple[str, str, dict[str, Any]]] = [
        (ROBOT_DESCRIPTION, "std_msgs/String", {"data": urdf}),
        ("/tf_static", "tf2_msgs/TFMessage", {"transforms": soles}),
    ]
    if run.surroundings:
        markers = to_markers(run.surroundings)
        still.append((SURROUNDINGS, "visualization_msgs/MarkerArray", markers))
    return still


def event_message(text: str, seconds: int, nanoseconds: int) -> dict[str, Any]:
    """Return an event as rcl_interfaces/Log."""
    stamp = {"sec": seconds, "nanosec": nanoseconds}
    return {"stamp": stamp, "level": INFO, "name": "equipoise", "msg": text}


def _joints(run: Run) -> Iterator[Stream]:
    names = degree_names(run.robot)
    zeros = [0.0] * len(names)
    yield Stream(
        JOINT_STATES,
        "sensor_msgs/JointState",
        {"name": names, "position": zeros, "velocity": zeros, "effort": zeros},
        {
            "position": joint_positions(run.robot, run.q),
            "velocity": run.v[:, BASE_V:],
            "effort": run.torque,
        },
    )
    yield Stream(
        JOINT_ACCELERATIONS,
        "trajectory_msgs/JointTrajectory",
        {"joint_names": names, "points": [{"accelerations": zeros}]},
        {"points[0].accelerations": run.a[:, BASE_V:]},
    )


def _base(run: Run) -> Iterator[Stream]:
    base = run.robot.description.root
    pose = run.q[:, :BASE_Q]
    in_world = {"header": {"frame_id": WORLD}, "child_frame_id": base}
    yield Stream(
        "/tf",
        "tf2_msgs/TFMessage",
        {"transforms": [in_world]},
        {"transforms[0].transform.translation.x": pose},
        ("transforms[0].header.stamp",),
    )
    yield Stream(
        ODOMETRY,
        "nav_msgs/Odometry",
        in_world,
        {"pose.pose.position.x": pose, "twist.twist.linear.x": run.v[:, :BASE_V]},
    )
    yield Stream(
        BASE_ACCELERATION,
        "geometry_msgs/AccelStamped",
        {"header": {"frame_id": base}},
        {"accel.linear.x": run.a[:, :BASE_V]},
    )


def _balance(run: Run) -> Iterator[Stream]:
    for side, wrench in run.foot_wrench.items():
        yield Stream(
            wrench_topic(side),
            "geometry_msgs/WrenchStamped",
            {"header": {"frame_id": sole_frame(side)}},
            {"wrench.force.x": wrench},
        )
    yield _point(COM, run.com)
    yield _point(ZMP, run.zmp, run.supported)
    yield Stream(
        ZMP_MARGIN,
        "std_msgs/Float64",
        {},
        {"data": run.zmp_margin},
        (),
        run.supported,
    )


def _contacts(run: Run) -> Iterator[Stream]:
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
        yield Stream(CONTACTS, type_name, {"markers": markers}, columns, stamps)
    count = run.boxes.shape[1]
    if count:
        yield Stream(
            BOXES,
            "geometry_msgs/PoseArray",
            {"header": {"frame_id": WORLD}, "poses": [{}] * count},
            {"poses[0].position.x": run.boxes.reshape(len(run.time), -1)},
        )


def _reference(run: Run, name: str, values: Array) -> Stream:
    topic = f"{REFERENCES}{name}"
    if name.startswith("joint_"):
        kind = name.removeprefix("joint_")
        names = degree_names(run.robot)
        if kind in ("position", "velocity", "torque"):
            message = {"name": names, kind: [0.0] * len(names)}
            return Stream(topic, "sensor_msgs/JointState", message, {kind: values})
    if values.shape[1:] == (3,) and (name in POINTS or name.endswith("_position")):
        return _point(topic, values)
    flat = values.reshape(len(values), -1)
    sizes = values.shape[1:]
    dimensions = [
        {"label": f"axis {axis}", "size": size, "stride": int(np.prod(sizes[axis:]))}
        for axis, size in enumerate(sizes)
    ]
    array = {"layout": {"dim": dimensions}, "data": [0.0] * flat.shape[1]}
    return Stream(topic, "std_msgs/Float64MultiArray", array, {"data": flat}, ())


def _point(topic: str, values: Array, rows: NDArray[np.bool_] | None = None) -> Stream:
    return Stream(
        topic,
        "geometry_msgs/PointStamped",
        {"header": {"frame_id": WORLD}},
        {"point.x": values},
        rows=rows,
    )


def _sole_transform(sole: Sole) -> dict[str, Any]:
    pose = sole.transform_sole_to_link
    turn = pin.Quaternion(np.array(pose[:3, :3])).coeffs()
    return {
        "header": {"frame_id": sole.link},
        "child_frame_id": sole_frame(sole.side),
        "transform": {
            "translation": dict(zip("xyz", pose[:3, 3], strict=True)),
            "rotation": dict(zip("xyzw", turn, strict=True)),
        },
    }
