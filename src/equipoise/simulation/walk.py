"""A robot that walks a motion, and how well it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from equipoise.control.blocks import Controller
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.motion import Motion, solve
from equipoise.gait.parameters import GaitParameters
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.kinematics.terrain import Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode
from equipoise.simulation.compliance import stiffness_checks
from equipoise.simulation.falling import com_height
from equipoise.simulation.footfalls import Footfall, footfalls, zmp_tracking
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    limit_checks,
    trial_results,
)
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import Push, World

Actuators = Literal["servo", "ideal"]

# A walk is recorded this often [s].
WALK_PERIOD = 5e-3
# Largest mean and largest single error of the CoM, as fractions of its height.
COM_MEAN, COM_LARGEST = 0.01, 0.05
# Largest error of a footfall and of where the walk ends, as a fraction of the legs.
PLACEMENT = 0.05
# Largest error of the heading at the end [degrees].
HEADING = 5.0
# Fraction of the time in which the ZMP is outside the planned support polygon.
ZMP_OUTSIDE = 0.05
OPEN_LOOP = "open loop"


@dataclass(frozen=True, kw_only=True)
class WalkSummary(TrialSummary):
    """Results of a walk; the plan is that of the gait, in the world.

    Attributes:
        steps_wanted: Footsteps of the gait.
        placement_error_m: Mean and largest horizontal distance of the footfalls from
            their plan [m].
        heading_error_deg: Error of the heading at the end [degrees].
        end_error_m: Horizontal distance of the CoM from its plan at the end [m].
        zmp_error_m: Distance of the measured ZMP from its plan [m]: root mean square
            while one foot carries alone, as planned, and at all times, and the largest.
        zmp_inside_fraction: Fraction of the time with the measured ZMP inside the
            planned support polygon.
        footfalls: Each footfall.
        solver: How exactly the joints were solved, before simulation.
        gait: Parameters of the gait.
        assumptions: Where parameters of gait and actuators come from.
    """

    steps_wanted: int
    placement_error_m: dict[str, float] | None
    heading_error_deg: float
    end_error_m: float
    zmp_error_m: dict[str, float] | None
    zmp_inside_fraction: float
    footfalls: tuple[Footfall, ...]
    solver: dict[str, float]
    gait: dict[str, Any]
    assumptions: list[str]


def walk(
    robot: Robot | World,
    motion: Motion | None = None,
    terrain: Terrain | None = None,
    *,
    controller: Controller[Any] | None = None,
    pushes: Sequence[Push] = (),
    actuators: Actuators = "servo",
    model: Robot | None = None,
    engine: EngineName = "native",
    dt: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot walk: its actuators follow the motion, open loop unless controlled.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s.
        motion: From :func:`~equipoise.gait.motion.solve`; six steps that fit the robot
            unless given.
        terrain: What to walk on, as the gait knows it; flat ground unless given.
        controller: What is done about the motion; servos with feed-forward torques
            alone unless given.
        pushes: Forces from outside.
        actuators: ``"servo"``: servos with the limits of the robot's file; ``"ideal"``:
            joints follow exactly, whatever torque that takes.
        model: The robot as planner and feed-forward know it; as it is unless given.
        engine: Which engine.
        dt: Time step [s].
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if every step was made where it was planned, CoM and ZMP
        stayed near their plans and no actuator was beyond its limits.
    """
    if actuators not in ("servo", "ideal"):
        raise EquipoiseError(
            f"there are no actuators '{actuators}'; they are servo or ideal"
        )
    mode: Mode = "servo" if actuators == "servo" else "position"
    world = trial_world(robot, terrain, mode, pushes=tuple(pushes))
    robot = world.robot
    known = model or robot
    plan = motion or solve(known, fit_walk(known, ground=world.terrain))
    if plan.robot.name != robot.name:
        raise EquipoiseError(
            f"the motion was solved for {plan.robot.name}, not for {robot.name}"
        )
    loop = OPEN_LOOP if controller is None else "closed loop"

    def assess(run: Run, summary: RunSummary) -> WalkSummary:
        return _assess(world, plan, run, summary, loop)

    return simulate(
        world,
        plan,
        controller=controller,
        engine=engine,
        dt=dt,
        record_period=max(dt, WALK_PERIOD),
        assess=assess,
        progress=progress,
    )


