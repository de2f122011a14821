"""A robot that walks by a commanded velocity, and how well it did."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.control.blocks import Controller, Estimator
from equipoise.errors import EquipoiseError
from equipoise.gait.parameters import SUPPORTS
from equipoise.gait.velocity_command import Command
from equipoise.gait.velocity_walk import VelocityWalk
from equipoise.kinematics.leg_freedom import SIDES, leg_freedom
from equipoise.kinematics.terrain import Flat, Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.simulation.closed_loop import OPEN_LOOP, WALK_PERIOD, closed_loop
from equipoise.simulation.compliance import stiffness_checks
from equipoise.simulation.executed_plan import (
    MovedPlan,
    com_error_from_stance,
    distance_walked,
    planned_loads,
    planned_soles,
    true_soles,
)
from equipoise.simulation.falling import com_height
from equipoise.simulation.feedback import Feedback, Knowledge
from equipoise.simulation.footfalls import UNLOADED
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    limit_checks,
    trial_results,
)
from equipoise.simulation.trials import trial_world
from equipoise.simulation.walk_summary import (
    SEEN,
    Circumstances,
    com_checks,
    gait_parameters,
    mean_and_max,
)
from equipoise.simulation.world import Push, World

# Largest difference of the mean velocity from its plan, as a fraction of the fastest.
VELOCITY = 0.05


@dataclass(frozen=True, kw_only=True)
class CommandedWalkSummary(TrialSummary):
    """Results of a walk by a commanded velocity.

    Attributes:
        feedback: What the feedback knows: ``"sensors"``, ``"true state"``, or
            ``"none"`` where there is none.
        planned_terrain: The ground as the planner knows it, in words.
        steps_wanted: Footsteps that were planned.
        distance_m: Length of the path of the middle between the feet [m].
        velocity_mps: Mean velocity in the frame of the heading [m/s]: forward and to
            the left, each as commanded, as planned and as achieved.
        yaw_rate_degps: Mean rate of the heading, the same [degrees per second].
        com_error_from_stance_m: Mean and largest horizontal distance of the CoM from
            its plan, seen from the stance foot
            (:mod:`~equipoise.simulation.executed_plan`) [m].
        end_error_m: Horizontal distance of the CoM from its plan at the end [m].
        heading_error_deg: Error of the heading at the end [degrees].
        odometry_drift_m: Horizontal distance of the estimated base from the true one
            at the end, None without an estimator [m].
        drift_over_distance_fraction: The same over the distance walked.
        estimator: Errors of the estimator
            (:class:`~equipoise.simulation.estimate_errors.EstimateErrors`), or None.
        fastest: Fastest velocities that the legs can follow, each alone [m/s and
            degrees per second].
        gait: Parameters of the gait.
        assumptions: Where parameters of gait and actuators come from.
    """

    feedback: Knowledge
    planned_terrain: str
    steps_wanted: int
    distance_m: float
    velocity_mps: dict[str, float]
    yaw_rate_degps: dict[str, float]
    com_error_from_stance_m: dict[str, float]
    end_error_m: float
    heading_error_deg: float
    odometry_drift_m: float | None
    drift_over_distance_fraction: float | None
    estimator: dict[str, float] | None
    fastest: dict[str, float]
    gait: dict[str, Any]
    assumptions: list[str]


def walk_by_velocity(
    robot: Robot | World,
    command: Command | VelocityWalk,
    seconds: float | None = None,
    *,
    unknown_terrain: Terrain | None = None,
    feedback: Feedback | bool = True,
    true_state: bool = False,
    seed: int = 0,
    controller: Controller[Any] | None = None,
    sensors: SensorSuite | None = None,
    estimator: Estimator | None = None,
    control_period: float | None = None,
    sensor_period: float | None = None,
    pushes: Sequence[Push] = (),
    model: Robot | None = None,
    engine: EngineName = "native",
    dt: float = 1e-3,
    progress: Callable[[float], None] | None = None,
    **asked: Any,
) -> Run:
    """Let a robot walk by a commanded velocity on flat ground, planned online.

    Args:
        robot: The robot, or the robot in its world.
        command: Velocity (vx, vy, yaw rate) in the frame of the heading [m/s, rad/s],
            constant, a function of time or a table; or a reference that was made
            before.
        seconds: How long, at rest again at the end [s]; as long as the reference that
            was made before unless given.
        unknown_terrain: What it truly walks on, known to nothing that plans or
            controls; flat ground unless given.
        feedback: Whether there is feedback
            (:func:`~equipoise.simulation.feedback.balance_feedback`), or one of your
            own. Without it, and for ideal joints, the walk is open loop: servos with
            feed-forward torques.
        true_state: Whether ours is shown the true state, not sensors.
        seed: Seed of the noise of our sensors.
        controller: What is done about the plan instead of our feedback.
        sensors: What the controller is shown instead of the state.
        estimator: Makes a state of what the sensors measure, for the controller.
        control_period: For which a command holds [s]; one time step unless given.
        sensor_period: How often the sensors measure [s]; in each control period unless
            given.
        pushes: Forces from outside.
        model: The robot as planner, feed-forward and feedback know it; as it is unless
            given.
        engine: Which engine.
        dt: Time step [s].
        progress: Is told the simulated time [s] now and then.
        **asked: Options of :class:`~equipoise.gait.velocity_walk.VelocityWalk`.

    Returns:
        The run; ``achieved`` if the robot did not fall, made its steps, kept CoM and
        velocity near their plans and no actuator was beyond its limits.

    Raises:
        EquipoiseError: For bad numbers, ground that is not flat, or a robot that
            cannot walk.
    """
    world = trial_world(robot, None, pushes=tuple(pushes))
    if not isinstance(world.terrain, Flat):
        raise EquipoiseError(
            "a walk by velocity is planned on flat ground, not on "
            f"{world.terrain.describe()}"
        )
    plan = command
    if not isinstance(plan, VelocityWalk):
        plan = VelocityWalk(model or world.robot, plan, seconds, **asked)
    if plan.robot.name != world.robot.name:
        raise EquipoiseError(
            f"the walk is planned for {plan.robot.name}, not for {world.robot.name}"
        )
    ground = world.terrain
    if unknown_terrain is not None:
        world = replace(world, terrain=unknown_terrain)
    loop = closed_loop(
        world,
        plan.robot,
        feedback,
        own={
            "controller": controller,
            "sensors": sensors,
            "estimator": estimator,
            "control_period": control_period,
            "sensor_period": sensor_period,
        },
        true_state=true_state,
        seed=seed,
        dt=dt,
    )
    circumstances = Circumstances(world, ground, plan.robot, loop)

    def assess(run: Run, summary: RunSummary) -> CommandedWalkSummary:
        return _assess(circumstances, plan, run, summary)

    return simulate(
        world,
        plan,
        seconds,
        **loop.blocks,
        engine=engine,
        dt=dt,
        record_period=max(dt, WALK_PERIOD),
        assess=assess,
        progress=progress,
    )


def _assess(
    circumstances: Circumstances, plan: VelocityWalk, run: Run, summary: RunSummary
) -> CommandedWalkSummary:
    world, loop = circumstances.world, circumstances.loop
    upright = plan.q[0]
    until = np.inf if summary.fell_at_s is None else summary.fell_at_s
    rows = run.time <= until
    wanted = int(_touch_downs(run.references["support"]))
    done = min(wanted, _steps_made(run, rows))
    planned, soles = planned_soles(run), true_soles(run)
    executed = MovedPlan(planned, soles, planned_loads(run, planned))
    meant = _Course.of(run.time, run.references["com"], planned)
    true = _Course.of(run.time, run.com, soles)
    asked = np.mean([plan.commanded(float(time)) for time in run.time], axis=0)
    means = {"commanded": asked, "planned": meant.mean, "achieved": true.mean}
    error = mean_and_max(com_error_from_stance(run, executed, until))
    assert error is not None  # a plan has a CoM
    fastest = plan.limits.velocity
    slip = float(np.linalg.norm((true.mean - meant.mean)[:2]))
    checks = [
        Check("steps not made", wanted - done, 0),
        *com_checks(error, float(com_height(world, upright)), f" {SEEN}"),
        Check("mean velocity off its plan", slip, VELOCITY * fastest.x, "m/s"),
        *limit_checks(summary.actuators),
    ]
    if loop.words == OPEN_LOOP:
        checks += stiffness_checks(world, upright)
    step_time = plan.parameters.step_time
    distance = distance_walked(run, soles, 2.0 * step_time, until)
    how = f"with {summary.actuators.kind} actuators, {loop.words}"
    on = "" if world.terrain is circumstances.ground else f" on {circumstances.on()}"
    walked = (
        f"walked {distance:.2f} m in {done} of {wanted} steps by commanded velocity"
        f"{on} {how}, its centre of mass {1e3 * error['mean']:.1f} mm from its plan on "
        f"average, seen {SEEN}"
    )
    results = trial_results(
        world,
        run,
        summary,
        upright,
        verb="walk",
        checks=tuple(checks),
        passed=walked,
        failed=walked,
        fell=f", after {done} of {wanted} steps {how},",
    )
    said = [text for leg in leg_freedom(plan.robot).values() for text in leg.describe()]
    results["notices"] = (*results["notices"], *plan.notices, *said)
    numbers = plan.parameters
    heading = true.heading[-1] - meant.heading[-1]
    return CommandedWalkSummary(
        **results,
        **circumstances.estimates(run, executed, step_time, until),
        feedback=loop.knowledge,
        planned_terrain=circumstances.ground.describe(),
        steps_done=done,
        steps_wanted=wanted,
        distance_m=distance,
        velocity_mps={
            f"{words}_{kind}": float(mean[axis])
            for axis, words in enumerate(("forward", "to_the_left"))
            for kind, mean in means.items()
        },
        yaw_rate_degps={kind: math.degrees(mean[2]) for kind, mean in means.items()},
        com_error_from_stance_m=error,
        end_error_m=float(
            np.linalg.norm(run.com[-1, :2] - run.references["com"][-1, :2])
        ),
        heading_error_deg=abs(math.degrees(math.remainder(heading, 2.0 * math.pi))),
        fastest={
            "forward_mps": fastest.x,
            "backward_mps": plan.limits.backward / plan.limits.step_time,
            "sideways_mps": fastest.y,
            "turning_degps": math.degrees(fastest.yaw_rate),
        },
        gait=gait_parameters(numbers) | {"length_m": None, "steps": wanted},
        assumptions=[
            *(f"gait: {name}: {origin}" for name, origin in numbers.origins.items()),
            *(f"actuators: {text}" for text in world.actuation.assumptions),
        ],
    )


class _Course(NamedTuple):
    """Where a robot went.

    Attributes:
        heading: Mean yaw of its soles, not wrapped [rad], shape (n,).
        mean: Mean velocity forward and to the left [m/s] and of the heading [rad/s],
            shape (3,).
    """

    heading: Array
    mean: Array

    @classmethod
    def of(cls, time: Array, com: Array, soles: dict[Side, Array]) -> _Course:
        """Return the course of a CoM (n, 3) on soles at poses (n, 4, 4)."""
        yaws = [
            np.unwrap(np.arctan2(pose[:, 1, 0], pose[:, 0, 0]))
            for pose in soles.values()
        ]
        heading = np.mean(yaws, axis=0)
        step = np.diff(com[:, :2], axis=0)
        middle = 0.5 * (heading[1:] + heading[:-1])
        c, s = np.cos(middle), np.sin(middle)
        forward, left = c * step[:, 0] + s * step[:, 1], c * step[:, 1] - s * step[:, 0]
        moved = np.array([forward.sum(), left.sum(), heading[-1] - heading[0]])
        return cls(heading, moved / max(float(time[-1] - time[0]), 1e-9))


def _touch_downs(support: Array) -> int:
    """Return how often one foot alone carried and then both did."""
    both = SUPPORTS.index("both")
    return int(np.sum((support[:-1] != both) & (support[1:] == both)))


def _steps_made(run: Run, rows: NDArray[np.bool_]) -> int:
    """Return how often a foot left the ground as planned and carried load again."""
    support = run.references["support"]
    least = UNLOADED * float(np.median(sum(w[:, 2] for w in run.foot_wrench.values())))
    made = 0
    for side in SIDES:
        swings = support == SUPPORTS.index("right" if side == "left" else "left")
        off = run.foot_wrench[side][:, 2] < least
        starts = np.flatnonzero(swings[1:] & ~swings[:-1]) + 1
        ends = np.flatnonzero(swings[:-1] & ~swings[1:]) + 1
        for start in starts:
            later = ends[ends > start]
            if len(later) == 0 or not rows[min(later[0], len(rows) - 1)]:
                continue
            made += bool(off[start : later[0]].any())
    return made
