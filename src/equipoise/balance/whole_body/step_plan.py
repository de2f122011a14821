"""Plans that recovery steps run: a walk, or steps in place of a robot that stood."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.foothold import StepGains
from equipoise.balance.whole_body.step_targets import turned
from equipoise.control.signals import Target
from equipoise.gait.gait import Gait
from equipoise.gait.parameters import Phase
from equipoise.gait.plan import plan_walk
from equipoise.gait.target_table import TargetTable, target_table
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# The first and the last of them begin and end at rest, those between are steady.
STEPS = 4


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


class RunningPlan:
    """A plan that runs at a time of its own, and turned.

    Args:
        plan: The plan.
        offset: How far its time is ahead [s].
        turn: About the world's z [rad].

    Attributes:
        offset: How far its time is ahead; one may change it.
    """

    def __init__(self, plan: Plan, offset: float = 0.0, turn: float = 0.0) -> None:
        self.plan, self.offset, self._turn = plan, offset, turn
        self._starts = [phase.start for phase in plan.gait.phases[1:]]
        self._ends: dict[float, Target] = {}

    def sample(self, time: float) -> Target:
        """Return what is wanted at a time of the plan [s]."""
        target = self.plan.sample(time)
        return turned(target, self._turn) if self._turn else target

    def at(self, now: float) -> Target:
        """Return what is wanted at a time of the world [s]."""
        return self.sample(now + self.offset)

    def phase(self, now: float) -> Phase:
        """Return the phase at a time of the world [s]."""
        phases = self.plan.gait.phases
        return phases[bisect_right(self._starts, now + self.offset)]

    def end(self, phase: Phase) -> Target:
        """Return what is wanted at the end of a phase."""
        if phase.end not in self._ends:
            self._ends = {phase.end: self.sample(phase.end)}
        return self._ends[phase.end]

    def swings(self) -> list[Phase]:
        """Return the phases in which a foot swings."""
        return [phase for phase in self.plan.gait.phases if phase.kind == "swing"]


@dataclass(frozen=True, eq=False)
class PlanInPlace:
    """Steps in place along the world's x, joints held.

    Attributes:
        gait: Phases and footsteps.
        table: What is wanted.
    """

    gait: Gait
    table: TargetTable

    def sample(self, time: float) -> Target:
        """Return what is wanted at a time [s]."""
        return self.table.at(time)


class SteppingInPlace:
    """Makes plans of stepping in place, once for each stance.

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        gains: Times and clearance of the steps.
    """

    def __init__(self, robot: Robot, period: float, gains: StepGains) -> None:
        self.robot, self.period, self.gains = robot, period, gains
        self._soles = [robot.soles[side] for side in SIDES]
        self._made: dict[tuple[Side, float, float], PlanInPlace] = {}

    def plans(self, stance: Target) -> tuple[PlanInPlace, PlanInPlace]:
        """Return plans that begin with the left foot, and with the right.

        Args:
            stance: How the robot stands: height of the CoM, width of the feet, joints.
        """
        assert stance.soles is not None
        assert stance.com is not None
        left, right = (stance.soles[side][:3, 3] for side in SIDES)
        across = (stance.soles["left"] + stance.soles["right"])[:2, 1]
        narrowest = max(float(np.ptp(s.polygon_in_sole[:, 1])) for s in self._soles)
        width = float((left - right)[:2] @ across) / float(np.linalg.norm(across))
        width = max(width, narrowest)
        height = float(stance.com[2] - 0.5 * (left + right)[2])
        made = [self._plan(side, width, height, stance.position) for side in SIDES]
        return made[0], made[1]

    def _plan(
        self, first: Side, width: float, height: float, posture: Array
    ) -> PlanInPlace:
        key = first, round(width, 4), round(height, 4)
        if key not in self._made:
            gains, robot = self.gains, self.robot
            length = max(robot.legs[side].length for side in SIDES)
            swing = gains.swing_time * math.sqrt(length / STANDARD_GRAVITY)
            step = swing / (1.0 - gains.double_support)
            gait = plan_walk(
                robot,
                STEPS,
                length=0.0,
                width=width,
                step_time=step,
                double_support=gains.double_support,
                start_time=step,
                stop_time=2.0 * step,
                clearance=gains.clearance * length,
                com_height=height,
                first=first,
            )
            count = round(gait.phases[-1].end / self.period) + 1
            still = np.zeros((count, robot.nv - 6))
            table = target_table(
                gait,
                np.asarray(self.period * np.arange(count), dtype=np.float64),
                np.tile(posture, (count, 1)),
                still,
                still,
            )
            self._made[key] = PlanInPlace(gait, table)
        return self._made[key]
