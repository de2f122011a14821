"""The stabiliser of position-controlled robots: DCM feedback through exact kinematics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.skeleton import (
    BASE_DOF,
    SIDES,
    base_pose,
    skeleton_arrays,
    sole_placements,
)
from equipoise.control.blocks import Controller
from equipoise.control.signals import Command, State, Target
from equipoise.errors import EquipoiseError
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.model import Robot

# Corners of a sole that are kept, those farthest out in as many directions.
MOST_CORNERS = 16
UNLIMITED = 1e30


@dataclass(frozen=True)
class StabiliserGains:
    """Numbers of a stabiliser; none depends on the robot.

    Attributes:
        dcm: Gain of the DCM's error, over that which only keeps it: the error falls at
            this many times the pendulum's ω.
        zmp_rate: Rate at which torques are corrected by the measured ZMP [1/s].
        zmp_most: Largest such correction, as a fraction of the sole's length.
        com_rate: Rate at which the CoM that joints are solved for follows the one that
            is measured [1/s].
        follow_rate: Rate at which a sole on the ground is taken where it is measured
            [1/s].
        follow_velocity: Fraction of its turning that the servos do not resist.
        plan_rate: Rate at which the plan is shifted with the feet [1/s].
        relax: Time in which a swing foot goes back to its plan, over √(leg / g).
        lowering: Speed at which a foot that finds no ground is lowered, over leg
            lengths [1/s].
        lowest: How far it is lowered at most, as a fraction of the leg.
        margin: Part of a sole in which the ZMP is wanted.
        damping: Of the least-squares solution for the joints.
    """

    dcm: float = 2.0
    zmp_rate: float = 15.0
    zmp_most: float = 0.12
    com_rate: float = 25.0
    follow_rate: float = 66.0
    follow_velocity: float = 0.98
    follow_height: float = 0.9
    tilt_rate: float = 250.0
    yaw_rate: float = 2.0
    press_error: float = 0.1
    much: float = 0.1
    plan_rate: float = 33.0
    relax: float = 0.25
    lowering: float = 0.08
    lowering_time: float = 0.03
    lowest: float = 0.03
    touch: float = 0.08
    sure_time: float = 0.02
    margin: float = 0.95
    damping: float = 1e-6


class Stabiliser(Controller[State]):
    """Keeps a robot that stands or walks on its plan.

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        gains: Its numbers.
    """

    def __init__(
        self, robot: Robot, period: float, gains: StabiliserGains | None = None
    ) -> None:
        import warp as wp

        from equipoise.kernels import estimation, stabilising
        from equipoise.kernels.once import lock
        from equipoise.kernels.runtime import adjoining, device_named, record
        from equipoise.kernels.skeleton import make_skeleton, upload_skeleton

        self.robot, self.period = robot, period
        self.gains = gains = gains or StabiliserGains()
        self._kernels = stabilising
        device, scalar = device_named("cpu"), wp.float64
        arrays, soles = skeleton_arrays(robot), sole_placements(robot)
        freedom = leg_freedom(robot)
        count, number = robot.nv - BASE_DOF, len(arrays.parent)
        leg = max(robot.legs[side].length for side in SIDES)
        sole = max(max(robot.soles[side].size) for side in SIDES)
        chains = [[robot.joint_id(name) for name in freedom[s].moved] for s in SIDES]
        most = max(map(len, chains))
        joints = np.zeros((2, most), np.int32)
        unknown = np.zeros(count, np.int32)
        for row, chain, side in zip(joints, chains, SIDES, strict=True):
            row[: len(chain)] = chain
            for name in freedom[side].moved:
                unknown[degree_of(robot, name)] = 1
        below = arrays.mass.copy()
        for body in range(number - 1, 0, -1):
            below[arrays.parent[body]] += below[body]
        lower, upper = _limits(robot)
        corners = [_corners(robot.soles[side].polygon_in_sole) for side in SIDES]
        padded = np.zeros((2, max(map(len, corners)), 3))
        for row, points in zip(padded, corners, strict=True):
            row[: len(points), :2] = points
        middle = np.zeros((2, 3))
        for row, points in zip(middle, corners, strict=True):
            row[:2] = 0.5 * (points.min(axis=0) + points.max(axis=0))
        upright = np.array(pin.Quaternion(robot.standing[3:7]).toRotationMatrix())
        with lock:
            types = make_skeleton(scalar)
            own = stabilising.make_stabilising(scalar)

            def memory(dtype: Any, *shape: int) -> Any:
                return wp.zeros(shape, dtype=dtype, device=device)

            def constant(values: Any, dtype: Any) -> Any:
                return wp.array(
                    np.ascontiguousarray(values), dtype=dtype, device=device
                )

            legs = own.Legs()
            legs.period, legs.gravity = period, STANDARD_GRAVITY
            legs.mass, legs.weight = robot.mass, robot.mass * STANDARD_GRAVITY
            legs.dcm_gain, legs.zmp_rate = gains.dcm, gains.zmp_rate
            legs.zmp_most = gains.zmp_most * sole
            legs.com_rate, legs.follow_rate = gains.com_rate, gains.follow_rate
            legs.follow_velocity = gains.follow_velocity
            legs.follow_height = gains.follow_height
            legs.tilt_rate = gains.tilt_rate
            legs.yaw_rate = gains.yaw_rate
            legs.press_error, legs.much = gains.press_error, gains.much
            sizes = np.array([[*np.ptp(points, axis=0), 1.0] for points in corners])
            legs.half_size = constant(0.5 * sizes, types.vec3)
            legs.plan_rate = gains.plan_rate
            legs.relax_rate = 1.0 / (gains.relax * math.sqrt(leg / STANDARD_GRAVITY))
            legs.lowering_speed = gains.lowering * leg
            legs.lowering_gain = 1.0 / gains.lowering_time
            legs.lowest, legs.margin = gains.lowest * leg, gains.margin
            legs.damping = gains.damping
            legs.touch, legs.sure_rate = gains.touch, 1.0 / gains.sure_time
            legs.upright = types.mat33(upright.ravel().tolist())
            bodies = [soles[side][0] for side in SIDES]
            poses = np.array([soles[side][1] for side in SIDES])
            legs.foot = constant(np.array(bodies, np.int32), wp.int32)
            legs.sole_rotation = constant(poses[:, :3, :3], types.mat33)
            legs.sole_position = constant(poses[:, :3, 3], types.vec3)
            legs.middle = constant(middle, types.vec3)
            legs.corners = constant(padded, types.vec3)
            counts = np.array([len(points) for points in corners], np.int32)
            legs.corner_counts = constant(counts, wp.int32)
            legs.joints = constant(joints, wp.int32)
            lengths = np.array([len(chain) for chain in chains], np.int32)
            legs.joint_counts = constant(lengths, wp.int32)
            free = np.array([freedom[side].yaw_free for side in SIDES], np.int32)
            legs.yaw_free = constant(free, wp.int32)
            legs.unknown = constant(unknown, wp.int32)
            legs.mass_below = constant(below, scalar)
            legs.lower, legs.upper = constant(lower, scalar), constant(upper, scalar)
            state = own.Stabiliser()
            state.vectors = memory(types.vec3, 1, stabilising.VECTORS)
            state.base = memory(types.mat33, 1, 1)
            state.numbers = memory(scalar, 1, stabilising.NUMBERS)
            state.joints = memory(scalar, 1, count)
            state.body_rotations = memory(types.mat33, 1, number)
            state.body_origins = memory(types.vec3, 1, number)
            state.moments = memory(types.vec3, 1, number)
            rows, columns = stabilising.MOST_ROWS, stabilising.MOST_UNKNOWNS + 2
            state.rows = memory(scalar, 1, rows, columns)
            state.normal = memory(scalar, 1, columns, columns)
            state.corners = memory(types.vec3, 1, 2 * padded.shape[1])
            self._given, (wanted, wanted_rotations, *wanted_joints, told, turned) = (
                adjoining(
                    scalar,
                    (types.vec3, stabilising.WANTED),
                    (types.mat33, stabilising.WANTED_ROTATIONS),
                    *[(scalar, count)] * 3,
                    (types.vec3, estimation.TOLD),
                    (types.mat33, estimation.TOLD_ROTATIONS),
                )
            )
            supports = memory(wp.int32, 1)
            commands = [memory(scalar, 1, count) for _ in range(3)]
            said = memory(types.vec3, 1, stabilising.SAID)
            self._tick = record(
                own.stabilise,
                1,
                [
                    upload_skeleton(arrays, scalar, device),
                    legs,
                    told,
                    turned,
                    wanted,
                    wanted_rotations,
                    supports,
                    *wanted_joints,
                    state,
                    *commands,
                    said,
                ],
                device,
            )
        self._vectors, self._base = state.vectors.numpy()[0], state.base.numpy()[0]
        self._numbers, self._joints = state.numbers.numpy()[0], state.joints.numpy()[0]
        self._supports = supports.numpy()
        self._commands = [part.numpy()[0] for part in commands]
        self.said: Array = said.numpy()[0]

    def reset(self, start: State) -> None:
        """Begin in the state at the start."""
        rotation, position, joints = base_pose(self.robot, start.q)
        self._vectors[:] = self._numbers[:] = 0.0
        self._vectors[self._kernels.BASE_POSITION] = position
        self._base[0] = rotation
        self._joints[:] = joints

    def control(self, known: State, target: Target) -> Command:
        """Return a command for the next period.

        Args:
            known: An :class:`~equipoise.balance.estimator.Estimate`.
            target: What is wanted; a walk, a dance, a stance.

        Raises:
            EquipoiseError: If it is another state, or a target without CoM and soles.
        """
        if not isinstance(known, Estimate):
            raise EquipoiseError(
                "the stabiliser needs an Estimate: give simulate a "
                "ContactAidedEstimator with sensors"
            )
        soles, twists = target.soles, target.sole_twists
        if (
            target.com is None
            or target.com_velocity is None
            or target.com_acceleration is None
            or target.zmp is None
            or soles is None
            or twists is None
            or target.torso is None
        ):
            raise EquipoiseError(
                "the stabiliser needs a target with CoM, ZMP, soles and torso: a "
                "motion, not joints alone"
            )
        left, right = soles["left"], soles["right"]
        left_twist, right_twist = twists["left"], twists["right"]
        np.concatenate(
            (
                target.com,
                target.com_velocity,
                target.com_acceleration,
                target.zmp,
                left[:3, 3],
                right[:3, 3],
                left_twist[:3],
                right_twist[:3],
                left_twist[3:],
                right_twist[3:],
                left[:3, :3],
                right[:3, :3],
                target.torso,
                target.position,
                target.velocity,
                target.torque,
                known.told,
                known.told_rotations,
            ),
            axis=None,
            out=self._given,
        )
        self._supports[0] = SUPPORTS.index(target.support or "both")
        self._tick.run()
        position, velocity, torque = self._commands
        return Command(position.copy(), velocity.copy(), torque.copy())


def _limits(robot: Robot) -> tuple[Array, Array]:
    """Return lower and upper stops in the order of v[6:], shape (nv - 6,) each."""
    count = robot.nv - BASE_DOF
    lower, upper = np.full(count, -UNLIMITED), np.full(count, UNLIMITED)
    for joint in list(robot.model.joints)[2:]:
        if joint.nq == joint.nv == 1:
            at = joint.idx_v - BASE_DOF
            lower[at] = max(robot.model.lowerPositionLimit[joint.idx_q], -UNLIMITED)
            upper[at] = min(robot.model.upperPositionLimit[joint.idx_q], UNLIMITED)
    return lower, upper


def _corners(polygon: Array) -> Array:
    """Return the corners of a sole, or those farthest out in some directions."""
    if len(polygon) <= MOST_CORNERS:
        return polygon
    angles = np.linspace(0.0, 2.0 * np.pi, MOST_CORNERS, endpoint=False)
    along = np.stack([np.cos(angles), np.sin(angles)])
    return np.asarray(polygon[np.unique((polygon @ along).argmax(axis=0))])
