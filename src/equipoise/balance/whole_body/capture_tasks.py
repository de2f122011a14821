"""How tasks and soles change while a push is captured, and back.

The ZMP comes first, then the CoM; the torso is free to tilt and arms to swing, and what
moves little inertia keeps still. Forces may act up to the edge of the soles.

An arm of mass m, with its CoM at r from its shoulder and the shoulder at s from the
robot's CoM, turns with the angular momentum m (r² + s·r) θ̇ besides its own: hanging, r
is against s, and there is little of it or even the opposite. A programme that looks at
one tick leaves such arms where they are. On the way from there to over the head s·r is
made up for, and m r² π is left. So arms are thrown along with the swing at once, as
long as they cost nothing, and have their speed when they are worth it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.capture_gains import CaptureGains
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.lifted_foot import LiftedFoot
from equipoise.balance.whole_body.support import length_of
from equipoise.balance.whole_body.swing import LEAST, degrees_of, degrees_of_limb
from equipoise.balance.whole_body.swing_limits import hip_degrees
from equipoise.balance.whole_body.tasks import ComTask, FrameTask, PostureTask, Task
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.anatomy.geometry import widest_corners
from equipoise.robot.model import Robot
from equipoise.robot.parts import Limb

# How many sizes soles have between those with and without capturing.
SIZES = 8
# A leg is bent where one of its joints changes its length by this per radian, and
# straight where none does by more than that; over the leg's length.
BENT, STRAIGHT = 0.1, 0.05
# Joints of a leg that are nearer to its first one belong to its hip; over its length.
HIP = 0.25
# While capturing, a foot has at most this many points at which forces act.
MOST_CORNERS = 8


class BalanceTasks(NamedTuple):
    """The tasks that are changed while a push is captured.

    Attributes:
        com: Of the CoM.
        torso: Of the torso's rotation.
        posture: Of the joints.
    """

    com: ComTask
    torso: FrameTask
    posture: PostureTask


class CaptureTasks:
    """Sets weights, stiffnesses and dampings of tasks, and the size of soles.

    Args:
        dynamics: Dynamics of the robot; up to date when it is used.
        feet: Its feet.
        tasks: Its tasks.
        keep: Joints whose weights are never changed, in the order of v[6:].
        gains: Numbers of capturing.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        feet: Feet,
        tasks: BalanceTasks,
        keep: Sequence[int],
        gains: CaptureGains,
    ) -> None:
        self.dynamics, self.feet, self.gains = dynamics, feet, gains
        robot = dynamics.robot
        count = len(tasks.posture.weight)
        self._swings, self._waist = np.zeros(count), np.zeros(count, dtype=bool)
        self._waist[degrees_of(robot, "torso")] = True
        # all but the legs, and arms below: a neck that swings gains little
        weights = np.full(count, gains.waist_weight)
        legs = degrees_of(robot, "leg")
        weights[legs] = tasks.posture.weight[legs]
        arms = degrees_of(robot, "arm")
        if arms:
            inertia = _inertias(robot)[arms]
            self._swings[arms] = (inertia / inertia.max()) ** 2
            if gains.arm_rate > 0.0:
                turned = _turned_inertias(robot)[arms]
                self._swings[arms] = (turned / turned.max()) ** 2
            weights[arms] = np.minimum(
                gains.arm_weight / self._swings[arms], gains.waist_weight
            )
        weights[list(keep)] = tasks.posture.weight[list(keep)]
        self._swings[list(keep)] = 0.0
        tilt, height = gains.torso_weight, gains.height_weight
        self._usual = [
            _Usual(tasks.com, np.array([gains.com_weight] * 2 + [height])),
            _Usual(tasks.torso, np.array([tilt, tilt, gains.yaw_weight])),
            _Usual(tasks.posture, weights),
        ]
        self._legs = [degrees_of_limb(robot, robot.legs[side]) for side in SIDES]
        self._hips = hip_degrees(robot)
        self._hip_frames = [
            dynamics.frame(robot.legs[side].joints[0]) for side in SIDES
        ]
        self._below_hips = [
            _below_hip(dynamics, limb) for limb in (robot.legs[side] for side in SIDES)
        ]
        self._leg_links = [robot.legs[side].end_link for side in SIDES]
        self._arms = [
            (limb.end_link, degrees_of_limb(robot, limb))
            for limb in robot.limbs.values()
            if limb.kind == "arm" and gains.arm_rate > 0.0
        ]
        self.points = [
            _sizes(
                foot.contact.points_in_frame,
                robot.soles[side].polygon_in_sole,
                np.linspace(feet.gains.sole, gains.sole, SIZES),
            )
            for side, foot in zip(SIDES, feet.feet, strict=True)
        ]

    def set(self, alert: float, free: float) -> None:
        """Set them.

        Args:
            alert: How much capturing there is, 0 to 1.
            free: How much the upper body is free to swing, 0 to 1.
        """
        for usual in self._usual:
            usual.weigh(alert)
        if alert > 0.0:
            _, torso, posture = self._usual
            gains, rate = self.gains, self.feet.rate
            soft, slow = self._soft(torso, gains.torso_return)
            # it is free to tilt, not to turn
            soft = np.array([soft * (1.0 - free)] * 2 + [torso.stiffness])
            slow = np.array([slow * (1.0 - free)] * 2 + [torso.damping])
            torso.soften(alert, soft, slow)
            soft, slow = self._soft(posture, gains.posture_return)
            waist = gains.waist * rate
            kept = 1.0 - free * self._swings
            soft = np.where(self._waist, waist**2, kept * soft)
            slow = np.where(self._waist, 2.0 * waist, kept * slow)
            posture.soften(alert, soft, slow)
        size = math.ceil(SIZES * alert)
        for foot, points in zip(self.feet.feet, self.points, strict=True):
            foot.contact.points_in_frame = points[size]

    def throw_arms(self, over: Array, free: float) -> None:
        """Let arms turn about the axis of the swing, as fast as they can.

        Args:
            over: By how much η should be farther inside the soles [m], shape (2,).
            free: How much the upper body is free to swing, 0 to 1.
        """
        length = math.hypot(*over)
        if not self._arms or free == 0.0 or length < LEAST:
            return
        gains, rate, posture = self.gains, self.feet.rate, self._posture
        thrown = np.zeros(len(posture.weight))
        for link, degrees in self._arms:
            speed = gains.arm_swing * rate
            thrown[degrees] = self._thrown(link, degrees, over / length, speed)
        part = free * gains.arm_rate * rate * np.sqrt(self._swings)
        posture.acceleration = posture.acceleration + part * thrown

    def move_leg(self, lifted: LiftedFoot, over: Array, free: float) -> None:
        """Bend the leg in the air if it comes back straight, or throw it.

        Where a knee is straight, no joint lifts the foot: it would come back along the
        ground. On the way to where its joints should be, it bends.

        Args:
            lifted: The lifted foot.
            over: By how much η should be farther inside the soles [m], shape (2,).
            free: How much the upper body is free to swing, 0 to 1.
        """
        number, gains, rate = lifted.number, self.gains.lift, self.feet.rate
        if number is None or gains is None:
            return
        length = math.hypot(*over)
        if lifted.joint_weight > 0.0:
            straight = self._straight(number)
            if straight > 0.0:
                leg, back = self._legs[number], gains.back_rate * rate
                weight = np.maximum(
                    self._posture.weight[leg], lifted.joint_weight * straight
                )
                self._set_joints(leg, weight, back**2, 2.0 * back)
        elif lifted.weak and free > 0.0 and length >= LEAST:
            hips, posture = self._hips[number], self._posture
            acceleration = np.zeros(len(posture.weight))
            acceleration[hips] = self._thrown(
                self._leg_links[number], hips, over / length, gains.throw * rate
            )
            part = free * gains.throw_rate * rate
            posture.acceleration = posture.acceleration + part * acceleration
            stiffness = (1.0 - free) * posture.stiffness * np.ones(len(acceleration))
            damping = (1.0 - free) * posture.damping * np.ones(len(acceleration))
            self._set_joints(hips, gains.throw_weight, stiffness[hips], damping[hips])

    def _straight(self, number: int) -> float:
        """Return how straight a leg is, 0 to 1: no joint of it changes its length."""
        dynamics = self.dynamics
        sole = dynamics.frame(self.feet.feet[number].contact.frame)
        hip = dynamics.pose(self._hip_frames[number]).translation
        way = dynamics.pose(sole).translation - hip
        rows = dynamics.jacobian(sole)[:3, BASE_DOF:][:, self._below_hips[number]]
        lever = float(np.abs(way @ rows).max(initial=0.0)) / max(length_of(way), LEAST)
        part = (BENT - lever / self.feet.length) / (BENT - STRAIGHT)
        return min(max(part, 0.0), 1.0)

    def _set_joints(
        self,
        degrees: list[int],
        weight: Array | float,
        stiffness: Array | float,
        damping: Array | float,
    ) -> None:
        """Set weight, stiffness and damping of some joints in this tick."""
        posture = self._posture
        weights, every = np.array(posture.weight), np.ones(len(posture.weight))
        weights[degrees] = weight
        posture.weight, posture.root_weight = weights, np.sqrt(weights)
        posture.stiffness = posture.stiffness * every
        posture.damping = posture.damping * every
        posture.stiffness[degrees], posture.damping[degrees] = stiffness, damping

    def _thrown(
        self, link: str, degrees: list[int], towards: Array, speed: float
    ) -> Array:
        """Return what joints lack to the speed with which a link turns with the swing.

        Args:
            link: The link.
            degrees: Of the joints, in the order of v[6:].
            towards: Direction of the swing, shape (2,).
            speed: Speed of each joint, if it turns about the axis of the swing [rad/s].
        """
        dynamics = self.dynamics
        turns = dynamics.jacobian(dynamics.frame(link))[3:, BASE_DOF:][:, degrees]
        axis = np.array([-towards[1], towards[0], 0.0])
        return np.asarray(speed * (axis @ turns) - dynamics.v[BASE_DOF:][degrees])

    @property
    def _posture(self) -> PostureTask:
        task = self._usual[2].task
        assert isinstance(task, PostureTask)
        return task

    def _soft(self, usual: _Usual, most: float) -> tuple[Array, Array]:
        """Return stiffness and damping with which a task far off comes back slowly."""
        off = np.abs(usual.task.error(self.dynamics))
        if isinstance(usual.task, FrameTask):
            off = np.sqrt((off * off).sum())
        unit, brake = self.feet.rate**2, self.gains.brake * self.feet.rate
        soft = np.minimum(usual.stiffness, unit * most / np.maximum(off, LEAST))
        return soft, 2.0 * np.maximum(np.sqrt(soft), brake)


