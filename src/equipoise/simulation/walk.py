"""A robot that walks a motion, and how well it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.control.blocks import Controller
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.gait import Gait
from equipoise.gait.motion import Motion, solve
from equipoise.kinematics.terrain import Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode
from equipoise.simulation.falling import com_height
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.summary import Check, RunSummary, TrialSummary, trial_results
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import Push, World

# The largest mean error of the CoM, as a fraction of its height.
COM_TOLERANCE = 0.01
# Fraction of the time in which the ZMP is inside the support polygon, off its edge.
INSIDE = 0.95
# A ZMP nearer than this to the edge is on it [m].
ON_THE_EDGE = 1e-4


@dataclass(frozen=True, kw_only=True)
class WalkSummary(TrialSummary):
    """Results of a walk.

    Attributes:
        steps_wanted: Footsteps of the gait.
        zmp_inside_share: Fraction of the time with the ZMP inside the support polygon.
        solver: How exactly the joints were solved, before simulation.
        gait: Parameters of the gait.
        assumptions: Where each parameter of the gait comes from.
    """

    steps_wanted: int
    zmp_inside_share: float
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
    mode: Mode = "position",
    engine: EngineName = "native",
    dt: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot walk: joints follow the motion, open loop unless controlled.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s.
        motion: From :func:`~equipoise.gait.motion.solve`; six steps that fit the robot
            unless given.
        terrain: What to walk on, as the gait knows it; flat ground unless given.
        controller: What is done about the motion; ideal joints or servos alone unless
            given.
        pushes: Forces from outside.
        mode: Mode of the joints; ideal position control unless given.
        engine: Which engine.
        dt: Time step [s].
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if all steps were done, the CoM stayed near its plan and
        the ZMP inside the soles.
    """
    world = trial_world(robot, terrain, mode, pushes=tuple(pushes))
    robot = world.robot
    plan = motion or solve(robot, fit_walk(robot, ground=world.terrain))
    if plan.robot.name != robot.name:
        raise EquipoiseError(
            f"the motion was solved for {plan.robot.name}, not for {robot.name}"
        )

    def assess(run: Run, summary: RunSummary) -> WalkSummary:
        return _assess(world, plan, run, summary)

    return simulate(
        world,
        plan,
        controller=controller,
        engine=engine,
        dt=dt,
        assess=assess,
        progress=progress,
    )


def _assess(world: World, motion: Motion, run: Run, summary: RunSummary) -> WalkSummary:
    parameters = motion.gait.parameters
    done = steps_done(motion.gait, summary.fell_at_s)
    margin = run.zmp_margin[run.supported]
    inside = float(np.mean(margin > ON_THE_EDGE)) if len(margin) else 0.0
    height = float(com_height(world, motion.q[0]))
    error = (summary.com_error_m or {"mean": np.inf})["mean"]
    walked = (
        f"walked {done} of {parameters.steps} steps on {world.terrain.describe()}, its "
        f"centre of mass {1e3 * error:.1f} mm from its plan on average"
    )
    results = trial_results(
        world,
        run,
        summary,
        motion.q[0],
        verb="walk",
        checks=(
            Check("mean CoM error", error, COM_TOLERANCE * height, "m"),
            Check("time with the ZMP at an edge", 1.0 - inside, 1.0 - INSIDE, ""),
        ),
        passed=walked,
        failed=walked,
        fell=f", after {done} of {parameters.steps} steps",
    )
    solution = motion.solution
    off_plan = np.linalg.norm(motion.zmp - motion.zmp_planned, axis=1)
    return WalkSummary(
        **results,
        steps_done=done,
        steps_wanted=parameters.steps,
        zmp_inside_share=inside,
        solver={
            "com_error_m": float(solution.com_error.max()),
            "sole_error_m": float(solution.foot_gap.max()),
            "iterations_mean": float(solution.iterations.mean()),
            "filter_passes": motion.passes,
            "zmp_off_plan_m": float(off_plan.max()),
        },
        gait=gait_parameters(motion.gait),
        assumptions=[
            f"gait: {name}: {origin}" for name, origin in parameters.origins.items()
        ],
    )


def steps_done(gait: Gait, fell_at: float | None) -> int:
    """Return how many swing phases had ended before a fall, or all."""
    swings = [phase for phase in gait.phases if phase.support != "both"]
    if fell_at is None:
        return len(swings)
    return sum(phase.end <= fell_at for phase in swings)


def gait_parameters(gait: Gait) -> dict[str, Any]:
    """Return the parameters of a gait, as plain data with units in their names."""
    numbers = gait.parameters
    return {
        "length_m": numbers.length,
        "width_m": numbers.width,
        "step_time_s": numbers.step_time,
        "clearance_m": numbers.clearance,
        "com_height_m": numbers.com_height,
        "steps": numbers.steps,
        "double_support_share": numbers.double_support,
        "first": numbers.first,
        "method": numbers.method,
    }
