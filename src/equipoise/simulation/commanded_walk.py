"""A robot that walks by a commanded velocity, and how well it did."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.control.blocks import Controller, Estimator
from equipoise.errors import EquipoiseError
from equipoise.gait.parameters import SUPPORTS
from equipoise.gait.velocity_command import Command
from equipoise.gait.velocity_walk import VelocityWalk
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.terrain import Flat
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.simulation.compliance import stiffness_checks
from equipoise.simulation.falling import com_height
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
from equipoise.simulation.walk import (
    COM_LARGEST,
    COM_MEAN,
    OPEN_LOOP,
    WALK_PERIOD,
    gait_parameters,
)
from equipoise.simulation.world import Push, World

SIDES: tuple[Side, Side] = ("left", "right")
# Largest difference of the mean velocity from its plan, as a fraction of the fastest.
VELOCITY = 0.05
SEEN = "from the stance foot"


@dataclass(frozen=True, kw_only=True)
class CommandedWalkSummary(TrialSummary):
    """Results of a walk by a commanded velocity.

    Attributes:
        steps_wanted: Footsteps that were planned.
        distance_m: Length of the path of the middle between the feet [m].
        velocity_mps: Mean velocity in the frame of the heading [m/s]: forward and to
            the left, each as commanded, as planned and as achieved.
        yaw_rate_degps: Mean rate of the heading, the same [degrees per second].
        com_error_from_stance_m: Mean and largest horizontal distance of the CoM from
            its plan, both seen from the foot that carries more [m].
        end_error_m: Horizontal distance of the CoM from its plan at the end [m].
        heading_error_deg: Error of the heading at the end [degrees].
        fastest: Fastest velocities that the legs can follow, each alone [m/s and
            degrees per second].
        gait: Parameters of the gait.
        assumptions: Where parameters of gait and actuators come from.
    """

    steps_wanted: int
    distance_m: float
    velocity_mps: dict[str, float]
    yaw_rate_degps: dict[str, float]
    com_error_from_stance_m: dict[str, float]
    end_error_m: float
    heading_error_deg: float
    fastest: dict[str, float]
    gait: dict[str, Any]
    assumptions: list[str]


def walk_by_velocity(
    robot: Robot | World,
    command: Command | VelocityWalk,
    seconds: float | None = None,
    *,
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
        controller: What is done about the plan; servos with feed-forward torques alone
            unless given.
        sensors: What the controller is shown instead of the state.
        estimator: Makes a state of what the sensors measure, for the controller.
        control_period: For which a command holds [s]; one time step unless given.
        sensor_period: How often the sensors measure [s]; in each control period unless
            given.
        pushes: Forces from outside.
        model: The robot as planner and feed-forward know it; as it is unless given.
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
    loop = OPEN_LOOP if controller is None else "closed loop"

    def assess(run: Run, summary: RunSummary) -> CommandedWalkSummary:
        return _assess(world, plan, run, summary, loop)

    return simulate(
        world,
        plan,
        seconds,
        controller=controller,
        sensors=sensors,
        estimator=estimator,
        control_period=control_period,
        sensor_period=sensor_period,
        engine=engine,
        dt=dt,
        record_period=max(dt, WALK_PERIOD),
        assess=assess,
        progress=progress,
    )


def _assess(
    world: World, plan: VelocityWalk, run: Run, summary: RunSummary, loop: str
) -> CommandedWalkSummary:
    from scipy.spatial.transform import Rotation  # slow to import

    upright = plan.q[0]
    height = float(com_height(world, upright))
    until = np.inf if summary.fell_at_s is None else summary.fell_at_s
    rows = run.time <= until
    wanted = int(_touch_downs(run.references["support"]))
    done = min(wanted, _steps_made(run, rows))
    planned = {side: run.references[f"{side}_sole"] for side in SIDES}
    turned = {s: Rotation.from_quat(planned[s][:, 3:]).as_matrix() for s in SIDES}
    soles = {side: sole_pose(run.robot, run.q, side) for side in SIDES}
    meant = _Course.of(run.time, run.references["com"], turned)
    true = _Course.of(run.time, run.com, {s: soles[s][:, :3, :3] for s in SIDES})
    asked = np.mean([plan.commanded(float(time)) for time in run.time], axis=0)
    means = {"commanded": asked, "planned": meant.mean, "achieved": true.mean}
    off = _from_stance(run, soles, planned, turned)[rows]
    error = {"mean": float(off.mean()), "max": float(off.max())}
    fastest = plan.limits.velocity
    slip = float(np.linalg.norm((true.mean - meant.mean)[:2]))
    checks = [
        Check("steps not made", wanted - done, 0),
        Check(
            "mean CoM error from the stance foot", error["mean"], COM_MEAN * height, "m"
        ),
        Check(
            "largest CoM error from the stance foot",
            error["max"],
            COM_LARGEST * height,
            "m",
        ),
        Check("mean velocity off its plan", slip, VELOCITY * fastest.x, "m/s"),
        *limit_checks(summary.actuators),
    ]
    if loop == OPEN_LOOP:
        checks += stiffness_checks(world, upright)
    stride = 2.0 * plan.parameters.step_time
    middle = 0.5 * (soles["left"] + soles["right"])[rows, :2, 3]
    distance = _path_length(run.time[rows], middle, stride)
    how = f"with {summary.actuators.kind} actuators, {loop}"
    walked = (
        f"walked {distance:.2f} m in {done} of {wanted} steps by commanded velocity "
        f"{how}, its centre of mass {1e3 * error['mean']:.1f} mm from its plan on "
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
        """Return the course of a CoM (n, 3) on soles turned by rotations (n, 3, 3)."""
        yaws = [
            np.unwrap(np.arctan2(turn[:, 1, 0], turn[:, 0, 0]))
            for turn in soles.values()
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


def _from_stance(
    run: Run,
    soles: dict[Side, Array],
    planned: dict[Side, Array],
    turned: dict[Side, Array],
) -> Array:
    """Return how far the CoM is from its plan, seen from the stance foot [m], (n,)."""
    support = run.references["support"]
    loads = {side: run.foot_wrench[side][:, 2] for side in SIDES}
    off: dict[Side, Array] = {}
    for side in SIDES:
        pose = soles[side]
        true = np.einsum("nji,nj->ni", pose[:, :3, :3], run.com - pose[:, :3, 3])
        away = run.references["com"] - planned[side][:, :3]
        meant = np.einsum("nji,nj->ni", turned[side], away)
        off[side] = np.linalg.norm((true - meant)[:, :2], axis=1)
    left = np.where(
        support == SUPPORTS.index("both"),
        loads["left"] >= loads["right"],
        support == SUPPORTS.index("left"),
    )
    return np.where(left, off["left"], off["right"])


def _path_length(time: Array, path: Array, stride: float) -> float:
    """Return the length of a path (n, 2), averaged over a stride [s]."""
    if len(time) < 2:
        return 0.0
    width = max(1, round(stride / float(time[1] - time[0])))
    padded = np.concatenate(
        [np.repeat(path[:1], width, axis=0), path, np.repeat(path[-1:], width, axis=0)]
    )
    total = np.cumsum(np.vstack([np.zeros(2), padded]), axis=0)
    smooth = (total[width:] - total[:-width]) / width
    return float(np.linalg.norm(np.diff(smooth, axis=0), axis=1).sum())
