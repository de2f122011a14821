"""A gait of the three-link biped, replayed in the general simulator.

The gait's feedback linearisation gives the hip torques of a robot that the engine
moves, with compliant contact, friction and sampled control, where the planar model has
rigid impacts and a foot that is a pivot. Two things of the planar model are kept, and
are said in the result: the motion stays in the sagittal plane, as each foot is a bar
across it, and the swing foot, which has no knee to be lifted by, touches nothing until
it has passed the stance foot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise.log.run import Run
from equipoise.planar.gait import PlanarGait
from equipoise.planar.hybrid import Walk
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import actuation_of
from equipoise.simulation.contacts import Material
from equipoise.simulation.simulate import EngineName, make_engine, simulate
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    trial_results,
)
from equipoise.simulation.three_link_blocks import (
    FIRST,
    OTHER,
    ModelWalk,
    SwingMask,
    VirtualConstraintControl,
    robot_state,
)
from equipoise.simulation.three_link_robot import three_link_robot
from equipoise.simulation.world import World, make_world

RECORD_PERIOD = 5e-3
# The ground of the planar model is rigid. Here a foot sinks in by this fraction of the
# leg under the whole weight, with this fraction of critical damping for the whole mass,
# so that a foot that comes down hardly rebounds.
SINK = 1e-5
DAMPING_RATIO = 1.0
# Steps that take this many times as long as the model's are not waited for.
LONGEST = 2.0
# A swing foot that comes down more slowly than this, in √(g r), hardly does.
SLOWEST_LANDING = 1e-3
# A walk whose speed is farther from the model's than this fraction is another gait.
OTHER_GAIT = 0.1
# Results are those of this fraction of the steps, the last.
SETTLED = 0.5


@dataclass(frozen=True, kw_only=True)
class ThreeLinkSummary(TrialSummary):
    """Results of a gait that was replayed, beside those of the planar model.

    Speed, step time and step length are means over the second half of the steps.

    Attributes:
        steps_wanted: How many steps there should be.
        speed_mps: Mean speed [m/s].
        step_time_s: Duration of a step [s].
        step_length_m: From foot to foot [m].
        model: Speed, step time and step length of the planar model, under the same
            names.
        speed_error_fraction: Speed over the model's, less one.
        out_of_plane: Largest lateral offset of the hip [m], roll and yaw [rad].
        slip_m: Farthest that a stance foot moved along the ground in a step [m].
        masked_fraction: Fraction of the time in which the swing foot was masked.
    """

    steps_wanted: int
    speed_mps: float | None
    step_time_s: float | None
    step_length_m: float | None
    model: dict[str, float]
    speed_error_fraction: float | None
    out_of_plane: dict[str, float]
    slip_m: float
    masked_fraction: float


def replay_three_link(
    gait: PlanarGait,
    steps: int = 20,
    *,
    engine: EngineName = "native",
    material: Material | None = None,
    start: ArrayLike | None = None,
    dt: float = 5e-4,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a three-link biped walk a gait in the general simulator.

    The robot is the catalogue's with the gait's masses and lengths
    (:func:`~equipoise.simulation.three_link_robot.three_link_robot`); its hips get the
    torques of the gait's feedback linearisation. The swing foot's contact is masked
    until it has passed the stance foot.

    Args:
        gait: The gait, from :func:`~equipoise.planar.gait_search.find_gait`, say.
        steps: How many.
        engine: Which engine.
        material: What touching the ground is like; stiff and overdamped ground unless
            given.
        start: θ and θ̇ after an impact, shape (6,); the gait's periodic orbit unless
            given.
        dt: Time step, also of the control [s].
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if all steps were made without a fall, within a tenth of
        the model's speed. What it wants over
        time, joints and CoM, is the walk of the planar model from the same start.

    Raises:
        PlanarModelError: If the planar model does not walk from that start.
    """
    walk = gait.walk(steps, start)
    robot = three_link_robot(gait.model.parameters)
    world = _world(gait, robot, material)
    plant = SwingMask(make_engine(engine, world, dt), gait)
    begin = gait.start if start is None else start
    q, v = robot_state(robot, begin, gait.model.parameters.leg_length)

    def assess(run: Run, summary: RunSummary) -> ThreeLinkSummary:
        return _assess(plant, walk, steps, run, summary)

    return simulate(
        world,
        ModelWalk(walk),
        dt * math.ceil(LONGEST * walk.time[-1] / dt),
        start=q,
        velocity=v,
        controller=VirtualConstraintControl(gait, plant),
        engine=plant,
        reference_period=dt * max(round(RECORD_PERIOD / dt), 1),
        record_period=max(dt, RECORD_PERIOD),
        upright=robot.standing,
        until=lambda state: len(plant.touchdowns) >= steps,
        assess=assess,
        progress=progress,
    )


