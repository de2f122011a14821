"""A walk, proven: planned, solved for joints, simulated open loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.control.blocks import Controller
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.gait import Gait
from equipoise.gait.motion import Motion, solve
from equipoise.kinematics.terrain import Flat, Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode
from equipoise.simulation.fall_cause import FallCause, fall_cause
from equipoise.simulation.falling import com_height
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.trials import described_world, make_check, trial_world
from equipoise.simulation.world import Push, World

# The mean error of the CoM that counts as exact, as a share of its height.
COM_SHARE = 0.01
# Share of the time in which the ZMP is inside the support polygon, away from its edge.
INSIDE = 0.95
# A ZMP nearer than this to the edge is on it [m].
ON_THE_EDGE = 1e-4


def walk(
    robot: Robot,
    motion: Motion | None = None,
    terrain: Terrain | None = None,
    *,
    controller: Controller[Any] | None = None,
    pushes: Sequence[Push] = (),
    mode: Mode = "position",
    engine: EngineName = "native",
    dt: float = 1e-3,
    world: World | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot walk: joints follow the motion, open loop unless controlled.

    Args:
        robot: The robot.
        motion: From :func:`~equipoise.gait.motion.solve`; six steps that fit the robot
            unless given.
        terrain: What to walk on, as the gait knows it; flat ground unless given.
        controller: What is done about the motion; ideal joints or servos alone unless
            given.
        pushes: Forces from outside.
        mode: Mode of the joints; ideal position control unless given.
        engine: Which engine.
        dt: Time step [s].
        world: The robot in its world, pushes included, if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if all steps were done, the CoM stayed near its plan and
        the ZMP inside the soles.
    """
    terrain = terrain or Flat()
    if motion is None:
        motion = solve(robot, fit_walk(robot, ground=terrain))
    if motion.robot.name != robot.name:
        raise EquipoiseError(
            f"the motion was solved for {motion.robot.name}, not for {robot.name}"
        )
    world = world or trial_world(robot, terrain, mode, pushes=tuple(pushes))
    run = simulate(
        world,
        motion,
        controller=controller,
        engine=engine,
        dt=dt,
        progress=progress,
    )
    figures = dict(run.summary)
    fell = figures["fell_at_s"]
    done = steps_done(motion.gait, fell)
    height = float(com_height(world, motion.q[0]))
    margin = run.zmp_margin[run.supported]
    inside = float(np.mean(margin > ON_THE_EDGE)) if len(margin) else 0.0
    error = figures["com_error_m"]["mean"]
    checks = [
        make_check("mean CoM error", error, COM_SHARE * height, "m"),
        make_check("time with the ZMP at an edge", 1.0 - inside, 1.0 - INSIDE, ""),
    ]
    wanted = motion.gait.parameters.steps
    achieved = fell is None and done == wanted and all(c["passed"] for c in checks)
    cause = fall_cause(world, run, motion.q[0])
    off = np.linalg.norm(motion.zmp - motion.zmp_planned, axis=1)
    figures |= {
        "verb": "walk",
        "achieved": achieved,
        "steps_done": done,
        "steps_wanted": wanted,
        "zmp_inside_share": inside,
        "solver": {
            "com_error_m": float(motion.solution.com_error.max()),
            "sole_error_m": float(motion.solution.foot_gap.max()),
            "iterations_mean": float(motion.solution.iterations.mean()),
            "filter_passes": motion.passes,
            "zmp_off_plan_m": float(off.max()),
        },
        "gait": gait_figures(motion.gait),
        "checks": checks,
        "sentence": _sentence(world, fell, cause, done, wanted, error, checks),
        "assumptions": [
            f"gait: {name}: {origin}"
            for name, origin in motion.gait.parameters.origins.items()
        ],
        **described_world(world),
    }
    return replace(run, summary=figures)


def steps_done(gait: Gait, fell_at: float | None) -> int:
    """Return how many swing phases had ended before a fall, or all."""
    swings = [phase for phase in gait.phases if phase.support != "both"]
    if fell_at is None:
        return len(swings)
    return sum(phase.end <= fell_at for phase in swings)


def gait_figures(gait: Gait) -> dict[str, Any]:
    """Return the numbers of a gait, as plain data."""
    numbers = gait.parameters
    units = {
        "length": "m",
        "width": "m",
        "step_time": "s",
        "clearance": "m",
        "com_height": "m",
    }
    figures: dict[str, Any] = {
        f"{name}_{unit}": getattr(numbers, name) for name, unit in units.items()
    }
    figures |= {
        "steps": numbers.steps,
        "double_support_share": numbers.double_support,
        "first": numbers.first,
        "method": numbers.method,
    }
    return figures


def _sentence(
    world: World,
    fell: float | None,
    cause: FallCause | None,
    done: int,
    wanted: int,
    error: float,
    checks: list[dict[str, Any]],
) -> str:
    name, ground = world.robot.name, world.terrain.describe()
    if fell is not None:
        why = f": {cause.text}" if cause else ""
        return (
            f"{name} fell at {fell:.2f} s, after {done} of {wanted} steps on {ground}"
            f"{why}."
        )
    failed = [check["name"] for check in checks if not check["passed"]]
    but = f"; beyond its limit: {', '.join(failed)}" if failed else ""
    return (
        f"{name} walked {done} of {wanted} steps on {ground}, its centre of mass "
        f"{1e3 * error:.1f} mm from its plan on average{but}."
    )
