"""Feet that carry and feet that swing: contacts and tasks, from plan and sensors.

A foot stands from when it is felt on the ground until its plan lifts it. What it may
carry grows from little when it comes down and shrinks before it leaves, so that torques
do not jump. A foot that comes down early stands where it is; one that finds no ground
is lowered until it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.dynamics import Dynamics, sole_frame
from equipoise.balance.whole_body.inverse_dynamics import Contact
from equipoise.balance.whole_body.tasks import FrameTask
from equipoise.control.signals import Target
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.anatomy.geometry import widest_corners
from equipoise.robot.description import STANDARD_GRAVITY

# A foot has at most this many points at which forces act.
MOST_CORNERS = 4
# A foot whose limit of force has grown to this many times the weight has none.
UNLIMITED_LOAD = 2.0


class FootState(Enum):
    """What a foot does."""

    SWING = "swing"
    LANDING = "landing"
    STANCE = "stance"
    LEAVING = "leaving"

    @property
    def carries(self) -> bool:
        """Whether it is a contact."""
        return self is FootState.STANCE or self is FootState.LEAVING


@dataclass(frozen=True)
class FootGains:
    """Numbers of feet; rates are multiples of √(g / L), with the leg's length L.

    Attributes:
        swing: Rate at which swing feet follow their plan.
        hasty_swing: The same of feet whose foothold was changed.
        swing_weight: Weight of swing feet [per (m/s²)² and (rad/s²)²].
        hasty_tilt_weight: Weight of the tilt of feet whose foothold was changed: one
            whose ankle is at its stop may tilt, and need not turn the trunk.
        contact: Rate at which a foot that carries is stopped [1/s]: what bounds it are
            delays of sensors, not the robot's size.
        friction: Largest tangential over normal force that is used.
        sole: Part of the sole in which forces act, from its middle.
        shift: Rate at which the plan is shifted with the feet that carry [1/s].
        relax: Rate at which a swing foot goes from where it stood to its plan.
        lowering: Speed at which a foot that finds no ground is lowered, as a fraction
            of √(g L).
        lowering_growth: How fast that speed is reached, as a fraction of gravity.
        lowest: How far it is lowered at most, as a fraction of the leg.
        loading: Time in which a foot that came down may carry all [s].
        unloading: Time in which a foot that leaves gives up what it carries [s].
        sure: Time for which contact must be felt [s].
    """

    swing: float = 5.0
    hasty_swing: float = 8.0
    swing_weight: float = 10.0
    hasty_tilt_weight: float = 0.03
    contact: float = 50.0
    friction: float = 0.6
    sole: float = 0.9
    shift: float = 33.0
    relax: float = 4.0
    lowering: float = 0.16
    lowering_growth: float = 0.4
    lowest: float = 0.05
    loading: float = 0.05
    unloading: float = 0.02
    sure: float = 0.004


class Foot:
    """One foot: its state, its contact and its task.

    Attributes:
        state: What it does.
        contact: Its points, and how much they may carry.
        task: Where it swings.
        load_limit: How much it may carry, as a fraction of the weight.
    """

    def __init__(self, side: str, contact: Contact, task: FrameTask) -> None:
        self.side, self.contact, self.task = side, contact, task
        self.reset()

    def reset(self) -> None:
        """Stand."""
        self.state = FootState.STANCE
        self.load_limit = UNLIMITED_LOAD
        self.felt = 0.0
        self.early = False
        self.lowered = self.lowering_speed = 0.0
        self.away = np.zeros(3)
        self.contact.leftover = self.task.leftover = None


class Feet:
    """Both feet of a robot.

    Args:
        dynamics: Dynamics of the robot; up to date when :meth:`update` is called.
        period: Time between two ticks [s].
        gains: Numbers of the feet.

    Attributes:
        feet: Left and right.
        shift: How far the plan is shifted with the feet that carry [m], shape (3,).
        lead: The foot with which alone it is shifted, where both carry; by the load
            that each is meant to carry if None.
        hasty: Whether the swing foot goes where it was not planned to.
        fastest: Largest speed of such a foot, what corrects it included [m/s].
    """

    def __init__(
        self, dynamics: Dynamics, period: float, gains: FootGains | None = None
    ) -> None:
        from equipoise.kernels import estimation

        self._rows, self.gains, self.period = estimation, gains or FootGains(), period
        robot, gains = dynamics.robot, self.gains
        self.length = max(robot.legs[side].length for side in SIDES)
        self.rate = rate = math.sqrt(STANDARD_GRAVITY / self.length)
        self.weight = robot.mass * STANDARD_GRAVITY
        self.feet: list[Foot] = []
        for side in SIDES:
            polygon = robot.soles[side].polygon_in_sole
            polygon = polygon[widest_corners(polygon, MOST_CORNERS)]
            middle = polygon.mean(axis=0)
            corners = middle + gains.sole * (polygon - middle)
            points = np.column_stack([corners, np.zeros(len(corners))])
            frame = sole_frame(side)
            contact = Contact(frame, points, gains.friction)
            task = FrameTask(frame, gains.swing_weight, (gains.swing * rate) ** 2)
            self.feet.append(Foot(side, contact, task))
        self.fastest = math.inf
        usual, tilt = gains.swing_weight, gains.hasty_tilt_weight
        self._root_weight = np.sqrt(usual)
        self._hasty_root_weight = np.sqrt([usual, usual, usual, tilt, tilt, usual])
        self.reset()

    def reset(self) -> None:
        """Begin with both feet on the ground."""
        for foot in self.feet:
            foot.reset()
        self.shift = np.zeros(3)
        self.lead: int | None = None
        self.hasty = False
        self._new = True

    @property
    def contacts(self) -> list[Contact]:
        """Contacts of the feet that carry."""
        return [foot.contact for foot in self.feet if foot.state.carries]

    @property
    def tasks(self) -> list[FrameTask]:
        """Tasks of the feet that do not."""
        return [foot.task for foot in self.feet if not foot.state.carries]

    def measured_sole(self, known: Estimate, foot: int) -> tuple[Array, Array]:
        """Return where a sole is [m], shape (3,), and its rotation, shape (3, 3)."""
        rows = self._rows
        return (
            known.told[rows.TOLD_SOLE + foot],
            known.told_rotations[rows.TOLD_SOLES + foot],
        )

    def felt(self, known: Estimate, foot: int) -> tuple[bool, float]:
        """Return whether a foot is felt on the ground, and what it carries [N]."""
        rows, told = self._rows, known.told
        touches = bool(told[rows.TOLD_CONTACT][foot] > 0.5)
        return touches, max(float(told[rows.TOLD_FORCE + foot][2]), 0.0)

    def update(self, known: Estimate, target: Target) -> Array:
        """Bring states, contacts and tasks up to date; return the plan's shift [m]."""
        soles, twists = target.soles, target.sole_twists
        rates = target.sole_accelerations
        assert soles is not None
        assert twists is not None
        assert rates is not None
        measured = known.told[self._rows.TOLD_SOLE : self._rows.TOLD_SOLE + 2]
        felt = known.told[self._rows.TOLD_CONTACT].tolist()
        planned = [soles[side][:3, 3].tolist() for side in SIDES]
        supports = [target.support in ("both", side) for side in SIDES]
        self._shift_plan(
            measured.tolist(), planned, self._loads(planned, target, supports)
        )
        for number, foot in enumerate(self.feet):
            foot.felt = foot.felt + self.period if felt[number] > 0.5 else 0.0
            falls = twists[SIDES[number]][2] < 0.0
            other = self.feet[1 - number]
            self._change(foot, other, supports[number], falls)
            if foot.state is FootState.SWING and foot.lowered < 0.0:
                foot.away = measured[number] - planned[number] - self.shift
                foot.lowered = 0.0
            self._load(foot)
            foot.contact.damping = self.gains.contact
            if not foot.state.carries:
                side = SIDES[number]
                self._swing(foot, soles[side], twists[side], rates[side])
                if self.hasty:
                    self._slow_down(foot.task, measured[number])
        return self.shift

    def _loads(
        self, planned: list[list[float]], target: Target, supports: list[bool]
    ) -> tuple[float, float]:
        """Return which part of the weight each foot is meant to carry, and can."""
        loads = [float(stands) for stands in supports]
        if self.lead is not None and supports[self.lead]:
            loads[1 - self.lead] = 0.0
        elif all(supports) and target.zmp is not None:
            (x, y, _), (other_x, other_y, _) = planned
            zmp_x, zmp_y = target.zmp.tolist()[:2]
            along, across = x - other_x, y - other_y
            square = max(along**2 + across**2, 1e-12)
            part = (zmp_x - other_x) * along + (zmp_y - other_y) * across
            loads[0] = min(max(part / square, 0.0), 1.0)
            loads[1] = 1.0 - loads[0]
        one, other = self.feet
        return loads[0] * one.state.carries, loads[1] * other.state.carries

    def _shift_plan(
        self,
        measured: list[list[float]],
        planned: list[list[float]],
        loads: tuple[float, float],
    ) -> None:
        """Shift the plan with where the feet are that carry."""
        total = loads[0] + loads[1]
        if total > 0.0:
            follow = 1.0 if self._new else min(self.gains.shift * self.period, 1.0)
            left, right = loads[0] / total, loads[1] / total
            shift = self.shift.tolist()
            for axis in range(3):
                wanted = left * (measured[0][axis] - planned[0][axis])
                wanted += right * (measured[1][axis] - planned[1][axis])
                shift[axis] += follow * (wanted - shift[axis])
            self.shift = np.array(shift)
            self._new = False

    def _change(self, foot: Foot, other: Foot, supports: bool, falls: bool) -> None:
        """Change a foot's state by plan and contact."""
        surely = foot.felt > self.gains.sure
        if supports:
            foot.early = False
            if foot.state is FootState.LEAVING:
                foot.state = FootState.STANCE
            elif not foot.state.carries:
                if surely:
                    self._stand(foot)
                elif foot.state is FootState.SWING:
                    foot.state = FootState.LANDING
        elif foot.state is FootState.SWING:
            if surely and falls:
                self._stand(foot)
                foot.early = True
        elif foot.state is FootState.LEAVING:
            if foot.load_limit <= 0.0:
                foot.state, foot.lowered = FootState.SWING, -1.0
        elif foot.state is FootState.LANDING:
            foot.state, foot.lowered = FootState.SWING, -1.0
        elif not foot.early and other.state is FootState.STANCE:
            foot.state = FootState.LEAVING
            foot.load_limit = min(foot.load_limit, 1.0)

    def _stand(self, foot: Foot) -> None:
        # in its first tick it carries nothing, as in the one before
        nothing = -UNLIMITED_LOAD * self.period / self.gains.loading
        foot.state, foot.load_limit, foot.lowered = FootState.STANCE, nothing, 0.0

    def _load(self, foot: Foot) -> None:
        """Change how much a foot may carry."""
        gains = self.gains
        if foot.state is FootState.STANCE:
            foot.load_limit += UNLIMITED_LOAD * self.period / gains.loading
            foot.load_limit = min(foot.load_limit, UNLIMITED_LOAD)
        elif foot.state is FootState.LEAVING:
            foot.load_limit -= self.period / gains.unloading
        free = foot.load_limit >= UNLIMITED_LOAD
        limit = max(foot.load_limit, 0.0) * self.weight
        foot.contact.most_force = math.inf if free else limit

    def _swing(self, foot: Foot, sole: Array, twist: Array, rate: Array) -> None:
        gains, task = self.gains, foot.task
        if foot.state is not FootState.LANDING:
            foot.lowering_speed = 0.0
        foot.away = foot.away * max(1.0 - self.period * self.rate * gains.relax, 0.0)
        swing = gains.hasty_swing if self.hasty else gains.swing
        task.stiffness = (swing * self.rate) ** 2
        task.damping = 2.0 * swing * self.rate
        task.root_weight = self._hasty_root_weight if self.hasty else self._root_weight
        task.pose = np.array(sole)
        task.pose[:3, 3] += self.shift + foot.away
        task.velocity, task.acceleration = np.array(twist), np.array(rate)
        if foot.state is FootState.LANDING:
            fastest = gains.lowering * self.length * self.rate
            growth = gains.lowering_growth * STANDARD_GRAVITY
            if foot.lowered < gains.lowest * self.length:
                if self.hasty:
                    foot.lowering_speed = fastest
                elif foot.lowering_speed < fastest:
                    foot.lowering_speed += self.period * growth
                    task.acceleration[2] -= growth
                foot.lowered += self.period * foot.lowering_speed
                task.velocity[2] -= foot.lowering_speed
            task.pose[2, 3] -= foot.lowered

    def _slow_down(self, task: FrameTask, measured: Array) -> None:
        """Limit the speed that a foot is drawn to, on its way and to it."""
        # a damping of twice the root of the stiffness settles at this speed
        rate = 0.25 * task.damping
        speed = task.velocity[:3] + rate * (task.pose[:3, 3] - measured)
        fast = math.hypot(*speed)
        if fast > self.fastest:
            slower = self.fastest / fast * speed - task.velocity[:3]
            task.pose[:3, 3] = measured + slower / rate
