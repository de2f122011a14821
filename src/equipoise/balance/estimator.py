"""Base, centre of mass and ground forces, from encoders, IMU and foot sensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF, skeleton_arrays, sole_placements
from equipoise.control.blocks import Estimator
from equipoise.control.signals import UNKNOWN, Command, Measurement, State
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side


@dataclass(frozen=True)
class EstimatorRates:
    """How fast an estimator believes what [1/s].

    Attributes:
        position: Kinematics of the feet that carry, over what the accelerometer says.
        tilt: Gravity, over the gyroscope.
        heading: Feet that do not turn, over the gyroscope.
        anchor: A foot that carries little is where it is measured.
        velocity: Joint velocities that differ from those commanded.
        offset: How the CoM accelerates away from the ZMP, for its offset; faster in the
            first seconds, as the mean since the start.
        bias: Feet that carry and seem to turn, for the bias of the gyroscope; likewise,
            and 0 for none.
    """

    position: float = 30.0
    tilt: float = 0.1
    heading: float = 1.0
    anchor: float = 2.0
    velocity: float = 60.0
    offset: float = 0.2
    bias: float = 0.05


# A foot touches the ground above this fraction of the weight, and no longer below that.
TOUCH, LIFT = 0.08, 0.03


@dataclass(frozen=True, eq=False, slots=True)
class Estimate(State):
    """A state, and what else an estimator knows; all in the world.

    Attributes:
        com: Centre of mass by the model [m], shape (3,).
        com_velocity: Its velocity [m/s], shape (3,).
        com_offset: What the true centre of mass is off it, horizontally [m], (2,).
        mass_ratio: The robot's mass over the model's.
        zmp: Measured zero-moment point [m], shape (3,).
        gyroscope_bias: In the axes of the body that carries the IMU [rad/s], (3,).
        told: All of it as the kernels of the stabiliser take it.
        told_rotations: And its rotations.
        hands: Force of the world on each hand that has a sensor, as measured: by side,
            in axes of the hand's link [N], shape (3,) each.
    """

    com: Array = field(default_factory=lambda: UNKNOWN)
    com_velocity: Array = field(default_factory=lambda: UNKNOWN)
    com_offset: Array = field(default_factory=lambda: UNKNOWN)
    mass_ratio: float = 1.0
    zmp: Array = field(default_factory=lambda: UNKNOWN)
    gyroscope_bias: Array = field(default_factory=lambda: UNKNOWN)
    told: Array = field(default_factory=lambda: UNKNOWN)
    told_rotations: Array = field(default_factory=lambda: UNKNOWN)
    hands: Mapping[Side, Array] = field(default_factory=dict)

    def dcm(self, omega: float) -> Array:
        """Return the divergent component of motion of the true CoM [m], shape (2,)."""
        where = self.com[:2] + self.com_offset
        return np.asarray(where + self.com_velocity[:2] / omega)


class ContactAidedEstimator(Estimator):
    """Estimates where a robot with two feet is, and where its mass is.

    Args:
        robot: The robot as it is known.
        period: Time between two measurements [s].
        rates: How fast to believe what.
        feet_at: Where the foot sensors are, as in
            :class:`~equipoise.simulation.sensors.FootSensors`.
        imu_frame: Link, joint or fixed frame that carries the IMU, as in
            :class:`~equipoise.simulation.sensors.Imu`.
        transform_imu_to_frame: Pose of the IMU there, shape (4, 4).

    Raises:
        EquipoiseError: If a sole is missing.
        NameNotFoundError: If there is no such frame.
    """

    def __init__(
        self,
        robot: Robot,
        period: float,
        rates: EstimatorRates | None = None,
        *,
        feet_at: Literal["ankle", "sole"] = "ankle",
        imu_frame: str = "base_link",
        transform_imu_to_frame: Array | None = None,
    ) -> None:
        import warp as wp

        from equipoise.kernels import estimation as kernels
        from equipoise.kernels.once import lock
        from equipoise.kernels.runtime import adjoining, device_named, record
        from equipoise.kernels.skeleton import make_skeleton, upload_skeleton

        self.robot, self.period = robot, period
        rates = rates or EstimatorRates()
        device, scalar = device_named("cpu"), wp.float64
        arrays, soles = skeleton_arrays(robot), sole_placements(robot)
        frame = robot.model.frames[robot.frame_id(imu_frame)]
        pose = np.eye(4) if transform_imu_to_frame is None else transform_imu_to_frame
        imu = np.array(frame.placement.homogeneous) @ pose
        self._carrier, self._imu = int(frame.parentJoint), imu
        path = [body for body in robot.model.supports[self._carrier] if body > 1]
        count = robot.nv - BASE_DOF
        self._count = count
        # a number for each joint, none of them a circle or a ball
        self._plain = robot.nq - 7 == count
        with lock:
            types, own = make_skeleton(scalar), kernels.make_estimation(scalar)

            def memory(dtype: Any, *shape: int) -> Any:
                return wp.zeros(shape, dtype=dtype, device=device)

            def constant(values: Any, dtype: Any) -> Any:
                return wp.array(
                    np.ascontiguousarray(values), dtype=dtype, device=device
                )

            sensing = own.Sensing()
            sensing.period, sensing.gravity = period, STANDARD_GRAVITY
            sensing.weight = robot.mass * STANDARD_GRAVITY
            sensing.position_rate, sensing.tilt_rate = rates.position, rates.tilt
            sensing.heading_rate, sensing.anchor_rate = rates.heading, rates.anchor
            sensing.velocity_rate, sensing.offset_rate = rates.velocity, rates.offset
            sensing.touch, sensing.lift = TOUCH, LIFT
            sensing.at_sole = int(feet_at == "sole")
            sensing.imu_rotation = types.mat33(imu[:3, :3].ravel().tolist())
            sensing.imu_position = types.vec3(imu[:3, 3].tolist())
            sensing.path = constant(np.array(path or [0], np.int32), wp.int32)
            sensing.path_length = len(path)
            sensing.bias_rate = rates.bias
            bodies = [soles[side][0] for side in SIDES]
            poses = np.array([soles[side][1] for side in SIDES])
            masses, levers = zip(*(_foot(robot, body) for body in bodies), strict=True)
            sensing.foot = constant(np.array(bodies, np.int32), wp.int32)
            sensing.sole_rotation = constant(poses[:, :3, :3], types.mat33)
            sensing.sole_position = constant(poses[:, :3, 3], types.vec3)
            sensing.foot_mass = constant(np.array(masses), scalar)
            sensing.foot_com = constant(np.array(levers), types.vec3)
            state, number = own.Estimation(), len(arrays.parent)
            state.vectors = memory(types.vec3, 1, kernels.VECTORS)
            state.rotations = memory(types.mat33, 1, kernels.ROTATIONS)
            state.contact = memory(scalar, 1, 4)
            state.deviation = memory(scalar, 1, count)
            state.body_rotations = memory(types.mat33, 1, number)
            state.body_origins = memory(types.vec3, 1, number)
            state.body_omegas = memory(types.vec3, 1, number)
            state.body_velocities = memory(types.vec3, 1, number)
            self._given, (position, commanded, measured) = adjoining(
                scalar, (scalar, count), (scalar, count), (scalar, count + 18)
            )
            self._found, (told, told_rotations, state.joint_velocity) = adjoining(
                scalar,
                (types.vec3, kernels.TOLD),
                (types.mat33, kernels.TOLD_ROTATIONS),
                (scalar, count),
            )
            self._tick = record(
                own.estimate,
                1,
                [
                    upload_skeleton(arrays, scalar, device),
                    sensing,
                    measured,
                    position,
                    commanded,
                    state,
                    told,
                    told_rotations,
                ],
                device,
            )
        self._kernels = kernels
        self._vectors, self._rotations = (
            state.vectors.numpy()[0],
            state.rotations.numpy()[0],
        )
        self._contact, self._deviation = (
            state.contact.numpy()[0],
            state.deviation.numpy()[0],
        )
        self._soles = soles

    def reset(self, start: State) -> None:
        """Begin where the robot stands, both feet on the ground."""
        kernels, robot = self._kernels, self.robot
        pin.forwardKinematics(robot.model, robot.data, start.q)
        carrier = np.array(robot.data.oMi[self._carrier].homogeneous)
        self._vectors[:] = 0.0
        self._vectors[kernels.POSITION] = (carrier @ self._imu)[:3, 3]
        self._vectors[kernels.OFFSET, 2] = 1.0
        self._rotations[kernels.CARRIER] = carrier[:3, :3]
        for foot, side in enumerate(SIDES):
            body, pose = self._soles[side]
            sole = np.array(robot.data.oMi[body].homogeneous) @ pose
            self._vectors[kernels.ANCHORS + foot] = sole[:3, 3]
            self._rotations[kernels.FEET + foot] = sole[:3, :3]
            self._rotations[kernels.HEADINGS + foot] = sole[:3, :3]
        self._contact[:] = 1.0, 1.0, 0.0, 0.0
        self._deviation[:] = 0.0

    def estimate(self, measurement: Measurement, command: Command) -> Estimate:
        """Return the state now, an :class:`Estimate`."""
        imu, feet = measurement.imu, measurement.feet
        np.concatenate(
            (
                measurement.position,
                command.velocity,
                measurement.velocity,
                imu.angular_velocity,
                imu.specific_force,
                *feet["left"],
                *feet["right"],
            ),
            out=self._given,
        )
        self._tick.run()
        return self._answer(measurement)

    def _answer(self, measurement: Measurement) -> Estimate:
        time, position = measurement.time, measurement.position
        kernels, vectors = self._kernels, 3 * self._kernels.TOLD
        found = self._found.copy()
        told = found[:vectors].reshape(-1, 3)
        rotations = found[vectors : -self._count].reshape(-1, 3, 3)
        rotation = rotations[kernels.TOLD_BASE]
        state = np.concatenate(
            (
                told[kernels.TOLD_POSITION],
                pin.Quaternion(rotation).coeffs(),
                position,
                told[kernels.TOLD_VELOCITY].dot(rotation),
                told[kernels.TOLD_OMEGA],
                found[-self._count :],
            )
        )
        q, v = state[: 7 + self._count], state[7 + self._count :]
        if not self._plain:
            q = configurations(self.robot, q[None, :7], position[None])[0]
        offset = told[kernels.TOLD_OFFSET]
        return Estimate(
            time,
            q,
            v,
            com=told[kernels.TOLD_COM],
            com_velocity=told[kernels.TOLD_COM_VELOCITY],
            com_offset=offset[:2],
            mass_ratio=offset[2],
            zmp=told[kernels.TOLD_ZMP],
            gyroscope_bias=told[kernels.TOLD_BIAS],
            told=told,
            told_rotations=rotations,
            hands=measurement.hands,
        )


def _foot(robot: Robot, body: int) -> tuple[float, Array]:
    """Return mass and CoM (in the body's frame) of all that the foot sensor carries."""
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, robot.standing)
    mass, moment = 0.0, np.zeros(3)
    for part in model.subtrees[body]:
        inertia = model.inertias[part]
        place = data.oMi[body].actInv(data.oMi[part]).act(np.array(inertia.lever))
        mass += inertia.mass
        moment += inertia.mass * place
    return mass, moment / max(mass, 1e-12)
