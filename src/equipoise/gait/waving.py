"""A hand that waves: joints of any arm, within their limits."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from scipy.optimize import least_squares

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import ArmMotion, free_joints, smooth_step
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_of, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Limb, Side

# Where the hand is raised to, from the shoulder: forward, outward and up, and how far
# it goes to either side there, as fractions of the arm's length.
FORWARD, OUTWARD, UP, SIDEWAYS = 0.35, 0.45, 0.3, 0.15
# Waves have this many times the rate √(g / L) of a pendulum as long as the arm.
RATE = 1.5
# The hand goes up, and down at the end, in this time, or this part of a short motion.
RAISE_SECONDS, RAISE_FRACTION = 2.0, 0.25
# Fractions of a joint's range, at single points and all along the smooth curves through
# them, and of its speed limit that are used at most.
OF_RANGE, OF_WHOLE_RANGE, OF_SPEED = 0.85, 0.98, 0.8
# Joints that have no limits stay within this [rad].
WIDEST = 2.5
# Points across the wave at which joints are solved, degree of the curves through them,
# and points of the motion in a second.
POINTS, DEGREE, POINTS_PER_SECOND = 9, 3, 100
# Cost of a joint away from the start [arm's lengths per rad].
EFFORT = 0.02
# Seeds of the search for a raised arm, as fractions of the joints' ranges.
STARTS = (0.0, 0.3, -0.3, 0.6, -0.6)


def waving(
    robot: Robot, side: Side, duration: float, posture: Array | None = None
) -> ArmMotion:
    """Return a motion in which a hand is raised, waves from side to side and sinks.

    The hand goes to a place above and beside the shoulder, or as near to it as the
    joints allow, and from there to the left and to the right; all joints of the arm
    take part. It is slower where a joint could not be so fast.

    Args:
        robot: The robot.
        side: Which hand.
        duration: How long it takes, from rest to rest [s].
        posture: Configuration that it begins and ends with, shape (nq,); standing
            unless given.

    Raises:
        EquipoiseError: If there is no such arm, or no joint of it can move.
    """
    arm = robot.arms.get(side)
    free = set(free_joints(robot))
    joints = tuple(name for name in (arm.joints if arm else ()) if name in free)
    if arm is None or not joints:
        have = ", ".join(robot.arms) or "none"
        raise EquipoiseError(
            f"{robot.name} has no {side} arm to wave with (its arms: {have})"
        )
    standing = np.array(robot.standing if posture is None else posture)
    start = joint_positions(robot, standing)[[degree_of(robot, n) for n in joints]]
    inner = _ranges(robot, joints, start, OF_RANGE)
    bent = _across(robot, standing, arm, joints, start, *inner)
    curves = _curves(bent, *_ranges(robot, joints, start, OF_WHOLE_RANGE))
    rate = RATE * math.sqrt(STANDARD_GRAVITY / arm.length)
    raising = min(RAISE_SECONDS, RAISE_FRACTION * duration)
    limits = {actuator.joint: actuator.velocity_limit for actuator in robot.actuators}
    fastest = np.array([limits.get(name) or np.inf for name in joints])
    time = np.linspace(0.0, duration, max(round(POINTS_PER_SECOND * duration), 8) + 1)
    up = smooth_step(time / raising) * smooth_step((duration - time) / raising)
    extent = 1.0
    for _ in range(8):
        swing = up * np.sin(rate * (time - raising))
        raised = np.polynomial.polynomial.polyval(swing, curves).T
        position = start + extent * up[:, None] * (raised - start)
        speed = np.abs(np.gradient(position, time, axis=0)).max(axis=0)
        over = float((speed / (OF_SPEED * fastest)).max())
        if over <= 1.0:
            break
        # slower waves first; where raising itself is too fast, a lower hand
        if rate * raising > 2.0 * math.pi:
            rate = max(rate / over, 2.0 * math.pi / raising)
        else:
            extent /= over
    return ArmMotion(
        frozen_array(time), joints, frozen_array(position), f"{side} hand waving"
    )


def _curves(rows: Array, lower: Array, upper: Array) -> Array:
    """Return polynomials of the place across, from -1 to 1, shape (DEGREE + 1, k).

    They are smooth also where a joint comes to the end of its range, and stay within.
    """
    places = np.linspace(-1.0, 1.0, len(rows))
    curves = np.polynomial.polynomial.polyfit(places, rows, DEGREE)
    curves[0] = np.clip(curves[0], lower, upper)
    path = np.polynomial.polynomial.polyval(np.linspace(-1.0, 1.0, 101), curves).T
    away = path - curves[0]
    room = np.where(away > 0.0, upper - curves[0], curves[0] - lower)
    fits = np.divide(room, np.abs(away), out=np.ones_like(away), where=away != 0.0)
    curves[1:] *= np.minimum(fits.min(axis=0), 1.0)
    return np.asarray(curves)


def _ranges(
    robot: Robot, joints: tuple[str, ...], start: Array, part: float
) -> tuple[Array, Array]:
    """Return the ends of a part of the joints' ranges [rad], shape (k,) each."""
    limits = {actuator.joint: actuator for actuator in robot.actuators}
    lower, upper = np.full(len(joints), -WIDEST), np.full(len(joints), WIDEST)
    for number, name in enumerate(joints):
        own = limits.get(name)
        if own is not None and own.upper - own.lower < 2.0 * math.pi:
            margin = 0.5 * (1.0 - part) * (own.upper - own.lower)
            lower[number], upper[number] = own.lower + margin, own.upper - margin
    return np.minimum(lower, start - 1e-6), np.maximum(upper, start + 1e-6)


def _across(
    robot: Robot,
    posture: Array,
    arm: Limb,
    joints: tuple[str, ...],
    start: Array,
    lower: Array,
    upper: Array,
) -> Array:
    """Return joints with the hand up, from its one side to its other, (POINTS, k)."""
    model, data, length = robot.model, robot.data, arm.length
    places = [model.joints[robot.joint_id(name)] for name in joints]
    frame = robot.frame_id(arm.end_link)
    pin.framesForwardKinematics(model, data, posture)
    shoulder = np.array(data.oMi[robot.joint_id(joints[0])].translation)
    out = 1.0 if arm.side == "left" else -1.0
    place = shoulder + length * np.array([FORWARD, OUTWARD * out, UP])

    def at(values: Array) -> Array:
        step = np.zeros(model.nv)
        for joint, now, value in zip(places, start, values, strict=True):
            step[joint.idx_v] = value - now
        pin.forwardKinematics(model, data, pin.integrate(model, posture, step))
        return np.array(pin.updateFramePlacement(model, data, frame).translation)

    def reach(target: Array, seed: Array, stay: Array) -> tuple[Array, float]:
        def off(values: Array) -> Array:
            return np.concatenate(
                [(at(values) - target) / length, EFFORT * (values - stay)]
            )

        found = least_squares(off, np.clip(seed, lower, upper), bounds=(lower, upper))
        return np.asarray(found.x), float(found.cost)

    middle, span = 0.5 * (lower + upper), 0.5 * (upper - lower)
    tries = [reach(place, middle + part * span, start) for part in STARTS]
    raised, _ = min(tries, key=lambda found: found[1])
    rows = {POINTS // 2: raised}
    for way in (1, -1):
        last = raised
        for number in range(1, POINTS // 2 + 1):
            aside = SIDEWAYS * length * way * number / (POINTS // 2)
            last, _ = reach(place + np.array([0.0, aside, 0.0]), last, raised)
            rows[POINTS // 2 + way * number] = last
    return np.array([rows[number] for number in range(POINTS)])
