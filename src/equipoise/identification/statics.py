"""Measured poses of a robot that stands still, and the equations of its balance.

Poses are seen from a level frame midway between the soles; z is up, the mean of the
soles' normals, and x the mean of the directions in which the soles point. In it gravity
(0, 0, -g) and the wrenches of the ground balance::

    Σ_s X_s (w_s - b_s) = Σ_l [ 0, 0, g m_l,  g h_ly, -g h_lx, 0 ]

with h_l = m_l p_l + R_l (m_l c_l) the first moment of link l, w_s the measured wrench
of foot s, b_s the offset of its sensor in its own axes, and X_s the transform of
wrenches from sole to level frame. Unknown are x = (m_l, m_l c_l) of all links, then
b_left, b_right: nx = 4 nl + 12 parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

FEET: tuple[Side, Side] = ("left", "right")
# Soles tilted against each other by more than this are not both flat on level ground
# [rad].
MOST_TILT = np.deg2rad(5.0)
# Parameters of a link: mass, and first moment about its origin in its axes.
PER_LINK = 4
# Parameters of a foot's sensor: offsets of force and torque.
PER_FOOT = 6
WRENCH = 6


@dataclass(frozen=True, eq=False)
class MeasuredPoses:
    """Quasi-static poses of a robot on both feet; arrays are copied and read-only.

    Attributes:
        robot: The robot as its file describes it.
        q: Configurations, shape (n, nq). The base's pose is not used: poses are seen
            from the soles.
        wrenches: Force and torque of the ground on each foot, about and in the sole's
            frame [N, Nm], by side, shape (n, 6) each; means over their samples.
        samples: Number of independent samples in each mean, shape (n,).
        start_s: Start of each pose in the log [s], shape (n,); zeros where unknown.
    """

    robot: Robot
    q: Array
    wrenches: Mapping[Side, Array]
    samples: NDArray[np.int64]
    start_s: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check, copy and freeze."""
        q = self.robot.check_q(np.atleast_2d(np.asarray(self.q, dtype=np.float64)))
        rows = len(q)
        wrenches = {}
        for side in FEET:
            if side not in self.robot.soles:
                raise EquipoiseError(f"{self.robot.name} has no {side} sole")
            if side not in self.wrenches:
                raise EquipoiseError(f"the wrench of the {side} foot is missing")
            wrench = np.asarray(self.wrenches[side], dtype=np.float64)
            if wrench.shape != (rows, 6) or not np.isfinite(wrench).all():
                raise ShapeError(
                    f"the wrench of the {side} foot must be finite, of shape "
                    f"({rows}, 6); it has shape {wrench.shape}"
                )
            wrenches[side] = frozen_array(wrench)
        samples = np.array(np.broadcast_to(self.samples, rows), dtype=np.int64)
        if np.any(samples < 1):
            raise ShapeError("each pose needs at least one sample")
        samples.flags.writeable = False
        start = self.start_s if np.size(self.start_s) else np.zeros(rows)
        object.__setattr__(self, "q", frozen_array(q))
        object.__setattr__(self, "wrenches", MappingProxyType(wrenches))
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "start_s", frozen_array(np.broadcast_to(start, rows)))

    def __len__(self) -> int:
        """Number of poses."""
        return len(self.q)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> MeasuredPoses:
        """Return some of the poses."""
        rows = np.asarray(rows, dtype=np.int64)
        return MeasuredPoses(
            self.robot,
            self.q[rows],
            {side: wrench[rows] for side, wrench in self.wrenches.items()},
            self.samples[rows],
            self.start_s[rows],
        )


@dataclass(frozen=True, eq=False)
class StandingFrames:
    """Links and soles of n poses in the level frame.

    Attributes:
        link_names: Links that have mass, nl of them.
        link_arms: [p_l, R_l], a link's origin [m] and its axes: the first moments h_l
            for unit parameters, shape (n, nl, 3, 4).
        sole_in_level: Transforms from sole to level frame, by side, shape (n, 4, 4).
        tilt: Angle between the soles' normals [rad], shape (n,).
    """

    link_names: tuple[str, ...]
    link_arms: Array
    sole_in_level: dict[Side, Array]
    tilt: Array


