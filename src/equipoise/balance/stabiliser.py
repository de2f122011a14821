"""The stabiliser of position-controlled robots: DCM feedback through exact kinematics.

It follows [Kajita2010] and [Caron2019] in what it feeds back, the divergent component
of motion ξ = c + ċ/ω: the ZMP

    p = p_plan + (1 + k) (ξ - ξ_plan),  within the soles,

lets the error of ξ fall at the rate k ω. How servos are made to do that is explained in
``docs/controllers.md``: joints are solved for the CoM that is measured, and the torques
that move the ZMP are added to those of the plan.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.skeleton import (
    BASE_DOF,
    base_pose,
    skeleton_arrays,
    sole_placements,
)
from equipoise.control.blocks import Controller
from equipoise.control.signals import Command, State, Target
from equipoise.errors import EquipoiseError
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.leg_freedom import SIDES, leg_freedom
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
        dcm: k: errors of the DCM fall at this many times the pendulum's ω.
        zmp_rate: Rate at which torques are corrected by the measured ZMP [1/s].
        zmp_most: Largest such correction, as a fraction of the sole's length.
        com_rate: Rate at which the CoM that joints are solved for follows the one that
            is measured [1/s].
        follow_rate: Rate at which a sole on the ground is taken where it is measured
            [1/s].
        follow_turn: Fraction of the servos' damping against a sole's turn that is taken
            away while it lies down on the ground.
        follow_height: The same against its height.
        tilt_rate: Rate at which the tilt of a sole that lies down is followed [1/s].
        yaw_rate: Rate at which its turn about the vertical, a slip, is accepted [1/s].
        press_error: It lies down if its centre of pressure is off by more than this
            fraction of the way from its middle to its edge, freely at twice as much.
        press_load: And if it carries this fraction of the weight.
        plan_rate: Rate at which the plan is shifted with the feet [1/s].
        relax: Time in which a swing foot goes back to its plan, over √(leg / g).
        lowering: Speed at which a foot that finds no ground is lowered, in legs a
            second.
        lowering_time: Time in which that speed is reached [s].
        lowest: How far below the other foot it is lowered, as a fraction of the leg.
        touch: A foot is on the ground if it carries this fraction of the weight.
        sure_time: Time until that is believed [s].
        margin: The ZMP is wanted in this part of the soles, as a fraction of the way
            from the middle to the edge; on one corner a foot pivots.
        edge: And in this part if the DCM would be lost otherwise.
        keep: It would be if the ZMP were not this fraction of its error beyond it.
        fastest: Largest speed that joints are told, over what they can at most.
        damping: Of the least squares for the joints, over the trace of their matrix.
    """

    dcm: float = 2.0
    zmp_rate: float = 15.0
    zmp_most: float = 0.12
    com_rate: float = 25.0
    follow_rate: float = 66.0
    follow_turn: float = 0.98
    follow_height: float = 0.9
    tilt_rate: float = 250.0
    yaw_rate: float = 2.0
    press_error: float = 0.1
    press_load: float = 0.1
    plan_rate: float = 33.0
    relax: float = 0.25
    lowering: float = 0.08
    lowering_time: float = 0.03
    lowest: float = 0.03
    touch: float = 0.08
    sure_time: float = 0.02
    margin: float = 0.8
    edge: float = 0.97
    keep: float = 0.4
    fastest: float = 0.95
    damping: float = 1e-6


