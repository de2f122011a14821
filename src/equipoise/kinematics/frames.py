"""Pose and Jacobian of a frame: a link, a joint or any fixed frame of the robot."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, DTypeLike

from equipoise.arrays import Array
from equipoise.errors import NameNotFoundError
from equipoise.kinematics.batch import Floats, check_target, device_tree
from equipoise.robot.model import Robot

ReferenceFrame = Literal["local_world_aligned", "world", "local"]


def frame_pose(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return the transform that maps frame coordinates to world coordinates.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,) or (n, nq).
        frame: Name of a link, joint or fixed frame.
        device: As for :func:`~equipoise.kinematics.com.com`.
        dtype: As for :func:`~equipoise.kinematics.com.com`.

    Returns:
        Homogeneous transforms, shape (4, 4) or (n, 4, 4).

    Raises:
        NameNotFoundError: If there is no such frame; the message lists all.
    """
    q = robot.check_q(q)
    numbers = check_target(device, dtype)
    frame_id = robot.frame_id(frame)
    if q.ndim == 1:
        pin.forwardKinematics(robot.model, robot.data, q)
        pose = pin.updateFramePlacement(robot.model, robot.data, frame_id)
        return np.array(pose.homogeneous, numbers)
    from equipoise.kernels import frames as kernels

    found = robot.model.frames[frame_id]
    tree = device_tree(robot, device, numbers)
    return kernels.frame_pose(tree, q, found.parentJoint, found.placement.homogeneous)


def frame_jacobian(
    robot: Robot,
    q: ArrayLike,
    frame: str,
    reference: ReferenceFrame = "local_world_aligned",
    *,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
) -> Floats:
    """Return the Jacobian of a frame's velocity, linear part first.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,) or (n, nq).
        frame: Name of a link, joint or fixed frame.
        reference: ``"local_world_aligned"``: velocity of the frame's origin in world
            axes. ``"local"``: the same in the frame's axes. ``"world"``: velocity of
            the point of the body that is at the world's origin, in world axes.
        device: As for :func:`frame_pose`.
        dtype: As for :func:`frame_pose`.

    Returns:
        Jacobian, shape (6, nv) or (n, 6, nv).

    Raises:
        NameNotFoundError: If there is no such frame or reference.
    """
    q = robot.check_q(q)
    numbers = check_target(device, dtype)
    frame_id = robot.frame_id(frame)
    references = get_args(ReferenceFrame)
    if reference not in references:
        raise NameNotFoundError(
            "reference frame", reference, references, "frame_jacobian"
        )
    if q.ndim == 1:
        choice = getattr(pin.ReferenceFrame, reference.upper())
        jacobian = pin.computeFrameJacobian(
            robot.model, robot.data, q, frame_id, choice
        )
        return np.array(jacobian, numbers)
    from equipoise.kernels import frames as kernels

    found = robot.model.frames[frame_id]
    return kernels.frame_jacobian(
        device_tree(robot, device, numbers),
        q,
        found.parentJoint,
        found.placement.homogeneous,
        getattr(kernels, reference.upper()),
    )


def velocities(robot: Robot, q: Array, dt: float | Array) -> Array:
    """Return velocities of a motion by central differences, shape (n, nv).

    Args:
        robot: The robot.
        q: Configurations, shape (n, nq), n ≥ 2.
        dt: Their distance of time [s]; or the times themselves [s], shape (n,).
    """
    from scipy.spatial.transform import Rotation  # slow to import

    v = np.zeros((len(q), robot.nv))
    turn = Rotation.from_quat(q[:, 3:7]).as_matrix()
    travel = np.gradient(q[:, :3], dt, axis=0)
    v[:, :3] = np.einsum("nji,nj->ni", turn, travel)
    spin = np.einsum("nji,njk->nik", turn, np.gradient(turn, dt, axis=0))
    v[:, 3] = 0.5 * (spin[:, 2, 1] - spin[:, 1, 2])
    v[:, 4] = 0.5 * (spin[:, 0, 2] - spin[:, 2, 0])
    v[:, 5] = 0.5 * (spin[:, 1, 0] - spin[:, 0, 1])
    for joint in list(robot.model.joints)[2:]:
        own = q[:, joint.idx_q : joint.idx_q + joint.nq]
        if joint.nq == 2:
            own = np.unwrap(np.arctan2(own[:, 1:], own[:, :1]), axis=0)
        if joint.nv == 1:
            v[:, joint.idx_v] = np.gradient(own[:, 0], dt)
    return v
