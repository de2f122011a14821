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
        self._sizes = np.stack((self._middle, self._half), axis=1).tolist()
        self._reaches = leg_reaches(robot)

    def stance_axes(self, known: Estimate, stance: int) -> tuple[Array, Array]:
        """Return where a sole is from above, and its axes as columns."""
        sole, rotation = self.feet.measured_sole(known, stance)
        along = np.array([rotation[0, 0], rotation[1, 0]])
        x, y = along / max(math.hypot(*along), 1e-9)
        return sole[:2], np.array([[x, -y], [y, x]])

    def left_soles(self, known: Estimate, omega: float) -> bool:
        """Return whether the DCM of a robot that stands has left its soles."""
        ahead = known.dcm(omega)
        if self._between_soles(known, ahead):
            return False
        soles = []
        for foot in range(2):
            place, rotation = self.feet.measured_sole(known, foot)
            half = self.gains.edge * self._half[foot]
            box = self._middle[foot] + half * CORNERS
            soles.append(place[:2] + box @ rotation[:2, :2].T)
        hull = convex_hull(np.concatenate(soles))
        return bool(polygon_margin(hull, ahead[None])[0] < 0.0)

    def _between_soles(self, known: Estimate, point: Array) -> bool:
        """Return whether a point is surely above the soles or between them.

        It is if both of its feet on the line between their middles, moved to it by the
        same distance, are in their soles; and in a fraction of the time of a hull.
        """
        edge, soles, middles = self.gains.edge, [], []
        for foot, (middle, half) in enumerate(self._sizes):
            place, rotation = self.feet.measured_sole(known, foot)
            (a, b, _), (c, d, _), _ = rotation.tolist()
            x, y = place.tolist()[:2]
            middles.append(
                (x + a * middle[0] + b * middle[1], y + c * middle[0] + d * middle[1])
            )
            soles.append((a, b, c, d, edge * half[0], edge * half[1]))
        (x, y), (left, right) = point.tolist(), middles
        along, across = right[0] - left[0], right[1] - left[1]
        length = along**2 + across**2
        part = (x - left[0]) * along + (y - left[1]) * across
        part = min(max(part / length, 0.0), 1.0) if length > 0.0 else 0.0
        x, y = x - left[0] - part * along, y - left[1] - part * across
        for a, b, c, d, half_x, half_y in soles:
            if abs(a * x + c * y) > half_x or abs(b * x + d * y) > half_y:
                return False
        return True

    def is_off(self, known: Estimate, target: Target, least: float) -> bool:
        """Return whether the DCM is farther off than a part of the leg's length."""
        assert target.dcm is not None
        (x, y), shift = known.dcm(omega_of(target)).tolist(), self.feet.shift.tolist()
        wanted_x, wanted_y = target.dcm.tolist()[:2]
        off = math.hypot(x - wanted_x - shift[0], y - wanted_y - shift[1])
        return off > least * self.feet.length

    def is_astray(self, swing: Swing) -> bool:
        """Return whether a foot begins its swing elsewhere than planned."""
        place, _ = self.feet.measured_sole(swing.known, swing.foot)
        off = place - sole_place(swing.planned, swing.side) - self.feet.shift
        return math.hypot(*off[:2]) > self.gains.astray * self.feet.length

    def captures(self, swing: Swing) -> bool:
        """Return whether a plan's step still captures the DCM as it was planned.

        What the ZMP does not take back of an error until touch-down, it must be able
        to take back on the next sole.
        """
        known, target, end, phase, left = swing
        assert target.zmp is not None
        assert end.dcm is not None
        stance, omega = 1 - swing.foot, omega_of(target)
        grow = math.exp(omega * left)
        sole, rotation = self.feet.measured_sole(known, stance)
        turn = math.atan2(rotation[1, 0], rotation[0, 0])
        c, s = math.cos(turn), math.sin(turn)
        x, y, _ = sole.tolist()
        shift_x, shift_y, _ = self.feet.shift.tolist()
        zmp, wanted = target.zmp.tolist(), end.dcm.tolist()
        dcm_x, dcm_y = known.dcm(omega).tolist()
        # in plain numbers, in axes of the stance sole: it is asked in each tick
        off_x = dcm_x - shift_x - zmp[0] - (wanted[0] - zmp[0]) / grow
        off_y = dcm_y - shift_y - zmp[1] - (wanted[1] - zmp[1]) / grow
        at_x, at_y = zmp[0] + shift_x - x, zmp[1] + shift_y - y
        errors = c * off_x + s * off_y, c * off_y - s * off_x
        places = c * at_x + s * at_y, c * at_y - s * at_x
        later = self.gains.next_sole * (1.0 - math.exp(-omega * phase.duration))
        (middle, half), (_, other) = self._sizes[stance], self._sizes[1 - stance]
        for axis in (0, 1):
            error, place = errors[axis], places[axis] - middle[axis]
            edge, most = self.gains.sole * half[axis], self.gains.sole * other[axis]
            room = max(edge - place if error > 0.0 else edge + place, 0.0)
            if room + (abs(error) - room) * grow > later * most:
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
