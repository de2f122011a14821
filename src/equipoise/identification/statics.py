"""Measured poses of a robot that stands still, and the equations of its balance.

Poses are seen from a level frame midway between the soles; z is up, the mean of the
soles' normals where it was not measured, and x the mean of the directions in which the
soles point. In it gravity (0, 0, -g) and the wrenches of the ground balance::

    Σ_s X_s (w_s - b_s) = Σ_l [ 0, 0, g m_l,  g h_ly, -g h_lx, 0 ] + ṗ

with h_l = m_l p_l + R_l (m_l c_l) the first moment of link l, w_s the wrench that
sensor s measures, b_s its offset in its own axes, and X_s the transform of wrenches
from sensor to level frame. A sensor is at a sole or is a force plate. ṗ is the rate of
momentum, by the model, where the robot moves slowly instead of standing. Unknown are
x = (m_l, m_l c_l) of all links, then b_s of all sensors: nx = 4 nl + 6 ns parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

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
# Parameters of a sensor: offsets of force and torque.
PER_SENSOR = 6
WRENCH = 6


@dataclass(frozen=True, eq=False)
class MeasuredPoses:
    """Quasi-static poses of a robot on both feet; arrays are copied and read-only.

    Attributes:
        robot: The robot as its file describes it.
        q: Configurations, shape (n, nq). The base's pose is not used: poses are seen
            from the soles.
        wrenches: Force and torque of the ground, by sensor, about and in its frame
            [N, Nm], shape (n, 6) each; means over their samples. Sensors called left
            and right are at the soles, all others are in ``plates``.
        samples: Number of independent samples in each mean, shape (n,).
        start_s: Start of each pose in the log [s], shape (n,); zeros where unknown.
        stretch: Number of the stretch that each pose is of, shape (n,): poses of one
            stretch share errors. Each is its own unless given.
        plates: Transforms from force plates to the base, by sensor, shape (n, 4, 4).
        missing_std: Standard deviations of what sensors do not measure, by sensor,
            shape (n, 6) [N, Nm], zero where they do; ``wrenches`` have what is expected
            there. Nothing is missing unless given.
        up_in_base: Direction against gravity in the base's axes, as it was measured,
            shape (n, 3); that of the soles' normals if None.
        momentum_rate: Rate of linear and angular momentum in the level frame [N, Nm],
            shape (n, 6), of the model with all masses scaled to the measured weight;
            None for poses at rest.
    """

    robot: Robot
    q: Array
    wrenches: Mapping[str, Array]
    samples: NDArray[np.int64]
    start_s: Array = field(default_factory=lambda: np.zeros(0))
    stretch: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    plates: Mapping[str, Array] = field(default_factory=dict)
    missing_std: Mapping[str, Array] = field(default_factory=dict)
    up_in_base: Array | None = None
    momentum_rate: Array | None = None

    def __post_init__(self) -> None:
        """Check, copy and freeze."""
        q = self.robot.check_q(np.atleast_2d(np.asarray(self.q, dtype=np.float64)))
        rows = len(q)
        for side in FEET:
            if side not in self.robot.soles:
                raise EquipoiseError(f"{self.robot.name} has no {side} sole")
            if side not in self.wrenches and not self.plates:
                raise EquipoiseError(f"the wrench of the {side} foot is missing")
        wrenches = {}
        for name in [*(side for side in FEET if side in self.wrenches), *self.plates]:
            if name not in self.wrenches:
                raise EquipoiseError(f"the wrench of plate '{name}' is missing")
            what = f"{name} foot" if name in FEET else f"plate '{name}'"
            wrenches[name] = _checked(self.wrenches[name], (rows, 6), what)
        samples = np.array(np.broadcast_to(self.samples, rows), dtype=np.int64)
        if np.any(samples < 1):
            raise ShapeError("each pose needs at least one sample")
        stretch = self.stretch if np.size(self.stretch) else np.arange(rows)
        stretch = np.array(np.broadcast_to(stretch, rows), dtype=np.int64)
        samples.flags.writeable = stretch.flags.writeable = False
        start = self.start_s if np.size(self.start_s) else np.zeros(rows)
        plates = {
            name: _checked(place, (rows, 4, 4), f"plate '{name}'")
            for name, place in self.plates.items()
        }
        missing = {
            name: _checked(own, (rows, 6), f"missing parts of '{name}'")
            for name, own in self.missing_std.items()
        }
        values: dict[str, object] = {
            "q": frozen_array(q),
            "wrenches": MappingProxyType(wrenches),
            "samples": samples,
            "start_s": frozen_array(np.broadcast_to(start, rows)),
            "stretch": stretch,
            "plates": MappingProxyType(plates),
            "missing_std": MappingProxyType(missing),
        }
        if self.up_in_base is not None:
            up = _checked(self.up_in_base, (rows, 3), "direction of up")
            length = np.linalg.norm(up, axis=1, keepdims=True)
            values["up_in_base"] = frozen_array(up / length)
        if self.momentum_rate is not None:
            rate = _checked(self.momentum_rate, (rows, 6), "rate of momentum")
            values["momentum_rate"] = rate
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """Number of poses."""
        return len(self.q)

    @property
    def sensors(self) -> tuple[str, ...]:
        """Names of the sensors, in the order of their offsets."""
        return tuple(self.wrenches)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> MeasuredPoses:
        """Return some of the poses."""
        rows = np.asarray(rows, dtype=np.int64)

        def of_each(given: Mapping[str, Array]) -> dict[str, Array]:
            return {name: own[rows] for name, own in given.items()}

        def if_any(given: Array | None) -> Array | None:
            return None if given is None else given[rows]

        return MeasuredPoses(
            self.robot,
            self.q[rows],
            of_each(self.wrenches),
            self.samples[rows],
            self.start_s[rows],
            self.stretch[rows],
            of_each(self.plates),
            of_each(self.missing_std),
            if_any(self.up_in_base),
            if_any(self.momentum_rate),
        )


def _checked(values: Array, shape: tuple[int, ...], what: str) -> Array:
    """Return finite values of a shape, frozen."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ShapeError(
            f"the {what} must be finite, of shape {shape}; it has shape {array.shape}"
        )
    return frozen_array(array)


