"""What is known of a step as it goes on, seen from the stance sole."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.foothold import Step, StepGains
from equipoise.balance.whole_body.step_targets import omega_of
from equipoise.control.signals import Target
from equipoise.gait.com_plan import leg_reaches
from equipoise.gait.parameters import Phase
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.anatomy.geometry import convex_hull
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def swing_foot(phase: Phase) -> int:
    """Return which foot swings in a phase: 0 the left, 1 the right."""
    return 1 - SIDES.index(phase.support)


def sole_place(target: Target, side: Side) -> Array:
    """Return where a target wants a sole [m], shape (3,)."""
    assert target.soles is not None
    return np.asarray(target.soles[side][:3, 3])


class Swing(NamedTuple):
    """A swing in one tick.

    Attributes:
        known: What is known.
        planned: What the plan wants now.
        end: What it wants at touch-down.
        phase: The phase of the plan.
        left: Planned time until touch-down [s].
    """

    known: Estimate
    planned: Target
    end: Target
    phase: Phase
    left: float

    @property
    def foot(self) -> int:
        """Which foot swings: 0 the left, 1 the right."""
        return swing_foot(self.phase)

    @property
    def side(self) -> Side:
        """Which foot swings."""
        return SIDES[self.foot]


class StepGeometry:
    """Soles and legs of a robot, and where they are in a step.

    Args:
        robot: The robot as it is known.
        feet: Feet of the controller.
        gains: Numbers of the steps.
    """

    def __init__(self, robot: Robot, feet: Feet, gains: StepGains) -> None:
        self.feet, self.gains = feet, gains
        polygons = [robot.soles[side].polygon_in_sole for side in SIDES]
        low = np.array([polygon.min(axis=0) for polygon in polygons])
        high = np.array([polygon.max(axis=0) for polygon in polygons])
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        self._reaches = leg_reaches(robot)

    def stance_axes(self, known: Estimate, stance: int) -> tuple[Array, Array]:
        """Return where a sole is from above, and its axes as columns."""
        sole, rotation = self.feet.measured_sole(known, stance)
        along = np.array([rotation[0, 0], rotation[1, 0]])
        x, y = along / max(math.hypot(*along), 1e-9)
        return sole[:2], np.array([[x, -y], [y, x]])

    def left_soles(self, known: Estimate, omega: float) -> bool:
        """Return whether the DCM of a robot that stands has left its soles."""
        soles = []
        for foot in range(2):
            place, rotation = self.feet.measured_sole(known, foot)
            half = self.gains.edge * self._half[foot]
            box = self._middle[foot] + half * CORNERS
            soles.append(place[:2] + box @ rotation[:2, :2].T)
        hull = convex_hull(np.concatenate(soles))
        return bool(polygon_margin(hull, known.dcm(omega)[None])[0] < 0.0)

    def captures(self, swing: Swing) -> bool:
        """Return whether a plan's step still captures the DCM as it was planned.

        What the ZMP does not take back of an error until touch-down, it must be able
        to take back on the next sole.
        """
        known, target, end, phase, left = swing
        assert target.zmp is not None
        assert end.dcm is not None
        stance, shift = 1 - swing.foot, self.feet.shift
        omega = omega_of(target)
        grow = math.exp(omega * left)
        origin, axes = self.stance_axes(known, stance)
        zmp = target.zmp[:2]
        wanted = zmp + (end.dcm[:2] - zmp) / grow
        errors = (known.dcm(omega) - shift[:2] - wanted) @ axes
        places = (zmp + shift[:2] - origin) @ axes - self._middle[stance]
        edges = self.gains.sole * self._half[stance]
        later = self.gains.next_sole * self.gains.sole * self._half[1 - stance]
        later = later * (1.0 - math.exp(-omega * phase.duration))
        for error, place, edge, most in zip(
            errors.tolist(), places.tolist(), edges, later, strict=True
        ):
            room = max(edge - place if error > 0.0 else edge + place, 0.0)
            if room + (abs(error) - room) * grow > most:
                return False
        return True

    def describe(
        self, swing: Swing, swung: float, foot: tuple[Array, Array], shift: Array
    ) -> Step:
        """Return the step that goes on, in axes of the stance sole.

        Args:
            swing: The swing.
            swung: Time since the foot left [s].
            foot: Where it is horizontally [m], and its velocity [m/s].
            shift: How far the plan is shifted with the feet [m], shape (3,).
        """
        known, target, end, _, left = swing
        stance, side = 1 - swing.foot, swing.side
        assert end.dcm is not None
        assert target.zmp is not None
        assert target.com is not None
        origin, axes = self.stance_axes(known, stance)
        foothold = sole_place(end, side)
        reach = self._reaches[side]
        tall = target.com[2] + reach.hip_from_com[2]
        return Step(
            1.0 if swing.foot == 0 else -1.0,
            omega_of(target),
            (known.com[:2] + known.com_offset - origin) @ axes,
            known.com_velocity[:2] @ axes,
            (target.zmp[:2] + shift[:2] - origin) @ axes,
            (foot[0] - origin) @ axes,
            foot[1] @ axes,
            (foothold[:2] + shift[:2] - origin) @ axes,
            (end.dcm[:2] - foothold[:2]) @ axes,
            left,
            swung,
            self._middle[stance],
            self._half[stance],
            reach.hip_from_com[:2] - reach.ankle_in_sole[:2],
            float(tall - reach.ankle_in_sole[2] - foothold[2]),
            reach.longest,
        )
