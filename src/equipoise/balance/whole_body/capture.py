"""How a robot that stands captures a push without a step: soles first, then a swing.

With the angular momentum L about the CoM, a robot whose ZMP is p moves like

    c̈ = ω² (c - r),    r = p + L̇ / (m g) turned by a quarter,

r being its centroidal moment pivot: the soles give p, a swing of the upper body the
rest. With ℓ = L / (m h ω), likewise turned, the DCM ξ = c + ċ / ω and η = ξ + ℓ obey

    ξ̇ = ω (ξ - p) - ℓ̇,    η̇ = ω (ξ - p) = ω (η - ℓ - p).

η is where the DCM would be if the swing were stopped at once. No swing changes it at
once, but while ℓ lasts it comes back faster, as if the soles were longer by ℓ. So
soles do what they can, p = (1 + k) η - ℓ or the edge before it, and as η leaves the
polygon P less a margin by the distance e, the upper body is swung with ℓ = b e, until η
is inside again or the torso could not be stopped before it lies too low. The way of the
swing is ∫ ℓ dt = (e₀ + ω ∫ e dt) / ω: it is the shorter, the faster η comes back.

Where no step may help, the swing begins as soon as η is foreseen to leave P, arms are
thrown along with it, and a foot that carries little is lifted. The torso comes back
with an opposite ℓ, which moves η outwards; as long as |ℓ| is less than the distance of
η from the edge, p can bear it.

All of this sets in as η goes from the plan's DCM towards the edge of the soles, and
ends slowly; before, and in a walk, tasks and contacts are what they are without it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.bearing import bearable_part
from equipoise.balance.whole_body.capture_gains import CaptureGains
from equipoise.balance.whole_body.capture_tasks import BalanceTasks, CaptureTasks
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.lifted_foot import LiftedFoot, Standing
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.problem import Contact
from equipoise.balance.whole_body.step_targets import omega_of
from equipoise.balance.whole_body.support import Support, length_of, support_of
from equipoise.balance.whole_body.swing import LEAST, Swing
from equipoise.balance.whole_body.tasks import Task
from equipoise.balance.whole_body.zmp_task import ZmpTask
from equipoise.control.signals import Target


class _Push(NamedTuple):
    """A push as it is captured in one tick.

    Attributes:
        eta: η [m], shape (2,).
        swing: ℓ [m], shape (2,).
        over: By how much η should be farther inside the soles [m], shape (2,).
        reference: Where η should be at last [m], shape (2,).
        support: Where the ground can push.
    """

    eta: Array
    swing: Array
    over: Array
    reference: Array
    support: Support


class Capture:
    """Captures pushes of a robot that stands.

    Args:
        dynamics: Dynamics of the robot; up to date when it is used.
        feet: Its feet.
        tasks: Its tasks.
        motion: Where the joints may be.
        torque_limit: Largest torques of the joints [Nm or N], shape (nv - 6,).
        keep: Joints whose weights are never changed, in the order of v[6:].
        height_rate: Rate of the CoM's height [1/s].
        period: Time between two ticks [s].
        gains: Its numbers if the robot may step.
        in_place: Its numbers if it may not.

    Attributes:
        alert: How much of it there is, 0 to 1.
        free: How much the upper body is free to swing, 0 to 1.
        lifted: The foot that is lifted.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        feet: Feet,
        tasks: BalanceTasks,
        motion: JointRange,
        torque_limit: Array,
        keep: Sequence[int],
        height_rate: float,
        period: float,
        gains: CaptureGains,
        in_place: CaptureGains,
    ) -> None:
        self.dynamics, self.feet, self.period = dynamics, feet, period
        self._stepping, self._in_place = gains, in_place
        self.gains, self._height_rate = gains, height_rate
        self._torque_limit = torque_limit
        soles = dynamics.robot.soles.values()
        self._width = min(float(min(sole.size)) for sole in soles)
        self._with_steps = CaptureTasks(dynamics, feet, tasks, keep, gains)
        self._without = CaptureTasks(dynamics, feet, tasks, keep, in_place)
        self._changed = self._with_steps
        self._zmp_task = ZmpTask(gains.zmp_weight)
        self._swing = Swing(dynamics, tasks.torso, motion)
        self.lifted = LiftedFoot(feet, self.bearable)
        self.reset()

    def reset(self) -> None:
        """Begin with nothing to capture."""
        self.alert: float = 0.0
        self.free: float = 0.0
        self._places: dict[str, Array] = {}
        self._holds: dict[str, Array] = {}
        self._offsets: deque[Array] = deque()
        self._told: Array | None = None
        self._eta: Array | None = None
        self._eta_rate = np.zeros(2)
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
        if target.support != "both" or any(target.com_velocity.tolist()):
            if self.alert > 0.0:
                self._release(omega_of(target))
            return wanted
        omega = omega_of(target)
        self.gains = gains = self._stepping if may_step else self._in_place
        self._changed = self._with_steps if may_step else self._without
        planned = target.com[:2] + self.feet.shift[:2]
        off = known.dcm(omega) - planned
        margin = gains.margin * self._width
        if self.alert == 0.0 and float(off @ off) < (gains.begins * margin) ** 2:
            return wanted
        swing = self._swing.now(omega)
        eta = planned + off + swing
        corners = self._corners()
        both = support_of(np.concatenate(corners))
        gone = both.part_of_way(planned, eta, margin)
        sets_in = (gone - gains.begins) / (gains.whole - gains.begins)
        calmer = self.alert - self.period * omega * gains.calming
        if self.lifted.busy:
            calmer = min(self.alert + self.period * omega, 1.0)
        self.alert = min(max(sets_in, calmer, 0.0), 1.0)
        if self.alert == 0.0:
            self._calm()
            return wanted
        start, bears = planned, both
        if self.lifted.weak and self.lifted.sole is not None:
            start, bears = self.lifted.reference(planned, corners), self.lifted.sole
        over = self._over(bears, start, eta, margin)
        leaves = bool(over.any())
        if gains.foresight > 0.0:
            soon = self._over(bears, start, self._foreseen(eta, omega), margin)
            over = soon if float(soon @ soon) > float(over @ over) else over
        self.free = min(length_of(over) / margin, 1.0)
        self._changed.set(self.alert, self.free)
        self._changed.throw_arms(over, self.free)
        self._hold_feet(known)
        if gains.lift is not None:
            tilt, _ = self._swing.tilt()
            places = [self._places[foot.contact.frame] for foot in self.feet.feet]
            now = Standing(known, corners, places, planned, eta, over, tilt)
            self.lifted.update(gains.lift, now, may_begin=leaves)
            self._changed.move_leg(self.lifted, over, self.free)
        self._swing.free_leg = self._free_leg(known)
        support = self.lifted.support(both, corners)
        if gains.corner > 0.0:
            support = support.with_cut_corners(gains.corner * self._width)
        reference = self.lifted.reference(planned, corners)
        push = _Push(eta, swing, over, reference, support)
        return self._captured(known, target, wanted, push)

    def bearable(self, number: int, sole: Support) -> Support | None:
        """Return the part of a sole on which its leg can bear the weight, or None."""
        frame = self.dynamics.frame(self.feet.feet[number].contact.frame)
        weight, most = self.feet.weight, self._torque_limit
        return bearable_part(self.dynamics, frame, sole, weight, most)

    def _free_leg(self, known: Estimate) -> int | None:
        """Return the leg whose stops do not end a swing: of a lifted or light foot."""
        if self.lifted.number is not None:
            return self.lifted.number
        left, right = (self.feet.felt(known, number)[1] for number in (0, 1))
        light = min(left, right) < self.gains.light_leg * self.feet.weight
        return int(right < left) if light else None

    def _over(
        self, support: Support, planned: Array, eta: Array, margin: float
    ) -> Array:
        """Return by how much η should be farther inside the soles [m], shape (2,)."""
        if self.gains.along_push:
            return support.excess_along(planned, eta, margin)
        return support.excess(eta, margin)

    def _foreseen(self, eta: Array, omega: float) -> Array:
        """Return where η will be soon if it goes on as it does [m], shape (2,)."""
        gains = self.gains
        rate = np.zeros(2) if self._eta is None else (eta - self._eta) / self.period
        part = min(self.period * omega / gains.rate_filter, 1.0)
        self._eta, self._eta_rate = eta, self._eta_rate + part * (rate - self._eta_rate)
        return np.asarray(eta + gains.foresight / omega * self._eta_rate)

    def _captured(
        self, known: Estimate, target: Target, wanted: Array, push: _Push
    ) -> Array:
        """Return the CoM acceleration of soles and swing, and set the ZMP's task."""
        gains, alert, omega = self.gains, self.alert, omega_of(target)
        assert target.com is not None
        assert target.zmp is not None
        zmp = self._zmp(push)
        angle, rate = self._swing.tilt()
        braking = gains.tilt_braking * self.feet.rate**2
        spare = self._swing.spare(angle, rate, gains.most_tilt, braking)
        goal = gains.swing * spare * push.over
        if gains.back > 0.0 and not push.over.any():
            goal = self._swing_back(push)
        lever = gains.swing_rate * (goal - push.swing)
        longest = gains.lever * float(target.com[2] - target.zmp[2])
        lever = lever * min(1.0, longest / max(length_of(lever), LEAST))
        task = self._zmp_task
        ground = float(target.zmp[2] + self.feet.shift[2])
        task.point = np.array([*zmp, ground])
        task.com_offset = known.com_offset
        task.weight = np.asarray(gains.zmp_weight * alert**4)
        task.root_weight = np.sqrt(task.weight)
        away = known.com[:2] + known.com_offset - zmp - lever  # of the CoM from r
        farthest = gains.friction * max(float(known.com[2]) - ground, LEAST)
        away = away * min(1.0, farthest / max(length_of(away), LEAST))
        asked = np.array(wanted)
        asked[:2] += alert * (omega**2 * away - wanted[:2])
        z = self._height_rate
        lower = gains.crouch * self.feet.length
        asked[2] -= alert * lower * (z**2 * angle + 2.0 * z * rate)
        return asked

    def _zmp(self, push: _Push) -> Array:
        """Return where the ZMP should be [m], shape (2,)."""
        start, support = push.reference, push.support
        ahead = (1.0 + self.gains.dcm) * (push.eta - start) - push.swing
        if self.lifted.number is not None:
            return support.nearest(start + ahead)
        # along the way of the DCM: at a corner, one foot would turn on its own
        return np.asarray(
            start + ahead / max(support.part_of_way(start, start + ahead, LEAST), 1.0)
        )

    def _swing_back(self, push: _Push) -> Array:
        """Return ℓ [m] with which the torso comes back, and η stays inside."""
        back = self._swing.way_back()
        angle = length_of(back)
        way = back / max(angle, LEAST)
        room = push.support.room(push.eta, -way)
        part = min(angle / self.gains.upright, 1.0)
        return np.asarray(self.gains.back * room * part * way)

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
        self._let_down()
        if self.alert > 0.0:
            self._zmp_task.weight = self._zmp_task.root_weight = np.asarray(0.0)
            self._changed.set(self.alert, self.free)
        else:
            self._calm()

    def _calm(self) -> None:
        """End."""
        self.alert = self.free = 0.0
        self._places, self._holds = {}, {}
        self._let_down()
        self._changed.set(0.0, 0.0)

    def _let_down(self) -> None:
        """Lift no foot, and foresee nothing."""
        self._eta, self._eta_rate = None, np.zeros(2)
        self.lifted.reset()
        self._swing.free_leg = None

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
            if not foot.state.carries or light <= 0.0 or number == self.lifted.number:
                continue
            if not touches:
                contact.most_force = gains.unfelt * self.feet.weight
            off = np.empty(6)
            off[:3] = pose.rotation.T @ (place[:3, 3] - pose.translation)
            farthest = gains.drag * self.feet.length
            off[:3] *= min(1.0, farthest / max(length_of(off[:3]), LEAST))
            off[3:] = pin.log3(pose.rotation.T @ place[:3, :3])
            rate = gains.hold * self.feet.rate * min(light, 1.0)
            contact.damping = max(contact.damping, 2.0 * rate)
            self._holds[contact.frame] = rate**2 * off

    def _corners(self) -> list[Array]:
        """Return the largest points of each sole from above, shape (k, 2) each.

        A foot that was lifted counts where it stood.
        """
        corners = []
        for foot, sizes in zip(self.feet.feet, self._changed.points, strict=True):
            frame = foot.contact.frame
            place = np.array(self.dynamics.pose(self.dynamics.frame(frame)).homogeneous)
            if self.gains.lift is not None and not foot.state.carries:
                place = self._places.get(frame, place)
            points = sizes[-1] @ place[:3, :3].T
            corners.append(points[:, :2] + place[:2, 3])
        return corners
