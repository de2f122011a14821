"""A run as streams of ROS 2 messages: which topic holds what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.log.mcap_format import topics
from equipoise.log.mcap_format.static_messages import foot_sensor_frame
from equipoise.robot.joint_coordinates import (
    BASE_Q,
    BASE_V,
    degree_names,
    joint_positions,
)
from equipoise.robot.model import Robot

if TYPE_CHECKING:
    from equipoise.log.run import Run

# Length of a contact force's arrow [m/N]; a power of two, so that no digit is lost.
ARROW_SCALE = 2.0**-10
ARROW, ADD, DELETE = 0, 0, 2
# Diameters of shaft and head [m].
ARROW_LOOK = {
    "type": ARROW,
    "pose": {"orientation": {"w": 1.0}},
    "scale": {"x": 0.008, "y": 0.016},
    "color": {"r": 0.85, "g": 0.35, "b": 0.1, "a": 1.0},
    "points": [{}, {}],
}
# Fields of sensor_msgs/JointState by what a run calls them.
JOINT_FIELDS = {"position": "position", "velocity": "velocity", "torque": "effort"}
# A reference of three numbers with such a name is a point in the world.
POINTS = ("com", "zmp", "dcm")
IN_WORLD = {"header": {"frame_id": topics.WORLD}}


class Kind(NamedTuple):
    """Message type of a reference, path of its first number, and how many it has."""

    type: str
    path: str
    size: int


POSE = Kind("geometry_msgs/PoseStamped", "pose.position.x", 7)
TWIST = Kind("geometry_msgs/TwistStamped", "twist.linear.x", 6)
VECTOR = Kind("geometry_msgs/Vector3Stamped", "vector.x", 3)
KINDS = {
    "left_sole": POSE,
    "right_sole": POSE,
    "left_sole_twist": TWIST,
    "right_sole_twist": TWIST,
    "com_velocity": VECTOR,
    "com_acceleration": VECTOR,
    "torso": Kind("geometry_msgs/QuaternionStamped", "quaternion.x", 4),
}


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
        stamped: Times in the stamps [s], shape (n,); None for the run's.
    """

    topic: str
    type: str
    message: Mapping[str, Any]
    columns: Mapping[str, ArrayLike]
    stamps: tuple[str, ...] = ("header.stamp",)
    rows: NDArray[np.bool_] | None = None
    stamped: Array | None = None


def streams(run: Run) -> list[Stream]:
    """Return all that changes with time in a run."""
    true = topics.TRUE if run.measured is not None else ""
    return [
        *_sensors(run),
        *_motion(run, true),
        *_balance(run, true),
        *_contacts(run, true),
        *_commands(run),
        *(_reference(run, name, own) for name, own in run.references.items()),
    ]


def _sensors(run: Run) -> Iterator[Stream]:
    """Return what was measured and estimated; nothing where there were no sensors.

    Headers hold the time of measurement; efforts are the actuators' torques.
    """
    robot, measured = run.robot, run.measured
    if measured is None:
        return
    yield _joint_states(
        topics.JOINT_STATES,
        robot,
        measured.time,
        position=measured.position,
        velocity=measured.velocity,
        effort=run.torque,
    )
    for side, wrench in measured.feet.items():
        frame = foot_sensor_frame(run, side)
        yield _wrenches(topics.wrench_topic(side), frame, wrench, measured.time)
    yield Stream(
        topics.IMU,
        "sensor_msgs/Imu",
        {"header": {"frame_id": topics.imu_frame(robot)}},
        {
            "orientation.x": measured.orientation,
            "angular_velocity.x": measured.angular_velocity,
            "linear_acceleration.x": measured.specific_force,
        },
        stamped=measured.time,
    )
    if run.estimates:
        q, v = run.estimates["q"], run.estimates["v"]
        yield from _base(robot, q, v, "", measured.time)
        yield _joint_states(
            topics.ESTIMATED_JOINTS,
            robot,
            measured.time,
            position=joint_positions(robot, q),
            velocity=v[:, BASE_V:],
        )


def _motion(run: Run, true: str) -> Iterator[Stream]:
    names = degree_names(run.robot)
    yield _joint_states(
        true + topics.JOINT_STATES,
        run.robot,
        position=joint_positions(run.robot, run.q),
        velocity=run.v[:, BASE_V:],
        effort=run.torque,
    )
    yield Stream(
        true + topics.JOINT_ACCELERATIONS,
        "trajectory_msgs/JointTrajectory",
        {"joint_names": names, "points": [{"accelerations": [0.0] * len(names)}]},
        {"points[0].accelerations": run.a[:, BASE_V:]},
    )
    yield from _base(run.robot, run.q, run.v, true)
    yield Stream(
        true + topics.BASE_ACCELERATION,
        "geometry_msgs/AccelStamped",
        {"header": {"frame_id": run.robot.description.root}},
        {"accel.linear.x": run.a[:, :BASE_V]},
    )