@dataclass(frozen=True, eq=False)
class StandingFrames:
    """Links and soles of n poses in the level frame.

    Attributes:
        link_names: Links that have mass, nl of them.
        link_arms: [p_l, R_l], a link's origin [m] and its axes: the first moments h_l
            for unit parameters, shape (n, nl, 3, 4).
        sole_in_level: Transforms from sole to level frame, by side, shape (n, 4, 4).
        sensor_in_level: Transforms from sensor to level frame, by sensor, likewise.
        tilt: Angle between the soles' normals [rad], shape (n,).
    """

    link_names: tuple[str, ...]
    link_arms: Array
    sole_in_level: dict[Side, Array]
    sensor_in_level: dict[str, Array]
    tilt: Array


def links_with_mass(robot: Robot) -> dict[str, Inertial]:
    """Return the links that have mass, by name, in the file's order."""
    return {
        link.name: link.inertial
        for link in robot.description.links
        if link.inertial is not None and link.inertial.mass > 0.0
    }


def link_parameters(values: Array, links: int) -> Array:
    """Return mass and first moment of so many links, of parameters (nx,), (nl, 4)."""
    return values[: PER_LINK * links].reshape(-1, PER_LINK)


def frames_of(poses: MeasuredPoses) -> StandingFrames:
    """Return links, soles and sensors of measured poses in the level frame."""
    return standing_frames(
        poses.robot, poses.q, poses.sensors, poses.plates, poses.up_in_base
    )


