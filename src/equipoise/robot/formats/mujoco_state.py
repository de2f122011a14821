"""Configurations and velocities between Pinocchio's layout and MuJoCo's.

Joints are matched by name, so their order may differ. Otherwise the layouts differ in

- quaternions: Pinocchio (x, y, z, w), MuJoCo (w, x, y, z);
- the base's linear velocity: Pinocchio in base axes, MuJoCo in world axes; its
  angular velocity is in base axes in both;
- joints without limits: Pinocchio (cos θ, sin θ), MuJoCo the angle θ.

Only this module knows these conventions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.rotations import (
    inverse_quaternion,
    rotate,
    rotation_from_quaternion,
    wxyz_from_xyzw,
    xyzw_from_wxyz,
)

# mjtJoint
FREE, BALL, SLIDE, HINGE = range(4)
WIDTHS = {FREE: (7, 6), BALL: (4, 3), SLIDE: (1, 1), HINGE: (1, 1)}
BASE = 1  # Pinocchio's index of the joint that floats


class MujocoState(NamedTuple):
    """A configuration and a velocity as MuJoCo has them.

    Attributes:
        qpos: Positions, shape (nq,) or (n, nq) of the MuJoCo model.
        qvel: Velocities, shape (nv,) or (n, nv) of the MuJoCo model.
    """

    qpos: Array
    qvel: Array


class PinocchioState(NamedTuple):
    """A configuration and a velocity as Pinocchio, and so Equipoise, has them.

    Attributes:
        q: Configuration, shape (nq,) or (n, nq).
        v: Velocity, shape (nv,) or (n, nv).
    """

    q: Array
    v: Array


def to_mujoco(
    model: pin.Model, mj_model: Any, q: ArrayLike, v: ArrayLike
) -> MujocoState:
    """Convert a configuration and a velocity to MuJoCo's layout.

    Joints that the MuJoCo model alone has (other objects in the scene) are at their
    initial positions and at rest. Joints without limits get angles in (-π, π].

    Args:
        model: Pinocchio model of the robot, its base floating.
        mj_model: Compiled ``mujoco.MjModel`` that holds the same robot.
        q: Configuration, shape (nq,) or (n, nq).
        v: Velocity, shape (nv,) or (n, nv).

    Raises:
        NameNotFoundError: If the MuJoCo model lacks a joint of the robot.
        EquipoiseError: If a joint is of another type there, or the base is fixed.
        ShapeError: If q or v has a wrong shape.
    """
    q, v = _checked(q, v, model.nq, model.nv, ("q", "v"))
    qpos = np.tile(np.array(mj_model.qpos0), (*q.shape[:-1], 1))
    qvel = np.zeros((*q.shape[:-1], mj_model.nv))
    for joint in _pairs(model, mj_model):
        position, velocity = q[..., joint.q], v[..., joint.v]
        if joint.kind == FREE:
            at, xyzw = position[..., :3], position[..., 3:]
            qpos[..., joint.qpos] = _joined(at, wxyz_from_xyzw(xyzw))
            linear = rotate(xyzw, velocity[..., :3])
            qvel[..., joint.qvel] = _joined(linear, velocity[..., 3:])
            continue
        if joint.kind == BALL:
            position = wxyz_from_xyzw(position)
        elif joint.is_circle:
            position = np.arctan2(position[..., 1:], position[..., :1])
        qpos[..., joint.qpos] = position
        qvel[..., joint.qvel] = velocity
    return MujocoState(qpos, qvel)


def from_mujoco(
    model: pin.Model, mj_model: Any, qpos: ArrayLike, qvel: ArrayLike
) -> PinocchioState:
    """Convert MuJoCo's positions and velocities to Pinocchio's layout.

    Joints that the MuJoCo model alone has are left out; full turns of joints without
    limits are lost.

    Arguments and errors are as for :func:`to_mujoco`; qpos has shape (nq,) or (n, nq)
    and qvel (nv,) or (n, nv) of the MuJoCo model.
    """
    widths = int(mj_model.nq), int(mj_model.nv)
    qpos, qvel = _checked(qpos, qvel, *widths, ("qpos", "qvel"))
    q = np.zeros((*qpos.shape[:-1], model.nq))
    v = np.zeros((*qpos.shape[:-1], model.nv))
    for joint in _pairs(model, mj_model):
        position, velocity = qpos[..., joint.qpos], qvel[..., joint.qvel]
        if joint.kind == FREE:
            at, xyzw = position[..., :3], xyzw_from_wxyz(position[..., 3:])
            q[..., joint.q] = _joined(at, xyzw)
            linear = rotate(inverse_quaternion(xyzw), velocity[..., :3])
            v[..., joint.v] = _joined(linear, velocity[..., 3:])
            continue
        if joint.kind == BALL:
            position = xyzw_from_wxyz(position)
        elif joint.is_circle:
            position = _joined(np.cos(position), np.sin(position))
        q[..., joint.q] = position
        v[..., joint.v] = velocity
    return PinocchioState(q, v)


def rotation_from_mujoco(wxyz: ArrayLike) -> Array:
    """Return the rotation matrix of a quaternion of MuJoCo's, scalar first."""
    return rotation_from_quaternion(xyzw_from_wxyz(wxyz))


