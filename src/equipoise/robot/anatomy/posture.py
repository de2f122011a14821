"""Standing: which way is up and forward, and soles flat on the ground."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.errors import RobotFileError
from equipoise.robot.anatomy.geometry import convex_hull, plane_axes, signed_distance
from equipoise.robot.anatomy.skeleton import Path, Skeleton
from equipoise.robot.description import LARGEST
from equipoise.robot.parts import Side, Sole
from equipoise.robot.pinocchio_model import moving_joint_id, workspace

# A direction this near to an axis of the root link is meant to be that axis: hips
# in real files are slightly misaligned.
SNAP = np.cos(np.radians(10.0))
COINCIDE = 1e-6

LEVELLING_STEPS = 100
LARGEST_STEP = 0.2  # rad, so that no joint runs away near a singular posture
DAMPING = 1e-6
LEVEL = 1e-9
UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Orientation:
    """Directions in base axes, unit vectors of shape (3,), at right angles."""

    up: Array
    forward: Array

    @property
    def left(self) -> Array:
        """The direction to the left."""
        return np.cross(self.up, self.forward)

    @property
    def rotation_base_to_world(self) -> Array:
        """Attitude of a base that is upright and faces x, shape (3, 3)."""
        return np.array([self.forward, self.left, self.up])


def find_orientation(
    skeleton: Skeleton,
    legs: Mapping[Side, Path],
    given_forward: Array | None,
    source: str,
) -> Orientation:
    """Return up, as the skeleton has it, and the walking direction.

    Forward is what ``source`` gives, in base axes, or across the line from hip to
    hip, or the first level axis of the root link.

    Raises:
        RobotFileError: If the given direction is along up.
    """
    up = skeleton.up
    if given_forward is not None:
        forward = given_forward - up * float(given_forward @ up)
        if np.linalg.norm(forward) < COINCIDE:
            raise RobotFileError(
                f"{source}: orientation.forward must not point along up"
            )
    else:
        forward = _across_the_hips(skeleton, legs)
    return Orientation(up, np.asarray(forward / np.linalg.norm(forward)))


def _across_the_hips(skeleton: Skeleton, legs: Mapping[Side, Path]) -> Array:
    first_level_axis = np.eye(3)[sorted(skeleton.level_axes())[0]]
    if len(legs) != 2:
        return np.asarray(first_level_axis)
    hips = [skeleton.positions[legs[side][0]] for side in ("left", "right")]
    forward = np.cross(hips[0] - hips[1], skeleton.up)
    if np.linalg.norm(forward) < COINCIDE:  # one hip above the other, or planar
        return np.asarray(first_level_axis)
    forward /= np.linalg.norm(forward)
    axis = np.round(forward)
    return np.asarray(axis if float(forward @ axis) > SNAP else forward)


class Unevenness(NamedTuple):
    """How far from flat the soles are, standing.

    Attributes:
        tilt: Largest angle between a sole and the ground [rad].
        height: Difference in height between the soles [m].
    """

    tilt: float
    height: float


def stand(
    model: pin.Model,
    q_joints: Array,
    soles: Mapping[Side, Sole],
    rotation_base_to_world: Array,
) -> Array:
    """Place the base so that the robot stands on its soles at the origin.

    The lowest corner of the soles is on z = 0, the middle between the sole frames at
    x = y = 0, and the base is tilted so that the soles are level on average. Without
    soles the base stays at the origin.

    Args:
        model: Pinocchio model.
        q_joints: Configuration whose joints are kept, shape (nq,).
        soles: Soles by side.
        rotation_base_to_world: Attitude of the base with level soles, (3, 3).
    """
    q = np.array(q_joints)
    q[:3] = 0.0
    quaternion = pin.Quaternion(rotation_base_to_world)
    quaternion.normalize()
    q[3:7] = quaternion.coeffs()
    if soles:
        up = np.mean([pose[:3, 2] for pose in _sole_poses(model, q, soles)], axis=0)
        turn = pin.Quaternion.FromTwoVectors(up, np.array([0.0, 0.0, 1.0]))
        q[3:7] = (turn * quaternion).coeffs()
        poses = _sole_poses(model, q, soles)
        q[:2] = -np.mean([pose[:2, 3] for pose in poses], axis=0)
        q[2] = -min(
            float((pose[2, :2] @ sole.polygon_in_sole.T).min() + pose[2, 3])
            for pose, sole in zip(poses, soles.values(), strict=True)
        )
    return frozen_array(q)


def unevenness(model: pin.Model, q: Array, soles: Mapping[Side, Sole]) -> Unevenness:
    """Return how far from flat the soles are; point feet have no tilt."""
    poses = _sole_poses(model, q, soles)
    tilts = [
        float(np.arccos(np.clip(pose[2, 2], -1.0, 1.0)))
        for pose, sole in zip(poses, soles.values(), strict=True)
        if len(sole.polygon_in_sole) > 2
    ]
    heights = [float(pose[2, 3]) for pose in poses] or [0.0]
    return Unevenness(max(tilts, default=0.0), max(heights) - min(heights))


def level_soles(
    model: pin.Model,
    q: Array,
    soles: Mapping[Side, Sole],
    bodies: Iterable[int],
    up: Array,
    *,
    centre_com: bool = False,
) -> Array:
    """Turn joints, as little as possible, until the soles are level.

    Args:
        model: Pinocchio model.
        q: Start, shape (nq,).
        soles: Soles by side.
        bodies: Bodies whose joints may turn, by Pinocchio's joint index.
        up: Direction against gravity in base axes, shape (3,).
        centre_com: Whether to bring the centre of mass over the middle of the soles
            as well, with the soles at the same height.

    Returns:
        The levelled configuration with the base at the origin; the start, if no
        joint within its limits makes things better.
    """
    columns = [model.idx_vs[body] for body in bodies if model.joints[body].nv == 1]
    q = np.array(q)
    q[:7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    best, best_error = q, np.inf
    for _ in range(LEVELLING_STEPS):
        error, jacobian = _tilt(model, q, soles, up)
        if centre_com:
            for task in (_com_offset, _height_differences):
                further, rows = task(model, q, soles, up)
                error, jacobian = np.append(error, further), np.vstack([jacobian, rows])
        largest = float(np.abs(error).max())
        if largest < best_error:
            best, best_error = q, largest
        if largest < LEVEL or not columns:
            break
        part = jacobian[:, columns]
        damped = part @ part.T + DAMPING * np.eye(len(error))
        step = np.zeros(model.nv)
        # least squares: lengths may be absurd and the damping lost in rounding
        step[columns] = -part.T @ np.linalg.lstsq(damped, error, rcond=None)[0]
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), LEVEL))
        q = pin.integrate(model, q, step)
        q[7:] = np.clip(
            q[7:], model.lowerPositionLimit[7:], model.upperPositionLimit[7:]
        )
    return best


def with_joint_positions(
    model: pin.Model, q: Array, positions: Mapping[str, object], source: str
) -> Array:
    """Return a configuration with the named joints moved.

    Args:
        model: Pinocchio model.
        q: Start, shape (nq,).
        positions: Joint name to position: a number, or as many as the joint has in q.
            A continuous joint takes its angle [rad].
        source: Named in messages.

    Raises:
        NameNotFoundError: If there is no such joint.
        RobotFileError: If a value does not fit its joint.
    """
    q = np.array(q)
    for name, value in positions.items():
        joint = model.joints[moving_joint_id(model, name, source)]
        try:
            values = np.atleast_1d(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError, OverflowError):
            values = np.array([np.nan])
        if np.asarray(value).dtype == np.bool_ or not (np.abs(values) < LARGEST).all():
            values = np.array([np.nan])
        if joint.nq == 2 and values.shape == (1,):
            values = np.array([np.cos(values[0]), np.sin(values[0])])
        if values.shape != (joint.nq,) or not np.isfinite(values).all():
            raise RobotFileError(
                f"{source}: position of joint '{name}' must be {joint.nq} finite "
                f"number(s), not {value!r}"
            )
        unit = {2: values, 4: values, 7: values[3:]}.get(joint.nq)
        if unit is not None and abs(np.linalg.norm(unit) - 1.0) > UNIT_TOLERANCE:
            raise RobotFileError(
                f"{source}: position of joint '{name}' must have "
                f"{'cosine and sine' if joint.nq == 2 else 'a quaternion (x, y, z, w)'}"
                " of unit length"
            )
        q[joint.idx_q : joint.idx_q + joint.nq] = values
    return q


def _tilt(
    model: pin.Model, q: Array, soles: Mapping[Side, Sole], up: Array
) -> tuple[Array, Array]:
    """Return the level components of each sole's normal, with their Jacobian."""
    level = plane_axes(up)
    tilts: list[Array] = []
    rows: list[Array] = []
    for sole, pose, jacobian in _sole_links(model, q, soles):
        normal = pose.rotation @ sole.transform_sole_to_link[:3, 2]
        tilts.append(level @ normal)
        rows.append(-level @ pin.skew(normal) @ jacobian[3:])
    return np.concatenate(tilts), np.vstack(rows)