def standing_frames(
    robot: Robot,
    q: Array,
    sensors: Sequence[str] = FEET,
    plates: Mapping[str, Array] | None = None,
    up_in_base: Array | None = None,
) -> StandingFrames:
    """Return links and soles in the level frame.

    Args:
        robot: The robot.
        q: Configurations in which both soles are flat on the ground, shape (n, nq);
            their base poses are ignored.
        sensors: Names of the sensors.
        plates: Transforms from plates among them to the base, shape (n, 4, 4).
        up_in_base: Direction against gravity in the base's axes, shape (n, 3); that of
            the soles' normals if None.
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
    base = np.array([pin.XYZQUATToSE3(row[:7]).homogeneous for row in q])
    up = None
    if up_in_base is not None:
        up = np.einsum("nij,nj->ni", base[:, :3, :3], up_in_base)
    poses = poses @ places
    to_level = np.linalg.inv(level_frames(poses[:, -2], poses[:, -1], up))
    poses = to_level[:, None] @ poses
    soles_in_level = {side: poses[:, at - 2] for at, side in enumerate(FEET)}
    arms = poses[:, :-2, :3, [3, 0, 1, 2]]
    sensed: dict[str, Array] = {
        name: to_level @ base @ (plates or {})[name]
        for name in sensors
        if name not in FEET
    }
    sensed |= {side: soles_in_level[side] for side in FEET if side in sensors}
    return StandingFrames(
        names,
        arms,
        soles_in_level,
        {name: sensed[name] for name in sensors},
        sole_tilt(soles_in_level),
    )


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


def level_frames(left: Array, right: Array, up: Array | None = None) -> Array:
    """Return the transforms of level frames to the frame that soles are given in.

    Args:
        left: Transforms of left soles, shape (n, 4, 4).
        right: Transforms of right soles to the same frames, likewise.
        up: Directions against gravity there, shape (n, 3); the mean of the soles'
            normals if None.
    """
    up = left[:, :3, 2] + right[:, :3, 2] if up is None else up
    up = up / np.linalg.norm(up, axis=1, keepdims=True)
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
    right = total_wrench(frames.sensor_in_level, poses.wrenches)
    if poses.momentum_rate is not None:
        right = right - poses.momentum_rate
    return Equations(balance_matrix(frames), right)


def balance_matrix(frames: StandingFrames) -> Array:
    """Return A: columns of the links, then of the sensors, shape (n, 6, nx)."""
    columns = [link_columns(frames), offset_columns(frames)]
    return np.concatenate(columns, axis=2)


def total_wrench(
    sensor_in_level: Mapping[Any, Array], wrenches: Mapping[Any, Array]
) -> Array:
    """Return the sum of all wrenches in the level frame [N, Nm], shape (n, 6).

    Args:
        sensor_in_level: Transforms from sensor to level frame, by sensor, (n, 4, 4).
        wrenches: Wrenches about and in the sensors' frames [N, Nm], likewise, (n, 6).
    """
    total: Array = np.zeros(1)
    for name, wrench in wrenches.items():
        turn = sensor_in_level[name][:, :3, :3]
        place = sensor_in_level[name][:, :3, 3]
        force = np.einsum("nij,nj->ni", turn, wrench[:, :3])
        torque = np.einsum("nij,nj->ni", turn, wrench[:, 3:]) + np.cross(place, force)
        total = total + np.concatenate([force, torque], axis=1)
    return total


def carried_weight(frames: StandingFrames, poses: MeasuredPoses) -> float:
    """Return the median vertical force of the ground [N]."""
    total = total_wrench(frames.sensor_in_level, poses.wrenches)
    return float(np.median(total[:, 2]))


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
    links = link_parameters(mean, len(frames.link_names))
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
    """Return the sum of wrenches for unit sensor offsets, shape (n, 6, 6 ns)."""
    places = frames.sensor_in_level.values()
    return np.concatenate([wrench_transform(place) for place in places], axis=2)


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
