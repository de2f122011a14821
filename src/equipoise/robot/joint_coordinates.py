"""Joint coordinates with one number for each degree of freedom.

ROS knows joints of one degree of freedom. A ball joint becomes three, whose
positions are its rotation vector; a floating joint inside the robot becomes six.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.robot.model import Robot
from equipoise.rotations import (
    quaternion_from_rotation_vector,
    rotation_vector_from_quaternion,
)

BASE_Q, BASE_V = 7, 6
TURNS = (".rx", ".ry", ".rz")
SUFFIXES = {1: ("",), 3: TURNS, 6: (".x", ".y", ".z", *TURNS)}


def degree_names(robot: Robot) -> tuple[str, ...]:
    """Return a name for each entry of v[6:]: the joint's, or ``"ball.rx"`` and on."""
    return tuple(
        f"{name}{suffix}"
        for name, joint in _joints(robot)
        for suffix in SUFFIXES[joint.nv]
    )


def sliding_degrees(robot: Robot) -> NDArray[np.bool_]:
    """Return whether the joint slides, for each entry of v[6:]."""
    return np.isin(degree_names(robot), sorted(robot.sliding_joints))


def degree_of(robot: Robot, joint: str) -> int:
    """Return where a joint begins in v[6:].

    Raises:
        NameNotFoundError: If the robot has no such joint.
    """
    return int(robot.model.joints[robot.joint_id(joint)].idx_v) - BASE_V


def joint_positions(robot: Robot, q: Array) -> Array:
    """Return a position for each degree of freedom of the joints.

    Args:
        robot: The robot.
        q: Configurations, shape (nq,) or (n, nq).

    Returns:
        Angles [rad] and distances [m] in the order of v[6:], shape (nv - 6,) or
        (n, nv - 6).
    """
    rows = np.atleast_2d(q)
    positions = np.empty((len(rows), robot.nv - BASE_V))
    for _, joint in _joints(robot):
        own = rows[:, joint.idx_q : joint.idx_q + joint.nq]
        to = positions[:, joint.idx_v - BASE_V : joint.idx_v - BASE_V + joint.nv]
        if joint.nq == joint.nv:
            to[:] = own
        elif joint.nv == 1:  # continuous: (cos, sin)
            to[:, 0] = np.arctan2(own[:, 1], own[:, 0])
        else:
            to[:, :-3] = own[:, :-4]
            to[:, -3:] = rotation_vector_from_quaternion(own[:, -4:])
    return positions.reshape(*np.shape(q)[:-1], -1)


def configurations(robot: Robot, base: Array, positions: Array) -> Array:
    """Return configurations from poses of the base and :func:`joint_positions`.

    Args:
        robot: The robot.
        base: Position and quaternion xyzw, shape (n, 7).
        positions: Shape (n, nv - 6).

    Returns:
        Configurations, shape (n, nq).
    """
    q = np.empty((len(base), robot.nq))
    q[:, :BASE_Q] = base
    for _, joint in _joints(robot):
        own = positions[:, joint.idx_v - BASE_V : joint.idx_v - BASE_V + joint.nv]
        to = q[:, joint.idx_q : joint.idx_q + joint.nq]
        if joint.nq == joint.nv:
            to[:] = own
        elif joint.nv == 1:
            to[:, 0], to[:, 1] = np.cos(own[:, 0]), np.sin(own[:, 0])
        else:
            to[:, :-4] = own[:, :-3]
            to[:, -4:] = quaternion_from_rotation_vector(own[:, -3:])
    return q


def _joints(robot: Robot) -> Iterator[tuple[str, pin.JointModel]]:
    """Go through the moving joints but the floating base."""
    model = robot.model
    for body in range(2, model.njoints):
        yield model.names[body], model.joints[body]