def _com_offset(
    model: pin.Model, q: Array, soles: Mapping[Side, Sole], up: Array
) -> tuple[Array, Array]:
    """Return how far the CoM is from above the soles' middle, with the Jacobian [m]."""
    data = workspace(model)
    jacobian = np.array(pin.jacobianCenterOfMass(model, data, q))
    com = np.array(data.com[0])
    for sole, pose, moving in _sole_links(model, q, soles):
        corners = sole.polygon_in_sole
        middle = [*((corners.min(axis=0) + corners.max(axis=0)) / 2), 0.0, 1.0]
        arm = pose.rotation @ (sole.transform_sole_to_link @ middle)[:3]
        com -= (pose.translation + arm) / len(soles)
        jacobian -= (moving[:3] - pin.skew(arm) @ moving[3:]) / len(soles)
    level = plane_axes(up)
    return level @ com, level @ jacobian


def _height_differences(
    model: pin.Model, q: Array, soles: Mapping[Side, Sole], up: Array
) -> tuple[Array, Array]:
    """Return how far soles are above the one before, with the Jacobian [m]."""
    heights, rows = [], []
    for sole, pose, jacobian in _sole_links(model, q, soles):
        arm = pose.rotation @ sole.transform_sole_to_link[:3, 3]
        heights.append(float(up @ (pose.translation + arm)))
        rows.append(up @ (jacobian[:3] - pin.skew(arm) @ jacobian[3:]))
    return np.diff(heights), np.diff(np.array(rows), axis=0)


