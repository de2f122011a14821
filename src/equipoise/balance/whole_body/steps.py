"""Recovery steps: a plan whose footsteps change with the measured DCM.

A walk is followed as planned until the DCM is so far off that the ZMP cannot bring it
back before the next touch-down. Then the foothold is moved, and the swing made shorter
or longer (:mod:`~equipoise.balance.whole_body.foothold`); as all of a plan is seen from
the feet that carry, the walk goes on from where the foot came down. A robot that stands
begins to step in place when its DCM leaves the soles, and stops when it has settled.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.feet import Feet, FootState
from equipoise.balance.whole_body.foothold import (
    Foothold,
    Step,
    StepGains,
    choose_foothold,
)
from equipoise.balance.whole_body.step_plan import STEPS, SteppingInPlace
from equipoise.balance.whole_body.step_targets import (
    omega_of,
    turned,
    with_dcm,
    with_lowered_foot,
    with_swing_foot,
)
from equipoise.balance.whole_body.swing_path import SwingPath
from equipoise.control.signals import Target
from equipoise.gait.com_plan import leg_reaches
from equipoise.gait.gait import Gait
from equipoise.gait.parameters import Phase
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.anatomy.geometry import convex_hull
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Rate at which a CoM that was lowered for a long step rises again, over that at which
# it was lowered.
RISE = 0.1
# A swing is over if the foot is on the ground after this part of it.
AIRBORNE = 0.4
# How far a foot is lowered at most to find the ground, over the leg's length.
DEEPEST = 0.1
# How fast a plan's swing may pass, and how slowly.
FASTEST, SLOWEST = 8.0, 0.5


class Plan(Protocol):
    """A walk: a reference, and its gait.

    Attributes:
        gait: Its phases and footsteps.
    """

    @property
    def gait(self) -> Gait:
        """Phases and footsteps."""
        ...

    def sample(self, time: float) -> Target:
        """Return what is wanted at a time [s]."""
        ...


class StepEvent(NamedTuple):
    """Something that was done to a plan.

    Attributes:
        time: When [s].
        what: ``"begins"`` to step from standing, ``"changes"`` a foothold, or
            ``"lands"``.
        side: Which foot swings.
    """

    time: float
    what: str
    side: str


class _Goal(NamedTuple):
    """Where a swing foot goes, in the world, and where the DCM should be then."""

    place: Array
    dcm: Array
    ends: float
    lower: float


class RecoverySteps:
    """Changes a plan's steps so that a robot that was pushed does not fall.

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        feet: Feet of the controller.
        plan: The walk; None for a robot that stands.
        gains: Its numbers.
        joint_speed: Speed limits of the joints [rad/s or m/s], shape (nv - 6,).

    Attributes:
        events: What was done, in order.
    """

    def __init__(
        self,
        robot: Robot,
        period: float,
        feet: Feet,
        plan: Plan | None = None,
        gains: StepGains | None = None,
        *,
        joint_speed: Array | None = None,
    ) -> None:
        self.robot, self.period, self.feet = robot, period, feet
        self.gains = gains = gains or StepGains()
        self._walk, self._in_place = plan, SteppingInPlace(robot, period, gains)
        polygons = [robot.soles[side].polygon_in_sole for side in SIDES]
        low = np.array([polygon.min(axis=0) for polygon in polygons])
        high = np.array([polygon.max(axis=0) for polygon in polygons])
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        self._reaches = leg_reaches(robot)
        speed = min(gains.speed * feet.rate * feet.length, gains.fastest_foot)
        if joint_speed is not None:
            hips = [
                joint_speed[degree_of(robot, name)]
                for side in SIDES
                for name in robot.legs[side].joints[:3]
            ]
            speed = min(speed, gains.hip_speed * float(min(hips)) * feet.length)
        self.foot_speed = speed
        self._path = SwingPath(period, speed, gains.clearance * feet.length)
        self.reset()

    def reset(self) -> None:
        """Begin with the plan, nothing changed."""
        self._plan: Plan | None = self._walk
        self._from_standing = False
        self._turn = self._offset = 0.0
        self._new_step()
        self._step = -1
        self._lowered = 0.0
        self.events: list[StepEvent] = []

    @property
    def changed(self) -> bool:
        """Whether what is wanted is another than planned, or was at another time."""
        return self._own_time or self._changes

    @property
    def _own_time(self) -> bool:
        """Whether the plan is another than the walk, or at another time."""
        return self._from_standing or self._offset != 0.0

    def adjust(self, known: Estimate, target: Target) -> Target:
        """Return what is wanted now.

        Args:
            known: What is known.
            target: What the plan wants.
        """
        now = known.time + self.period
        wanted, lower = self._wanted(known, target, now)
        self.feet.hasty = self.changed
        rate = self.gains.lower_rate * self.feet.rate * self.period
        rate *= 1.0 if lower > self._lowered else RISE
        self._lowered += min(rate, 1.0) * (lower - self._lowered)
        if self._lowered > 1e-4 * self.feet.length and wanted.com is not None:
            down = np.array([0.0, 0.0, self._lowered])
            wanted = replace(wanted, com=wanted.com - down)
        return wanted

    def _wanted(
        self, known: Estimate, target: Target, now: float
    ) -> tuple[Target, float]:
        """Return what is wanted, and how much lower the CoM should be for it [m]."""
        stands = self._plan is None
        if stands and not _at_rest(target):
            return target, 0.0
        if not stands:
            phase = self._phase(now + self._offset)
            stands = phase.step > 0 and phase.kind in ("stop", "hold")
        if stands:
            stance = self._at(now) if self.changed else target
            if not self._lost(known, stance):
                return stance, 0.0
            self._begin(known, stance, now)
        phase = self._phase(now + self._offset)
        if phase.kind != "swing":
            return self._on_both(known, target, now, phase), 0.0
        return self._swing(known, target, now, phase)

    def _at(self, now: float) -> Target:
        """Return what the plan wants, at its own time."""
        return self._sample(now + self._offset)

    def _sample(self, time: float) -> Target:
        assert self._plan is not None
        target = self._plan.sample(time)
        return turned(target, self._turn) if self._turn else target

    def _phase(self, time: float) -> Phase:
        assert self._plan is not None
        phases = self._plan.gait.phases
        return phases[bisect_right([phase.start for phase in phases[1:]], time)]

    def _new_step(self) -> None:
        """Forget what belongs to one step."""
        self._changes = False
        self._goal: _Goal | None = None
        self._swung = self._dropped = 0.0
        self._on_path = False

    def _on_both(
        self, known: Estimate, target: Target, now: float, phase: Phase
    ) -> Target:
        """Return what is wanted in double support; shorter if there is no time."""
        self._changes = False
        double = phase.kind == "double"
        wanted = self._at(now) if self._own_time else target
        if not self._own_time and not (
            double and self._off(known, target, self.gains.hurry)
        ):
            return target
        again = self._from_standing and double and phase.step == STEPS - 1
        if again and self._off(known, wanted, self.gains.settled):
            # in place, this step and the one two before are the same
            assert self._plan is not None
            swings = [p.start for p in self._plan.gait.phases if p.kind == "swing"]
            self._offset -= swings[2] - swings[0]
            wanted = self._at(now)
        if not all(foot.state.carries for foot in self.feet.feet):
            self._offset -= self.period
        elif double and self._off(known, wanted, self.gains.hurry):
            self._offset += (self.gains.double_rate - 1.0) * self.period
        return wanted

    def _off(self, known: Estimate, target: Target, least: float) -> bool:
        """Return whether the DCM is farther off than a fraction of the leg."""
        assert target.dcm is not None
        error = known.dcm(omega_of(target)) - target.dcm[:2] - self.feet.shift[:2]
        return float(np.linalg.norm(error)) > least * self.feet.length

    def _lost(self, known: Estimate, target: Target) -> bool:
        """Return whether the DCM of a robot that stands has left its soles."""
        soles = []
        for foot in range(2):
            place, rotation = self.feet.measured_sole(known, foot)
            half = self.gains.edge * self._half[foot]
            box = self._middle[foot] + half * CORNERS
            soles.append(place[:2] + box @ rotation[:2, :2].T)
        ahead = known.dcm(omega_of(target))
        hull = convex_hull(np.concatenate(soles))
        return bool(polygon_margin(hull, ahead[None])[0] < 0.0)

    def _begin(self, known: Estimate, target: Target, now: float) -> None:
        """Begin to step from standing, with the foot that helps more."""
        measured = [self.feet.measured_sole(known, foot) for foot in range(2)]
        headings = [math.atan2(r[1, 0], r[0, 0]) for _, r in measured]
        self._turn = headings[1] + 0.5 * _wrapped(headings[0] - headings[1])
        plans = self._in_place.plans(target)
        best: tuple[float, Plan, Phase, Array] | None = None
        for swing, plan in enumerate(plans):
            self._plan = plan
            self._new_step()
            first = next(p for p in plan.gait.phases if p.kind == "swing")
            start = self._sample(first.start)
            assert start.soles is not None
            shift = measured[1 - swing][0] - start.soles[SIDES[1 - swing]][:3, 3]
            step = self._describe(known, start, first, first.start, shift)
            faster = self.gains.push_goes_on * step.com_velocity
            step = step._replace(com_velocity=faster)
            cost = self._choose(step).cost
            if best is None or cost < best[0]:
                best = cost, plan, first, shift
        assert best is not None
        _, self._plan, first, shift = best
        self._offset = first.start - now + self.period
        self._from_standing, self._step = True, -1
        self.feet.lead = None
        self.feet.shift = np.array(shift)
        self._say(now, "begins", first)

    def _say(self, now: float, what: str, phase: Phase) -> None:
        self.events.append(StepEvent(now, what, SIDES[_swing_foot(phase)]))

    def _choose(self, step: Step) -> Foothold:
        feet = self.feet
        return choose_foothold(
            step, self.gains, feet.length, feet.rate, self.foot_speed
        )

    def _stance_axes(self, known: Estimate, phase: Phase) -> tuple[Array, Array]:
        """Return where the stance sole is from above, and its axes as columns."""
        sole, rotation = self.feet.measured_sole(known, 1 - _swing_foot(phase))
        turn = math.atan2(rotation[1, 0], rotation[0, 0])
        c, s = math.cos(turn), math.sin(turn)
        return sole[:2], np.array([[c, -s], [s, c]])

    def _describe(
        self, known: Estimate, target: Target, phase: Phase, time: float, shift: Array
    ) -> Step:
        """Return the step that goes on, in axes of the stance sole."""
        swing = _swing_foot(phase)
        stance, side = 1 - swing, SIDES[swing]
        end = self._sample(phase.end)
        assert end.soles is not None
        assert end.dcm is not None
        assert target.zmp is not None
        assert target.com is not None
        origin, axes = self._stance_axes(known, phase)
        foothold = end.soles[side][:3, 3]
        foot, velocity = self._swing_foot_now(known, target, swing)
        reach = self._reaches[side]
        tall = target.com[2] + reach.hip_from_com[2]
        return Step(
            1.0 if swing == 0 else -1.0,
            omega_of(target),
            (known.com[:2] + known.com_offset - origin) @ axes,
            known.com_velocity[:2] @ axes,
            (target.zmp[:2] + shift[:2] - origin) @ axes,
            (foot - origin) @ axes,
            velocity @ axes,
            (foothold[:2] + shift[:2] - origin) @ axes,
            (end.dcm[:2] - foothold[:2]) @ axes,
            max(phase.end - time, self.period),
            self._swung,
            self._middle[stance],
            self._half[stance],
            reach.hip_from_com[:2] - reach.ankle_in_sole[:2],
            float(tall - reach.ankle_in_sole[2] - foothold[2]),
            reach.longest,
        )

    def _swing_foot_now(
        self, known: Estimate, target: Target, swing: int
    ) -> tuple[Array, Array]:
        """Return where a swing foot is horizontally [m], and its velocity [m/s]."""
        if self._on_path:
            return self._path.place[:2], self._path.velocity[:2]
        place = self.feet.measured_sole(known, swing)[0][:2]
        if self.feet.feet[swing].state.carries:
            return place, np.zeros(2)
        assert target.sole_twists is not None
        return place, target.sole_twists[SIDES[swing]][:2]

    def _swing(
        self, known: Estimate, target: Target, now: float, phase: Phase
    ) -> tuple[Target, float]:
        """Return what is wanted while a foot swings, and how much lower the CoM."""
        swing = _swing_foot(phase)
        plan = self._at(now) if self._own_time else target
        assert plan.soles is not None
        if phase.step != self._step:
            self._new_step()
            self._step, self._changes = phase.step, self._from_standing
            self.feet.lead = None
            if self._own_time:
                self._follow(known, plan, 1 - swing)
        self._swung += self.period
        time = now + self._offset
        goal, unchanged = self._foothold(known, plan, phase, now)
        if not self._changes:
            if unchanged < self.gains.threshold * self.feet.length:
                return plan, 0.0
            self._changes = True
            self._say(now, "changes", phase)
        done = (time - phase.start) / phase.duration
        if self.feet.feet[swing].state is FootState.STANCE and done > AIRBORNE:
            self._offset += phase.end - time
            self._say(now, "lands", phase)
            landed = self._sample(phase.end)
            self._follow(known, landed, swing)
            return landed, goal.lower
        left = max(goal.ends - now, self.period)
        rest = phase.end - time
        late = rest <= 2.5 * self.period
        rate = min(max(rest / left, SLOWEST), FASTEST)
        # never past the end of a swing while its foot is in the air
        ahead = 0.0 if late else min(rate * self.period, rest - 1.2 * self.period)
        self._offset += ahead - self.period
        self._follow_path(known, plan, swing, goal.place, left)
        shift = self.feet.shift
        wanted = with_swing_foot(plan, SIDES[swing], rate, self._path, shift)
        if late:
            wanted = self._lowered_foot(wanted, SIDES[swing])
        here = known.com[:2] + known.com_offset
        return with_dcm(wanted, here, shift[:2], goal.dcm, left), goal.lower

    def _follow_path(
        self, known: Estimate, plan: Target, swing: int, goal: Array, left: float
    ) -> None:
        """Move the swing foot on; it begins where it stands, or is on its plan."""
        foot, path = self.feet.feet[swing], self._path
        assert plan.soles is not None
        assert plan.sole_twists is not None
        if foot.state.carries:
            path.begin(self.feet.measured_sole(known, swing)[0], np.zeros(3))
        elif not self._on_path:
            side = SIDES[swing]
            place = plan.soles[side][:3, 3] + self.feet.shift + foot.away
            path.begin(place, plan.sole_twists[side][:3])
            foot.away[:] = 0.0
        self._on_path = True
        path.advance(goal, left)

    def _lowered_foot(self, target: Target, side: Side) -> Target:
        """Return a target whose swing foot looks for the ground."""
        speed = self.gains.lowering * self.feet.length * self.feet.rate
        self._dropped += speed * self.period
        depth = min(self._dropped, DEEPEST * self.feet.length)
        return with_lowered_foot(target, side, depth, speed)

    def _follow(self, known: Estimate, plan: Target, foot: int) -> None:
        """See the plan from one foot from now on."""
        assert plan.soles is not None
        sole, _ = self.feet.measured_sole(known, foot)
        self.feet.shift = sole - plan.soles[SIDES[foot]][:3, 3]
        self.feet.lead = foot

    def _foothold(
        self, known: Estimate, plan: Target, phase: Phase, now: float
    ) -> tuple[_Goal, float]:
        """Return where the foot goes, and the DCM's error if that were as planned."""
        if self._goal is not None:
            return self._goal, 0.0
        time = now + self._offset
        step = self._describe(known, plan, phase, time, self.feet.shift)
        found = self._choose(step)
        origin, axes = self._stance_axes(known, phase)
        end = self._sample(phase.end).soles
        assert end is not None
        ground = end[SIDES[_swing_foot(phase)]][2, 3] + self.feet.shift[2]
        goal = _Goal(
            np.array([*(origin + axes @ found.place), ground]),
            origin + axes @ (found.place + step.dcm_from_foothold),
            now + found.time,
            found.lower,
        )
        if self._changes and found.time < self.gains.frozen / self.feet.rate:
            self._goal = goal
        return goal, found.unchanged_error


CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def _at_rest(target: Target) -> bool:
    """Return whether a target is to stand still on both feet."""
    moves = target.com_velocity is None or bool(target.com_velocity.any())
    return target.support == "both" and not moves


def _swing_foot(phase: Phase) -> int:
    return 1 - SIDES.index(phase.support)


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % (2.0 * math.pi) - math.pi