def links_with_mass(robot: Robot) -> dict[str, Inertial]:
    """Return the links that have mass, by name, in the file's order."""
    return {
        link.name: link.inertial
        for link in robot.description.links
        if link.inertial is not None and link.inertial.mass > 0.0
    }


def link_parameters(values: Array) -> Array:
    """Return mass and first moment of each link, of parameters (nx,), (nl, 4)."""
    return values[: -len(FEET) * PER_FOOT].reshape(-1, PER_LINK)


def standing_frames(robot: Robot, q: Array) -> StandingFrames:
    """Return links and soles in the level frame.

    Args:
        robot: The robot.
        q: Configurations in which both soles are flat on level ground, shape (n, nq);
            their base poses are ignored.
    """
    model, data = robot.model, robot.data
    names = tuple(links_with_mass(robot))
    soles = [robot.soles[side] for side in FEET]
    ids = [robot.frame_id(name) for name in (*names, *(sole.link for sole in soles))]
    joints = [int(model.frames[at].parentJoint) for at in ids]
    places = np.array([model.frames[at].placement.homogeneous for at in ids])
    places[-2:] @= [sole.transform_sole_to_link for sole in soles]
    poses = np.zeros((len(q), len(ids), 4, 4))
    for row, configuration in enumerate(q):
        pin.forwardKinematics(model, data, configuration)
        poses[row] = np.array([data.oMi[joint].homogeneous for joint in joints])
    poses = poses @ places
    poses = np.linalg.inv(level_frames(poses[:, -2], poses[:, -1]))[:, None] @ poses
    soles_in_level = {side: poses[:, at - 2] for at, side in enumerate(FEET)}
    arms = poses[:, :-2, :3, [3, 0, 1, 2]]
    return StandingFrames(names, arms, soles_in_level, sole_tilt(soles_in_level))


def sole_tilt(soles: Mapping[Side, Array]) -> Array:
    """Return the angle between the normals of both soles [rad], shape (n,)."""
    left, right = (soles[side][:, :3, 2] for side in FEET)
    turn = np.linalg.norm(np.cross(left, right), axis=1)
    return np.asarray(np.arctan2(turn, np.einsum("ni,ni->n", left, right)))


def check_standing(frames: StandingFrames) -> None:
    """Refuse poses whose soles cannot both be flat on level ground; name the worst."""
    worst = int(np.argmax(frames.tilt))
    if frames.tilt[worst] > MOST_TILT:
        raise EquipoiseError(
            f"in pose {worst} the soles are tilted by "
            f"{np.rad2deg(frames.tilt[worst]):.1f}° against each other: the feet are "
            f"not both flat on the ground (at most {np.rad2deg(MOST_TILT):.0f}°)"
        )


def level_frames(left: Array, right: Array) -> Array:
    """Return the transforms of level frames to the frame that soles are given in.

    Args:
        left: Transforms of left soles, shape (n, 4, 4).
        right: Transforms of right soles to the same frames, likewise.
    """
    up = left[:, :3, 2] + right[:, :3, 2]
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    forward = left[:, :3, 0] + right[:, :3, 0]
    forward -= np.sum(forward * up, axis=1, keepdims=True) * up
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    level = np.tile(np.eye(4), (len(left), 1, 1))
    level[:, :3, :3] = np.stack([forward, np.cross(up, forward), up], axis=2)
    level[:, :3, 3] = 0.5 * (left[:, :3, 3] + right[:, :3, 3])
    return level


class Equations(NamedTuple):
    """A x = y, six rows for each of n poses.

    Attributes:
        matrix: Force [N], then torque [Nm] about the level frame's origin, for each
            parameter, shape (n, 6, nx).
        right: Sum of the measured wrenches [N, Nm], shape (n, 6).
    """

    matrix: Array
    right: Array

    def take(self, rows: NDArray[np.int64]) -> Equations:
        """Return the equations of some poses."""
        return Equations(self.matrix[rows], self.right[rows])


def equations(frames: StandingFrames, poses: MeasuredPoses) -> Equations:
    """Return the equations of measured poses."""
    return Equations(
        balance_matrix(frames), total_wrench(frames.sole_in_level, poses.wrenches)
    )


def balance_matrix(frames: StandingFrames) -> Array:
    """Return A: columns of the links, then of the sensors, shape (n, 6, nx)."""
    columns = [link_columns(frames), offset_columns(frames)]
    return np.concatenate(columns, axis=2)


