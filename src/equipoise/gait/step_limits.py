"""The longest steps that a robot can make one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from equipoise.errors import EquipoiseError, suggest
from equipoise.gait.com_plan import EXTENSION, headroom, leg_reaches
from equipoise.gait.fit import check_zmp_kept, fit_walk
from equipoise.gait.gait import Gait
from equipoise.gait.motion import solve
from equipoise.gait.parameters import GaitParameters
from equipoise.gait.plan import LENGTH, leg_length, plan_walk
from equipoise.gait.velocity_command import Velocity
from equipoise.gait.walks import Move
from equipoise.robot.model import Robot

# A walk that is tried has so many steps.
STEPS = 4
# Points of it [s].
PERIOD = 5e-3
# Lengths of a step to plan the height of the CoM for, as multiples of the usual one.
LENGTHS = (1.5, 1.25)
# The most that is tried: forward and sideways as fractions of the leg length, and a
# turn [rad].
FARTHEST, WIDEST, TURN = 0.4, 0.2, math.radians(30.0)
# Fractions of these that are tried, the largest first.
FRACTIONS = tuple(0.87**n for n in range(20))
# Mixed steps that are tried, as signs of length, sideways and turn; what legs cannot
# makes all steps shorter by this factor.
MIXED = ((1, 0, 1), (-1, 0, 1), (1, 1, 1), (1, 1, -1), (-1, 1, 1), (-1, 1, -1))
SHORTER, SHORTEST = 0.85, 0.3
# A height that was found is cut to whole millimetres [m].
LESS_ROOM = 1e-3
NUMBERS = (
    "width",
    "step_time",
    "double_support",
    "start_time",
    "stop_time",
    "clearance",
    "swing_pitch",
    "heel_off",
    "torso_pitch",
    "com_height",
    "zmp_inward",
)


@dataclass(frozen=True)
class StepLimits:
    """The longest steps of a robot; mixed ones are within the ellipsoid of these.

    Attributes:
        forward: Longest step forward, from foot to foot [m].
        backward: Longest step backward [m].
        sideways: Longest lateral step of the leading foot [m].
        turn: Largest turn with a step [rad].
        step_time: Time from one touch-down to the next [s].
    """

    forward: float
    backward: float
    sideways: float
    turn: float
    step_time: float

    @property
    def velocity(self) -> Velocity:
        """Fastest velocity forward, sideways and turning, each alone."""
        # one lateral step leads, the other follows
        side = self.sideways / 2.0 / self.step_time
        return Velocity(self.forward / self.step_time, side, self.turn / self.step_time)

    def used(self, velocity: Velocity) -> float:
        """Return which fraction of the longest step a velocity takes."""
        most = self.velocity
        back = self.backward / self.step_time
        limits = (most.x if velocity.x >= 0.0 else back, most.y, most.yaw_rate)
        parts = [
            abs(value) / limit if limit > 0.0 else math.inf
            for value, limit in zip(velocity, limits, strict=True)
            if value != 0.0
        ]
        return math.hypot(*parts)

    def within(self, velocity: Velocity) -> Velocity:
        """Return the nearest velocity of the same direction that legs can follow.

        A component that legs cannot follow at all is left out.
        """
        most = self.velocity
        pairs = zip(velocity, most, strict=True)
        possible = Velocity(*(value if limit > 0.0 else 0.0 for value, limit in pairs))
        scale = 1.0 / max(1.0, self.used(possible))
        return Velocity(*(scale * value for value in possible))

    def describe(self) -> str:
        """Return the fastest velocities in words."""
        most = self.velocity
        return (
            f"{most.x:.2f} m/s forward, {self.backward / self.step_time:.2f} m/s "
            f"backward, {most.y:.2f} m/s sideways and "
            f"{math.degrees(most.yaw_rate):.0f} °/s of turning, each alone, with steps "
            f"of {self.step_time:.2f} s"
        )


@lru_cache(maxsize=8)
def fit_steps(robot: Robot, **asked: Any) -> tuple[GaitParameters, StepLimits]:
    """Return the numbers of a walk of a robot, and its longest steps with these.

    The height of the CoM, step time and clearance are those of
    :func:`~equipoise.gait.fit.fit_walk` for the longest step forward that it can fit;
    steps are then tried in other directions.

    Args:
        robot: The robot.
        **asked: Options of :func:`~equipoise.gait.plan.plan_walk` that do not say
            where to step, such as ``step_time`` and ``com_height``.

    Raises:
        EquipoiseError: If there is no such option, or the robot cannot walk.
    """
    for name in asked:
        if name not in NUMBERS:
            raise EquipoiseError(
                f"a walk by velocity has no option '{name}'{suggest(name, NUMBERS)}; "
                f"its options are: {', '.join(NUMBERS)}"
            )
    fitted = _fitted(robot, asked)
    numbers, leg = fitted.parameters, leg_length(robot)
    # knees as bent as those of the walk that was fitted, where that is less than usual
    room = min(0.0, headroom(fitted, leg_reaches(robot), EXTENSION)[0])

    def longest(move: Move) -> float:
        for fraction in FRACTIONS:
            tried = Move(*(fraction * value for value in move))
            if _possible(robot, numbers, room, tried):
                return max(abs(value) for value in tried)
        return 0.0

    found = (
        max(longest(Move(length=FARTHEST * leg)), numbers.length or 0.0),
        longest(Move(length=-FARTHEST * leg)),
        longest(Move(sideways=WIDEST * leg)),
        longest(Move(turn=TURN)),
    )
    scale = 1.0
    while scale > SHORTEST and not all(
        _possible(robot, numbers, room, move)
        for move in _mixed(*(scale * value for value in found))
    ):
        scale *= SHORTER
    forward, backward, sideways, turn = (scale * value for value in found)
    return numbers, StepLimits(forward, backward, sideways, turn, numbers.step_time)


def _fitted(robot: Robot, asked: dict[str, Any]) -> Gait:
    """Return a walk with the longest steps that can be fitted."""
    usual = fit_walk(robot, STEPS, **asked)
    length = usual.parameters.length or 0.0
    if length < LENGTH * leg_length(robot) * -LESS_ROOM:
        return usual  # even that had to be shortened
    same = {"step_time": usual.parameters.step_time, **asked}
    for factor in LENGTHS:
        try:
            return fit_walk(robot, STEPS, **same, length=factor * length)
        except EquipoiseError:
            continue
    return usual


def _mixed(
    forward: float, backward: float, sideways: float, turn: float
) -> Iterator[Move]:
    """Yield steps that go somewhere and turn at once, at the limit of both."""
    for signs in MIXED:
        length = forward if signs[0] > 0 else backward
        share = 1.0 / math.sqrt(sum(map(abs, signs)))
        yield Move(
            *(
                share * sign * value
                for sign, value in zip(signs, (length, sideways, turn), strict=True)
            )
        )


def _possible(robot: Robot, numbers: GaitParameters, room: float, move: Move) -> bool:
    """Return whether joints can follow a short walk of such steps.

    Args:
        robot: The robot.
        numbers: Numbers of the walk.
        room: By how much the CoM must be able to be higher [m].
        move: What each step does.
    """
    try:
        gait = plan_walk(
            robot,
            STEPS,
            length=move.length,
            sideways=move.sideways,
            turn=move.turn,
            first="left" if move.sideways > 0.0 else "right",
            **{name: getattr(numbers, name) for name in NUMBERS},
        )
        if headroom(gait, leg_reaches(robot), EXTENSION)[0] < room - LESS_ROOM:
            return False
        check_zmp_kept(robot, solve(robot, gait, dt=PERIOD))
    except EquipoiseError:
        return False
    return True
