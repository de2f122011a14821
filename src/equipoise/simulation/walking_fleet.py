"""Walks of many robots with sensors and feedback, all of the loop in compiled kernels.

It is the loop of :func:`~equipoise.simulation.walk.walk` with the stabiliser: the same
sensors, estimator, stabiliser and simulation, at the same rates. Only the random
numbers of the noise are others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from equipoise.arrays import Array
from equipoise.balance.stabiliser import StabiliserGains
from equipoise.errors import EquipoiseError
from equipoise.gait.motion import Motion
from equipoise.kinematics.batch import check_target
from equipoise.robot.model import Robot
from equipoise.simulation.falling import FALLEN_HEIGHT
from equipoise.simulation.planned_walks import PlannedWalks
from equipoise.simulation.variation import Variation
from equipoise.simulation.walk_summary import (
    COM_LARGEST,
    COM_MEAN,
    HEADING,
    PLACEMENT,
    ZMP_OUTSIDE,
)
from equipoise.simulation.world import World

if TYPE_CHECKING:
    from equipoise.kernels.walks import Walked

# Robots that walk at once, at most: on a core as many as its cache holds, on a GPU
# enough to fill it.
CPU_BATCH, CUDA_BATCH = 64, 1 << 16


@dataclass(frozen=True, eq=False)
class WalkedTogether:
    """Results of n walks, arrays of shape (n,); all by the true state.

    What is measured is measured until the robot falls, every 5 ms as ``walk`` does.

    Attributes:
        survived: Whether the robot neither fell nor diverged until the end.
        achieved: Whether it walked as :func:`~equipoise.simulation.walk.walk` wants it:
            all steps made, footfalls, CoM and ZMP near their plans, torques and speeds
            within their limits.
        steps_done: Footsteps made.
        fell_at_s: When it had fallen [s]; NaN if it had not.
        diverged: Whether its simulation diverged.
        com_error_mean_m: Mean horizontal distance of the CoM from its plan, seen from
            the stance foot [m]: ``com_error_from_stance_m`` of
            :class:`~equipoise.simulation.walk_summary.WalkSummary`.
        com_error_max_m: The largest [m].
        com_error_end_m: The last [m].
        placement_error_max_m: Largest distance of a footfall from its plan, seen from
            the stance foot [m]; 0 where none was made.
        step_yaw_error_deg: Largest error of a footfall's heading, the same [degrees].
        zmp_inside_feet_fraction: Fraction of the time with the ZMP inside the polygon
            of the soles that were meant to carry.
        zmp_margin_min_m: Smallest distance of the ZMP to the edge of the support
            polygon, positive inside [m].
        zmp_margin_mean_m: The mean [m].
        torque_fraction: Largest torque over its limit, of all joints and time steps.
        speed_fraction: Largest speed over its limit, of all joints.
        distance_fraction: How far the base went along the planned way, start to end,
            over the plan; NaN where the plan ends where it began.
        heading_error_deg: How far the base is turned from its plan at the end
            [degrees].
    """

    survived: NDArray[np.bool_]
    achieved: NDArray[np.bool_]
    steps_done: NDArray[np.int64]
    fell_at_s: Array
    diverged: NDArray[np.bool_]
    com_error_mean_m: Array
    com_error_max_m: Array
    com_error_end_m: Array
    placement_error_max_m: Array
    step_yaw_error_deg: Array
    zmp_inside_feet_fraction: Array
    zmp_margin_min_m: Array
    zmp_margin_mean_m: Array
    torque_fraction: Array
    speed_fraction: Array
    distance_fraction: Array
    heading_error_deg: Array


def walk_together(
    world: World,
    motion: Motion | Sequence[Motion],
    variation: Variation | None = None,
    *,
    seeds: Sequence[int] | NDArray[np.integer[Any]],
    gait_of: ArrayLike | None = None,
    model: Robot | None = None,
    noise: ArrayLike = 1.0,
    gains: StabiliserGains | Sequence[StabiliserGains] | None = None,
    seconds: float | None = None,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
    threads: int = 1,
    batch: int | None = None,
    dt: float = 1e-3,
) -> WalkedTogether:
    """Let many robots walk, each with sensors and feedback of its own.

    A robot's walk depends on nothing but its own world, plan, gains, seed and noise: it
    is the same, to the last bit, whatever robots walk beside it.

    Args:
        world: The robot, whose joints are servos, and all that it meets.
        motion: What all walk, or several motions, of which ``gait_of`` says whose.
        variation: How the robots differ from the world's; estimator, stabiliser and
            plan know nothing of it.
        seeds: Seeds of the noise, one for each robot: whole numbers from 0 to 2³² - 1.
        gait_of: Which of several motions each robot walks, shape (n,).
        model: The robot as estimator and stabiliser know it; the world's unless given.
        noise: Noise of the sensors over that of
            :func:`~equipoise.simulation.feedback.usual_sensors`, a number or (n,).
        gains: Gains of the stabiliser, for all or for each robot.
        seconds: How long [s]; as long as its motion lasts for each unless given.
        device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        dtype: ``float64`` or ``float32``.
        threads: Threads of the CPU, which work on batches of their own; one for a GPU.
        batch: Robots that a thread or the GPU works on at once; memory grows with it,
            results do not depend on it.
        dt: Time step [s].

    Raises:
        EquipoiseError: If joints are told torques, heels rise in a motion, a sole is
            missing, or an argument is impossible.
        ShapeError: If an argument is for another number of robots.
    """
    numbers = check_target(device, dtype)
    from equipoise.kernels.monitor import LOWEST
    from equipoise.kernels.once import lock
    from equipoise.kernels.runtime import SCALARS
    from equipoise.kernels.walks import Walks

    walks = PlannedWalks(
        world,
        [motion] if isinstance(motion, Motion) else list(motion),
        variation,
        seeds=seeds,
        gait_of=gait_of,
        model=model,
        noise=noise,
        gains=gains,
        seconds=seconds,
        dt=dt,
    )
    most = (CPU_BATCH if device == "cpu" else CUDA_BATCH) if batch is None else batch
    if most < 1 or threads < 1:
        raise EquipoiseError(
            f"a batch of {most} robots, {threads} threads; both must be 1 or more"
        )
    # walks of about the same length end together
    order = np.argsort(walks.ends, kind="stable")
    count = len(order)
    parts = np.array_split(order, max(-(-count // most), min(threads, count)))

    def work(rows: NDArray[np.int64]) -> WalkedTogether:
        with lock:  # neither Pinocchio's data nor Warp's state is for two threads
            arrays = walks.arrays(rows)
            together = Walks(arrays, SCALARS[numbers], device)
        heights = np.asarray(arrays.upright[:, LOWEST] / FALLEN_HEIGHT, np.float64)
        return _results(walks, rows, heights, together.run())

    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(work, parts))
    else:
        found = list(map(work, parts))
    back = np.argsort(order)
    return WalkedTogether(
        *(
            np.concatenate([getattr(part, item.name) for part in found])[back]
            for item in fields(WalkedTogether)
        )
    )


def _results(
    walks: PlannedWalks, robots: NDArray[np.int64], heights: Array, walked: Walked
) -> WalkedTogether:
    """Return what came of the walks of some robots.

    Args:
        walks: All of them.
        robots: Which.
        heights: Heights of their CoMs at the start [m].
        walked: What the kernels say.
    """
    from equipoise.kernels import assessment as at
    from equipoise.kernels.monitor import DIVERGED, FELL, WHEN, WHY

    found, status = walked.found, walked.status
    why, taken = status[:, WHY], found[:, at.ERRORS]
    known = taken > 0
    heading, fraction = np.full((2, len(robots)), np.nan)
    for n in np.flatnonzero(known):
        motion = walks.motions[walks.gait_of[robots[n]]]
        time = taken[n] * walks.every * walks.dt
        q = motion.q[min(round(time / motion.dt), len(motion.q) - 1)]
        heading[n] = abs(math.remainder(found[n, at.BASE_YAW] - _yaw(q), math.tau))
        meant = (q - motion.q[0])[:2]
        went = found[n, [at.BASE_X, at.BASE_Y]] - motion.q[0, :2]
        square = float(meant @ meant)
        if square > 0.0:
            fraction[n] = went @ meant / square
    per = np.where(known, taken, np.nan)
    survived = (why != FELL) & (why != DIVERGED)
    inside = found[:, at.INSIDE] / np.maximum(found[:, at.ZMPS], 1.0)
    mean = found[:, at.ERROR_SUM] / per
    largest, last = (
        np.where(known, found[:, column], np.nan)
        for column in (at.ERROR_MAX, at.ERROR_LAST)
    )
    done = found[:, at.MADE].astype(np.int64)
    yaw = np.degrees(found[:, at.TURNED])
    torque, speed = walked.measured.torque_fraction, found[:, at.SPEED]
    motions = [walks.motions[gait] for gait in walks.gait_of[robots]]
    wanted = [motion.gait.parameters.steps for motion in motions]
    placement = PLACEMENT * max(limb.length for limb in walks.world.robot.legs.values())
    checks = (
        done == wanted,
        mean <= COM_MEAN * heights,
        largest <= COM_LARGEST * heights,
        found[:, at.PLACED] <= placement,
        last <= placement,
        yaw <= HEADING,
        1.0 - inside <= ZMP_OUTSIDE,
        torque <= 1.0,
        speed <= 1.0,
    )
    return WalkedTogether(
        survived=survived,
        achieved=np.logical_and.reduce((survived, *checks)),
        steps_done=done,
        fell_at_s=np.where(why == FELL, walks.dt * status[:, WHEN], np.nan),
        diverged=why == DIVERGED,
        com_error_mean_m=mean,
        com_error_max_m=largest,
        com_error_end_m=last,
        placement_error_max_m=found[:, at.PLACED],
        step_yaw_error_deg=yaw,
        zmp_inside_feet_fraction=inside,
        zmp_margin_min_m=walked.measured.zmp_margin_min,
        zmp_margin_mean_m=walked.measured.zmp_margin_mean,
        torque_fraction=torque,
        speed_fraction=speed,
        distance_fraction=fraction,
        heading_error_deg=np.degrees(heading),
    )


def _yaw(q: Array) -> float:
    x, y, z, w = q[3:7]
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