class Stabiliser(Controller[State]):
    """Keeps a robot that stands or walks on its plan.

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        gains: Its numbers.

    Attributes:
        said: What it did last, rows as ``equipoise.kernels.stabiliser.types`` names
            them (``SAID_…``): ZMP planned and wanted, DCM error, shift of the plan, CoM
            and its velocity that joints were solved for, errors and damping of that
            solution; shape (7, 3).
    """

    def __init__(
        self, robot: Robot, period: float, gains: StabiliserGains | None = None
    ) -> None:
        import warp as wp

        from equipoise.kernels import estimation
        from equipoise.kernels.once import lock
        from equipoise.kernels.runtime import adjoining, device_named, filled, record
        from equipoise.kernels.skeleton import make_skeleton, upload_skeleton
        from equipoise.kernels.stabiliser import types as names
        from equipoise.kernels.stabiliser.tick import make_stabilise

        self.robot, self.period = robot, period
        self.gains = gains or StabiliserGains()
        self._names = names
        device, scalar = device_named("cpu"), wp.float64
        arrays = skeleton_arrays(robot)
        count, bodies = robot.nv - BASE_DOF, len(arrays.parent)
        with lock:
            types, own = make_skeleton(scalar), names.make_types(scalar)
            values = stabiliser_values(robot, period, self.gains)
            legs = filled(own.Legs, values, device)

            def memory(dtype: Any, *shape: int) -> Any:
                return wp.zeros((1, *shape), dtype=dtype, device=device)

            state, given, commanded = own.Memory(), own.Given(), own.Commanded()
            state.vectors = memory(types.vec3, names.VECTORS)
            state.base = memory(types.mat33, 2)
            state.numbers = memory(scalar, names.NUMBERS)
            state.joints = memory(scalar, count)
            state.body_rotations = memory(types.mat33, bodies)
            state.body_origins = memory(types.vec3, bodies)
            state.moments = memory(types.vec3, bodies)
            state.rows = memory(scalar, names.MOST_ROWS, names.MOST_UNKNOWNS + 2)
            state.solution = memory(scalar, names.MOST_UNKNOWNS, 2)
            state.corners = memory(types.vec3, 2 * legs.corners.shape[1])
            self._given, parts = adjoining(
                scalar,
                (types.vec3, names.WANTED),
                (types.mat33, names.WANTED_ROTATIONS),
                *[(scalar, count)] * 3,
                (types.vec3, estimation.TOLD),
                (types.mat33, estimation.TOLD_ROTATIONS),
            )
            given.wanted, given.wanted_rotations = parts[:2]
            given.position, given.velocity, given.torque = parts[2:5]
            given.told, given.told_rotations = parts[5:]
            given.supports = wp.zeros(1, dtype=wp.int32, device=device)
            commanded.position = memory(scalar, count)
            commanded.velocity = memory(scalar, count)
            commanded.torque = memory(scalar, count)
            commanded.said = memory(types.vec3, names.SAID)
            skeleton = upload_skeleton(arrays, scalar, device)
            inputs = [skeleton, legs, given, state, commanded]
            self._tick = record(make_stabilise(scalar).stabilise, 1, inputs, device)
        self._vectors, self._base = state.vectors.numpy()[0], state.base.numpy()[0]
        self._numbers, self._joints = state.numbers.numpy()[0], state.joints.numpy()[0]
        self._supports = given.supports.numpy()
        self._commands = [
            part.numpy()[0]
            for part in (commanded.position, commanded.velocity, commanded.torque)
        ]
        self.said: Array = commanded.said.numpy()[0]

    def reset(self, start: State) -> None:
        """Begin in the state at the start."""
        self._numbers[:] = 0.0
        self._vectors[:], self._base[:], self._joints[:] = stabiliser_start(
            self.robot, start.q
        )

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


def stabiliser_start(robot: Robot, q: Array) -> tuple[Array, Array, Array]:
    """Return the memory of a stabiliser at the start.

    Returns:
        Vectors (``VECTORS``, 3), rotations of the base (2, 3, 3) and joint positions
        (nv - 6,).
    """
    from equipoise.kernels.stabiliser import types as at

    rotation, position, joints = base_pose(robot, q)
    vectors = np.zeros((at.VECTORS, 3))
    vectors[at.BASE_POSITION] = position
    return vectors, np.stack([rotation, rotation]), joints


def gain_values(robot: Robot, gains: StabiliserGains) -> dict[str, float]:
    """Return the numbers of the struct ``Legs`` that gains set, by name."""
    length = max(robot.legs[side].length for side in SIDES)
    sole = max(max(robot.soles[side].size) for side in SIDES)
    values = asdict(gains)
    return values | {
        "dcm_gain": values.pop("dcm"),
        "zmp_most": gains.zmp_most * sole,
        "relax_rate": 1.0
        / (values.pop("relax") * math.sqrt(length / STANDARD_GRAVITY)),
        "lowering_speed": values.pop("lowering") * length,
        "lowest": gains.lowest * length,
        "lowering_gain": 1.0 / values.pop("lowering_time"),
        "sure_rate": 1.0 / values.pop("sure_time"),
    }


