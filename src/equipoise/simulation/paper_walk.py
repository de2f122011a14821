"""The experiment of [Sanliturk2024]: one gait, open loop, by several methods.

The ITU Biped walks with the parameters of Table 4. Joints are found at the same points
of the same gait by Algorithm 1, by the constant vector from pelvis to CoM that the
paper compares with, and exactly; the same world shows who falls.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.gait.gait import Gait
from equipoise.gait.motion import DT, Motion, solve, targets_of
from equipoise.gait.plan import plan_walk
from equipoise.gait.zmp import true_zmp
from equipoise.kinematics.ccg import solve_ccg, solve_constant_pelvis
from equipoise.kinematics.com import com
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import ComSolution, ComTargets
from equipoise.kinematics.frames import velocities
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.contacts import Material
from equipoise.simulation.simulate import EngineName
from equipoise.simulation.trials import trial_world
from equipoise.simulation.walk import walk

ROBOT = "itu-biped"
# Checks of a walk that say whether the robot went where it was meant to go.
PLACES = (
    "steps not made",
    "largest error of a footfall",
    "CoM off its plan at the end",
    "heading off its plan at the end",
)


@dataclass(frozen=True)
class PaperSetup:
    """What the walk is like: printed numbers first, then those we had to choose.

    Attributes:
        steps: As printed; the first with the right leg.
        length: Step length, s_x of Table 4 [m].
        clearance: Step height, h_s of Table 4 [m].
        com_height: CoG height, z_c of Section 2.3 [m]; None for the greatest that the
            legs allow. It does not go with the printed height of the hips, 0.826 m.
        stiffness: Stiffness of a contact point, Table 4 [N/m].
        damping: Damping of a contact point, Table 4 [N s/m].
        width: Distance of the feet [m]. The printed 0.065 m cannot be: soles are wider.
        step_time: From one touch-down to the next [s]. Not printed; slow enough for
            the true ZMP of the exact motion to stay inside the soles, so that the
            swing leg, which the pendulum leaves out, does not decide who falls.
        period: Distance of the points at which joints are solved [s]. Not printed;
            between them joints follow a cubic spline.
    """

    steps: int = 6
    length: float = 0.3
    clearance: float = 0.075
    com_height: float | None = 0.45
    stiffness: float = 6e4
    damping: float = 6e3
    width: float = 0.26
    step_time: float = 1.5
    period: float = 0.02


class Printed(NamedTuple):
    """What Section 3 of [Sanliturk2024] reports of the walk with Algorithm 1.

    Attributes:
        mean: Mean of the CoM's error [m].
        largest: [m].
        smallest: [m].
        time_a_point: Time of computing, after the first point [s].
    """

    mean: float = 0.0238
    largest: float = 0.0559
    smallest: float = 9.6353e-4
    time_a_point: float = 4.14e-4


class PaperRow(NamedTuple):
    """How one method did.

    Attributes:
        key: Short name.
        method: In words.
        mean: Distance of the CoM from its plan, until a fall [m].
        largest: [m].
        smallest: [m].
        solver_error: The same in the joints solved, before simulation, largest [m].
        zmp_inside: Fraction of the time with the ZMP inside the support polygon.
        time_a_point: Time of computing [s].
        iterations: A point, on average.
        fell_at: When it fell [s], or None.
        steps: Made.
        end_error: Distance of the CoM from its plan at the end [m].
        in_place: Whether feet, heading and end are where they were planned.
    """

    key: str
    method: str
    mean: float
    largest: float
    smallest: float
    solver_error: float
    zmp_inside: float
    time_a_point: float
    iterations: float
    fell_at: float | None
    steps: int
    end_error: float
    in_place: bool


@dataclass(frozen=True, eq=False)
class PaperWalk:
    """The experiment, done.

    Attributes:
        setup: What was asked for.
        gait: That of the paper's methods.
        rows: One for each method, Algorithm 1 first.
        run: The walk with Algorithm 1; its summary has all this under ``paper``.
        assumptions: What the paper leaves out, in sentences.
    """

    setup: PaperSetup
    gait: Gait
    rows: tuple[PaperRow, ...]
    run: Run
    assumptions: tuple[str, ...]

    @property
    def walks(self) -> bool:
        """Whether Algorithm 1 makes all steps where they were planned, and stays up."""
        first = self.rows[0]
        return first.fell_at is None and first.in_place


Solver = Callable[[Robot, ComTargets], ComSolution]


def constant_from_start(robot: Robot, targets: ComTargets) -> ComSolution:
    """Hold the vector from pelvis to CoM as it is where the walk begins.

    "The CoG is calculated before the movement starts": at the height of the walk, not
    in the posture standing. The torso keeps its attitude.
    """
    start = ComTargets(*(getattr(targets, n)[:1] for n in targets.__annotations__))
    begin = solve_com(robot, start).q[0]
    # The vector of the start less that of standing, which the solver would use.
    more = (com(robot, begin) - begin[:3]) - (
        com(robot, robot.standing) - robot.standing[:3]
    )
    found = solve_constant_pelvis(robot, replace(targets, com=targets.com - more))
    error = np.linalg.norm(np.asarray(com(robot, found.q)) - targets.com, axis=1)
    return replace(found, com_error=error)


METHODS: tuple[tuple[str, str, Solver], ...] = (
    ("ccg", "CCG, Algorithm 1 as published", solve_ccg),
    ("constant", "constant pelvis-to-CoM vector", constant_from_start),
    ("exact", "exact CoM (ours)", solve_com),
)
BEYOND = ("filtered", "exact CoM, dynamics filter (beyond the paper)", solve_com)


def paper_walk(
    robot: Robot,
    setup: PaperSetup | None = None,
    *,
    engine: EngineName = "native",
    dt: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> PaperWalk:
    """Let the ITU Biped walk as in the paper, with each method.

    Args:
        robot: The ITU Biped.
        setup: The gait and the ground; the paper's unless given.
        engine: Which engine.
        dt: Its time step [s].
        progress: Is told the simulated time of each walk [s] now and then.

    Raises:
        EquipoiseError: If it is another robot, or the gait cannot be planned.
    """
    if robot.name != ROBOT:
        raise EquipoiseError(
            f"the paper's experiment (--paper) is one of {ROBOT}, not of {robot.name}"
        )
    chosen = setup or PaperSetup()
    if not 0.0 < chosen.period < np.inf:
        raise EquipoiseError(f"period must be positive, it is {chosen.period} s")
    gait = plan_walk(
        robot,
        chosen.steps,
        length=chosen.length,
        width=chosen.width,
        clearance=chosen.clearance,
        com_height=chosen.com_height,
        step_time=chosen.step_time,
        first="right",
    )
    material = Material(chosen.stiffness, chosen.damping)
    world = trial_world(robot, mode="position", material=material)
    rows, runs = [], []
    for key, method, solver in (*METHODS, BEYOND):
        planned = gait if key != BEYOND[0] else solve(robot, gait).gait
        motion, seconds = _motion(robot, planned, solver, chosen.period)
        run = walk(world, motion, engine=engine, dt=dt, progress=progress)
        runs.append(run)
        rows.append(_row(key, method, motion, run, seconds))
    assumptions = _assumptions(robot, gait, chosen, material)
    done = PaperWalk(chosen, gait, tuple(rows), runs[0], assumptions)
    table = {"achieved": done.walks, "paper": _as_dict(done)}
    run = done.run.with_summary({**done.run.summary, **table})
    return replace(done, run=run)


def _motion(
    robot: Robot, gait: Gait, solver: Solver, period: float
) -> tuple[Motion, float]:
    """Return a motion through points solved, and the time a point took [s]."""
    count = round(gait.duration / DT) + 1
    time: Array = DT * np.arange(count, dtype=np.float64)
    points = np.append(np.arange(0.0, time[-1] - 0.5 * period, period), time[-1])
    solver(robot, targets_of(gait, points[:2]))  # kernels are loaded, not timed
    targets = targets_of(gait, points)
    began = clock.perf_counter()
    found = solver(robot, targets)
    seconds = (clock.perf_counter() - began) / len(points)
    q = np.array(CubicSpline(points, found.q, bc_type="clamped")(time))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    zmp = gait.at(time).zmp
    motion = Motion(
        robot,
        gait,
        frozen_array(time),
        frozen_array(q),
        frozen_array(velocities(robot, q, DT)),
        targets_of(gait, time).com,
        frozen_array(true_zmp(robot, q, DT, zmp[:, 2])),
        frozen_array(zmp[:, :2]),
        found,
        0,
    )
    return motion, seconds


def _row(key: str, method: str, motion: Motion, run: Run, seconds: float) -> PaperRow:
    fell = run.summary["fell_at_s"]
    error = np.linalg.norm(run.com - run.references["com"], axis=1)
    if fell is not None:
        error = error[run.time <= fell]
    return PaperRow(
        key,
        method,
        float(error.mean()),
        float(error.max()),
        float(error.min()),
        float(motion.solution.com_error.max()),
        float(run.summary["zmp_inside_fraction"]),
        seconds,
        float(motion.solution.iterations.mean()),
        fell,
        int(run.summary["steps_done"]),
        float(run.summary["end_error_m"]),
        all(c["passed"] for c in run.summary["checks"] if c["name"] in PLACES),
    )


def _assumptions(
    robot: Robot, gait: Gait, setup: PaperSetup, material: Material
) -> tuple[str, ...]:
    numbers = gait.parameters
    size = np.ptp(robot.soles["left"].polygon_in_sole, axis=0)
    return (
        f"feet {numbers.width:g} m apart, below the hips of Eq. 2; the printed 0.065 m "
        f"is less than the {size[1]:g} m that a sole is taken to be wide",
        f"CoM {numbers.com_height:g} m up, hips where that puts them; of the printed "
        "0.45 m and hips at 0.826 m only one can be (Tables 1 to 3 give 0.573 m there)",
        f"step time {numbers.step_time:g} s, double support "
        f"{100 * numbers.double_support:g} % of it, {numbers.start_time:g} s to start "
        f"and {numbers.stop_time:g} s to stop, {numbers.hold:g} s at rest before and "
        "after: not printed",
        f"a point every {1e3 * setup.period:g} ms, joints on a cubic spline between "
        "points: not printed",
        f"friction {material.static_friction:g} at rest, "
        f"{material.dynamic_friction:g} slipping; soles {size[0]:g} m by "
        f"{size[1]:g} m; inertias of links: not printed",
        "contact at the corners of the soles, not on spheres of 0.01 m; joints that "
        "follow exactly; errors in three dimensions, until a fall",
    )


def _as_dict(done: PaperWalk) -> dict[str, Any]:
    """Return the table as plain data."""
    printed = Printed()
    table: dict[str, Any] = {
        "printed": {
            "com_error_m": {
                "mean": printed.mean,
                "max": printed.largest,
                "min": printed.smallest,
            },
            "time_a_point_s": printed.time_a_point,
            "fell_at_s": None,
        }
    }
    for row in done.rows:
        table[row.key] = {
            "method": row.method,
            "com_error_m": {"mean": row.mean, "max": row.largest, "min": row.smallest},
            "solver_com_error_m": row.solver_error,
            "zmp_inside_fraction": row.zmp_inside,
            "time_a_point_s": row.time_a_point,
            "iterations_mean": row.iterations,
            "fell_at_s": row.fell_at,
            "steps_done": row.steps,
            "end_error_m": row.end_error,
        }
    return {**table, "assumptions": list(done.assumptions)}
