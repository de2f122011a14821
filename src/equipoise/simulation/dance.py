"""A robot whose arms dance while its legs keep the CoM, and the same with legs held.

The experiment of Section 5 of [Choi2007], for any robot with legs and arms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.arrays import frozen_array
from equipoise.control.certificate import Gains
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import ArmMotion, free_joints, peak_speeds
from equipoise.gait.standing_motion import (
    StandingMotion,
    dancing_posture,
    embed,
    fit_dance,
    held_com,
    hold_legs,
)
from equipoise.kinematics.com import com
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.kinematics.support import polygon_margin, support_polygon
from equipoise.log.recordings.recording_of_csv import csv_columns
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.falling import com_height
from equipoise.simulation.feedback import (
    Feedback,
    Knowledge,
    Law,
    feedback_by,
    mode_for,
)
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.start import stance_on
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

# How the two runs are called.
EMBEDDED, HELD = "legs keep the CoM", "legs held"
TIME = "time"
# Largest error of the CoM as a fraction of its height: 5 mm of Mahru I's 0.687 m.
COM_LARGEST = 0.0073
# The ZMP stays within this fraction of the way from the CoM to the edge of the soles.
ZMP_LARGEST = 0.25
# What the joints may be off before simulation [m].
KINEMATIC = 1e-4
# A dance with fewer than so many joints an arm at this speed [rad/s] says so.
JOINTS, SPEED = 4, 2.0


@dataclass(frozen=True, kw_only=True)
class DanceSummary(TrialSummary):
    """Results of a dance.

    Attributes:
        feedback: What the feedback knows: ``"sensors"``, ``"true state"``, or
            ``"none"`` where there is none.
        law: Law of control: ``"stabiliser"``, ``"paper"``, or ``"servos"`` alone.
        arms: Where the motion of the arms comes from.
        arm_speed_radps: Peak speed of each joint that was told to move [rad/s].
        held_com_m: Where the CoM was to be [m].
        kinematic_com_error_m: Largest distance of the joints' CoM from there, before
            simulation [m].
        zmp_deviation_m: Largest distance of the measured ZMP from below that point,
            along x and y [m], None if nothing touched.
        planned_zmp_deviation_m: The same of the motion before simulation [m].
        compared: Results with the arms' motion embedded and with the legs held, by
            name; None within the results of one of them.
    """

    feedback: Knowledge
    law: str
    arms: str
    arm_speed_radps: dict[str, float]
    held_com_m: dict[str, float]
    kinematic_com_error_m: float
    zmp_deviation_m: dict[str, float] | None
    planned_zmp_deviation_m: dict[str, float]
    compared: dict[str, dict[str, Any]] | None = None


@dataclass(frozen=True, eq=False)
class Dance:
    """A dance, done twice.

    Attributes:
        run: With the arms' motion embedded: legs keep the CoM. Its summary has the
            results of both under ``compared``.
        held: With the legs held.
        motion: Joints of the first, before simulation.
    """

    run: Run
    held: Run
    motion: StandingMotion


def read_arm_motion(path: Path | str, robot: Robot) -> ArmMotion:
    """Return a motion of arms from a CSV file.

    The first row names the columns: ``time`` [s] and names of joints [rad, or m of
    joints that slide]. Joints that are not named stay where they are. Between rows
    joints follow a cubic spline, at rest at both ends.

    Args:
        path: The file.
        robot: The robot whose joints it names.

    Raises:
        EquipoiseError: Which column or row is wrong.
    """
    file = Path(path)
    found = csv_columns(file, may_be_cut_off=False)
    if found.notices:  # a column of texts, where numbers are needed
        raise EquipoiseError(f"{file}: {found.notices[0]}")
    columns = found.columns
    if TIME not in columns:
        raise EquipoiseError(
            f"{file}: has no column '{TIME}'; columns are {TIME} [s] and names of "
            f"joints [rad]: {', '.join(free_joints(robot))}"
        )
    time = columns[TIME]
    joints = [name for name in columns if name != TIME]
    if not joints or len(time) < 2:
        raise EquipoiseError(
            f"{file}: has {len(time)} rows and {len(joints)} joints; at least two rows "
            "and one joint are needed"
        )
    table = np.column_stack([columns[name] for name in joints])
    for name, values in (*columns.items(),):
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise EquipoiseError(
                f"{file}: '{name}' has no number in row {bad[0] + 1} below the head"
            )
    steps = np.diff(time)
    if (steps <= 0.0).any():
        row = int(np.argmax(steps <= 0.0)) + 2
        raise EquipoiseError(
            f"{file}: time does not increase in row {row} below the head, "
            f"{time[row - 1]:g} s after {time[row - 2]:g} s"
        )
    return ArmMotion(
        frozen_array(time - time[0]), tuple(joints), frozen_array(table), str(file)
    )


def dance_motion(
    world: World, arms: ArmMotion | None = None, model: Robot | None = None
) -> StandingMotion:
    """Return the motion of a dance in a world, with the legs keeping the CoM.

    Args:
        world: The robot and what it stands on.
        arms: What the arms do; a dance that fits the robot unless given.
        model: The robot as it is known to the planner; as it is unless given.

    Raises:
        EquipoiseError: If arms are beyond their limits, or legs cannot keep the CoM:
            which joint and when.
    """
    known = model or world.robot
    posture = stance_on(world.terrain, known, dancing_posture(known))
    if arms is None:
        return fit_dance(known, posture=posture)
    where = "" if arms.origin == "built in" else arms.origin
    return embed(known, arms, posture=posture, where=where)


def dance(
    robot: Robot | World,
    arms: ArmMotion | StandingMotion | None = None,
    *,
    feedback: Feedback | bool = True,
    law: Law = "paper",
    gains: Gains | tuple[float, float] | None = None,
    force_gains: bool = False,
    true_state: bool = False,
    seed: int = 0,
    model: Robot | None = None,
    engine: EngineName = "native",
    dt: float = 1e-3,
    progress: Callable[[float], None] | None = None,
) -> Dance:
    """Let a robot dance: its legs keep the CoM while its arms move; then held legs.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s.
        arms: What the arms do, from :func:`read_arm_motion`, or a motion that was
            solved already; a dance that fits the robot unless given.
        feedback: Whether there is feedback in both runs, or one of your own; servos
            with feed-forward torques alone if not.
        law: Law of ours: ``"paper"``
            (:func:`~equipoise.simulation.feedback.paper_feedback`), ``"stabiliser"``
            (:func:`~equipoise.simulation.feedback.balance_feedback`), or
            ``"whole-body"`` for joints that are told torques
            (:func:`~equipoise.simulation.feedback.whole_body_feedback`).
        gains: Gains of the paper's law, or k_p and k_c [1/s].
        force_gains: Whether these may be unstable.
        true_state: Whether ours is shown the true state, not sensors.
        seed: Seed of the noise of our sensors.
        model: The robot as planner, feed-forward and feedback know it; as it is unless
            given.
        engine: Which engine.
        dt: Time step [s].
        progress: Is told the simulated time of both runs together [s] now and then.

    Returns:
        Both runs; the first is ``achieved`` if the robot did not fall, its CoM stayed
        where it was held and the ZMP near it.

    Raises:
        EquipoiseError: If arms are beyond their limits, or legs cannot keep the CoM:
            which joint and when; or if gains are not stable.
    """
    world = trial_world(robot, mode=mode_for(law, feedback))
    closed = feedback_by(
        world,
        feedback,
        model,
        law=law,
        gains=gains,
        force_gains=force_gains,
        true_state=true_state,
        seed=seed,
    )
    motion = arms
    if not isinstance(motion, StandingMotion):
        motion = dance_motion(world, motion, model)
    runs = []
    for number, way in enumerate((motion, hold_legs(motion))):
        before = number * motion.duration

        def told(time: float, before: float = before) -> None:
            if progress is not None:
                progress(before + time)

        def assess(
            run: Run, summary: RunSummary, way: StandingMotion = way
        ) -> DanceSummary:
            return _assess(world, way, closed, run, summary)

        runs.append(
            simulate(
                world,
                way,
                engine=engine,
                dt=dt,
                assess=assess,
                progress=told,
                **({} if closed is None else closed.blocks),
            )
        )
    compared = {
        name: _compared(run) for name, run in zip((EMBEDDED, HELD), runs, strict=True)
    }
    summary = {**runs[0].summary, "compared": compared}
    return Dance(runs[0].with_summary(summary), runs[1], motion)


def _compared(run: Run) -> dict[str, Any]:
    """Return what is compared of a run, by names that end in their units."""
    results = run.summary
    error, deviation = results["com_error_m"], results["zmp_deviation_m"]
    return {
        "kinematic_com_error_m": results["kinematic_com_error_m"],
        "com_error_mean_m": error["mean"],
        "com_error_max_m": error["max"],
        "zmp_deviation_x_m": None if deviation is None else deviation["x"],
        "zmp_deviation_y_m": None if deviation is None else deviation["y"],
        "peak_torque_fraction": results["actuators"]["peak_torque_fraction"],
        "fell_at_s": results["fell_at_s"],
    }


def _assess(
    world: World,
    motion: StandingMotion,
    closed: Feedback | None,
    run: Run,
    summary: RunSummary,
) -> DanceSummary:
    robot, centre = world.robot, motion.com
    error = summary.com_error_m
    assert error is not None  # the CoM is wanted somewhere
    kinematic = float(motion.com_error.max())
    largest = _largest(run.zmp[run.supported, :2] - centre[:2])
    edge = float(polygon_margin(support_polygon(robot, motion.q[0]), centre[:2]))
    height = float(com_height(world, motion.q[0]))
    off = max(largest.values()) if largest else np.inf
    how = EMBEDDED if motion.embedded else HELD
    danced = (
        f"danced for {motion.duration:g} s on {world.terrain.describe()}, {how}: its "
        f"CoM stayed within {1e3 * error['max']:.2g} mm, its ZMP within "
        f"{1e3 * off:.2g} mm"
    )
    results = trial_results(
        world,
        run,
        summary,
        motion.q[0],
        verb="dance",
        checks=(
            Check("CoM error before simulation", kinematic, KINEMATIC, "m"),
            Check("largest CoM error", error["max"], COM_LARGEST * height, "m"),
            Check("largest ZMP deviation", off, ZMP_LARGEST * max(edge, 0.0), "m"),
            *limit_checks(summary.actuators),
        ),
        passed=danced,
        failed=danced,
        fell=f", {how},",
    )
    results["notices"] = (*results["notices"], *_notices(motion))
    planned = _largest(motion.zmp - centre[:2])
    assert planned is not None  # a motion has points
    return DanceSummary(
        **results,
        feedback="none" if closed is None else closed.knowledge,
        law="servos" if closed is None else closed.law,
        arms=motion.arms.origin,
        arm_speed_radps=dict(peak_speeds(motion.arms)),
        held_com_m=named_axes(centre),
        kinematic_com_error_m=kinematic,
        zmp_deviation_m=largest,
        planned_zmp_deviation_m=planned,
    )


def _largest(off: Any) -> dict[str, float] | None:
    """Return the largest deviations along x and y [m], None if there are none."""
    if len(off) == 0:
        return None
    x, y = np.abs(off).max(axis=0)
    return {"x": float(x), "y": float(y)}


def _notices(motion: StandingMotion) -> list[str]:
    """Return what is unusual about a dance, a sentence each."""
    robot = motion.robot
    said = [text for leg in leg_freedom(robot).values() for text in leg.describe()]
    posture = dancing_posture(robot)
    usual = float(com(robot, posture)[2])
    if held_com(robot, posture)[2] < usual:
        said.append(
            f"the CoM is held {motion.com[2]:.3f} m up, lower than the {usual:.3f} m "
            "of standing, where the legs are straight"
        )
    if not motion.arms.origin.startswith("built in"):
        return said
    speeds = peak_speeds(motion.arms)
    for limb in robot.arms.values():
        fast = [joint for joint in limb.joints if speeds.get(joint, 0.0) >= SPEED]
        if len(fast) < JOINTS:
            said.append(
                f"{len(fast)} joints of the {limb.side} arm reach {SPEED:g} rad/s: its "
                "limits of range, speed or torque allow no more"
            )
    return said