def _world(gait: PlanarGait, robot: Robot, material: Material | None) -> World:
    """Return level ground, and hips that are told torques."""
    p = gait.model.parameters
    if material is None:
        points = len(robot.soles[FIRST].polygon_in_sole)
        stiffness = p.total_mass * p.gravity / (SINK * p.leg_length)
        damping = 2.0 * DAMPING_RATIO * math.sqrt(stiffness * p.total_mass)
        material = Material(stiffness / points, damping / points)
    actuation = actuation_of(robot, "torque")
    return make_world(robot, material=material, actuation=actuation, gravity=p.gravity)


def _assess(
    plant: SwingMask, walk: Walk, steps: int, run: Run, summary: RunSummary
) -> ThreeLinkSummary:
    made, p = plant.touchdowns, walk.model.parameters
    last = walk.steps[-1]
    model = {
        "speed_mps": last.speed,
        "step_time_s": last.duration,
        "step_length_m": last.length,
    }
    late = made[int((1.0 - SETTLED) * len(made)) :]
    speed = step_time = length = error = None
    if len(late) > 1:
        step_time = (late[-1].time - late[0].time) / (len(late) - 1)
        length = float(np.mean([step.length for step in late[1:]]))
        speed = length / step_time
        error = speed / last.speed - 1.0
    checks = [Check("steps not made", float(steps - len(made)), 0.0)]
    if error is not None:
        off = "speed off the planar model's"
        checks.append(Check(off, abs(error), OTHER_GAIT, "%"))
    told = "" if speed is None else f" at {speed:.3f} m/s"
    results = trial_results(
        plant.world,
        run,
        summary,
        plant.robot.standing,
        verb="three-link",
        checks=tuple(checks),
        passed=f"walked {len(made)} steps{told} ({last.speed:.3f} m/s by the model)",
        failed=f"walked {len(made)} of {steps} steps{told}",
        fell=f", after {len(made)} of {steps} steps",
    )
    landing = float(walk.model.point_velocities(last.before)["f_2"][1])
    notices = (*summary.notices, *plant.said())
    if landing > -SLOWEST_LANDING * math.sqrt(p.gravity * p.leg_length):
        way = "rises" if landing > 0.0 else "comes down"
        notices += (
            f"in the planar model the swing foot {way} at {abs(landing):.2g} m/s at "
            "touchdown: ground that feet cannot come through ends the step otherwise",
        )
    results["notices"] = notices
    return ThreeLinkSummary(
        **results,
        steps_done=len(made),
        steps_wanted=steps,
        speed_mps=speed,
        step_time_s=step_time,
        step_length_m=length,
        model=model,
        speed_error_fraction=error,
        out_of_plane=_out_of_plane(run),
        slip_m=_slip(plant, run),
        masked_fraction=plant.masked_time / max(run.time[-1], plant.dt),
    )


def _out_of_plane(run: Run) -> dict[str, float]:
    """Return how far the base left the sagittal plane."""
    # the left-over turn after pitching, small
    x, y, z, w = run.q[:, 3:7].T
    roll = 2.0 * (w * x - y * z)
    yaw = 2.0 * (w * z + x * y)
    return {
        "lateral_m": float(np.abs(run.q[:, 1]).max()),
        "roll_rad": float(np.abs(roll).max()),
        "yaw_rad": float(np.abs(yaw).max()),
    }


def _slip(plant: SwingMask, run: Run) -> float:
    """Return the farthest that a stance foot moved along the ground in a step [m]."""
    farthest, side, begins = 0.0, FIRST, 0.0
    for ends in (*(step.time for step in plant.touchdowns), math.inf):
        rows = (run.time > begins) & (run.time < ends)
        points = plant.points(side)
        if rows.any():
            at = run.contact_position[rows][:, points, 0]
            farthest = max(farthest, float(np.ptp(at, axis=0).max()))
        side, begins = OTHER[side], ends
    return farthest
