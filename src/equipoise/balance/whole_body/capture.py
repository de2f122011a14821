"""How a robot that stands captures a push without a step: soles first, then a swing.

With the angular momentum L about the CoM, a robot whose ZMP is p moves like

    c̈ = ω² (c - r),    r = p + L̇ / (m g) turned by a quarter,

r being its centroidal moment pivot: the soles give p, a swing of the upper body the
rest. With ℓ = L / (m h ω), likewise turned, the DCM ξ = c + ċ / ω and η = ξ + ℓ obey

    ξ̇ = ω (ξ - p) - ℓ̇,    η̇ = ω (ξ - p) = ω (η - ℓ - p).

η is where the DCM would be if the swing were stopped at once. No swing changes it at
once, but while ℓ lasts it comes back faster, as if the soles were longer by ℓ. So
soles do what they can, p = proj_P((1 + k) η - ℓ), and as η leaves the polygon P less a
margin by the distance e, the upper body is swung with ℓ = b e, until η is inside
again or the torso could not be stopped before it lies too low. The way of the swing is
∫ ℓ dt = (e₀ + ω ∫ e dt) / ω: it is the shorter, the faster η comes back.

All of this sets in as η goes from the plan's DCM towards the edge of the soles, and
ends slowly; before, and in a walk, tasks and contacts are what they are without it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.problem import Contact
from equipoise.balance.whole_body.step_targets import omega_of
from equipoise.balance.whole_body.support import Support, support_of
from equipoise.balance.whole_body.swing import LEAST, Swing, degrees_of
from equipoise.balance.whole_body.tasks import ComTask, FrameTask, PostureTask, Task
from equipoise.balance.whole_body.zmp_task import ZmpTask
from equipoise.control.signals import Target
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.anatomy.geometry import widest_corners
from equipoise.robot.model import Robot

# How many sizes soles have between those with and without capturing.
SIZES = 8
# While capturing, a foot has at most this many points at which forces act.
MOST_CORNERS = 8


@dataclass(frozen=True)
class CaptureGains:
    """Numbers of capturing; rates are multiples of √(g / L), with the leg's length L.

    Attributes:
        begins: Capturing sets in where η has gone this part of the way from the plan's
            DCM to the edge of the soles.
        whole: And is all there from this part on.
        calming: Rate at which capturing ends, over ω.
        release: Rate at which it ends if the plan begins to move, over ω.
        memory: For how long the CoM's offset is remembered, times ω: a push looks like
            an offset, and begins before it is known to be one.
        dcm: k: errors of the DCM fall at this many times ω, as far as soles allow.
        margin: How far η should be from the edge, over the width of the soles.
        stepless_whole: As ``whole``, of a robot that may not step: it does more, and
            sooner. A step that begins would have to stop it.
        stepless_dcm: As ``dcm``, likewise.
        stepless_margin: As ``margin``, likewise.
        swing: b, how much the upper body is swung.
        swing_rate: Rate at which the swing follows, over ω.
        lever: Largest distance of the pivot from the ZMP, over the CoM's height.
        most_tilt: Largest angle of the torso from where it is wanted [rad].
        tilt_braking: With which the torso can be stopped before, and before a joint is
            at its stop, over g / L [rad].
        crouch: How much lower the CoM is, over the leg's length and the torso's angle
            [1/rad]: a torso that leans would straighten the knees.
        sole: Part of the sole in which forces act, from its middle.
        unfelt: What a foot that is not felt on the ground may carry, over the weight.
        light: A foot that carries less than this is held at its place, over the weight.
        hold: Rate at which it is.
        speed: Part of the speed limits that is used.
        zmp_weight: Weight of the ZMP [per m²].
        com_weight: Weight of the CoM, horizontally [per (m/s²)²].
        height_weight: Weight of its height.
        torso_weight: Weight of the torso's tilt [per (rad/s²)²].
        yaw_weight: Weight of the turn of the torso.
        arm_weight: Weight of the arms' joints that move most of their inertia.
        waist_weight: Weight of the joints of the torso and the neck, and largest one of
            the arms'.
        waist: Rate of the joints of the torso.
        brake: Least rate of damping of the torso and of the joints.
        torso_return: Largest acceleration back to the torso's place, over g / L [rad].
        posture_return: The same of the joints.
        told: Rate at which velocities that are told follow estimated ones [1/s].
    """

    begins: float = 0.1
    whole: float = 0.3
    calming: float = 0.3
    release: float = 10.0
    memory: float = 0.5
    dcm: float = 3.0
    margin: float = 0.1
    stepless_whole: float = 0.2
    stepless_dcm: float = 6.0
    stepless_margin: float = 0.2
    swing: float = 3.0
    swing_rate: float = 8.0
    lever: float = 0.3
    most_tilt: float = 0.9
    tilt_braking: float = 1.5
    crouch: float = 0.04
    sole: float = 0.99
    unfelt: float = 0.2
    light: float = 0.3
    hold: float = 8.0
    speed: float = 0.9
    zmp_weight: float = 1e7
    com_weight: float = 1e3
    height_weight: float = 1e4
    torso_weight: float = 0.01
    yaw_weight: float = 10.0
    arm_weight: float = 0.001
    waist_weight: float = 1.0
    waist: float = 8.0
    brake: float = 1.75
    torso_return: float = 0.5
    posture_return: float = 5.0
    told: float = 50.0


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


class Capture:
    """Captures pushes of a robot that stands.

    Args:
        dynamics: Dynamics of the robot; up to date when it is used.
        feet: Its feet.
        tasks: Its tasks.
        motion: Where the joints may be.
        keep: Joints whose weights are never changed, in the order of v[6:].
        height_rate: Rate of the CoM's height [1/s].
        period: Time between two ticks [s].
        gains: Its numbers.

    Attributes:
        alert: How much of it there is, 0 to 1.
        free: How much the upper body is free to swing, 0 to 1.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        feet: Feet,
        tasks: BalanceTasks,
        motion: JointRange,
        keep: Sequence[int],
        height_rate: float,
        period: float,
        gains: CaptureGains,
    ) -> None:
        self.dynamics, self.feet, self.period = dynamics, feet, period
        self.gains, self._height_rate = gains, height_rate
        robot = dynamics.robot
        self._width = min(float(min(sole.size)) for sole in robot.soles.values())
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
        self._points = [
            _sizes(
                foot.contact.points_in_frame,
                robot.soles[side].polygon_in_sole,
                np.linspace(feet.gains.sole, gains.sole, SIZES),
            )
            for side, foot in zip(SIDES, feet.feet, strict=True)
        ]
        self._zmp_task = ZmpTask(gains.zmp_weight)
        braking = gains.tilt_braking * feet.rate**2
        self._swing = Swing(dynamics, tasks.torso, motion, gains.most_tilt, braking)
        self.reset()

    def reset(self) -> None:
        """Begin with nothing to capture."""
        self.alert: float = 0.0
        self._dcm = self.gains.dcm
        self.free: float = 0.0
        self._places: dict[str, Array] = {}
        self._holds: dict[str, Array] = {}
        self._offsets: deque[Array] = deque()
        self._told: Array | None = None
        self._calm()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks beside the others."""
        return (self._zmp_task,) if self.alert > 0.0 else ()

    @property
    def speed(self) -> float:
        """Part of the speed limits that is used."""
        return 1.0 - self.alert * (1.0 - self.gains.speed)

    def remember(self, known: Estimate, omega: float) -> Estimate:
        """Return what is known, with the CoM's offset of before a push."""
        offsets = self._offsets
        if self.alert > 0.0 and offsets:
            kept = offsets[0] + (1.0 - self.alert) * (known.com_offset - offsets[0])
            return replace(known, com_offset=kept)
        offsets.append(known.com_offset)
        while len(offsets) * self.period * omega > self.gains.memory:
            offsets.popleft()
        return known

    def adjust(
        self, known: Estimate, target: Target, wanted: Array, *, may_step: bool
    ) -> Array:
        """Return the CoM acceleration to ask for, and set tasks and contacts.

        Args:
            known: What is known.
            target: What is wanted.
            wanted: The CoM acceleration that feedback of the DCM asks for, shape (3,).
            may_step: Whether the robot may step.
        """
        assert target.com is not None
        assert target.com_velocity is not None
        if target.support != "both" or target.com_velocity.any():
            if self.alert > 0.0:
                self._release(omega_of(target))
            return wanted
        omega, gains = omega_of(target), self.gains
        planned = target.com[:2] + self.feet.shift[:2]
        off = known.dcm(omega) - planned
        whole, margin, self._dcm = gains.whole, gains.margin, gains.dcm
        if not may_step:
            whole, margin = gains.stepless_whole, gains.stepless_margin
            self._dcm = gains.stepless_dcm
        margin *= self._width
        if self.alert == 0.0 and float(off @ off) < (gains.begins * margin) ** 2:
            return wanted
        swing = self._swing.now(omega)
        eta = planned + off + swing
        support = support_of(np.concatenate(self._corners()))
        gone = support.part_of_way(planned, eta, margin)
        sets_in = (gone - gains.begins) / (whole - gains.begins)
        calmer = self.alert - self.period * omega * gains.calming
        self.alert = min(max(sets_in, calmer, 0.0), 1.0)
        if self.alert == 0.0:
            self._calm()
            return wanted
        over = support.excess(eta, margin)
        self.free = min(_length(over) / margin, 1.0)
        self._set_tasks()
        self._hold_feet(known)
        return self._captured(known, target, wanted, support, eta, swing, over)

    def _captured(
        self,
        known: Estimate,
        target: Target,
        wanted: Array,
        support: Support,
        eta: Array,
        swing: Array,
        over: Array,
    ) -> Array:
        """Return the CoM acceleration of soles and swing, and set the ZMP's task."""
        gains, alert, omega = self.gains, self.alert, omega_of(target)
        assert target.com is not None
        assert target.zmp is not None
        planned = target.com[:2] + self.feet.shift[:2]
        # along the way of the DCM: at a corner, one foot would turn on its own
        ahead = (1.0 + self._dcm) * (eta - planned) - swing
        zmp = planned + ahead / max(
            support.part_of_way(planned, planned + ahead, LEAST), 1.0
        )
        angle, rate = self._swing.tilt()
        goal = gains.swing * self._swing.spare(angle, rate) * over
        lever = gains.swing_rate * (goal - swing)
        longest = gains.lever * float(target.com[2] - target.zmp[2])
        lever = lever * min(1.0, longest / max(_length(lever), LEAST))
        task = self._zmp_task
        task.point = np.array([*zmp, target.zmp[2] + self.feet.shift[2]])
        task.com_offset = known.com_offset
        task.weight = np.asarray(gains.zmp_weight * alert**4)
        task.root_weight = np.sqrt(task.weight)
        com = known.com[:2] + known.com_offset
        asked = np.array(wanted)
        asked[:2] += alert * (omega**2 * (com - zmp - lever) - wanted[:2])
        z = self._height_rate
        lower = gains.crouch * self.feet.length
        asked[2] -= alert * lower * (z**2 * angle + 2.0 * z * rate)
        return asked

    def told_velocity(self, velocity: Array, acceleration: Array) -> Array:
        """Return the joint velocities that are told: accelerations, integrated.

        While capturing they are drawn to the estimated ones slowly. As the estimator
        adds a smoothed deviation to what is told, an estimate told at once would be an
        oscillator.
        """
        if self.alert == 0.0:
            self._told = None
            return np.asarray(velocity + self.period * acceleration)
        if self._told is None:
            self._told = velocity
        slow = min(self.gains.told * self.period, 1.0)
        follow = 1.0 - self.alert * (1.0 - slow)
        told = self._told + follow * (velocity - self._told)
        self._told = told + self.period * acceleration
        return self._told

    @contextmanager
    def holding(self, contacts: Sequence[Contact]) -> Iterator[None]:
        """Let feet that have lifted go back to where they stood, while this lasts."""
        before = [contact.leftover for contact in contacts]
        for contact in contacts:
            hold = self._holds.get(contact.frame)
            if hold is not None:
                left = contact.leftover
                contact.leftover = hold if left is None else left + hold
        yield
        for contact, leftover in zip(contacts, before, strict=True):
            contact.leftover = leftover

    def _release(self, omega: float) -> None:
        """End soon, as the plan moves."""
        self.alert -= self.period * omega * self.gains.release
        self.free, self._holds = 0.0, {}
        if self.alert > 0.0:
            self._zmp_task.weight = self._zmp_task.root_weight = np.asarray(0.0)
            self._set_tasks()
        else:
            self._calm()

    def _calm(self) -> None:
        """End."""
        self.alert = self.free = 0.0
        self._places, self._holds = {}, {}
        self._set_tasks()

    def _set_tasks(self) -> None:
        """Set weights, stiffnesses and dampings of tasks, and the size of soles."""
        for usual in self._usual:
            usual.weigh(self.alert)
        if self.alert > 0.0:
            _, torso, posture = self._usual
            gains, rate, free = self.gains, self.feet.rate, self.free
            soft, slow = self._soft(torso, gains.torso_return)
            # it is free to tilt, not to turn
            soft = np.array([soft * (1.0 - free)] * 2 + [torso.stiffness])
            slow = np.array([slow * (1.0 - free)] * 2 + [torso.damping])
            torso.soften(self.alert, soft, slow)
            soft, slow = self._soft(posture, gains.posture_return)
            waist = gains.waist * rate
            kept = 1.0 - free * self._swings
            soft = np.where(self._waist, waist**2, kept * soft)
            slow = np.where(self._waist, 2.0 * waist, kept * slow)
            posture.soften(self.alert, soft, slow)
        size = math.ceil(SIZES * self.alert)
        for foot, points in zip(self.feet.feet, self._points, strict=True):
            foot.contact.points_in_frame = points[size]

    def _soft(self, usual: _Usual, most: float) -> tuple[Array, Array]:
        """Return stiffness and damping with which a task far off comes back slowly."""
        off = np.abs(usual.task.error(self.dynamics))
        if isinstance(usual.task, FrameTask):
            off = np.asarray(_length(off))
        unit, brake = self.feet.rate**2, self.gains.brake * self.feet.rate
        soft = np.minimum(usual.stiffness, unit * most / np.maximum(off, LEAST))
        return soft, 2.0 * np.maximum(np.sqrt(soft), brake)

    def _hold_feet(self, known: Estimate) -> None:
        """Find how feet that should carry but have lifted go back to their places."""
        gains, self._holds = self.gains, {}
        for number, foot in enumerate(self.feet.feet):
            contact = foot.contact
            pose = self.dynamics.pose(self.dynamics.frame(contact.frame))
            here = np.array(pose.homogeneous)
            place = self._places.setdefault(contact.frame, here)
            touches, load = self.feet.felt(known, number)
            light = 1.0 - load / (gains.light * self.feet.weight)
            if not foot.state.carries or light <= 0.0:
                continue
            if not touches:
                contact.most_force = gains.unfelt * self.feet.weight
            off = np.empty(6)
            off[:3] = pose.rotation.T @ (place[:3, 3] - pose.translation)
            off[3:] = pin.log3(pose.rotation.T @ place[:3, :3])
            rate = gains.hold * self.feet.rate * min(light, 1.0)
            contact.damping = max(contact.damping, 2.0 * rate)
            self._holds[contact.frame] = rate**2 * off

    def _corners(self) -> list[Array]:
        """Return the largest points of each sole from above, shape (k, 2) each."""
        corners = []
        for foot, sizes in zip(self.feet.feet, self._points, strict=True):
            pose = self.dynamics.pose(self.dynamics.frame(foot.contact.frame))
            points = sizes[-1] @ pose.rotation.T
            corners.append(points[:, :2] + pose.translation[:2])
        return corners


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


def _length(vector: Array) -> float:
    return math.sqrt(float(vector @ vector))


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


def _inertias(robot: Robot) -> Array:
    """Return the angular momentum about the CoM of each joint's speed, standing."""
    data = robot.model.createData()
    pin.computeCentroidalMap(robot.model, data, robot.standing)
    turns = np.asarray(data.Ag)[3:, BASE_DOF:]
    return np.asarray(np.maximum(np.sqrt((turns * turns).sum(axis=0)), LEAST))
