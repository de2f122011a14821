"""What was wanted and what was commanded in a run, as streams of messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.log.mcap_format.stream import Stream, in_world, joint_states, points
from equipoise.log.mcap_format.topics import JOINT_COMMANDS, REFERENCES
from equipoise.log.run import Run

# Fields of sensor_msgs/JointState by what a run calls them.
JOINT_FIELDS = {"position": "position", "velocity": "velocity", "torque": "effort"}
# Three numbers under a reference of such a name are a point in the world.
POINTS = ("com", "zmp", "dcm")


class Kind(NamedTuple):
    """How references of some names are told.

    Attributes:
        type: Message type.
        path: Of the first number.
        size: How many numbers there are.
    """

    type: str
    path: str
    size: int


POSE = Kind("geometry_msgs/PoseStamped", "pose.position.x", 7)
TWIST = Kind("geometry_msgs/TwistStamped", "twist.linear.x", 6)
VECTOR = Kind("geometry_msgs/Vector3Stamped", "vector.x", 3)
TURN = Kind("geometry_msgs/QuaternionStamped", "quaternion.x", 4)
KINDS = {
    "left_sole": POSE,
    "right_sole": POSE,
    "left_sole_twist": TWIST,
    "right_sole_twist": TWIST,
    "com_velocity": VECTOR,
    "com_acceleration": VECTOR,
    "torso": TURN,
}


def command_streams(run: Run) -> Iterator[Stream]:
    """Return what the actuators were told, if that is known."""
    if run.commands:
        columns = {JOINT_FIELDS[name]: own for name, own in run.commands.items()}
        yield joint_states(JOINT_COMMANDS, run.robot, **columns)


def reference_streams(run: Run) -> Iterator[Stream]:
    """Return what was wanted, a topic for each reference."""
    for name, values in run.references.items():
        yield _reference(run, name, values)


def _reference(run: Run, name: str, values: Array) -> Stream:
    topic, sizes = f"{REFERENCES}{name}", values.shape[1:]
    field = JOINT_FIELDS.get(name.removeprefix("joint_"))
    if name.startswith("joint_") and field is not None:
        return joint_states(topic, run.robot, **{field: values})
    if sizes == (3,) and (name in POINTS or name.endswith("_position")):
        return points(topic, values)
    kind = KINDS.get(name)
    if kind is not None and sizes == (kind.size,):
        return in_world(topic, kind.type, kind.path, values)
    if sizes == ():
        return Stream(topic, "std_msgs/Float64", {}, {"data": values}, ())
    flat = values.reshape(len(values), -1)
    dimensions = [
        {"label": f"axis {axis}", "size": size, "stride": int(np.prod(sizes[axis:]))}
        for axis, size in enumerate(sizes)
    ]
    array = {"layout": {"dim": dimensions}, "data": [0.0] * flat.shape[1]}
    return Stream(topic, "std_msgs/Float64MultiArray", array, {"data": flat}, ())
