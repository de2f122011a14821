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
from equipoise.balance.estimator import AT_FIRST, estimator_arrays
from equipoise.balance.skeleton import BASE_DOF, skeleton_arrays, sole_placements
from equipoise.balance.stabiliser import (
    StabiliserGains,
    gain_values,
    stabiliser_start,
    stabiliser_values,
)
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.gait.motion import Motion
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.batch import check_target
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.simulation.closed_loop import FLAT_FEET, WALK_PERIOD
from equipoise.simulation.engine import check_dt
from equipoise.simulation.executed_plan import left_load, yaw
from equipoise.simulation.falling import FALLEN_TILT
from equipoise.simulation.feedback import (
    ACCELEROMETER,
    DELAY,
    ENCODER,
    FORCE,
    GYROSCOPE,
    PERIOD,
)
from equipoise.simulation.fleet import fall_limits
from equipoise.simulation.loop import WHOLE, whole_steps
from equipoise.simulation.noise import SAME_TIME
from equipoise.simulation.on_device import start_pose
from equipoise.simulation.start import check_soles
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import World
from equipoise.simulation.world_arrays import WorldArrays, world_arrays

if TYPE_CHECKING:
    from equipoise.kernels.walks import WalkArrays, Walked

# Robots that walk at once: on a core as many as its cache holds, on a GPU enough to
# fill it.
CPU_BATCH, CUDA_BATCH = 64, 1 << 15