def _assess(
    world: World, motion: Motion, run: Run, summary: RunSummary, loop: str
) -> WalkSummary:
    parameters = motion.gait.parameters
    steps = footfalls(run, motion.gait, summary.fell_at_s)
    done, wanted = sum(step.made for step in steps), parameters.steps
    placed = [step.placement_error_m for step in steps if step.made]
    zmp = zmp_tracking(run, motion)
    height = float(com_height(world, motion.q[0]))
    placement = PLACEMENT * max(limb.length for limb in world.robot.legs.values())
    error = summary.com_error_m
    assert error is not None  # a motion has a CoM
    end = float(np.linalg.norm(run.com[-1, :2] - run.references["com"][-1, :2]))
    heading = _heading_error(run, motion)
    farthest = [max(placed)] if placed else []  # a step that is not made has none
    checks = [
        Check("steps not made", wanted - done, 0),
        Check("mean CoM error", error["mean"], COM_MEAN * height, "m"),
        Check("largest CoM error", error["max"], COM_LARGEST * height, "m"),
        *(Check("largest error of a footfall", x, placement, "m") for x in farthest),
        Check("CoM off its plan at the end", end, placement, "m"),
        Check("heading off its plan at the end", heading, HEADING, "°"),
        Check("time with the ZMP outside", 1.0 - zmp.inside, ZMP_OUTSIDE, "%"),
        *limit_checks(summary.actuators),
    ]
    if loop == OPEN_LOOP:
        checks += stiffness_checks(world, motion.q[0])
    how = f"with {summary.actuators.kind} actuators, {loop}"
    walked = (
        f"walked {done} of {wanted} steps on {world.terrain.describe()} {how}, its "
        f"centre of mass {1e3 * error['mean']:.1f} mm from its plan on average"
    )
    results = trial_results(
        world,
        run,
        summary,
        motion.q[0],
        verb="walk",
        checks=tuple(checks),
        passed=walked,
        failed=walked,
        fell=f", after {done} of {wanted} steps {how},",
    )
    freedoms = leg_freedom(motion.robot).values()
    said = [text for freedom in freedoms for text in freedom.describe()]
    results["notices"] = (*results["notices"], *said)
    solution = motion.solution
    off_plan = np.linalg.norm(motion.zmp - motion.zmp_planned, axis=1)
    return WalkSummary(
        **results,
        steps_done=done,
        steps_wanted=wanted,
        placement_error_m=None
        if not placed
        else {"mean": float(np.mean(placed)), "max": float(np.max(placed))},
        heading_error_deg=heading,
        end_error_m=end,
        zmp_error_m=zmp.error,
        zmp_inside_fraction=zmp.inside,
        footfalls=steps,
        solver={
            "com_error_m": float(solution.com_error.max()),
            "sole_error_m": float(solution.foot_gap.max()),
            "iterations_mean": float(solution.iterations.mean()),
            "filter_passes": motion.passes,
            "zmp_off_plan_m": float(off_plan.max()),
        },
        gait=gait_parameters(parameters),
        assumptions=[
            *(f"gait: {name}: {origin}" for name, origin in parameters.origins.items()),
            *(f"actuators: {text}" for text in world.actuation.assumptions),
        ],
    )


def _heading_error(run: Run, motion: Motion) -> float:
    """Return how far the base is turned from its plan at the end [degrees]."""
    row = min(round(float(run.time[-1]) / motion.dt), len(motion.q) - 1)
    x, y, z, w = np.stack([run.q[-1, 3:7], motion.q[row, 3:7]], axis=1)
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    turned = (yaw[0] - yaw[1] + np.pi) % (2.0 * np.pi) - np.pi
    return float(np.degrees(abs(turned)))


def gait_parameters(numbers: GaitParameters) -> dict[str, Any]:
    """Return the parameters of a gait, as plain data with units in their names."""
    return {
        "length_m": numbers.length,
        "width_m": numbers.width,
        "step_time_s": numbers.step_time,
        "clearance_m": numbers.clearance,
        "com_height_m": numbers.com_height,
        "steps": numbers.steps,
        "double_support_fraction": numbers.double_support,
        "first": numbers.first,
        "method": numbers.method,
    }