def total_wrench(
    sole_in_level: Mapping[Side, Array], wrenches: Mapping[Side, Array]
) -> Array:
    """Return the sum of both feet's wrenches in the level frame [N, Nm], (n, 6).

    Args:
        sole_in_level: Transforms from sole to level frame, by side, shape (n, 4, 4).
        wrenches: Wrenches about and in the soles' frames [N, Nm], by side, (n, 6).
    """
    total = np.zeros((len(wrenches[FEET[0]]), WRENCH))
    for side in FEET:
        turn, place = sole_in_level[side][:, :3, :3], sole_in_level[side][:, :3, 3]
        force = np.einsum("nij,nj->ni", turn, wrenches[side][:, :3])
        total[:, :3] += force
        total[:, 3:] += np.einsum("nij,nj->ni", turn, wrenches[side][:, 3:])
        total[:, 3:] += np.cross(place, force)
    return total


def centre_of_pressure(wrench: Array) -> Array:
    """Return where wrenches have no horizontal torque in z = 0 [m], shape (n, 2).

    Zero where the force does not point upward.
    """
    pushed = wrench[:, 2] > 0.0
    upward = np.where(pushed, wrench[:, 2], 1.0)[:, None]
    point = np.stack([-wrench[:, 4], wrench[:, 3]], axis=1) / upward
    return np.where(pushed[:, None], point, 0.0)


def total_com(frames: StandingFrames, mean: Array) -> Array:
    """Return the centre of mass in the level frame [m], shape (n, 3)."""
    links = link_parameters(mean)
    moment = np.einsum("nlij,lj->ni", frames.link_arms, links)
    return np.asarray(moment / links[:, 0].sum())


def com_gradient(link_arms: Array, mean: Array) -> Array:
    """Return the derivative of the CoM c = Σ h_l / Σ m_l by x, shape (n, 3, nx).

    dc = (Σ dh_l - c Σ dm_l) / m.

    Args:
        link_arms: [p_l, R_l] of each link, shape (n, nl, 3, 4).
        mean: The parameters x, shape (nx,).
    """
    count, links = link_arms.shape[:2]
    unknowns = PER_LINK * links
    moment = np.moveaxis(link_arms, 1, 2).reshape(count, 3, unknowns)
    mass = np.tile([1.0, 0.0, 0.0, 0.0], links)
    total = float(mass @ mean[:unknowns])
    com = moment @ mean[:unknowns] / total
    gradient = np.zeros((count, 3, len(mean)))
    gradient[..., :unknowns] = (moment - com[..., None] * mass) / total
    return gradient


def link_columns(frames: StandingFrames) -> Array:
    """Return the ground's wrench for unit masses and moments, shape (n, 6, 4 nl)."""
    n, links = frames.link_arms.shape[:2]
    columns = np.zeros((n, WRENCH, links, PER_LINK))
    columns[:, 2, :, 0] = STANDARD_GRAVITY
    columns[:, 3] = STANDARD_GRAVITY * frames.link_arms[:, :, 1]
    columns[:, 4] = -STANDARD_GRAVITY * frames.link_arms[:, :, 0]
    return columns.reshape(n, WRENCH, links * PER_LINK)


def offset_columns(frames: StandingFrames) -> Array:
    """Return the sum of wrenches for unit sensor offsets, shape (n, 6, 12)."""
    soles = frames.sole_in_level
    return np.concatenate([wrench_transform(soles[side]) for side in FEET], axis=2)


def wrench_transform(transform: Array) -> Array:
    """Return X, which maps wrenches (force first) as transforms map points, (n, 6, 6).

    ``transform`` has shape (n, 4, 4).
    """
    rotation = transform[:, :3, :3]
    wrench = np.zeros((len(rotation), WRENCH, WRENCH))
    wrench[:, :3, :3] = wrench[:, 3:, 3:] = rotation
    wrench[:, 3:, :3] = cross_matrix(transform[:, :3, 3]) @ rotation
    return wrench


def cross_matrix(vectors: Array) -> Array:
    """Return [v]×, with [v]× u = v × u, shape (…, 3, 3)."""
    return np.swapaxes(np.cross(vectors[..., None, :], np.eye(3)), -1, -2)
