"""Recovery steps: a plan whose footsteps change with the measured DCM.

A walk is followed as planned until the DCM is so far off that the ZMP cannot bring it
back, neither before the next touch-down nor in the step after it. Then the foothold is
moved, and the swing made shorter or longer
(:mod:`~equipoise.balance.whole_body.foothold`); as all of a plan is seen from the feet
that carry, the walk goes on from where the foot came down. A robot that stands begins
to step in place when its DCM leaves the soles, and stops when it has settled.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

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
from equipoise.balance.whole_body.step_plan import (
    STEPS,
    Plan,
    RunningPlan,
    SteppingInPlace,
)
from equipoise.balance.whole_body.step_state import (
    StepGeometry,
    Swing,
    sole_place,
    swing_foot,
)
from equipoise.balance.whole_body.step_targets import (
    omega_of,
    with_dcm,
    with_lowered_foot,
    with_swing_foot,
)
from equipoise.balance.whole_body.swing_limits import SwingLimits
from equipoise.balance.whole_body.swing_path import SwingPath
from equipoise.control.signals import Target
from equipoise.gait.parameters import Phase
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.description import STANDARD_GRAVITY
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
FASTEST, SLOWEST = 4.0, 0.5


class StepEvent(NamedTuple):
    """Something that was done to a plan.

    Attributes:
        time: When [s].
        what: ``"begins"`` to step from standing, ``"changes"`` a foothold,
            ``"shortens"`` a swing, or ``"lands"``.
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
        hips: What hips allow a swing foot.

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
        hips: SwingLimits | None = None,
    ) -> None:
        self.period, self.feet = period, feet
        gains = gains or StepGains()
        if hips is not None:
            most = hips.acceleration / STANDARD_GRAVITY
            gains = replace(gains, acceleration=min(gains.acceleration, most))
        self.gains = gains
        self._walk, self._in_place = plan, SteppingInPlace(robot, period, gains)
        self._geometry = StepGeometry(robot, feet, gains)
        speed = min(gains.speed * feet.rate * feet.length, gains.fastest_foot)
        stopping = gains.acceleration * STANDARD_GRAVITY
        if hips is not None:
            speed = min(speed, gains.hip_speed * hips.speed)
            stopping = min(stopping, gains.hip_torque * hips.acceleration)
        self.foot_speed, feet.fastest = speed, gains.fastest_foot
        self._path = SwingPath(period, speed, stopping)
        self.reset()

    def reset(self) -> None:
        """Begin with the plan, nothing changed."""
        self._plan = None if self._walk is None else RunningPlan(self._walk)
        self._from_standing = False
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
        plan = self._plan
        return self._from_standing or (plan is not None and plan.offset != 0.0)

    def adjust(self, known: Estimate, target: Target) -> Target:
        """Return what is wanted now.

        Args:
            known: What is known.
            target: What the plan wants.
        """
        now = known.time + self.period
        wanted, lower = self._wanted(known, target, now)
        self.feet.hasty = self._changes or self._on_path or self._from_standing
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
        plan = self._plan
        if plan is None:
            if not _at_rest(target):
                return target, 0.0
            stands = True
        else:
            phase = plan.phase(now)
            stands = phase.step > 0 and phase.kind in ("stop", "hold")
        if stands:
            stance = target
            if plan is not None and self.changed:
                stance = plan.at(now)
            if not self._geometry.left_soles(known, omega_of(stance)):
                return stance, 0.0
            plan = self._begin(known, stance, now)
        assert plan is not None
        phase = plan.phase(now)
        if phase.kind != "swing":
            return self._on_both(known, target, now, plan, phase), 0.0
        return self._swing(known, target, now, plan, phase)

    def _new_step(self) -> None:
        """Forget what belongs to one step."""
        self._changes = self._strays = self._on_path = self._shortened = False
        self._goal: _Goal | None = None
        self._swung = self._dropped = self._doubted = 0.0

    def _on_both(
        self,
        known: Estimate,
        target: Target,
        now: float,
        plan: RunningPlan,
        phase: Phase,
    ) -> Target:
        """Return what is wanted in double support; shorter if there is no time."""
        self._changes = False
        double = phase.kind == "double"
        wanted = plan.at(now) if self._own_time else target
        if not self._own_time and not (
            double and self._geometry.is_off(known, target, self.gains.hurry)
        ):
            return target
        again = self._from_standing and double and phase.step == STEPS - 1
        if again and self._geometry.is_off(known, wanted, self.gains.settled):
            # in place, this step and the one two before are the same
            swings = plan.swings()
            plan.offset -= swings[2].start - swings[0].start
            wanted = plan.at(now)
        if not all(foot.state.carries for foot in self.feet.feet):
            plan.offset -= self.period
        elif double and self._geometry.is_off(known, wanted, self.gains.hurry):
            left = plan.phase(now).end - now - plan.offset
            plan.offset += min((self.gains.double_rate - 1.0) * self.period, left)
        return wanted

    def _begin(self, known: Estimate, target: Target, now: float) -> RunningPlan:
        """Begin to step from standing, with the foot that helps more."""
        measured = [self.feet.measured_sole(known, foot) for foot in range(2)]
        headings = [math.atan2(r[1, 0], r[0, 0]) for _, r in measured]
        turn = headings[1] + 0.5 * _wrapped(headings[0] - headings[1])
        best: tuple[float, RunningPlan, Phase, Array] | None = None
        for swing, in_place in enumerate(self._in_place.plans(target)):
            plan = RunningPlan(in_place, turn=turn)
            first = plan.swings()[0]
            start, foot = (
                plan.sample(first.start),
                (measured[swing][0][:2], np.zeros(2)),
            )
            shift = measured[1 - swing][0] - sole_place(start, SIDES[1 - swing])
            begun = Swing(known, start, plan.end(first), first, first.duration)
            step = self._geometry.describe(begun, 0.0, foot, shift)
            faster = self.gains.push_goes_on * step.com_velocity
            cost = self._choose(step._replace(com_velocity=faster)).cost
            if best is None or cost < best[0]:
                best = cost, plan, first, shift
        assert best is not None
        _, self._plan, first, shift = best
        self._plan.offset = first.start - now + self.period
        self._new_step()
        self._from_standing, self._step = True, -1
        self.feet.lead = None
        self.feet.shift = np.array(shift)
        self._say(now, "begins", first)
        return self._plan

    def _say(self, now: float, what: str, phase: Phase) -> None:
        self.events.append(StepEvent(now, what, SIDES[swing_foot(phase)]))

    def _choose(self, step: Step) -> Foothold:
        feet = self.feet
        return choose_foothold(
            step, self.gains, feet.length, feet.rate, self.foot_speed
        )

    def _swing(
        self,
        known: Estimate,
        target: Target,
        now: float,
        plan: RunningPlan,
        phase: Phase,
    ) -> tuple[Target, float]:
        """Return what is wanted while a foot swings, and how much lower the CoM."""
        planned = plan.at(now) if self._own_time else target
        rest = phase.end - now - plan.offset
        step = Swing(known, planned, plan.end(phase), phase, max(rest, self.period))
        side, shift = step.side, self.feet.shift
        if phase.step != self._step:
            self._new_step()
            self._step = phase.step
            self.feet.lead = None
            if self._own_time:
                self._follow(known, planned, 1 - step.foot)
                shift = self.feet.shift
                self._changes = self._from_standing
                self._strays = self._geometry.is_astray(step)
        self._swung += self.period
        if not self._changes:
            if self._captures(step):
                if not self._strays:
                    return planned, 0.0
                self._put_on_path(step)
                self._path.advance((sole_place(step.end, side) + shift)[:2], rest)
                return with_swing_foot(planned, side, 1.0, self._path, shift[:2]), 0.0
            self._changes = True
            self._say(now, "changes", phase)
        self._put_on_path(step)
        found = None if self._goal is not None else self._best(step)
        if found is not None and self._is_better_short(step, *found):
            self._shortened = True
            self._say(now, "shortens", phase)
            # to where in the plan the foot is as high, and goes down
            gone = max(phase.duration - rest, 1.2 * self.period)
            plan.offset += rest - gone
            rest, planned = gone, plan.at(now)
            step = step._replace(planned=planned, left=rest)
            found = self._best(step)
        goal = self._goal if found is None else self._aim(step, *found, now)
        assert goal is not None
        state = self.feet.feet[step.foot].state
        # a swing that is cut short may end before its foot has left
        on_ground = state.carries if self._shortened else state is FootState.STANCE
        if on_ground and rest < (1.0 - AIRBORNE) * phase.duration:
            plan.offset += rest
            self._say(now, "lands", phase)
            self._follow(known, step.end, step.foot)
            return step.end, goal.lower
        left = max(goal.ends - now, self.period)
        late = rest <= 2.5 * self.period
        rate = min(max(rest / left, SLOWEST), FASTEST)
        # never past the end of a swing while its foot is in the air
        ahead = 0.0 if late else min(rate * self.period, rest - 1.2 * self.period)
        plan.offset += ahead - self.period
        self._path.advance(goal.place, left)
        wanted = with_swing_foot(planned, side, rate, self._path, shift[:2])
        if late:
            wanted = self._lowered_foot(wanted, side)
        here = known.com[:2] + known.com_offset
        return with_dcm(wanted, here, shift[:2], goal.dcm, left), goal.lower

    def _is_better_short(self, swing: Swing, step: Step, found: Foothold) -> bool:
        """Return whether a foot that still rises had better go down at once.

        After a push towards the stance foot the swing foot must be down before the
        other one can step out.
        """
        gone = swing.phase.duration - swing.left
        rises = gone <= self.gains.rising * swing.phase.duration
        if self._shortened or not rises or not found.crosses:
            return False
        short = step._replace(time_left=max(gone, self.period), swung=math.inf)
        return self._choose(short).cost < found.cost

    def _captures(self, step: Swing) -> bool:
        """Return whether the planned step captures the DCM, or does not only briefly.

        What is estimated is noisy.
        """
        if self._geometry.captures(step):
            self._doubted = 0.0
        else:
            self._doubted += self.period
        return self._doubted * self.feet.rate <= self.gains.sure

    def _put_on_path(self, step: Swing) -> None:
        """Begin the swing foot's path where it stands, or is on its plan."""
        foot, path = self.feet.feet[step.foot], self._path
        if foot.state.carries:
            place, _ = self.feet.measured_sole(step.known, step.foot)
            path.begin(place[:2], np.zeros(2))
        elif not self._on_path:
            assert step.planned.sole_twists is not None
            place = sole_place(step.planned, step.side) + self.feet.shift + foot.away
            path.begin(place[:2], step.planned.sole_twists[step.side][:2])
            foot.away[:2] = 0.0
        self._on_path = True

    def _lowered_foot(self, target: Target, side: Side) -> Target:
        """Return a target whose swing foot looks for the ground."""
        speed = self.gains.lowering * self.feet.length * self.feet.rate
        self._dropped += speed * self.period
        depth = min(self._dropped, DEEPEST * self.feet.length)
        return with_lowered_foot(target, side, depth, speed)

    def _follow(self, known: Estimate, planned: Target, foot: int) -> None:
        """See the plan from one foot from now on."""
        sole, _ = self.feet.measured_sole(known, foot)
        self.feet.shift = sole - sole_place(planned, SIDES[foot])
        self.feet.lead = foot

    def _best(self, swing: Swing) -> tuple[Step, Foothold]:
        """Return a step as it goes on, and its best foothold."""
        foot = self._path.place, self._path.velocity
        step = self._geometry.describe(swing, self._swung, foot, self.feet.shift)
        return step, self._choose(step)

    def _aim(self, swing: Swing, step: Step, found: Foothold, now: float) -> _Goal:
        """Return where the foot goes; in the last part of a swing that stays."""
        origin, axes = self._geometry.stance_axes(swing.known, 1 - swing.foot)
        goal = _Goal(
            origin + axes @ found.place,
            origin + axes @ (found.place + step.dcm_from_foothold),
            now + found.time,
            found.lower,
        )
        if found.time < self.gains.frozen / self.feet.rate:
            self._goal = goal
        return goal


def _at_rest(target: Target) -> bool:
    """Return whether a target is to stand still on both feet."""
    moves = target.com_velocity is None or bool(target.com_velocity.any())
    return target.support == "both" and not moves


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % (2.0 * math.pi) - math.pi