def _sole_links(
    model: pin.Model, q: Array, soles: Mapping[Side, Sole]
) -> Iterator[tuple[Sole, pin.SE3, Array]]:
    """Yield each sole with its link's pose and Jacobian, in base axes, (6, nv)."""
    data = workspace(model)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for sole in soles.values():
        frame = model.getBodyId(sole.link)
        yield sole, data.oMf[frame], pin.getFrameJacobian(model, data, frame, axes)


def com_outside(model: pin.Model, q: Array, soles: Mapping[Side, Sole]) -> float:
    """Return how far the CoM is outside the support polygon, seen from above [m].

    It is 0 inside; ``q`` is as :func:`stand` returns it.
    """
    poses = _sole_poses(model, q, soles)
    corners = np.vstack(
        [
            sole.polygon_in_sole @ pose[:2, :2].T + pose[:2, 3]
            for pose, sole in zip(poses, soles.values(), strict=True)
        ]
    )
    com = np.array(pin.centerOfMass(model, workspace(model), q)[:2])
    return max(0.0, -float(signed_distance(convex_hull(corners), com)))


def _sole_poses(model: pin.Model, q: Array, soles: Mapping[Side, Sole]) -> list[Array]:
    data = workspace(model)
    pin.framesForwardKinematics(model, data, q)
    return [
        data.oMf[model.getBodyId(sole.link)].homogeneous @ sole.transform_sole_to_link
        for sole in soles.values()
    ]
