"""Motions of arms over time: given as points, or a dance that fits any robot's arms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, suggest
from equipoise.robot.joint_coordinates import degree_names, degree_of, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Actuator

# The dance that is built in: how long, and how long arms take to begin and to end [s].
SECONDS, RAMP = 10.0, 2.0
# So many joints of each arm dance, at this peak speed [rad/s].
DANCING, PEAK_SPEED = 4, 2.2
# Frequencies that joints prefer, from the shoulder outwards, and the highest [Hz].
FREQUENCIES, HIGHEST_FREQUENCY = (0.4, 0.5, 0.6, 0.7), 1.2
# Fractions of a joint's range and of its speed limit that the dance uses at most.
OF_RANGE, OF_SPEED = 0.9, 0.9
# Joints that may turn on and on dance around where they are, by this much [rad].
UNLIMITED = 1.0
# What a mirror between left and right does to an axis of rotation.
MIRROR = np.array([-1.0, 1.0, -1.0])
# A joint is at its limit up to this [rad or m].
TOLERANCE = 1e-6
LONGEST_DANCE = 600.0


@dataclass(frozen=True, eq=False)
class ArmMotion:
    """Positions of joints other than the legs' over time, at rest at both ends.

    Attributes:
        time: Times [s], increasing from 0, shape (n,).
        joints: Names of the joints that move.
        position: Their positions [rad or m], shape (n, k); a cubic spline between.
        origin: Where the motion comes from.
    """

    time: Array
    joints: tuple[str, ...]
    position: Array
    origin: str

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.time[-1])

    def at(self, time: ArrayLike) -> Array:
        """Return positions at times within it [rad or m], shape (m, k)."""
        spline = CubicSpline(self.time, self.position, bc_type="clamped")
        return np.asarray(spline(np.asarray(time, dtype=np.float64)))

    def postures(self, robot: Robot, posture: Array, time: Array) -> Array:
        """Return a posture with the joints of the motion moved, shape (m, nq).

        Args:
            robot: The robot.
            posture: Configuration whose other joints are kept, shape (nq,).
            time: Times [s], shape (m,).
        """
        rows = np.tile(posture, (len(time), 1))
        for name, values in zip(self.joints, self.at(time).T, strict=True):
            joint = robot.model.joints[robot.joint_id(name)]
            if joint.nq == 1:
                rows[:, joint.idx_q] = values
            else:  # continuous: (cos, sin)
                rows[:, joint.idx_q] = np.cos(values)
                rows[:, joint.idx_q + 1] = np.sin(values)
        return rows


def check_arm_motion(
    robot: Robot, motion: ArmMotion, time: Array, where: str = ""
) -> None:
    """Refuse motions of joints that are not free, or beyond a joint's limits.

    Args:
        robot: The robot.
        motion: The motion.
        time: Times to look at, equally spaced [s], shape (m,).
        where: How messages begin: a file, for example.

    Raises:
        EquipoiseError: Which joint, and when and by how much it is beyond its limits.
    """
    begin = f"{where}: " if where else ""
    _check_joints(robot, motion.joints, begin)
    position = motion.at(time)
    speed = np.gradient(position, time, axis=0)
    limits = {actuator.joint: actuator for actuator in robot.actuators}
    for name, values, rates in zip(motion.joints, position.T, speed.T, strict=True):
        own = limits.get(name)
        if own is None:
            continue
        beyond = np.maximum(values - own.upper, own.lower - values)
        row = int(np.argmax(beyond > TOLERANCE))
        if beyond[row] > TOLERANCE:
            raise EquipoiseError(
                f"{begin}joint '{name}' would be at {values[row]:.3f} at "
                f"{time[row]:.3f} s; its limits are {own.lower:.3f} to {own.upper:.3f}"
            )
        row = int(np.argmax(np.abs(rates) > own.velocity_limit))
        if abs(rates[row]) > own.velocity_limit > 0.0:
            raise EquipoiseError(
                f"{begin}joint '{name}' would move at {abs(rates[row]):.2f} rad/s at "
                f"{time[row]:.3f} s; its limit is {own.velocity_limit:.2f} rad/s"
            )


def _check_joints(robot: Robot, joints: Sequence[str], begin: str) -> None:
    """Refuse joints that there are not, and those that move the feet."""
    free = free_joints(robot)
    for name in joints:
        if name not in degree_names(robot):
            raise EquipoiseError(
                f"{begin}{robot.name} has no joint '{name}'{suggest(name, free)}; "
                f"joints that may move beside the legs: {', '.join(free)}"
            )
        if name not in free:
            raise EquipoiseError(
                f"{begin}joint '{name}' moves or carries a leg, and legs keep the CoM; "
                f"only others may be given: {', '.join(free)}"
            )


def free_joints(robot: Robot) -> tuple[str, ...]:
    """Return joints of one degree of freedom that neither move nor carry a leg."""
    taken: set[str] = set()
    for leg in robot.legs.values():
        taken |= {*leg.joints, *leg.subtree_joints}
        above = robot.model.supports[robot.joint_id(leg.joints[0])]
        taken |= {robot.model.names[body] for body in above}
    names = robot.model.names
    joints = robot.model.joints
    return tuple(
        names[body]
        for body in range(2, robot.model.njoints)
        if joints[body].nv == 1 and names[body] not in taken
    )


def built_in_dance(robot: Robot, posture: Array, extent: float = 1.0) -> ArmMotion:
    """Return a dance of both arms that fits their joint limits and speed limits.

    Four joints of each arm swing, each at its own frequency, at 2.2 rad/s where its
    range and speed limit allow that. The first and third move as the other arm's in a
    mirror, the second and fourth against it: the CoM would sway forward and sideways.

    Args:
        robot: The robot.
        posture: Configuration that it begins and ends with, shape (nq,).
        extent: Factor of all that joints move, at most 1.

    Raises:
        EquipoiseError: If the robot has no arms whose joints can move.
    """
    free = set(free_joints(robot))
    start = joint_positions(robot, posture)
    axes = np.array(pin.computeJointJacobians(robot.model, robot.data, posture))[3:]
    limits = {actuator.joint: actuator for actuator in robot.actuators}
    time = np.linspace(0.0, SECONDS, round(100 * SECONDS) + 1)
    window = smooth_step(time / RAMP) * smooth_step((SECONDS - time) / RAMP)
    chosen: dict[str, Array] = {}
    other_arm: list[Array] = []
    for arm in robot.arms.values():
        able = [limits[name] for name in arm.joints if name in free]
        dancing = sorted(able, key=_is_slow)[:DANCING]  # fast ones, in their order
        own = [axes[:, 6 + degree_of(robot, limit.joint)] for limit in dancing]
        for number, limit in enumerate(dancing):
            sign = 1.0
            if number < len(other_arm):
                mirrored = other_arm[number] * MIRROR
                sign = math.copysign(1.0, own[number] @ mirrored) * (-1.0) ** number
            begin = float(start[degree_of(robot, limit.joint)])
            swing = _swing(limit, begin, time, window, number, sign)
            chosen[limit.joint] = begin + extent * (swing - begin)
        other_arm = own
    if not chosen:
        raise EquipoiseError(
            f"{robot.name} has no arms to dance with: give motions of other joints, "
            "arms=…"
        )
    return ArmMotion(
        frozen_array(time),
        tuple(chosen),
        frozen_array(np.column_stack(list(chosen.values()))),
        "built in" if extent == 1.0 else f"built in, {extent:g} of its usual extent",
    )


def _is_slow(limits: Actuator) -> bool:
    """Return whether a joint has too little room for the dance's speed."""
    speed = 2.0 * math.pi * HIGHEST_FREQUENCY * _half_range(limits)
    return min(speed, OF_SPEED * (limits.velocity_limit or math.inf)) < PEAK_SPEED


