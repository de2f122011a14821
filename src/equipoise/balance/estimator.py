"""Base, centre of mass and ground forces, from encoders, IMU and foot sensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
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
# At the start both feet touch; for how long they have told of something [s].
AT_FIRST = (1.0, 1.0, 0.0, 0.0)


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
        (x, y, _), (fast_x, fast_y, _) = self.com.tolist(), self.com_velocity.tolist()
        off_x, off_y = self.com_offset.tolist()
        return np.array((x + off_x + fast_x / omega, y + off_y + fast_y / omega))


@dataclass(frozen=True, eq=False)
class EstimatorArrays:
    """What the kernel of the estimator is told of a robot.

    Attributes:
        sensing: Numbers and arrays of the struct ``Sensing`` by name.
        carrier: Body that carries the IMU.
        transform_imu_to_carrier: Its pose there, shape (4, 4).
        soles: Body of each sole and the sole's pose there.
    """

    sensing: dict[str, Any]
    carrier: int
    transform_imu_to_carrier: Array
    soles: Mapping[Side, tuple[int, Array]]

    def start(self, robot: Robot, q: Array) -> tuple[Array, Array]:
        """Return the memory of an estimator of a robot that stands on both feet.

        Returns:
            Vectors, shape (``VECTORS``, 3), and rotations, (``ROTATIONS``, 3, 3).
        """
        from equipoise.kernels import estimation as at

        pin.forwardKinematics(robot.model, robot.data, q)
        carrier = np.array(robot.data.oMi[self.carrier].homogeneous)
        vectors = np.zeros((at.VECTORS, 3))
        rotations = np.zeros((at.ROTATIONS, 3, 3))
        vectors[at.POSITION] = (carrier @ self.transform_imu_to_carrier)[:3, 3]
        vectors[at.OFFSET, 2] = 1.0
        rotations[at.CARRIER] = carrier[:3, :3]
        for foot, side in enumerate(SIDES):
            body, pose = self.soles[side]
            sole = np.array(robot.data.oMi[body].homogeneous) @ pose
            vectors[at.ANCHORS + foot] = sole[:3, 3]
            rotations[at.FEET + foot] = sole[:3, :3]
            rotations[at.HEADINGS + foot] = sole[:3, :3]
        return vectors, rotations


def estimator_arrays(
    robot: Robot,
    period: float,
    rates: EstimatorRates | None = None,
    *,
    feet_at: Literal["ankle", "sole"] = "ankle",
    imu_frame: str = "base_link",
    transform_imu_to_frame: Array | None = None,
) -> EstimatorArrays:
    """Return a robot as the kernel of the estimator knows it.

    Args:
        robot: The robot as it is known.
        period: Time between two measurements [s].
        rates: How fast to believe what.
        feet_at: Where the foot sensors are.
        imu_frame: What carries the IMU.
        transform_imu_to_frame: Pose of the IMU there, shape (4, 4).

    Raises:
        EquipoiseError: If a sole is missing.
        NameNotFoundError: If there is no such frame.
    """
    rates, soles = rates or EstimatorRates(), sole_placements(robot)
    frame = robot.model.frames[robot.frame_id(imu_frame)]
    pose = np.eye(4) if transform_imu_to_frame is None else transform_imu_to_frame
    imu = np.array(frame.placement.homogeneous) @ pose
    carrier = int(frame.parentJoint)
    path = [body for body in robot.model.supports[carrier] if body > 1]
    bodies = [soles[side][0] for side in SIDES]
    poses = np.array([soles[side][1] for side in SIDES])
    masses, levers = zip(*(_foot(robot, body) for body in bodies), strict=True)
    sensing: dict[str, Any] = {
        "period": period,
        "gravity": STANDARD_GRAVITY,
        "weight": robot.mass * STANDARD_GRAVITY,
        **{f"{name}_rate": rate for name, rate in asdict(rates).items()},
        "touch": TOUCH,
        "lift": LIFT,
        "at_sole": int(feet_at == "sole"),
        "imu_rotation": imu[:3, :3],
        "imu_position": imu[:3, 3],
        "path": path or [0],
        "path_length": len(path),
        "foot": bodies,
        "sole_rotation": poses[:, :3, :3],
        "sole_position": poses[:, :3, 3],
        "foot_mass": masses,
        "foot_com": levers,
    }
    return EstimatorArrays(sensing, carrier, imu, soles)


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
        from equipoise.kernels.runtime import adjoining, device_named, filled, record
        from equipoise.kernels.skeleton import make_skeleton, upload_skeleton

        self.robot, self.period = robot, period
        self._arrays = estimator_arrays(
            robot,
            period,
            rates,
            feet_at=feet_at,
            imu_frame=imu_frame,
            transform_imu_to_frame=transform_imu_to_frame,
        )
        device, scalar = device_named("cpu"), wp.float64
        arrays = skeleton_arrays(robot)
        count = robot.nv - BASE_DOF
        self._count = count
        # a number for each joint, none of them a circle or a ball
        self._plain = robot.nq - 7 == count
        with lock:
            types, own = make_skeleton(scalar), kernels.make_estimation(scalar)

            def memory(dtype: Any, *shape: int) -> Any:
                return wp.zeros(shape, dtype=dtype, device=device)

            sensing = filled(own.Sensing, self._arrays.sensing, device)
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

    def reset(self, start: State) -> None:
        """Begin where the robot stands, both feet on the ground."""
        self._vectors[:], self._rotations[:] = self._arrays.start(self.robot, start.q)
        self._contact[:] = AT_FIRST
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
