"""Joints that follow the next step of a plan, continuing those before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.gait.feedforward import feedforward_torques
from equipoise.gait.footsteps import SIDES, Footsteps
from equipoise.gait.gait import Gait, GaitTable
from equipoise.gait.lipm import between
from equipoise.gait.motion import (
    BETTER,
    CLOSE,
    KNOT,
    check_reached,
    check_smooth,
    check_speeds,
    targets_of,
)
from equipoise.gait.step_plan import Stance, Walker, plan_steps, shift_of, steps_of
from equipoise.gait.target_table import TargetTable, piece_table, target_rows
from equipoise.gait.walks import Move
from equipoise.gait.zmp import true_zmp
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import ComTargets
from equipoise.kinematics.frames import velocities
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# The dynamics filter looks at points this far apart [s], corrects so often at most, and
# begins with each correction over so many of its knots.
PERIOD = 5e-3
PASSES = 2
KNOTS_TO_BEGIN = 2
# Points before and after, for differences of differences.
AROUND = 2
# The first and the second step of a plan end with these phases.
FIRST_SWING, SECOND_SWING = 1, 3


@dataclass(frozen=True, eq=False)
class StepMotion:
    """A piece of a walk: targets and configurations at its points.

    Attributes:
        gait: The plan, from the beginning of the piece to rest.
        rows: Number of points until the next piece begins.
        table: Targets, from 0 to the time of that point.
        q: Configurations from the first point to that one, shape (rows + 1, nq).
        v: Velocities, shape (rows + 1, nv).
    """

    gait: Gait
    rows: int
    table: TargetTable
    q: Array
    v: Array


def rows_before(dt: float) -> int:
    """Return how many configurations before a piece are needed, that of now included.

    Args:
        dt: Time between points [s].
    """
    return AROUND * _stride(dt) + 1


def _stride(dt: float) -> int:
    return max(1, round(PERIOD / dt))


def standing_configuration(robot: Robot, walker: Walker, stance: Stance) -> Array:
    """Return the configuration of a stance at rest, shape (1, nq).

    Raises:
        EquipoiseError: If legs do not reach.
    """
    time = np.zeros(1)
    targets = targets_of(_in_place(walker, stance), time)
    found = solve_com(robot, targets)
    check_reached(robot, found, time, targets)
    return found.q


def hold_still(robot: Robot, walker: Walker, stance: Stance, rows: int) -> StepMotion:
    """Return a piece in which nothing moves.

    Args:
        robot: The robot.
        walker: What does not change of its walk.
        stance: Where it stands, at rest.
        rows: Number of points.
    """
    gait = _in_place(walker, stance)
    q, v = stance.q[-1:], np.zeros((1, robot.nv))
    torque = feedforward_torques(
        robot, q, v, v, np.zeros(1, np.int8), walker.zmp_in_sole
    )
    row = target_rows(gait, np.zeros(1), joint_positions(robot, q), v[:, 6:], torque)
    table = TargetTable(
        walker.dt,
        rows * walker.dt,
        frozen_array(np.repeat(row, rows + 3, axis=0)),
        robot.nv - 6,
        (),
        ("both",),
        lasting=False,
    )
    still = (np.repeat(values, rows + 1, axis=0) for values in (q, v))
    return StepMotion(gait, rows, table, *map(frozen_array, still))


def _in_place(walker: Walker, stance: Stance) -> Gait:
    """Return a plan whose first instant is a stance at rest."""
    footsteps, _ = steps_of(walker, stance, [Move()], "right")
    return plan_steps(walker, stance, footsteps)


def solve_step(
    robot: Robot,
    walker: Walker,
    stance: Stance,
    footsteps: Footsteps,
    time: float,
    *,
    before: StepMotion | None = None,
    dynamics_filter: bool = True,
) -> StepMotion:
    """Return joints that follow the first of some steps, or a last one to rest.

    Args:
        robot: The robot.
        walker: What does not change of its walk.
        stance: Where and how the step begins.
        footsteps: The steps; a single one brings the feet together.
        time: When it begins, for messages [s].
        before: The piece before, whose plan the filter begins with.
        dynamics_filter: Whether to correct the CoM for what the pendulum leaves out.

    Raises:
        EquipoiseError: If joints cannot follow: when, and which.
    """
    gait = plan_steps(walker, stance, footsteps)
    if dynamics_filter:
        gait = _filtered(robot, walker, stance, gait, before)
    last = len(gait.phases) - 1 if len(footsteps.steps) == 1 else FIRST_SWING
    dt = walker.dt
    rows = round(gait.phases[last].end / dt)
    local: Array = dt * np.arange(rows + 1 + AROUND, dtype=np.float64)
    table = gait.at(local)
    targets = _targets(table)
    found = solve_com(robot, targets, posture=stance.q[-1])
    check_reached(robot, found, time + local, targets)
    q = np.vstack([stance.q[-1 - AROUND : -1], found.q])
    check_smooth(
        robot, q, np.append(time - dt * np.arange(AROUND, 0, -1), time + local)
    )
    v = velocities(robot, q, dt)
    here = slice(AROUND, -AROUND)
    check_speeds(robot, v[here], time + local)
    local = local[: rows + 1]
    torque = feedforward_torques(
        robot,
        q[here],
        v[here],
        np.gradient(v, dt, axis=0)[here],
        table.support[: rows + 1],
        _pressed(walker, stance, gait, local),
    )
    return StepMotion(
        gait,
        rows,
        piece_table(gait, local, joint_positions(robot, q[here]), v[here, 6:], torque),
        frozen_array(q[here]),
        frozen_array(v[here]),
    )


def _filtered(
    robot: Robot,
    walker: Walker,
    stance: Stance,
    gait: Gait,
    before: StepMotion | None,
) -> Gait:
    """Return a plan whose pendulum is shifted until the true ZMP is as planned.

    The first two steps are looked at; what comes later counts next to nothing now.
    """
    closing = len(gait.footsteps.steps) == 1
    end = gait.duration if closing else gait.phases[SECOND_SWING].end
    fades = gait.duration if closing else gait.phases[SECOND_SWING + 1].end
    knots = np.append(np.arange(0.0, end - 0.5 * KNOT, KNOT), end)
    times = knots if closing else np.append(knots, fades)
    begins = np.minimum(1.0, knots / (KNOTS_TO_BEGIN * KNOT))[:, None]
    ends = np.ones_like(begins)
    if closing:  # at rest there is nothing to correct
        ends = np.minimum(1.0, (end - knots) / (KNOTS_TO_BEGIN * KNOT))[:, None]

    def with_shift(shift: Array) -> Gait:
        whole = np.zeros((len(times), 3))
        whole[: len(knots)] = shift
        return plan_steps(walker, stance, gait.footsteps, (times, whole))

    shift = np.zeros((len(knots), 3))
    if before is not None and stance.carrying is not None:
        shift = shift_of(before.gait, knots + before.rows * walker.dt)
    shift = ends * (stance.shift + begins * (shift - stance.shift))
    stride = _stride(walker.dt)
    period = stride * walker.dt
    looked = period * np.arange(np.ceil(end / period) + AROUND)
    earlier = stance.q[-1 - AROUND * stride : -1 : stride]
    best, least = gait, np.inf
    tried = with_shift(shift)
    for number in range(PASSES + 1):
        planned = tried.at(looked)
        found = solve_com(robot, _targets(planned), posture=stance.q[-1])
        if not found.converged.all():
            break
        q = np.vstack([earlier, found.q])
        height = np.full(len(q), planned.zmp[0, 2])
        actual = true_zmp(robot, q, period, height)[AROUND:]
        off = (actual - planned.zmp[:, :2])[: len(looked) - AROUND]
        worst = float(np.abs(off).max())
        if worst > BETTER * least:
            break
        best, least = tried, worst
        if worst < CLOSE or number == PASSES:
            break
        moved = begins * ends * between(knots, looked[: len(off)], off)
        shift = shift - np.pad(moved, ((0, 0), (0, 1)))
        tried = with_shift(shift)
    return best


def _targets(table: GaitTable) -> ComTargets:
    """Return what joints are to follow of a gait, which needs no checks."""
    soles = table.soles
    return ComTargets(table.com, soles["left"], soles["right"], table.torso)


def _pressed(
    walker: Walker, stance: Stance, gait: Gait, times: Array
) -> dict[Side, Array]:
    """Return where each sole is pressed while it carries, in its frame, (n, 2) each.

    That is where the ZMP is planned under it while it carries alone, so that load goes
    from foot to foot without a jump.
    """
    swing = gait.phases[FIRST_SWING]
    ends = gait.at(np.array([0.0, swing.start]))
    pressed: dict[Side, Array] = {}
    for side in SIDES:
        point = walker.zmp_in_sole[side]
        carries = {stance.carrying: 0, swing.support: 1}
        if side in carries:
            row = carries[side]
            pose = ends.soles[side][row]
            point = (pose[:3, :3].T @ (ends.zmp[row] - pose[:3, 3]))[:2]
        pressed[side] = gait.pressed_in_sole(side, times, point)
    return pressed