def _half_range(limits: Actuator) -> float:
    """Return half of what a joint of an arm may use of its range [rad]."""
    span = limits.upper - limits.lower
    return min(0.5 * OF_RANGE * span, UNLIMITED)


def _swing(
    limits: Actuator,
    start: float,
    time: Array,
    window: Array,
    number: int,
    sign: float,
) -> Array:
    """Return one joint's positions [rad], shape (n,)."""
    most = _half_range(limits)
    speed = min(PEAK_SPEED, OF_SPEED * limits.velocity_limit or PEAK_SPEED)
    frequency = FREQUENCIES[number % len(FREQUENCIES)]
    if speed > 2.0 * math.pi * frequency * most:
        frequency = min(speed / (2.0 * math.pi * most), HIGHEST_FREQUENCY)
    amplitude = min(speed / (2.0 * math.pi * frequency), most)
    margin = 0.5 * (1.0 - OF_RANGE) * (limits.upper - limits.lower)
    middle = start
    if math.isfinite(margin):
        room = amplitude + margin
        middle = min(max(start, limits.lower + room), limits.upper - room)
    # between the start and a point within limits: within limits as well
    swing = sign * amplitude * np.sin(2.0 * math.pi * frequency * (time - RAMP))
    moved = window * (middle - start + swing)
    fastest = float(np.abs(np.gradient(moved, time)).max())
    allowed = OF_SPEED * limits.velocity_limit
    if 0.0 < allowed < fastest:
        moved = moved * allowed / fastest
    return np.asarray(start + moved)


def smooth_step(fraction: Array) -> Array:
    """Return 0 before 0, 1 after 1, with three derivatives zero at both ends."""
    x = np.clip(fraction, 0.0, 1.0)
    return np.asarray(x**4 * (35.0 - 84.0 * x + 70.0 * x**2 - 20.0 * x**3))


def peak_speeds(motion: ArmMotion) -> Mapping[str, float]:
    """Return the largest speed of each joint [rad/s or m/s]."""
    time = np.linspace(0.0, motion.duration, max(round(1e3 * motion.duration), 2))
    speed = np.abs(np.gradient(motion.at(time), time, axis=0)).max(axis=0)
    return dict(zip(motion.joints, map(float, speed), strict=True))