class _Usual:
    """A task as it is without capturing, and its weights with it."""

    def __init__(self, task: Task, capturing: Array) -> None:
        self.task, self._weight = task, task.weight
        self._root_weight, self._ratio = task.root_weight, capturing / task.weight
        self.stiffness, self.damping = task.stiffness, task.damping

    def weigh(self, alert: float) -> None:
        """Set the weights, and the usual stiffness and damping."""
        task = self.task
        task.weight, task.root_weight = self._weight, self._root_weight
        task.stiffness, task.damping = self.stiffness, self.damping
        if alert > 0.0:
            task.weight = self._weight * self._ratio**alert
            task.root_weight = np.sqrt(task.weight)

    def soften(self, alert: float, stiffness: Array, damping: Array) -> None:
        """Set stiffness and damping between the usual ones and others."""
        task = self.task
        task.stiffness = self.stiffness + alert * (stiffness - self.stiffness)
        task.damping = self.damping + alert * (damping - self.damping)


def _sizes(points: Array, polygon: Array, parts: Array) -> list[Array]:
    """Return points of a sole, and corners at growing parts of its size.

    Args:
        points: Points in the sole's frame [m], shape (k, 3).
        polygon: The sole [m], shape (n, 2).
        parts: Parts of its size, from the points' middle.
    """
    corners = polygon[widest_corners(polygon, MOST_CORNERS)]
    middle, away = points.mean(axis=0), np.zeros((len(corners), 3))
    away[:, :2] = corners - middle[:2]
    return [points, *(middle + part * away for part in parts)]


