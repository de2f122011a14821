"""A robot that stands and reaches for a point, as far as balance and arms allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.hands import Hand, hand_of
from equipoise.balance.whole_body.reach_motion import (
    ReachingController,
    ReachMotion,
    reach_motion,
)
from equipoise.balance.whole_body.reaching import ReachPath, plan_reach
from equipoise.errors import EquipoiseError
from equipoise.kinematics.com import com_velocity
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin, support_polygon
from equipoise.kinematics.terrain import Terrain
from equipoise.log.run import Event, Run
from equipoise.robot.model import Robot
from equipoise.simulation.falling import com_height
from equipoise.simulation.feedback import (
    PERIOD,
    Knowledge,
    known_joints,
    whole_body_feedback,
)
from equipoise.simulation.push import pushed_stance
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    limit_checks,
    named_axes,
    trial_results,
)
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World

# A hand is there within this fraction of the arm's length.
REACHED = 0.02
# Before the robot reaches it stands, and afterwards it stays there [s].
BEFORE, AFTER = 0.3, 1.7
# At the end the CoM is slower than this fraction of √(g h), over this time [s]; soles
# have slipped by at most this fraction of their length.
AT_REST, LATE, SLIP = 0.01, 0.25, 0.05
# No arm is longer [m].
FARTHEST = 100.0


@dataclass(frozen=True, kw_only=True)
class ReachSummary(TrialSummary):
    """Results of a reach; points are in the frame of the standing robot.

    That frame is midway between the feet, on the ground, x forward, y left.

    Attributes:
        feedback: What the feedback knows.
        law: Law of control.
        hand: Which hand.
        goal_m: Where it was wanted [m].
        reached_m: Where it was at the end, by the true state [m].
        remaining_m: Distance between the two [m].
        planned_remaining_m: The same as it was planned [m].
        limited_by: What kept it from getting nearer; empty if it got there.
        com_margin_m: Distance of the CoM from the edge of the support polygon at the
            end [m].
        arrived_s: When the hand had done its path [s].
    """

    feedback: Knowledge
    law: str
    hand: str
    goal_m: dict[str, float]
    reached_m: dict[str, float]
    remaining_m: float
    planned_remaining_m: float
    limited_by: tuple[str, ...]
    com_margin_m: float
    arrived_s: float

    def events(self) -> list[Event]:
        """Return what happened and when: the reach, too."""
        reach = Event(BEFORE, f"reaches with its {self.hand} hand")
        there = "is there" if not self.limited_by else "gets no farther"
        return [reach, Event(self.arrived_s, there), *super().events()]


def reach(
    robot: Robot | World,
    goal: ArrayLike,
    hand: str = "right",
    terrain: Terrain | None = None,
    *,
    seed: int = 0,
    engine: EngineName = "native",
    dt: float = 1e-3,
    model: Robot | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot stand and reach for a point with a hand.

    Joints are told torques, and the robot knows what its sensors say. It leans, bends
    and crouches as far as the CoM stays above the soles, with a margin.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s; joints are told torques.
        goal: Where the hand is wanted in the frame of the standing robot: midway
            between the feet, x forward, y left, z up [m], shape (3,).
        hand: ``"left"`` or ``"right"``.
        terrain: What it stands on; flat ground unless given.
        seed: Seed of the noise of the sensors.
        engine: Which engine.
        dt: Time step [s].
        model: The robot as planner and feedback know it; as it is unless given.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if the hand gets there and the robot stands. If it does
        not, the summary says how far it got and what limited it.

    Raises:
        NameNotFoundError: If the robot has no such hand.
        EquipoiseError: If the goal is no point above the ground.
    """
    world = trial_world(robot, terrain, "torque")
    known = model or world.robot
    own = hand_of(known, hand)
    wanted = _checked(goal)
    q = pushed_stance(world)
    frame = standing_frame(known, q)
    place = frame.act(wanted)
    path = _plan(known, q, own, place, world)
    motion = reach_motion(path, BEFORE, AFTER)
    duration = dt * math.ceil(motion.duration / dt)
    period = dt * max(round(PERIOD / dt), 1)
    closed = whole_body_feedback(world, known, seed=seed, period=period)
    assert isinstance(closed.controller, WholeBodyController)
    closed = replace(closed, controller=ReachingController(closed.controller, motion))
    knowledge = closed.knowledge

    def assess(run: Run, summary: RunSummary) -> ReachSummary:
        return _assess(world, own, wanted, motion, knowledge, run, summary)

    return simulate(
        world,
        motion,
        duration,
        start=q,
        engine=engine,
        dt=dt,
        assess=assess,
        progress=progress,
        **closed.blocks,
    )


