"""What a robot knows of itself: encoders, force/torque sensors at the feet, an IMU."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import ImuReading, Measurement, State, Wrench
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.parts import Side
from equipoise.simulation.noise import SAME_TIME, Channels, Noise
from equipoise.simulation.world import World

BASE_DOF = 6
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Encoders:
    """Joint positions and velocities.

    Attributes:
        position: [rad or m].
        velocity: [rad/s or m/s]; None for the difference of the last two positions
            measured, over the time between: zero at first, and as coarse as they are.
    """

    position: Noise = field(default_factory=Noise)
    velocity: Noise | None = field(default_factory=Noise)


@dataclass(frozen=True, eq=False)
class FootSensors:
    """Force and torque at each foot, in axes parallel to the sole's.

    Attributes:
        force: [N].
        torque: [Nm].
        at: ``"sole"`` measures what the world does to the foot, about the sole's
            origin. ``"ankle"`` measures what the foot does to the shank, about the
            last joint of the leg: the same, less weight and inertia of the foot.
    """

    force: Noise = field(default_factory=Noise)
    torque: Noise = field(default_factory=Noise)
    at: Literal["ankle", "sole"] = "ankle"

    def __post_init__(self) -> None:
        """Refuse other places."""
        if self.at not in ("ankle", "sole"):
            raise EquipoiseError(
                f"there are no foot sensors at '{self.at}'; "
                "the choices are: ankle, sole"
            )


@dataclass(frozen=True, eq=False)
class Imu:
    """Gyroscope, accelerometer and the orientation that is made of them.

    Attributes:
        frame: A link, joint or fixed frame.
        transform_imu_to_frame: Its pose there, shape (4, 4).
        angular_velocity: [rad/s].
        specific_force: [m/s²].
        orientation: [rad], see :class:`~equipoise.simulation.noise.Channels`.
    """

    frame: str = "base_link"
    transform_imu_to_frame: Array = field(default_factory=lambda: np.eye(4))
    angular_velocity: Noise = field(default_factory=Noise)
    specific_force: Noise = field(default_factory=Noise)
    orientation: Noise = field(default_factory=Noise)

    def __post_init__(self) -> None:
        """Keep the pose read-only and refuse what is none."""
        pose = np.asarray(self.transform_imu_to_frame, dtype=np.float64)
        if pose.shape != (4, 4) or not np.allclose(
            pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-6
        ):
            raise EquipoiseError(
                "the transform_imu_to_frame of an IMU must be a pose, shape (4, 4)"
            )
        object.__setattr__(self, "transform_imu_to_frame", frozen_array(pose))


class SensorSuite:
    """All sensors of a robot; without noise they measure the truth.

    Noise in one quantity changes no other.

    Args:
        world: Whose robot is measured. Boxes and walls count, by the contact forces;
            pushes on a foot do not reach its sensor.
        encoders: At the joints.
        feet: At the feet that have soles.
        imu: On any link.
        seed: The same seed gives the same measurements of the same states.
    """

    def __init__(
        self,
        world: World,
        encoders: Encoders | None = None,
        feet: FootSensors | None = None,
        imu: Imu | None = None,
        seed: int = 0,
    ) -> None:
        self.world = world
        self.encoders = Encoders() if encoders is None else encoders
        self.feet = FootSensors() if feet is None else feet
        self.imu = Imu() if imu is None else imu
        self.seed = seed
        if seed < 0:
            raise EquipoiseError(f"the seed of sensors is {seed}; it must be 0 or more")
        self._truth = _Truth(world, self.feet.at, self.imu)
        self.reset()

    def reset(self) -> None:
        """Begin anew: the same random numbers, no measurements to wait for."""
        position, velocity = self.encoders.position, self.encoders.velocity
        # differences of delayed positions are as old as these
        difference = Noise(delay=position.delay)
        joints = self.world.robot.nv - BASE_DOF
        noises = {
            "position": (position, joints),
            "velocity": (difference if velocity is None else velocity, joints),
            "angular_velocity": (self.imu.angular_velocity, 3),
            "specific_force": (self.imu.specific_force, 3),
        }
        for side in self.world.robot.soles:
            noises[f"{side} force"] = (self.feet.force, 3)
            noises[f"{side} torque"] = (self.feet.torque, 3)
        self._channels = Channels(noises, self.imu.orientation, self.seed)
        parts = self._channels.slices
        self._position, self._velocity = parts["position"], parts["velocity"]
        self._imu_parts = [parts[name] for name in ImuReading._fields]
        self._feet_parts = [
            (side, parts[f"{side} force"], parts[f"{side} torque"])
            for side in self.world.robot.soles
        ]
        self._last_time = -math.inf
        self._last_position = np.zeros(joints)

    def measure(self, state: State) -> Measurement:
        """Return what the sensors say; call it once for each step of the loop.

        Raises:
            EquipoiseError: If time goes back; :meth:`reset` lets it.
            ShapeError: If the state lacks accelerations or contact forces: an estimate.
        """
        time, before = float(state.time), self._last_time
        if time < before - SAME_TIME:
            raise EquipoiseError(
                f"sensors: a state at {time:g} s after one at {before:g} s; "
                "reset() begins anew"
            )
        sample = self._channels.disturbed(*self._truth.of(state))
        if self.encoders.velocity is None:
            position = sample[self._position]
            sample[self._velocity] = self._speed(position, time - before)
            self._last_position = position
        self._last_time = time
        found = self._channels.delayed(time, sample)
        feet: dict[Side, Wrench] = {
            side: Wrench(found[force], found[torque])
            for side, force, torque in self._feet_parts
        }
        angular, specific, orientation = self._imu_parts
        return Measurement(
            time,
            found[self._position],
            found[self._velocity],
            feet,
            ImuReading(found[angular], found[specific], found[orientation]),
        )

    def _speed(self, position: Array, passed: float) -> Array:
        """Return joint velocities over the time since the last measurement [s]."""
        if not SAME_TIME < passed < math.inf:
            return np.zeros_like(position)
        moved = position - self._last_position
        circles = self._truth.circles
        if len(circles):
            turned = moved[circles]
            moved[circles] = np.arctan2(np.sin(turned), np.cos(turned))
        return np.asarray(moved / passed)


class _Truth:
    """What the sensors would measure without noise, in the order of the channels.

    Kinematics and dynamics are Pinocchio's, of the links between the base and the
    sensors, read through views of its data.

    Args:
        world: Whose robot is measured.
        at: Where the sensors of the feet are.
        imu: The IMU.

    Attributes:
        circles: Which joint degrees of freedom turn for ever.
    """

    def __init__(self, world: World, at: Literal["ankle", "sole"], imu: Imu) -> None:
        self._given = world, at, imu
        robot = self._robot = world.robot
        joints = list(robot.model.joints)[2:]
        circles = [joint for joint in joints if (joint.nq, joint.nv) == (2, 1)]
        self.circles = np.array([j.idx_v - BASE_DOF for j in circles], dtype=np.int64)
        self._is_simple = all(joint.nv in (1, joint.nq) for joint in joints)
        entries = [joint.idx_q + k for joint in joints for k in range(joint.nv)]
        self._joints_from = np.array(entries, dtype=np.int64)
        self._sines_from = self._joints_from[self.circles] + 1
        frame = robot.model.frames[robot.frame_id(imu.frame)]
        soles = [placement_in_body(robot.model, sole) for sole in robot.soles.values()]
        self._cut(int(frame.parentJoint), [body for body, _ in soles], world.gravity)
        data, body = self._data, self._body_of[int(frame.parentJoint)]
        pose_in_frame = pin.SE3(np.array(imu.transform_imu_to_frame))
        self._imu_in_body = frame.placement * pose_in_frame
        self._to_imu = self._imu_in_body.rotation.T.copy()
        self._pose, self._twist = data.oMi[body], data.v[body]
        self._angular = self._twist.angular
        self._acceleration = data.a_gf[body]  # less gravity
        sizes = [robot.nv - BASE_DOF] * 2 + [3, 3] + [6 * len(soles)]
        self._values = np.zeros(sum(sizes))
        self._parts = np.split(self._values, np.cumsum(sizes)[:-1])
        self._map_forces(world, soles, at)
        motion = (robot.nq,), (robot.nv,), (robot.nv,)
        self._shapes: Shapes = (*motion, (len(world.contacts), 3))
        self._sizes = tuple(math.prod(shape) for shape in self._shapes)

    def _cut(self, imu_body: int, feet: list[int], gravity: float) -> None:
        """Make a model of the links that move the sensors, and of the feet."""
        model, cut = self._robot.model, pin.Model()
        kept = {*model.supports[imu_body]}
        for body in feet:
            kept |= {*model.supports[body], *model.subtrees[body]}
        self._body_of = {0: 0}
        entries_q: list[int] = []
        entries_v: list[int] = []
        for body in sorted(kept - {0}):
            joint = model.joints[body]
            entries_q += range(joint.idx_q, joint.idx_q + joint.nq)
            entries_v += range(joint.idx_v, joint.idx_v + joint.nv)
            parent, placement = model.parents[body], model.jointPlacements[body]
            at = cut.addJoint(
                self._body_of[parent], joint, placement, model.names[body]
            )
            cut.appendBodyToJoint(at, model.inertias[body], pin.SE3.Identity())
            self._body_of[body] = at
        cut.gravity.linear = np.array([0.0, 0.0, -gravity])
        self._model, self._data = cut, cut.createData()
        self._q_from, self._v_from = np.array(entries_q), np.array(entries_v)

    def _map_forces(
        self,
        world: World,
        soles: list[tuple[int, pin.SE3]],
        at: Literal["ankle", "sole"],
    ) -> None:
        """Make a matrix that maps forces in axes of the feet to what sensors measure.

        Contact points are where their links have them; see
        :func:`~equipoise.simulation.measures.foot_wrench`.
        """
        poses, count = self._data.oMi, len(world.contacts)
        width = 3 * count + 6
        self._in_feet = np.zeros(len(soles) * width)
        self._to_feet = np.zeros((6 * len(soles), len(soles) * width))
        self._feet, self._toes = [], []
        for number, (body, sole_in_body) in enumerate(soles):
            own, columns = slice(6 * number, 6 * number + 6), width * number
            origin = sole_in_body.translation if at == "sole" else np.zeros(3)
            sensor_in_body = pin.SE3(sole_in_body.rotation, origin)
            to_sensor = np.array(sensor_in_body.inverse().dualAction)
            forces, needed = np.split(
                self._in_feet[columns : columns + width], [width - 6]
            )
            force = self._data.f[self._body_of[body]]  # moves and carries the foot
            pose = poses[self._body_of[body]]
            self._feet.append(
                (pose.rotation, forces.reshape(count, 3), force.vector, needed)
            )
            if at == "ankle":
                self._to_feet[own, columns + width - 6 : columns + width] = -to_sensor
            for part in self._robot.model.subtrees[body]:
                to_part = _wrench_map(world, part)
                if part == body:
                    mapped = to_sensor @ to_part
                    self._to_feet[own, columns : columns + width - 6] = mapped
                elif to_part.any():
                    toes = poses[self._body_of[part]]
                    self._toes.append((own, to_sensor, pose, toes, to_part))

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies anew: views of the data would stay with the original."""
        return _Truth, self._given

    def of(self, state: State) -> tuple[Array, pin.SE3]:
        """Return all but the orientation of the IMU, in memory used again, and that."""
        forces = state.contact_force
        sizes = (state.q.size, state.v.size, state.a.size, forces.size)
        if sizes != self._sizes:
            shapes = state.q.shape, state.v.shape, state.a.shape, forces.shape
            self._refuse(shapes)
        model, data, imu_in_body = self._model, self._data, self._imu_in_body
        q, v = state.q.take(self._q_from), state.v.take(self._v_from)
        pin.rnea(model, data, q, v, state.a.take(self._v_from))
        pin.updateGlobalPlacements(model, data)
        position, velocity, angular, specific, feet = self._parts
        self._find_positions(state.q, position)
        velocity[:] = state.v[BASE_DOF:]
        self._to_imu.dot(self._angular, out=angular)
        specific[:] = pin.classicAcceleration(
            self._twist, self._acceleration, imu_in_body
        )
        self._find_wrenches(forces, feet)
        return self._values, self._pose.act(imu_in_body)

    def _refuse(self, shapes: Shapes) -> None:
        """Say what of a state has another shape than it should."""
        names = ("q", "v", "a", "contact_force")
        for name, shape, needed in zip(names, shapes, self._shapes, strict=True):
            if shape != needed:
                raise ShapeError(
                    f"sensors: {name} of the state has shape {shape}; "
                    f"{needed} is needed"
                )

    def _find_positions(self, q: Array, position: Array) -> None:
        """Set joint positions."""
        if not self._is_simple:
            position[:] = joint_positions(self._robot, q)
            return
        q.take(self._joints_from, out=position, mode="clip")
        if len(self.circles):
            sines, cosines = q.take(self._sines_from), position[self.circles]
            position[self.circles] = np.arctan2(sines, cosines)

    def _find_wrenches(self, forces: Array, wrenches: Array) -> None:
        """Set forces and torques at the feet, of forces on the contact points."""
        for rotation, in_foot, force, needed in self._feet:
            forces.dot(rotation, out=in_foot)
            needed[:] = force
        self._to_feet.dot(self._in_feet, out=wrenches)
        for own, to_sensor, foot, toes, to_toes in self._toes:
            wrench = to_toes @ (forces @ toes.rotation).ravel()
            wrenches[own] += to_sensor @ foot.actInv(toes).dualAction @ wrench


def _wrench_map(world: World, body: int) -> Array:
    """Return what maps forces on all contact points to the wrench of those on a body.

    Forces are in the body's axes, shape (3 nc,), and so is the wrench, shape (6,).
    """
    matrix = np.zeros((6, len(world.contacts), 3))
    for number, point in enumerate(world.contacts):
        other, arm = world.in_body(point.link, point.position_in_link)
        if other == body:
            matrix[:3, number], matrix[3:, number] = np.eye(3), pin.skew(arm)
    return matrix.reshape(6, -1)
