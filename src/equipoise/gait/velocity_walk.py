"""Walking by a commanded velocity, planned online, a step at a time.

At each touch-down the next footsteps are chosen from the commanded velocity, and ZMP
and CoM are planned over a few of them, ending at rest: a stop is always planned. Of
this plan the next step is solved for the joints and followed; then it is made anew.
Memory and computing time are those of a few steps, however long the walk.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Target
from equipoise.errors import EquipoiseError
from equipoise.gait.com_plan import zmp_in_sole
from equipoise.gait.footsteps import SIDES, Footstep, other
from equipoise.gait.lipm import LipmState
from equipoise.gait.motion import DT, LONGEST_DT, SHORTEST_DT
from equipoise.gait.parameters import GaitParameters
from equipoise.gait.step_limits import StepLimits, fit_steps
from equipoise.gait.step_motion import (
    StepMotion,
    hold_still,
    rows_before,
    solve_step,
    standing_configuration,
)
from equipoise.gait.step_plan import (
    Stance,
    Walker,
    margin_left,
    plan_steps,
    stance_after,
    steps_of,
)
from equipoise.gait.target_table import ROUNDING
from equipoise.gait.velocity_command import Command, Velocity, velocity_function
from equipoise.gait.walks import Move, middle_of, standing_feet
from equipoise.gait.zmp import under
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Steps are chosen by the commanded velocity this far ahead; then the feet are brought
# together.
STEPS_AHEAD = 3
# Slower than this fraction of what the legs can is standing still.
STILL = 0.01
# Fractions of a change of step to try: where the ZMP would come too near to the edge of
# the sole, as a fraction of its usual margin, the step changes by less.
CHANGES = (1.0, 0.5, 0.25, 0.0)
MARGIN = 0.5
# Standing still is planned for so long at once, and what lies so far back is forgotten
# [s].
WAIT, REMEMBERED = 0.1, 1.0


@dataclass(frozen=True, eq=False)
class _Piece:
    """A part of the walk: rows from ``first`` on, and the stance after ``end``."""

    first: int
    end: int
    motion: StepMotion
    after: Stance


class VelocityWalk:
    """A walk by a commanded velocity; a reference for simulation.

    Zero velocity brings the feet together and stands still until another is commanded.
    Velocities beyond what the legs can are scaled down, in the same direction. Times
    are to be asked for in order; up to a second back is possible.

    Attributes:
        robot: The robot.
        duration: How long it takes; the walk ends at rest [s]. None if it does not.
        parameters: Numbers of the gait.
        limits: Longest steps.
        q: Configuration at the start, shape (1, nq).
        steps: Steps planned until now.
        notices: What could not be done as commanded.
    """

    def __init__(
        self,
        robot: Robot,
        command: Command,
        seconds: float | None = None,
        *,
        dt: float = DT,
        dynamics_filter: bool = True,
        **asked: Any,
    ) -> None:
        """Find the longest steps of the robot and begin.

        Args:
            robot: The robot; legs have six joints or more, or five and feet whose
                heading is free.
            command: Velocity (vx, vy, yaw rate) in the frame of the heading [m/s and
                rad/s]; a function of time [s] that returns such three numbers, or a
                :class:`~equipoise.gait.velocity_command.VelocityTable`.
            seconds: How long; the robot stands still again at the end. Without end
                unless given.
            dt: Time between points [s].
            dynamics_filter: Whether to correct the CoM for what the pendulum leaves
                out.
            **asked: Options of :func:`~equipoise.gait.plan.plan_walk` that do not say
                where to step: ``step_time``, ``double_support``, ``clearance``,
                ``com_height`` and so on.

        Raises:
            EquipoiseError: For bad numbers, or if the robot cannot walk.
        """
        if seconds is not None and not 0.0 < seconds < math.inf:
            raise EquipoiseError(
                f"a walk of {seconds:g} s; it must be above 0 s and finite"
            )
        if not SHORTEST_DT <= dt <= LONGEST_DT:
            raise EquipoiseError(
                f"points every {dt:g} s; {SHORTEST_DT:g} to {LONGEST_DT:g} s is "
                "possible"
            )
        self._command = velocity_function(command)
        self._command(0.0)
        self.robot, self.duration = robot, seconds
        self.parameters: GaitParameters
        self.limits: StepLimits
        self.parameters, self.limits = fit_steps(robot, **asked)
        self._filter, self._dt = dynamics_filter, dt
        feet = standing_feet(robot, self.parameters.width)
        polygons = {side: robot.soles[side].polygon_in_sole for side in SIDES}
        middle = middle_of(feet)
        self._walker = Walker(
            robot.name,
            self.parameters,
            polygons,
            {
                side: zmp_in_sole(side, polygons[side], self.parameters.zmp_inward)
                for side in SIDES
            },
            {side: middle.seen(feet[side]) for side in SIDES},
            dt,
        )
        self._start = self._standing(feet)
        self.q = self._start.q[-1:]
        self.reset()

    def _standing(self, feet: dict[Side, Footstep]) -> Stance:
        """Return the stance at the start: at rest, the CoM over the middle."""
        walker = self._walker
        zmp = np.mean([under(feet[side], walker.zmp_in_sole) for side in SIDES], axis=0)
        still = np.zeros(3)
        com = LipmState(zmp + np.array([0.0, 0.0, self.parameters.com_height]), still)
        nowhere = np.zeros((0, self.robot.nq))
        stance = Stance(feet, middle_of(feet), None, com, zmp, still, nowhere)
        q = standing_configuration(self.robot, walker, stance)
        rows = np.repeat(q, rows_before(self._dt), axis=0)
        return replace(stance, q=frozen_array(rows))

    def reset(self) -> None:
        """Begin anew, at time zero."""
        self._pieces: deque[_Piece] = deque()
        self._next: Move = Move()
        self.steps = 0
        self.notices: tuple[str, ...] = ()

    def sample(self, time: float) -> Target:
        """Return what is wanted at a time [s]; plans the next step where needed.

        Raises:
            EquipoiseError: If the time is more than a second before the latest that
                was asked for; or if joints cannot follow.
        """
        place = max(time, 0.0) / self._dt
        point = round(place)
        if abs(place - point) <= ROUNDING * point:
            place = point
        piece = self._piece(int(place))
        return piece.motion.table.at((place - piece.first) * self._dt)

    def configuration(self, time: float) -> Array:
        """Return the planned configuration at the last point up to a time [s], (nq,).

        Raises:
            EquipoiseError: As :meth:`sample`.
        """
        number = int(max(time, 0.0) / self._dt * (1.0 + ROUNDING))
        piece = self._piece(number)
        found: Array = piece.motion.q[number - piece.first]
        return found

    @property
    def points_kept(self) -> int:
        """Points of the plan that are in memory: those of a few steps."""
        return sum(piece.motion.rows for piece in self._pieces)

    def commanded(self, time: float) -> Velocity:
        """Return the velocity as commanded at a time [s], whatever the legs can."""
        return self._command(time)

    def _piece(self, number: int) -> _Piece:
        """Return the piece that has a point, by its number from time zero."""
        while not self._pieces or number >= self._pieces[-1].end:
            self._append()
        for piece in reversed(self._pieces):
            if number >= piece.first:
                return piece
        raise EquipoiseError(
            f"{number * self._dt:g} s of a walk by velocity was asked for, but what is "
            f"before {self._pieces[0].first * self._dt:g} s is forgotten: ask for "
            "times in order, or reset first"
        )

    def _append(self) -> None:
        """Plan the next piece, and forget what lies far back."""
        last = self._pieces[-1] if self._pieces else None
        first = last.end if last else 0
        stance = last.after if last else self._start
        time = first * self._dt
        velocity = self._wanted(time)
        if stance.carrying is None and not any(velocity):
            rows = max(1, round(WAIT / self._dt))
            still = hold_still(self.robot, self._walker, stance, rows)
            piece = _Piece(first, first + rows, still, stance)
        else:
            piece = self._step(stance, first, velocity)
        self._pieces.append(piece)
        while self._pieces[0].end * self._dt < time - REMEMBERED:
            self._pieces.popleft()

    def _wanted(self, time: float) -> Velocity:
        """Return the velocity that the legs can follow at a time [s]."""
        numbers = self.parameters
        stopping = 2.0 * numbers.step_time + numbers.stop_time
        if self.duration is not None and time + stopping > self.duration:
            return Velocity()
        asked = self._command(time)
        velocity = self.limits.within(asked)
        if velocity != asked and not self.notices:
            self.notices = (
                f"a velocity of {asked.x:g} and {asked.y:g} m/s, "
                f"{math.degrees(asked.yaw_rate):g} °/s, as commanded at {time:.2f} s, "
                f"is beyond what the legs of {self.robot.name} can: "
                f"{self.limits.describe()}",
            )
        return velocity if self.limits.used(velocity) >= STILL else Velocity()

    def _moves(self, time: float, velocity: Velocity, first: Side) -> list[Move]:
        """Return what the next steps do; the last brings the feet together."""
        moves, side = [], first
        for ahead in range(STEPS_AHEAD):
            if ahead:
                velocity = self._wanted(time + ahead * self.parameters.step_time)
            if not any(velocity):
                break
            moves.append(self._move(velocity, side))
            side = other(side)
        return [*moves, Move()]

    def _move(self, velocity: Velocity, side: Side) -> Move:
        """Return what a step of a foot does; only the leading foot goes sideways."""
        period = self.parameters.step_time
        leads = side == ("left" if velocity.y > 0.0 else "right")
        return Move(
            period * velocity.x,
            2.0 * period * velocity.y if leads else 0.0,
            period * velocity.yaw_rate,
        )

    def _step(self, stance: Stance, first: int, velocity: Velocity) -> _Piece:
        """Plan and solve a step: as commanded, or as near to it as can be.

        Raises:
            EquipoiseError: If joints can follow none.
        """
        side = stance.carrying or _leading(velocity)
        time = first * self._dt
        before = self._pieces[-1].motion if self._pieces else None
        problem: EquipoiseError | None = None
        for moves in self._choices(stance, self._moves(time, velocity, side), side):
            footsteps, middles = steps_of(self._walker, stance, moves, side)
            try:
                motion = solve_step(
                    self.robot,
                    self._walker,
                    stance,
                    footsteps,
                    time,
                    before=before,
                    dynamics_filter=self._filter,
                )
            except EquipoiseError as error:
                problem = problem or error
                continue
            over = len(moves) == 1
            self._next = Move() if over else moves[1]
            self.steps += 1
            after = stance_after(
                motion.gait,
                motion.rows * self._dt,
                middles[0],
                motion.q[-rows_before(self._dt) :],
                at_rest=over,
            )
            return _Piece(first, first + motion.rows, motion, after)
        raise problem or EquipoiseError(f"{self.robot.name} can make no step")

    def _choices(
        self, stance: Stance, moves: list[Move], side: Side
    ) -> Iterator[list[Move]]:
        """Yield steps to try: first those that leave the ZMP enough of its margin."""
        choices = [[_mixed(self._next, moves[0], f), *moves[1:]] for f in CHANGES]
        if len(moves) == 1:
            choices = [moves, [self._next, *moves]]
        poor: list[tuple[float, list[Move]]] = []
        for wanted in choices:
            footsteps, _ = steps_of(self._walker, stance, wanted, side)
            try:
                gait = plan_steps(self._walker, stance, footsteps)
            except EquipoiseError:  # feet would cross
                continue
            margin = margin_left(self._walker, gait)
            if margin >= MARGIN:
                yield wanted
            else:
                poor.append((margin, wanted))
        for _, wanted in sorted(poor, key=lambda pair: -pair[0]):
            yield wanted
        yield [Move(), Move()]


def _mixed(before: Move, after: Move, fraction: float) -> Move:
    """Return a move between two."""
    pairs = zip(before, after, strict=True)
    return Move(*(first + fraction * (last - first) for first, last in pairs))


def _leading(velocity: Velocity) -> Side:
    """Return the foot that makes the first step."""
    return "left" if (velocity.y or velocity.yaw_rate) > 0.0 else "right"