@dataclass(frozen=True, eq=False)
class WalkedTogether:
    """Results of n walks, arrays of shape (n,); all by the true state.

    What is measured is measured until the robot falls, every 5 ms as ``walk`` does.

    Attributes:
        survived: Whether the robot neither fell nor diverged until the end.
        fell_at_s: When it had fallen [s]; NaN if it had not.
        diverged: Whether its simulation diverged.
        com_error_mean_m: Mean horizontal distance of the CoM from its plan, seen from
            the stance foot [m]: ``com_error_from_stance_m`` of
            :class:`~equipoise.simulation.walk_summary.WalkSummary`.
        com_error_max_m: The largest [m].
        com_error_end_m: The last [m].
        zmp_margin_min_m: Smallest distance of the ZMP to the edge of the support
            polygon, positive inside [m].
        zmp_margin_mean_m: The mean [m].
        torque_fraction: Largest torque over its limit, of all joints and time steps.
        distance_fraction: How far the base went along the planned way, start to end,
            over the plan; NaN where the plan ends where it began.
        heading_error_deg: How far the base is turned from its plan at the end
            [degrees].
    """

    survived: NDArray[np.bool_]
    fell_at_s: Array
    diverged: NDArray[np.bool_]
    com_error_mean_m: Array
    com_error_max_m: Array
    com_error_end_m: Array
    zmp_margin_min_m: Array
    zmp_margin_mean_m: Array
    torque_fraction: Array
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
        threads: Threads of the CPU, which work on batches of their own.
        batch: Robots that a thread or the GPU works on at once; memory grows with it,
            results do not depend on it.
        dt: Time step [s].

    Raises:
        EquipoiseError: If joints are told torques, heels rise in a motion, a sole is
            missing, or an argument is impossible.
        ShapeError: If an argument is for another number of robots.
    """
    numbers = check_target(device, dtype)
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
    size = batch or (CPU_BATCH if device == "cpu" else CUDA_BATCH)
    # walks of about the same length end together
    order = np.argsort(walks.ends, kind="stable")
    parts = [order[at : at + size] for at in range(0, len(order), size)]

    def work(rows: NDArray[np.int64]) -> WalkedTogether:
        walked = Walks(walks.arrays(rows), SCALARS[numbers], device).run()
        return walks.results(rows, walked)

    if threads > 1 and device == "cpu":
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


class PlannedWalks:
    """Walks of many robots that are about to begin; arguments of :func:`walk_together`.

    Attributes:
        world: The robot and all that it meets.
        motions: What is walked.
        gait_of: Which motion each robot walks, shape (n,).
        ends: Time steps of each robot's walk, shape (n,).
    """

    def __init__(
        self,
        world: World,
        motions: Sequence[Motion],
        variation: Variation | None = None,
        *,
        seeds: Sequence[int] | NDArray[np.integer[Any]],
        gait_of: ArrayLike | None = None,
        model: Robot | None = None,
        noise: ArrayLike = 1.0,
        gains: StabiliserGains | Sequence[StabiliserGains] | None = None,
        seconds: float | None = None,
        dt: float = 1e-3,
    ) -> None:
        """Check all arguments."""
        self.world, self.motions = world, motions
        self._model = model or world.robot
        self._dt = check_dt(dt)
        self._seeds = _whole("seeds", seeds, 2**32)
        count = len(self._seeds)
        which = np.zeros(count, np.int64) if gait_of is None else gait_of
        self.gait_of = _one_each(
            "gait_of", _whole("gait_of", which, len(motions)), count
        )
        rows = np.asarray(noise, dtype=np.float64)
        self._noise = _one_each(
            "noise", np.broadcast_to(rows, rows.shape or count), count
        )
        if not (np.isfinite(self._noise).all() and (self._noise >= 0.0).all()):
            raise EquipoiseError("noise: factors must be finite, and 0 or more")
        each = (
            [gains or StabiliserGains()] if not isinstance(gains, Sequence) else gains
        )
        if len(each) not in (1, count):
            raise ShapeError(f"gains: {len(each)} of them for {count} robots")
        self._gains = list(each)
        self._variation = None if variation is None else variation.checked(world, count)
        self._check(motions)
        steps = [self._steps(motion, seconds) for motion in motions]
        self.ends = np.array(steps, np.int32)[self.gait_of]
        self._hold = max(round(PERIOD / self._dt), 1)
        self._every = max(round(max(self._dt, WALK_PERIOD) / self._dt), 1)

    def _check(self, motions: Sequence[Motion]) -> None:
        """Refuse robots and motions that the stabiliser is not for."""
        world, robot = self.world, self.world.robot
        if world.actuation.by_torque:
            raise EquipoiseError(
                "walks of many robots are by the stabiliser, which is for servos; the "
                "joints of this world are told torques"
            )
        for known in (robot, self._model):
            held = skeleton_arrays(known).degree[2:] < 0
            if held.any():
                name = known.model.names[2 + int(np.argmax(held))]
                raise EquipoiseError(
                    f"joint '{name}' of {known.name} neither turns nor slides; walks "
                    "of many robots need joints that do"
                )
        if degree_names(self._model) != degree_names(robot):
            raise EquipoiseError(
                f"the model has other joints than {robot.name}, which it stands for"
            )
        frame = robot.model.frames[robot.frame_id("base_link")]
        if frame.parentJoint != 1:
            raise EquipoiseError(f"'{frame.name}' of {robot.name} is not on its base")
        if not motions:
            raise EquipoiseError("there is no motion to walk")
        for motion in motions:
            if motion.robot.name != robot.name:
                raise EquipoiseError(
                    f"the motion was solved for {motion.robot.name}, not for "
                    f"{robot.name}"
                )
            numbers = motion.gait.parameters
            if max(numbers.heel_off, numbers.toe_first) > 0.0:
                raise EquipoiseError(FLAT_FEET.removeprefix("open loop: "))
            if self._variation is None or self._variation.terrain is None:
                check_soles(world, motion.q[0])

    def _steps(self, motion: Motion, seconds: float | None) -> int:
        if seconds is not None:
            return whole_steps(seconds, self._dt, "duration")
        return int(motion.duration / self._dt + WHOLE)

    def arrays(self, robots: Sequence[int] | NDArray[np.int64]) -> WalkArrays:
        """Return all that the walks of some robots need, as kernels take it."""
        from equipoise.kernels.stabiliser.types import GAINS
        from equipoise.kernels.walks import WalkArrays

        world, model, dt = self.world, self._model, self._dt
        rows = np.asarray(robots, dtype=np.intp)
        used, gait = np.unique(self.gait_of[rows], return_inverse=True)
        motions = [self.motions[number] for number in used]
        variation = self._variation
        variation = None if variation is None else variation.of_robots(rows.tolist())
        period, steps = self._hold * dt, int(self.ends[rows].max())
        laid = world_arrays(world, dt, variation, len(rows))
        known = estimator_arrays(model, period)
        each = self._gains if len(self._gains) == 1 else [self._gains[n] for n in rows]
        values = [gain_values(model, gains) for gains in each]
        plan = {
            **self._wanted(motions, -(-steps // self._hold)),
            **self._assessed(motions, steps // self._every),
            "gait": gait.astype(np.int32),
            "ends": self.ends[rows],
            "gains": np.array([[row[name] for name in GAINS] for row in values]),
        }
        begins = np.array([motion.q[0] for motion in motions])
        return WalkArrays(
            dt=dt,
            hold=self._hold,
            every=self._every,
            steps=steps,
            world=_in_world(world, laid),
            truth=skeleton_arrays(world.robot),
            model=skeleton_arrays(model),
            sensors=self._sensors(laid, rows),
            estimator=known.sensing,
            legs=stabiliser_values(model, period, each[0]),
            plan=plan,
            start=self._start(begins),
            upright=fall_limits(world, variation, begins[gait]),
            lowest_cosine=math.cos(FALLEN_TILT),
        )

    def _wanted(self, motions: Sequence[Motion], ticks: int) -> dict[str, Array]:
        """Return what motions want in each control period, a table for each."""
        period, tables = self._hold * self._dt, []
        for motion in motions:
            rows = []
            for tick in range(1, ticks + 1):
                target = motion.sample(tick * period)
                soles, twists = target.soles, target.sole_twists
                assert soles is not None  # a motion has all of them
                assert twists is not None
                vectors = (
                    target.com,
                    target.com_velocity,
                    target.com_acceleration,
                    target.zmp,
                    *(soles[side][:3, 3] for side in SIDES),
                    *(twists[side][:3] for side in SIDES),
                    *(twists[side][3:] for side in SIDES),
                )
                turned = (*(soles[side][:3, :3] for side in SIDES), target.torso)
                rows.append(
                    (
                        vectors,
                        turned,
                        SUPPORTS.index(target.support or "both"),
                        target.position,
                        target.velocity,
                        target.torque,
                    )
                )
            tables.append([np.array(column) for column in zip(*rows, strict=True)])
        names = (
            "wanted",
            "wanted_rotations",
            "supports",
            "position",
            "velocity",
            "torque",
        )
        columns = zip(*tables, strict=True)
        return {name: np.stack(c) for name, c in zip(names, columns, strict=True)}

    def _assessed(self, motions: Sequence[Motion], records: int) -> dict[str, Array]:
        """Return what walks are compared with, at the times when they are."""
        coms, soles, numbers = [], [], []
        times = self._every * self._dt * np.arange(1, max(records, 1) + 1)
        for motion in motions:
            targets = [motion.sample(float(time)) for time in times]
            at = np.round(times / motion.dt).astype(int)
            q = motion.q[np.clip(at, 0, len(motion.q) - 1)]
            planned = {side: sole_pose(motion.robot, q, side) for side in SIDES}
            support = np.array([SUPPORTS.index(t.support or "both") for t in targets])
            load = left_load(np.array([t.zmp for t in targets]), support, planned)
            coms.append([target.com for target in targets])
            soles.append(np.stack([planned[s][:, :3, 3] for s in SIDES], axis=1))
            numbers.append(np.stack([*(yaw(planned[s]) for s in SIDES), load], axis=1))
        return {
            "com": np.array(coms),
            "soles": np.array(soles),
            "numbers": np.array(numbers),
        }

    def _start(self, begins: Array) -> dict[str, Array]:
        """Return configurations and memories at the start, a row for each motion."""
        world, model = self.world, self._model
        known = estimator_arrays(model, self._hold * self._dt)
        estimates = [known.start(model, q) for q in begins]
        remembered = [stabiliser_start(model, q) for q in begins]
        poses = np.array([start_pose(box.centre, box.yaw) for box in world.boxes])
        names = ("estimate", "rotations", "vectors", "base", "joints")
        parts = [
            np.array(part)
            for memories in (estimates, remembered)
            for part in zip(*memories, strict=True)
        ]
        return {
            "q": np.hstack([begins, np.tile(poses.ravel(), (len(begins), 1))]),
            "held": joint_positions(world.robot, begins),
            "contact": np.array(AT_FIRST),
            **dict(zip(names, parts, strict=True)),
        }

    def _sensors(self, laid: WorldArrays, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Return the usual sensors of the robots, with their own feet and weights."""
        from equipoise.kernels.bodies import CONTINUOUS

        world, robot, tree = self.world, self.world.robot, laid.tree
        soles = sole_placements(robot)
        feet = [soles[side][0] for side in SIDES]
        poses = np.array([soles[side][1] for side in SIDES])
        model = robot.model
        parts = [set(model.subtrees[foot]) for foot in feet]
        kept = {1}.union(*parts, *(set(model.supports[foot]) for foot in feet)) - {0}
        bodies = sorted(kept)
        place = {body: number for number, body in enumerate(bodies)}
        foot_of = [
            next((n for n, part in enumerate(parts) if body in part), -1)
            for body in bodies
        ]
        own = laid.inertias
        mass, com, inertia = (
            (tree.mass[None], tree.com[None], tree.inertia[None])
            if own is None
            else (own.mass, own.com, own.inertia)
        )
        touching = [
            number
            for number in range(len(world.contacts))
            if foot_of[place.get(int(laid.points.body[number]), 0)] >= 0
        ]
        hinges = np.flatnonzero(tree.idx_v[: model.njoints] >= BASE_DOF)
        hinges = hinges[np.argsort(tree.idx_v[hinges])]
        weight = mass[:, 1 : model.njoints].sum(axis=1) * world.gravity
        arm = max(max(sole.size) for sole in robot.soles.values())
        usual = np.zeros((len(rows), 5))
        usual[:, :3] = ENCODER, GYROSCOPE, ACCELEROMETER
        usual[:, 3] = FORCE * weight
        usual[:, 4] = FORCE * weight * 0.5 * arm
        imu = np.array(model.frames[robot.frame_id("base_link")].placement.homogeneous)
        period = self._hold * self._dt
        return {
            "gravity": world.gravity,
            "period": period,
            "delay": math.ceil((DELAY - SAME_TIME) / period),
            "imu_rotation": imu[:3, :3],
            "imu_position": imu[:3, 3],
            "q_at": tree.idx_q[hinges],
            "endless": tree.kind[hinges] == CONTINUOUS,
            "body": bodies,
            "above": [place.get(int(tree.parent[body]), 0) for body in bodies],
            "foot_of": foot_of,
            "foot": [place[foot] for foot in feet],
            "sole_rotation": poses[:, :3, :3],
            "sole_position": poses[:, :3, 3],
            "contact": touching,
            "contact_at": [place[int(laid.points.body[n])] for n in touching],
            "contact_position": laid.points.position[touching],
            "mass": mass[:, bodies],
            "com": com[:, bodies],
            "inertia": inertia[:, bodies],
            "deviation": self._noise[rows, None] * usual,
            "seed": self._seeds[rows].astype(np.uint32).view(np.int32),
        }

    def results(
        self, robots: Sequence[int] | NDArray[np.int64], walked: Walked
    ) -> WalkedTogether:
        """Return what came of the walks of some robots."""
        from equipoise.kernels import walking as at
        from equipoise.kernels.monitor import DIVERGED, FELL, WHEN, WHY

        found, status = walked.found, walked.status
        rows = np.asarray(robots, dtype=np.intp)
        why, taken = status[:, WHY], found[:, at.ERRORS]
        known = taken > 0
        heading, fraction = np.full((2, len(rows)), np.nan)
        for n in np.flatnonzero(known):
            motion = self.motions[self.gait_of[rows[n]]]
            time = taken[n] * self._every * self._dt
            q = motion.q[min(round(time / motion.dt), len(motion.q) - 1)]
            heading[n] = abs(math.remainder(found[n, at.BASE_YAW] - _yaw(q), math.tau))
            meant = (q - motion.q[0])[:2]
            went = found[n, [at.BASE_X, at.BASE_Y]] - motion.q[0, :2]
            square = float(meant @ meant)
            if square > 0.0:
                fraction[n] = went @ meant / square
        per = np.where(known, taken, np.nan)
        return WalkedTogether(
            survived=(why != FELL) & (why != DIVERGED),
            fell_at_s=np.where(why == FELL, self._dt * status[:, WHEN], np.nan),
            diverged=why == DIVERGED,
            com_error_mean_m=found[:, at.ERROR_SUM] / per,
            com_error_max_m=np.where(known, found[:, at.ERROR_MAX], np.nan),
            com_error_end_m=np.where(known, found[:, at.ERROR_LAST], np.nan),
            zmp_margin_min_m=walked.measured.zmp_margin_min,
            zmp_margin_mean_m=walked.measured.zmp_margin_mean,
            torque_fraction=walked.measured.torque_fraction,
            distance_fraction=fraction,
            heading_error_deg=np.degrees(heading),
        )


def _in_world(world: World, laid: WorldArrays) -> dict[str, Any]:
    return laid._asdict() | {
        "contacts": len(world.contacts),
        "gravity": world.gravity,
    }


def _yaw(q: Array) -> float:
    x, y, z, w = q[3:7]
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def _whole(name: str, values: ArrayLike, below: int) -> NDArray[np.int64]:
    """Return whole numbers from 0 up to below a bound, shape (n,), n ≥ 1."""
    rows = np.asarray(values)
    if rows.ndim != 1 or len(rows) == 0 or rows.dtype.kind not in "iu":
        raise ShapeError(f"{name}: whole numbers are needed, one for each robot")
    if ((rows < 0) | (rows >= below)).any():
        raise EquipoiseError(f"{name}: numbers from 0 to {below - 1} are possible")
    return rows.astype(np.int64)


def _one_each(name: str, rows: NDArray[Any], count: int) -> NDArray[Any]:
    if rows.shape != (count,):
        raise ShapeError(f"{name} has shape {rows.shape}; ({count},) is needed")
    return rows
