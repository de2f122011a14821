"""Plans of a robot that steps in place, for one that was pushed while it stood."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.foothold import StepGains
from equipoise.control.signals import Target
from equipoise.gait.gait import Gait
from equipoise.gait.plan import plan_walk
from equipoise.gait.target_table import TargetTable, target_table
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# The first and the last of them begin and end at rest, those between are steady.
STEPS = 4


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
