"""Where feet came down, ZMP and yaw moment, measured, against the plan of a gait."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.gait.footsteps import other
from equipoise.gait.gait import Gait
from equipoise.gait.motion import Motion
from equipoise.gait.parameters import SUPPORTS
from equipoise.gait.zmp import support_polygons, zmp_margins
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.parts import Side
from equipoise.simulation.executed_plan import MovedPlan
from equipoise.simulation.measures import yaw_moment

# A foot with less than this fraction of the weight on it is off the ground.
UNLOADED = 0.02
# A ZMP this far inside the support polygon is well inside [m].
WELL_INSIDE = 5e-3


@dataclass(frozen=True)
class Footfall:
    """One step, measured.

    Attributes:
        side: The foot that stepped.
        made: Whether the foot left the ground and came down again before the next step.
        touch_down_s: When it came down, None if it did not [s].
        planned_s: When it was meant to [s].
        placement_error_m: Horizontal distance of the sole's frame from its plan, once
            the foot carries [m].
        yaw_error_deg: How far it is turned from its plan then [degrees].
        placement_from_stance_m: The first error as seen from the other foot, turned
            with it: how far the step itself was off [m].
        yaw_from_stance_deg: The second, the same [degrees].
    """

    side: str
    made: bool
    touch_down_s: float | None
    planned_s: float
    placement_error_m: float
    yaw_error_deg: float
    placement_from_stance_m: float
    yaw_from_stance_deg: float


class ZmpTracking(NamedTuple):
    """The measured ZMP against its plan.

    Attributes:
        error: Root mean square in single support (one foot alone was meant to carry,
            and does) and at all times, and the largest distance [m]; None if the robot
            never stood in single support.
        inside: Fraction of the time with the ZMP inside the planned support polygon,
            or that of the soles that were meant to carry.
        well_inside: Fraction of single support with the ZMP at least 5 mm inside it;
            None if the robot never stood in single support.
    """

    error: dict[str, float] | None
    inside: float
    well_inside: float | None


def footfalls(run: Run, gait: Gait, fell_at: float | None) -> tuple[Footfall, ...]:
    """Return the steps of a gait as they were made.

    Args:
        run: What happened.
        gait: What was meant to happen.
        fell_at: Time of a fall, or None [s]; later steps are not made.
    """
    least = UNLOADED * run.robot.mass * STANDARD_GRAVITY
    swings = [phase for phase in gait.phases if phase.support != "both"]
    last = float(run.time[-1]) if fell_at is None else fell_at
    made: list[Footfall] = []
    for number, (phase, step) in enumerate(
        zip(swings, gait.footsteps.steps, strict=True)
    ):
        after = swings[number + 1].start if number + 1 < len(swings) else gait.duration
        middle = 0.5 * (phase.start + phase.end)
        load = run.foot_wrench[step.side][:, 2]
        swung = (run.time >= phase.start) & (run.time <= after)
        off = np.flatnonzero(swung & (load < least))
        down = np.flatnonzero(swung & (run.time > middle) & (load >= least))
        lifted = len(off) > 0 and run.time[off[-1]] >= middle - 0.25 * phase.duration
        landed = down[down > off[-1]] if lifted else down[:0]
        # touch-down: the first time that it carries after it was last off the ground
        came_down = float(run.time[landed[0]]) if len(landed) else None
        row = int(np.searchsorted(run.time, min(after, last), side="right")) - 1
        soles = gait.at(np.array([run.time[row]])).soles
        planned, stood = soles[step.side][0], soles[other(step.side)][0]
        pose = sole_pose(run.robot, run.q[row], step.side)
        stands = sole_pose(run.robot, run.q[row], other(step.side))
        turn, stance_turn = _yaw(planned, pose), _yaw(stood, stands)
        c, s = np.cos(stance_turn), np.sin(stance_turn)
        stepped = np.array([[c, -s], [s, c]]) @ (planned - stood)[:2, 3]
        made.append(
            Footfall(
                step.side,
                came_down is not None and (fell_at is None or after <= fell_at),
                came_down,
                phase.end,
                float(np.linalg.norm((pose - planned)[:2, 3])),
                float(np.degrees(abs(turn))),
                float(np.linalg.norm((pose - stands)[:2, 3] - stepped)),
                float(np.degrees(abs(math.remainder(turn - stance_turn, math.tau)))),
            )
        )
    return tuple(made)


def _yaw(planned: Array, pose: Array) -> float:
    """Return how far a sole is turned about its normal from its plan [rad]."""
    turn = planned[:3, :3].T @ pose[:3, :3]
    return float(np.arctan2(turn[1, 0], turn[0, 0]))


def zmp_tracking(
    run: Run, motion: Motion, executed: MovedPlan | None = None
) -> ZmpTracking:
    """Return how the measured ZMP followed its plan.

    Args:
        run: What happened.
        motion: What was meant to happen.
        executed: The plan moved with the feet, if it is that which counts: the ZMP is
            then compared with the plan as seen from the stance foot, and with the soles
            that were meant to carry, where they truly are.
    """
    rows = np.clip(np.round(run.time / motion.dt).astype(int), 0, len(motion.time) - 1)
    gait = motion.gait
    table = gait.at(run.time)
    planned = motion.zmp_planned[rows]
    if executed is None:
        polygons = gait.support_polygons(run.time)
    else:
        toes = {side: foot.on_toe(run.time) for side, foot in gait.feet.items()}
        polygons = support_polygons(executed.true, table.support, gait.polygons, toes)
        planned = executed.points(np.column_stack([planned, table.zmp[:, 2]]))[:, :2]
    on = run.supported
    if not on.any():
        return ZmpTracking(None, 0.0, None)
    filled = np.where(on[:, None], run.zmp, 0.0)
    margins = zmp_margins(filled, polygons)
    inside = float(np.mean(margins[on] > 0.0))
    distance = np.linalg.norm(filled[:, :2] - planned, axis=1)
    alone = single_support(run, table.support)
    single = np.logical_or.reduce(list(alone.values()))
    if not single.any():
        return ZmpTracking(None, inside, None)
    return ZmpTracking(
        {
            "single_support_rms": float(np.sqrt(np.mean(distance[single] ** 2))),
            "rms": float(np.sqrt(np.mean(distance[on] ** 2))),
            "max": float(distance[on].max()),
        },
        inside,
        float(np.mean(margins[single] >= WELL_INSIDE)),
    )


def single_support(
    run: Run, support: NDArray[np.int8]
) -> dict[Side, NDArray[np.bool_]]:
    """Return when each foot was meant to carry alone, and did, shape (n,) each.

    Args:
        run: What happened.
        support: Which feet were meant to carry, index into ``SUPPORTS``, shape (n,).
    """
    least = UNLOADED * run.robot.mass * STANDARD_GRAVITY
    return {
        side: run.supported
        & (support == SUPPORTS.index(side))
        & (run.foot_wrench[other(side)][:, 2] < least)
        for side in SIDES
    }


def yaw_moment_rms(run: Run, gait: Gait) -> float | None:
    """Return the RMS of the yaw moment at the stance foot in single support [Nm].

    It is that of :func:`~equipoise.simulation.measures.yaw_moment`; None if the robot
    never stood in single support.
    """
    alone = single_support(run, gait.at(run.time).support)
    moments = [
        yaw_moment(run.robot, run.q[rows], run.foot_wrench[side][rows], side)
        for side, rows in alone.items()
        if rows.any()
    ]
    if not moments:
        return None
    return float(np.sqrt(np.mean(np.concatenate(moments) ** 2)))