def mujoco_joint_name(mj_model: Any, index: int) -> str:
    """Return the name of a joint, ``joint_{index}`` where the file gives none."""
    return mj_model.joint(index).name or f"joint_{index}"


def mujoco_body_name(mj_model: Any, index: int) -> str:
    """Return the name of a body, ``body_{index}`` where the file gives none."""
    return mj_model.body(index).name or f"body_{index}"


class _Pair(NamedTuple):
    """Places of one joint's numbers in both layouts."""

    kind: int
    is_circle: bool
    q: slice
    v: slice
    qpos: slice
    qvel: slice


def _pairs(model: pin.Model, mj_model: Any) -> Iterator[_Pair]:
    """Yield the joints of the robot, the base first."""
    by_name = {
        mujoco_joint_name(mj_model, index): index for index in range(mj_model.njnt)
    }
    for body in range(BASE, model.njoints):
        name = model.names[body]
        if body != BASE and name not in by_name:
            raise NameNotFoundError("joint", name, by_name, "the MuJoCo model")
        index = _free_joint(model, mj_model) if body == BASE else by_name[name]
        kind = int(mj_model.jnt_type[index])
        joint = model.joints[body]
        widths = (joint.nq, joint.nv)
        is_circle = widths == (2, 1) and kind == HINGE
        if widths != WIDTHS[kind] and not is_circle:
            raise EquipoiseError(
                f"joint '{name}' is {joint.shortname()} in Pinocchio's model and of "
                "another type in MuJoCo's"
            )
        nq, nv = WIDTHS[kind]
        qpos, qvel = int(mj_model.jnt_qposadr[index]), int(mj_model.jnt_dofadr[index])
        yield _Pair(
            kind,
            is_circle,
            slice(joint.idx_q, joint.idx_q + joint.nq),
            slice(joint.idx_v, joint.idx_v + joint.nv),
            slice(qpos, qpos + nq),
            slice(qvel, qvel + nv),
        )


def _free_joint(model: pin.Model, mj_model: Any) -> int:
    """Return MuJoCo's index of the joint that lets the base float."""
    links = [
        frame.name
        for frame in model.frames
        if frame.parentJoint == BASE and frame.type == pin.FrameType.BODY
    ]
    for index in np.flatnonzero(mj_model.jnt_type == FREE):
        if mujoco_body_name(mj_model, int(mj_model.jnt_bodyid[index])) in links:
            return int(index)
    raise EquipoiseError(
        f"the MuJoCo model has no body '{links[0]}' with a free joint: "
        "the base must float there too"
    )


def _checked(
    positions: ArrayLike, velocities: ArrayLike, nq: int, nv: int, names: Sequence[str]
) -> tuple[Array, Array]:
    q, v = np.asarray(positions, dtype=np.float64), np.asarray(velocities, np.float64)
    for array, width, name in ((q, nq, names[0]), (v, nv, names[1])):
        if array.ndim not in (1, 2) or array.shape[-1] != width:
            raise ShapeError(
                f"{name} has shape {array.shape}, ({width},) or (n, {width}) is needed"
            )
    if q.shape[:-1] != v.shape[:-1]:
        raise ShapeError(
            f"{names[0]} has shape {q.shape} but {names[1]} has shape {v.shape}: "
            "both must be one row or equally many rows"
        )
    return q, v


def _joined(first: Array, second: Array) -> Array:
    return np.concatenate([first, second], axis=-1)