def _balance(run: Run, true: str) -> Iterator[Stream]:
    for side, wrench in run.foot_wrench.items():
        yield _wrenches(
            true + topics.wrench_topic(side), topics.sole_frame(side), wrench
        )
    yield _points(true + topics.COM, run.com)
    yield _points(true + topics.ZMP, run.zmp, run.supported)
    margin = {"data": run.zmp_margin}
    yield Stream(
        true + topics.ZMP_MARGIN, "std_msgs/Float64", {}, margin, (), run.supported
    )


def _contacts(run: Run, true: str) -> Iterator[Stream]:
    if run.contact_names:
        markers = [
            {**IN_WORLD, **ARROW_LOOK, "ns": name, "id": number}
            for number, name in enumerate(run.contact_names)
        ]
        columns: dict[str, ArrayLike] = {}
        touching = np.any(run.contact_force != 0.0, axis=2)
        for at in range(len(markers)):
            columns[f"markers[{at}].pose.position.x"] = run.contact_position[:, at]
            # the tip; the tail is at the pose, the point itself
            tip = ARROW_SCALE * run.contact_force[:, at]
            columns[f"markers[{at}].points[1].x"] = tip
            shown = np.where(touching[:, at], ADD, DELETE)
            columns[f"markers[{at}].action"] = shown
        stamps = tuple(f"markers[{at}].header.stamp" for at in range(len(markers)))
        type_name = "visualization_msgs/MarkerArray"
        yield Stream(
            true + topics.CONTACTS, type_name, {"markers": markers}, columns, stamps
        )
    count = run.boxes.shape[1]
    if count:
        yield Stream(
            true + topics.BOXES,
            "geometry_msgs/PoseArray",
            {**IN_WORLD, "poses": [{}] * count},
            {"poses[0].position.x": run.boxes.reshape(len(run.time), -1)},
        )


def _commands(run: Run) -> Iterator[Stream]:
    if run.commands:
        columns = {JOINT_FIELDS[name]: own for name, own in run.commands.items()}
        yield _joint_states(topics.JOINT_COMMANDS, run.robot, **columns)


def _reference(run: Run, name: str, values: Array) -> Stream:
    topic, sizes = f"{topics.REFERENCES}{name}", values.shape[1:]
    field = JOINT_FIELDS.get(name.removeprefix("joint_"))
    if name.startswith("joint_") and field is not None:
        return _joint_states(topic, run.robot, **{field: values})
    if sizes == (3,) and (name in POINTS or name.endswith("_position")):
        return _points(topic, values)
    kind = KINDS.get(name)
    if kind is not None and sizes == (kind.size,):
        return Stream(topic, kind.type, IN_WORLD, {kind.path: values})
    if sizes == ():
        return Stream(topic, "std_msgs/Float64", {}, {"data": values}, ())
    flat = values.reshape(len(values), -1)
    dimensions = [
        {"label": f"axis {axis}", "size": size, "stride": int(np.prod(sizes[axis:]))}
        for axis, size in enumerate(sizes)
    ]
    array = {"layout": {"dim": dimensions}, "data": [0.0] * flat.shape[1]}
    return Stream(topic, "std_msgs/Float64MultiArray", array, {"data": flat}, ())


def _joint_states(
    topic: str, robot: Robot, stamped: Array | None = None, **columns: Array
) -> Stream:
    """Return ``position``, ``velocity`` and ``effort``, or some, (n, nv - 6) each."""
    names = degree_names(robot)
    message = {"name": names, **dict.fromkeys(columns, [0.0] * len(names))}
    return Stream(topic, "sensor_msgs/JointState", message, columns, stamped=stamped)


def _base(
    robot: Robot, q: Array, v: Array, prefix: str, stamped: Array | None = None
) -> Iterator[Stream]:
    """Return pose and velocity of the base as transforms and odometry."""
    pose = q[:, :BASE_Q]
    message = {**IN_WORLD, "child_frame_id": robot.description.root}
    yield Stream(
        prefix + topics.TRANSFORMS,
        "tf2_msgs/TFMessage",
        {"transforms": [message]},
        {"transforms[0].transform.translation.x": pose},
        ("transforms[0].header.stamp",),
        stamped=stamped,
    )
    yield Stream(
        prefix + topics.ODOMETRY,
        "nav_msgs/Odometry",
        message,
        {"pose.pose.position.x": pose, "twist.twist.linear.x": v[:, :BASE_V]},
        stamped=stamped,
    )


def _wrenches(
    topic: str, frame: str, values: Array, stamped: Array | None = None
) -> Stream:
    message, columns = {"header": {"frame_id": frame}}, {"wrench.force.x": values}
    return Stream(
        topic, "geometry_msgs/WrenchStamped", message, columns, stamped=stamped
    )


def _points(topic: str, values: Array, rows: NDArray[np.bool_] | None = None) -> Stream:
    columns = {"point.x": values}
    return Stream(topic, "geometry_msgs/PointStamped", IN_WORLD, columns, rows=rows)