def standing_frame(robot: Robot, q: Array) -> pin.SE3:
    """Return the frame of a standing robot: midway between the feet, x forward."""
    poses = [sole_pose(robot, q, side) for side in robot.soles]
    x, y = np.mean([pose[:2, 0] for pose in poses], axis=0)
    turn = pin.AngleAxis(math.atan2(y, x), np.array([0.0, 0.0, 1.0])).matrix()
    return pin.SE3(turn, np.mean([pose[:3, 3] for pose in poses], axis=0))


def _checked(goal: ArrayLike) -> Array:
    wanted = np.asarray(goal, dtype=np.float64)
    if wanted.shape != (3,) or not np.isfinite(wanted).all():
        raise EquipoiseError("the goal of a reach must be three finite numbers: x,y,z")
    if np.abs(wanted).max() > FARTHEST:
        raise EquipoiseError(
            f"a goal {np.abs(wanted).max():g} m away; it must be within {FARTHEST:g} m"
        )
    if wanted[2] < 0.0:
        raise EquipoiseError(
            f"a goal {-wanted[2]:g} m below the ground; z must be 0 or more"
        )
    return wanted


def _plan(robot: Robot, q: Array, hand: Hand, place: Array, world: World) -> ReachPath:
    moving = [
        name
        for limb in robot.limbs.values()
        if limb.kind in ("leg", "torso") or hand.joints == limb.joints
        for name in limb.joints
    ]
    goals = {hand.side: place}
    return plan_reach(robot, q, goals, known_joints(world), moving=moving)


def _listed(words: tuple[str, ...]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _assess(
    world: World,
    hand: Hand,
    goal: Array,
    motion: ReachMotion,
    knowledge: Knowledge,
    run: Run,
    summary: RunSummary,
) -> ReachSummary:
    robot, path = world.robot, motion.path
    frame = standing_frame(robot, run.q[0])
    late = run.time > run.time[-1] - LATE
    poses = np.asarray(frame_pose(robot, run.q[late], hand.link))
    points = poses[:, :3, :3] @ hand.point_in_link + poses[:, :3, 3]
    reached = frame.actInv(points.mean(axis=0))
    remaining = float(np.linalg.norm(reached - goal))
    speed = np.linalg.norm(com_velocity(robot, run.q[late], run.v[late]), axis=1)
    slip = max(
        float(np.linalg.norm((pose[-1] - pose[0])[:2, 3]))
        for pose in (sole_pose(robot, run.q[[0, -1]], side) for side in robot.soles)
    )
    sole = min(float(sole.size[0]) for sole in robot.soles.values())
    height = float(com_height(world, run.q[0]))
    point = f"({', '.join(f'{value:g}' for value in goal)}) m"
    checks = (
        Check("hand off its goal", remaining, REACHED * hand.length, "m"),
        Check("soles slip", slip, SLIP * sole, "m"),
        Check(
            "CoM is at rest",
            float(speed.max()),
            AT_REST * math.sqrt(world.gravity * height),
            "m/s",
        ),
        *limit_checks(summary.actuators),
    )
    results: dict[str, Any] = trial_results(
        world,
        run,
        summary,
        run.q[0],
        verb="reach",
        checks=checks,
        passed=f"reached {point} with its {hand.side} hand, and stood",
        failed=f"stood while it reached for {point} with its {hand.side} hand",
        fell=f" as it reached for {point} with its {hand.side} hand",
    )
    limits = path.limited_by
    if summary.fell_at_s is None and not checks[0].passed:
        why = f", limited by {_listed(limits)}" if limits else ""
        results["sentence"] = (
            f"{robot.name} did not reach {point} with its {hand.side} hand: "
            f"{remaining:.3f} m remain{why}."
        )
    corners = np.asarray(support_polygon(robot, run.q[-1]))
    return ReachSummary(
        **results,
        feedback=knowledge,
        law="whole-body",
        hand=hand.side,
        goal_m=named_axes(goal),
        reached_m=named_axes(reached),
        remaining_m=remaining,
        planned_remaining_m=path.remaining,
        limited_by=limits,
        com_margin_m=float(polygon_margin(corners, run.com[-1, :2])),
        arrived_s=motion.start + motion.lasts,
    )
