"""What a robot knows of itself: encoders, force/torque sensors at the feet, an IMU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pinocchio as pin

from equipoise.control.signals import ImuReading, Measurement, State, Wrench
from equipoise.errors import EquipoiseError
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.description import Array, frozen_array
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.parts import Side
from equipoise.simulation.measures import foot_wrench, wrench_in_frame
from equipoise.simulation.noise import (
    SAME_TIME,
    AttitudeChannel,
    Channel,
    Noise,
    quaternion,
)
from equipoise.simulation.world import World

BASE_DOF = 6


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
        orientation: [rad], see :class:`~equipoise.simulation.noise.AttitudeChannel`.
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

    Each quantity has random numbers of its own, so that noise in one changes no other.

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
        robot = world.robot
        self._model = robot.model.copy()
        self._model.gravity.linear = np.array([0.0, 0.0, -world.gravity])
        self._data = self._model.createData()
        frame = robot.model.frames[robot.frame_id(self.imu.frame)]
        self._imu_body = int(frame.parentJoint)
        pose = pin.SE3(np.array(self.imu.transform_imu_to_frame))
        self._imu_in_body = frame.placement * pose
        self._is_circular = np.zeros(robot.nv - BASE_DOF, dtype=bool)
        for joint in list(robot.model.joints)[2:]:
            if joint.nq == 2 and joint.nv == 1:
                self._is_circular[joint.idx_v - BASE_DOF] = True
        self.reset()

    def reset(self) -> None:
        """Begin anew: the same random numbers, no measurements to wait for."""
        position, velocity = self.encoders.position, self.encoders.velocity
        # differences of delayed positions are as old as these
        difference = Noise(delay=position.delay)
        noises = {
            "position": position,
            "velocity": difference if velocity is None else velocity,
            "angular_velocity": self.imu.angular_velocity,
            "specific_force": self.imu.specific_force,
            "orientation": self.imu.orientation,
            "left force": self.feet.force,
            "left torque": self.feet.torque,
            "right force": self.feet.force,
            "right torque": self.feet.torque,
        }
        joints = self.world.robot.nv - BASE_DOF
        for name, noise in noises.items():
            noise.check_size(name, joints if name in ("position", "velocity") else 3)
        self._channels = {
            name: (AttitudeChannel if name == "orientation" else Channel)(
                noise, (self.seed, number)
            )
            for number, (name, noise) in enumerate(noises.items())
        }
        self._last_time: float | None = None
        self._last_position = np.zeros(joints)

    def measure(self, state: State) -> Measurement:
        """Return what the sensors say; call it once for each step of the loop.

        Raises:
            EquipoiseError: If time goes back; :meth:`reset` lets it.
        """
        time = float(state.time)
        if self._last_time is not None and time < self._last_time - SAME_TIME:
            raise EquipoiseError(
                f"sensors: a state at {time:g} s after one at {self._last_time:g} s; "
                "reset() begins anew"
            )
        position, velocity = self._joints(time, state)
        feet: dict[Side, Wrench] = {
            side: Wrench(
                self._channels[f"{side} force"].read(time, truth.force),
                self._channels[f"{side} torque"].read(time, truth.torque),
            )
            for side, truth in self._feet(state).items()
        }
        truth = self._imu(state)
        imu = ImuReading(
            *(
                self._channels[name].read(time, getattr(truth, name))
                for name in ImuReading._fields
            )
        )
        self._last_time = time
        return Measurement(time, position, velocity, feet, imu)

    def _joints(self, time: float, state: State) -> tuple[Array, Array]:
        channel = self._channels["position"]
        sample = channel.disturbed(joint_positions(self.world.robot, state.q))
        if self.encoders.velocity is None:
            moved = np.zeros_like(sample)
            if self._last_time is not None and time - self._last_time > SAME_TIME:
                moved = sample - self._last_position
                turned = np.arctan2(np.sin(moved), np.cos(moved))
                moved = np.where(self._is_circular, turned, moved)
                moved /= time - self._last_time
            velocity = self._channels["velocity"].delayed(time, moved)
        else:
            velocity = self._channels["velocity"].read(time, state.v[BASE_DOF:])
        self._last_position = sample
        return channel.delayed(time, sample), velocity

    def _feet(self, state: State) -> dict[Side, Wrench]:
        """Return the true wrenches where the sensors are."""
        robot, contacts = self.world.robot, self.world.contacts
        ground: dict[Side, Wrench] = {
            side: foot_wrench(
                robot,
                state.q,
                contacts,
                state.contact_position,
                state.contact_force,
                side,
            )
            for side in robot.soles
        }
        if self.feet.at == "sole":
            return ground
        pin.rnea(self._model, self._data, state.q, state.v, state.a)
        for side, sole in robot.soles.items():
            body, sole_in_body = placement_in_body(self._model, sole)
            to_sole = sole_in_body.rotation.T
            sole_to_ankle = np.eye(4)
            sole_to_ankle[:3, 3] = to_sole @ sole_in_body.translation
            force, torque = wrench_in_frame(ground[side], sole_to_ankle)
            needed = self._data.f[body]  # moves and carries the foot
            ground[side] = Wrench(
                force - to_sole @ needed.linear, torque - to_sole @ needed.angular
            )
        return ground

    def _imu(self, state: State) -> ImuReading:
        """Return the truth where the IMU is."""
        model, data = self._model, self._data
        pin.forwardKinematics(model, data, state.q, state.v, state.a)
        where = (model, data, self._imu_body, self._imu_in_body, pin.LOCAL)
        rotation = data.oMi[self._imu_body].rotation @ self._imu_in_body.rotation
        gravity = rotation.T @ model.gravity.linear
        return ImuReading(
            np.array(pin.getFrameVelocity(*where).angular),
            np.array(pin.getFrameClassicalAcceleration(*where).linear - gravity),
            quaternion(rotation),
        )
