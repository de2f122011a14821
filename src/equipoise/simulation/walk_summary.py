"""How well a robot walked a motion: results, and what had to hold.

With feedback a walk is judged relative to the stance foot: a robot that has sensors
alone does not know where in the world it is, and a floor that nobody planned for puts
its feet elsewhere. Open loop it is judged in the world. Either way by the true state of
the simulation, never by what an estimator or a controller believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.arms import Arms
from equipoise.gait.motion import Motion
from equipoise.gait.parameters import GaitParameters
from equipoise.kinematics.leg_freedom import SIDES, leg_freedom
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.terrain import Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.closed_loop import OPEN_LOOP, ClosedLoop
from equipoise.simulation.compliance import stiffness_checks
from equipoise.simulation.estimate_errors import odometry_drift
from equipoise.simulation.executed_plan import (
    MovedPlan,
    com_error_from_stance,
    distance_walked,
    planned_loads,
    true_soles,
)
from equipoise.simulation.falling import com_height
from equipoise.simulation.feedback import Knowledge
from equipoise.simulation.footfalls import (
    Footfall,
    footfalls,
    yaw_moment_rms,
    zmp_tracking,
)
from equipoise.simulation.hands import hand_tracking
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    limit_checks,
    trial_results,
)
from equipoise.simulation.world import World

# Largest mean and largest single error of the CoM, as fractions of its height.
COM_MEAN, COM_LARGEST = 0.01, 0.05
# Largest error of a footfall and of where the walk ends, as a fraction of the legs.
PLACEMENT = 0.05
# Largest error of the heading, at the end or of a step [degrees].
HEADING = 5.0
# Fraction of the time in which the ZMP is outside the support polygon.
ZMP_OUTSIDE = 0.05
SEEN = "from the stance foot"
ARMS: dict[Arms, str] = {
    "still": "held still",
    "yaw": "swinging against the yaw moment",
}


@dataclass(frozen=True, kw_only=True)
class WalkSummary(TrialSummary):
    """Results of a walk; the plan is that of the gait, in the world.

    What is *from the stance foot* is compared with the plan moved with the feet that
    carry (:mod:`~equipoise.simulation.executed_plan`). All of it is by the true state.

    Attributes:
        feedback: What the feedback knows: ``"sensors"``, ``"true state"``, or
            ``"none"`` where there is none.
        planned_terrain: The ground as the gait knows it, in words.
        steps_wanted: Footsteps of the gait.
        com_error_from_stance_m: Mean and largest horizontal distance of the CoM from
            its plan, from the stance foot [m].
        placement_error_m: Mean and largest horizontal distance of the footfalls from
            their plan [m].
        placement_error_from_stance_m: The same from the stance foot: of the step alone.
        heading_error_deg: Error of the heading at the end [degrees].
        step_yaw_error_deg: Largest error of a footfall's heading, from the stance foot
            [degrees].
        end_error_m: Horizontal distance of the CoM from its plan at the end [m].
        zmp_error_m: Distance of the measured ZMP from its plan [m]: root mean square
            while one foot carries alone, as planned, and at all times, and the largest.
        zmp_error_from_stance_m: The same from the stance foot.
        zmp_inside_fraction: Fraction of the time with the measured ZMP inside the
            planned support polygon.
        zmp_inside_feet_fraction: The same for the polygon of the soles that were meant
            to carry, where they truly were.
        zmp_5mm_inside_fraction: Fraction of single support with the measured ZMP at
            least 5 mm inside that polygon; None without single support.
        yaw_moment_rms_nm: RMS of the moment of the ground on the stance foot about the
            vertical through the middle of its sole, in single support [Nm], or None.
        arms: What the arms do, in words.
        hand_error_m: RMS and largest distance of the hand from where the motion of its
            arm wants it [m]; None if no arm has a motion of its own.
        hand_way_m: How far that motion takes the hand from its start [m], or None.
        odometry_drift_m: Horizontal distance of the estimated base from the true one
            at the end, None without an estimator [m].
        drift_over_distance_fraction: The same over the distance walked.
        estimator: Errors of the estimator
            (:class:`~equipoise.simulation.estimate_errors.EstimateErrors`), or None.
        footfalls: Each footfall.
        solver: How exactly the joints were solved, before simulation.
        gait: Parameters of the gait.
        assumptions: Where parameters of gait and actuators come from.
    """

    feedback: Knowledge
    planned_terrain: str
    steps_wanted: int
    com_error_from_stance_m: dict[str, float]
    placement_error_m: dict[str, float] | None
    placement_error_from_stance_m: dict[str, float] | None
    heading_error_deg: float
    step_yaw_error_deg: float | None
    end_error_m: float
    zmp_error_m: dict[str, float] | None
    zmp_error_from_stance_m: dict[str, float] | None
    zmp_inside_fraction: float
    zmp_inside_feet_fraction: float
    zmp_5mm_inside_fraction: float | None
    yaw_moment_rms_nm: float | None
    arms: str
    hand_error_m: dict[str, float] | None
    hand_way_m: float | None
    odometry_drift_m: float | None
    drift_over_distance_fraction: float | None
    estimator: dict[str, float] | None
    footfalls: tuple[Footfall, ...]
    solver: dict[str, float]
    gait: dict[str, Any]
    assumptions: list[str]


class Circumstances(NamedTuple):
    """In what a walk was made, and how it was controlled.

    Attributes:
        world: The robot and what it met.
        ground: The ground as the gait knew it.
        model: The robot as planner and feedback knew it.
        loop: How it was controlled.
        arms: What the arms did, None where they kept to their posture.
    """

    world: World
    ground: Terrain
    model: Robot
    loop: ClosedLoop
    arms: Arms | None = None

    def arms_of(self, motion: Motion) -> str:
        """Return what the arms do, in words."""
        words = [] if motion.arms is None else [motion.arms.origin]
        if self.arms is not None:
            words.append(ARMS[self.arms])
        return ", ".join(words) or "in their posture"

    def on(self) -> str:
        """Return the ground in words, and whether it was planned for."""
        words = self.world.terrain.describe()
        if self.world.terrain is self.ground:
            return words
        return f"{words} (planned: {self.ground.describe()})"

    def estimates(
        self, run: Run, executed: MovedPlan, step_time: float, until: float
    ) -> dict[str, Any]:
        """Return the errors of the estimator, by the names of a summary."""
        drift, errors = odometry_drift(run, until), None
        if self.loop.estimator is not None:
            errors = self.loop.estimator.errors(
                run, self.model, executed.true, executed.loads, until
            )
        walked = distance_walked(run, executed.true, 2.0 * step_time, until)
        return {
            "odometry_drift_m": drift,
            "drift_over_distance_fraction": None
            if drift is None or not walked
            else drift / walked,
            "estimator": None if errors is None else asdict(errors),
        }


def assess_walk(
    circumstances: Circumstances, motion: Motion, run: Run, summary: RunSummary
) -> WalkSummary:
    """Return the results of a walk.

    Args:
        circumstances: In what it was made.
        motion: What was meant to happen.
        run: What happened.
        summary: Results of any simulation.
    """
    world, loop = circumstances.world, circumstances.loop
    parameters = motion.gait.parameters
    until = np.inf if summary.fell_at_s is None else summary.fell_at_s
    steps = footfalls(run, motion.gait, summary.fell_at_s)
    made = [step for step in steps if step.made]
    done, wanted = len(made), parameters.steps
    executed = _executed(run, motion)
    off = com_error_from_stance(run, executed, until)
    zmp, zmp_from_stance = (zmp_tracking(run, motion, e) for e in (None, executed))
    placed = mean_and_max([step.placement_error_m for step in made])
    stepped = mean_and_max([step.placement_from_stance_m for step in made])
    end = float(np.linalg.norm(run.com[-1, :2] - run.references["com"][-1, :2]))
    heading = _heading_error(run, motion)
    yaw = max((step.yaw_from_stance_deg for step in made), default=None)
    error, from_stance = summary.com_error_m, mean_and_max(off)
    assert error is not None  # a motion has a CoM
    assert from_stance is not None
    if loop.knowledge == "none":
        judged = _Judged(error, placed, end, heading, zmp.inside)
        seen = ""
    else:
        judged = _Judged(
            from_stance, stepped, float(off[-1]), yaw, zmp_from_stance.inside, SEEN
        )
        seen = f", seen {SEEN}"
    checks = [
        Check("steps not made", wanted - done, 0),
        *judged.checks(world, float(com_height(world, motion.q[0]))),
        *limit_checks(summary.actuators),
    ]
    if loop.words == OPEN_LOOP:
        checks += stiffness_checks(world, motion.q[0])
    how = f"with {summary.actuators.kind} actuators, {loop.words}"
    walked = (
        f"walked {done} of {wanted} steps on {circumstances.on()} {how}, its "
        f"centre of mass {1e3 * judged.com['mean']:.1f} mm from its plan on average"
        f"{seen}"
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
    results["notices"] = (*results["notices"], *loop.said(), *said)
    hand = hand_tracking(run, motion, until)
    solution = motion.solution
    off_plan = np.linalg.norm(motion.zmp - motion.zmp_planned, axis=1)
    return WalkSummary(
        **results,
        **circumstances.estimates(run, executed, parameters.step_time, until),
        feedback=loop.knowledge,
        planned_terrain=circumstances.ground.describe(),
        steps_done=done,
        steps_wanted=wanted,
        com_error_from_stance_m=from_stance,
        placement_error_m=placed,
        placement_error_from_stance_m=stepped,
        heading_error_deg=heading,
        step_yaw_error_deg=yaw,
        end_error_m=end,
        zmp_error_m=zmp.error,
        zmp_error_from_stance_m=zmp_from_stance.error,
        zmp_inside_fraction=zmp.inside,
        zmp_inside_feet_fraction=zmp_from_stance.inside,
        zmp_5mm_inside_fraction=zmp_from_stance.well_inside,
        yaw_moment_rms_nm=yaw_moment_rms(run, motion.gait),
        arms=circumstances.arms_of(motion),
        hand_error_m=None if hand is None else hand.error,
        hand_way_m=None if hand is None else hand.way,
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


class _Judged(NamedTuple):
    """What a walk is judged by, in the world or from the stance foot."""

    com: dict[str, float]
    placed: dict[str, float] | None
    end: float
    heading: float | None
    zmp_inside: float
    seen: str = ""

    def checks(self, world: World, height: float) -> list[Check]:
        """Return what must hold; a step that is not made has no place and no turn."""
        placement = PLACEMENT * max(limb.length for limb in world.robot.legs.values())
        seen = f" {self.seen}" if self.seen else ""
        turn = "largest turn of a footfall off its plan" + seen
        checks = com_checks(self.com, height, seen)
        if self.placed is not None:
            name = f"largest error of a footfall{seen}"
            checks.append(Check(name, self.placed["max"], placement, "m"))
        name = f"CoM off its plan at the end{',' if seen else ''}{seen}"
        checks.append(Check(name, self.end, placement, "m"))
        if self.heading is not None:
            name = turn if seen else "heading off its plan at the end"
            checks.append(Check(name, self.heading, HEADING, "°"))
        name = "time with the ZMP outside" + (" the soles in support" if seen else "")
        return [*checks, Check(name, 1.0 - self.zmp_inside, ZMP_OUTSIDE, "%")]


def com_checks(error: dict[str, float], height: float, seen: str = "") -> list[Check]:
    """Return that the CoM stayed near its plan.

    Args:
        error: Mean and largest distance from it [m].
        height: Height of the CoM [m].
        seen: From where, in words.
    """
    mean, largest = f"mean CoM error{seen}", f"largest CoM error{seen}"
    return [
        Check(mean, error["mean"], COM_MEAN * height, "m"),
        Check(largest, error["max"], COM_LARGEST * height, "m"),
    ]


def mean_and_max(values: Sequence[float] | Array) -> dict[str, float] | None:
    """Return mean and largest of some values, None of none."""
    if not len(values):
        return None
    return {"mean": float(np.mean(values)), "max": float(np.max(values))}


def _executed(run: Run, motion: Motion) -> MovedPlan:
    """Return the plan, moved with the feet; soles are those of the solved joints."""
    rows = np.clip(np.round(run.time / motion.dt).astype(int), 0, len(motion.q) - 1)
    q = motion.q[rows]
    planned = {side: sole_pose(motion.robot, q, side) for side in SIDES}
    return MovedPlan(planned, true_soles(run), planned_loads(run, planned))


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