def _below_hip(dynamics: Dynamics, leg: Limb) -> list[int]:
    """Return the degrees of freedom of a leg's joints below its hip, of v[6:]."""
    robot = dynamics.robot
    poses = [dynamics.pose(dynamics.frame(name)) for name in leg.joints]
    away = [length_of(pose.translation - poses[0].translation) for pose in poses]
    below: list[int] = []
    for name, distance in zip(leg.joints, away, strict=True):
        joint = robot.model.joints[robot.model.getJointId(name)]
        if distance > HIP * leg.length:
            below.extend(
                range(joint.idx_v - BASE_DOF, joint.idx_v - BASE_DOF + joint.nv)
            )
    return below


def _turned_inertias(robot: Robot) -> Array:
    """Return the inertia that each joint turns, about its own axis, standing."""
    data = robot.model.createData()
    pin.crba(robot.model, data, robot.standing)
    return np.maximum(np.diag(data.M)[BASE_DOF:], LEAST)


def _inertias(robot: Robot) -> Array:
    """Return the angular momentum about the CoM of each joint's speed, standing."""
    data = robot.model.createData()
    pin.computeCentroidalMap(robot.model, data, robot.standing)
    turns = np.asarray(data.Ag)[3:, BASE_DOF:]
    return np.asarray(np.maximum(np.sqrt((turns * turns).sum(axis=0)), LEAST))