def stabiliser_values(
    robot: Robot, period: float, gains: StabiliserGains
) -> dict[str, Any]:
    """Return numbers and arrays of the struct ``Legs`` by name.

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        gains: Its numbers.
    """
    length = max(robot.legs[side].length for side in SIDES)
    soles = sole_placements(robot)
    poses = np.array([soles[side][1] for side in SIDES])
    corners = [_corners(robot.soles[side].polygon_in_sole) for side in SIDES]
    padded = np.zeros((2, max(map(len, corners)), 3))
    middle, half_size = np.zeros((2, 3)), np.ones((2, 3))
    for foot, points in enumerate(corners):
        padded[foot, : len(points), :2] = points
        middle[foot, :2] = 0.5 * (points.min(axis=0) + points.max(axis=0))
        half_size[foot, :2] = 0.5 * np.ptp(points, axis=0)
    freedom = leg_freedom(robot)
    moved = [freedom[side].moved for side in SIDES]
    joints = np.zeros((2, max(map(len, moved))), np.int32)
    unknown = np.zeros(robot.nv - BASE_DOF, np.int32)
    for row, names in zip(joints, moved, strict=True):
        row[: len(names)] = [robot.joint_id(name) for name in names]
        unknown[[degree_of(robot, name) for name in names]] = 1
    arrays = skeleton_arrays(robot)
    below = arrays.mass.copy()
    for body in range(len(below) - 1, 0, -1):
        below[arrays.parent[body]] += below[body]
    lower, upper, speed = _limits(robot)
    return {
        **gain_values(robot, gains),
        "period": period,
        "gravity": STANDARD_GRAVITY,
        "mass": robot.mass,
        "weight": robot.mass * STANDARD_GRAVITY,
        "upright": np.array(pin.Quaternion(robot.standing[3:7]).toRotationMatrix()),
        "foot": [soles[side][0] for side in SIDES],
        "sole_rotation": poses[:, :3, :3],
        "sole_position": poses[:, :3, 3],
        "corners": padded,
        "corner_counts": [len(points) for points in corners],
        "middle": middle,
        "half_size": np.maximum(half_size, 1e-3 * length),
        "joints": joints,
        "unknown": unknown,
        "joint_counts": [len(names) for names in moved],
        "yaw_free": [freedom[side].yaw_free for side in SIDES],
        "mass_below": below,
        "lower": lower,
        "upper": upper,
        "speed": speed,
    }


def _limits(robot: Robot) -> tuple[Array, Array, Array]:
    """Return stops and largest speeds in the order of v[6:], shape (nv - 6,) each."""
    count = robot.nv - BASE_DOF
    lower, upper = np.full(count, -UNLIMITED), np.full(count, UNLIMITED)
    speed = np.full(count, UNLIMITED)
    for actuator in robot.actuators:
        if 0.0 < actuator.velocity_limit < UNLIMITED:
            speed[degree_of(robot, actuator.joint)] = actuator.velocity_limit
    for joint in list(robot.model.joints)[2:]:
        if joint.nq == joint.nv == 1:
            at = joint.idx_v - BASE_DOF
            lower[at] = max(robot.model.lowerPositionLimit[joint.idx_q], -UNLIMITED)
            upper[at] = min(robot.model.upperPositionLimit[joint.idx_q], UNLIMITED)
    return lower, upper, speed


def _corners(polygon: Array) -> Array:
    """Return the corners of a sole, or those farthest out in some directions."""
    if len(polygon) <= MOST_CORNERS:
        return polygon
    angles = np.linspace(0.0, 2.0 * np.pi, MOST_CORNERS, endpoint=False)
    along = np.stack([np.cos(angles), np.sin(angles)])
    return np.asarray(polygon[np.unique((polygon @ along).argmax(axis=0))])
