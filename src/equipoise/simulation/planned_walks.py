"""Walks of many robots that are about to begin, laid out for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.balance.estimator import AT_FIRST, estimator_arrays
from equipoise.balance.skeleton import skeleton_arrays
from equipoise.balance.stabiliser import (
    StabiliserGains,
    gain_values,
    stabiliser_start,
    stabiliser_values,
)
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.gait.gait import Gait
from equipoise.gait.motion import Motion
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.simulation.closed_loop import FLAT_FEET, WALK_PERIOD
from equipoise.simulation.engine import check_dt
from equipoise.simulation.executed_plan import left_load, yaw
from equipoise.simulation.falling import FALLEN_TILT
from equipoise.simulation.feedback import PERIOD
from equipoise.simulation.fleet import fall_limits
from equipoise.simulation.fleet_sensors import sensor_arrays
from equipoise.simulation.footfalls import UNLOADED
from equipoise.simulation.loop import WHOLE, whole_steps
from equipoise.simulation.on_device import start_pose
from equipoise.simulation.start import check_soles
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import World
from equipoise.simulation.world_arrays import WorldArrays, world_arrays

if TYPE_CHECKING:
    from equipoise.kernels.walks import WalkArrays


class PlannedWalks:
    """Walks of many robots.

    The arguments are those of
    :func:`~equipoise.simulation.walking_fleet.walk_together`.

    Attributes:
        world: The robot and all that it meets.
        motions: What is walked.
        gait_of: Which motion each robot walks, shape (n,).
        ends: Time steps of each robot's walk, shape (n,).
        dt: Time step [s].
        every: Time steps between times at which walks are assessed.
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
        if not motions:
            raise EquipoiseError("there is no motion to walk")
        self.world, self.motions = world, motions
        self._model = model or world.robot
        self.dt = check_dt(dt)
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
        if isinstance(gains, Sequence) and len(gains) != count:
            raise ShapeError(f"gains: {len(gains)} of them for {count} robots")
        self._gains = (
            list(gains) if isinstance(gains, Sequence) else [gains or StabiliserGains()]
        )
        self._variation = None if variation is None else variation.checked(world, count)
        self._check(motions)
        steps = [self._steps(motion, seconds) for motion in motions]
        self.ends = np.array(steps, np.int32)[self.gait_of]
        self._hold = max(round(PERIOD / self.dt), 1)
        self.every = max(round(max(self.dt, WALK_PERIOD) / self.dt), 1)

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
            return whole_steps(seconds, self.dt, "duration")
        return int(motion.duration / self.dt + WHOLE)

    def arrays(self, robots: Sequence[int] | NDArray[np.int64]) -> WalkArrays:
        """Return all that the walks of some robots need, as kernels take it."""
        from equipoise.kernels.stabiliser.types import GAINS
        from equipoise.kernels.walks import WalkArrays

        world, model, dt = self.world, self._model, self.dt
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
            "gait": gait.astype(np.int32),
            "ends": self.ends[rows],
            "gains": np.array([[row[name] for name in GAINS] for row in values]),
        }
        begins = np.array([motion.q[0] for motion in motions])
        return WalkArrays(
            dt=dt,
            hold=self._hold,
            every=self.every,
            steps=steps,
            world=_in_world(world, laid),
            truth=skeleton_arrays(world.robot),
            model=skeleton_arrays(model),
            sensors=sensor_arrays(
                world, laid, period, self._seeds[rows], self._noise[rows]
            ),
            estimator=known.sensing,
            legs=stabiliser_values(model, period, each[0]),
            plan=plan,
            course=self._course(motions, steps // self.every, laid, len(rows)),
            start=self._start(begins),
            upright=fall_limits(world, variation, begins[gait]),
            lowest_cosine=math.cos(FALLEN_TILT),
        )

    def _wanted(self, motions: Sequence[Motion], ticks: int) -> dict[str, Array]:
        """Return what motions want in each control period, a table for each."""
        tables = []
        for motion in motions:
            rows = []
            for tick in range(1, ticks + 1):
                target = motion.sample(tick * self._hold * self.dt)
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

    def _course(
        self, motions: Sequence[Motion], records: int, laid: WorldArrays, count: int
    ) -> dict[str, Any]:
        """Return what walks are compared with, at the times when they are."""
        world, robot = self.world, self.world.robot
        coms, soles, numbers, marks, steps = [], [], [], [], []
        ends = self.every * np.arange(1, max(records, 1) + 1)
        times = np.asarray(self.dt * ends, dtype=np.float64)
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
            own_marks, own_steps = step_marks(motion.gait, times)
            marks.append(own_marks)
            steps.append(own_steps)
        most = max(len(rows) for rows in steps)
        stepped = np.tile(np.eye(4), (len(steps), max(most, 1), 2, 1, 1))
        for row, poses in zip(stepped, steps, strict=True):
            row[: len(poses)] = poses
        polygons = [motions[0].gait.polygons[side] for side in SIDES]
        corners = np.zeros((2, max(map(len, polygons)), 3))
        for row, polygon in zip(corners, polygons, strict=True):
            row[: len(polygon), :2] = polygon
        speed = world.actuation.velocity_limit
        mass = laid.tree.mass[None] if laid.inertias is None else laid.inertias.mass
        weight = mass[:, 1 : robot.model.njoints].sum(axis=1) * STANDARD_GRAVITY
        return {
            "com": np.array(coms),
            "soles": np.array(soles),
            "numbers": np.array(numbers),
            "marks": np.array(marks),
            "step_soles": stepped[..., :3, 3],
            "step_rotations": stepped[..., :3, :3],
            "least_load": np.broadcast_to(UNLOADED * weight, count),
            "corners": corners,
            "corner_counts": [len(polygon) for polygon in polygons],
            "speed": np.where((speed > 0.0) & np.isfinite(speed), speed, 0.0),
        }

    def _start(self, begins: Array) -> dict[str, Array]:
        """Return configurations and memories at the start, a row for each motion."""
        world, model = self.world, self._model
        known = estimator_arrays(model, self._hold * self.dt)
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


def step_marks(gait: Gait, times: Array) -> tuple[NDArray[np.int32], Array]:
    """Return which step of a gait is under way, as kernels take it.

    Args:
        gait: The gait.
        times: When walks are assessed [s], shape (n,).

    Returns:
        Marks (n, ``ALL_MARKS``), columns of :mod:`equipoise.kernels.assessment`; and
        poses of left and right sole when each step ends, shape (steps, 2, 4, 4).
    """
    from equipoise.kernels import assessment as at

    marks = np.zeros((len(times), at.ALL_MARKS), np.int32)
    marks[:, [at.FOOT, at.MARKS + at.FOOT, at.ENDS]] = -1
    marks[:, at.SUPPORT] = gait.at(times).support
    swings = [phase for phase in gait.phases if phase.support != "both"]
    ends = np.zeros((len(swings), 2, 4, 4))
    for number, (phase, step) in enumerate(
        zip(swings, gait.footsteps.steps, strict=True)
    ):
        last = number + 1 == len(swings)
        after = gait.duration if last else swings[number + 1].start
        middle = 0.5 * (phase.start + phase.end)
        late = middle - 0.25 * phase.duration
        own = np.flatnonzero((times >= phase.start) & (times <= after))
        # where the step before ends at the same time, this one comes second
        second = own[marks[own, at.FOOT] >= 0]
        for rows, column in (
            (np.setdiff1d(own, second), 0),
            (second, at.MARKS),
        ):
            marks[rows, column + at.FOOT] = SIDES.index(step.side)
            marks[rows, column + at.LATE] = times[rows] >= late
            marks[rows, column + at.DOWN] = times[rows] > middle
        row = int(np.searchsorted(times, after, side="right")) - 1
        if after <= times[-1] + (times[1] - times[0] if len(times) > 1 else 0.0):
            marks[row, at.ENDS] = number
        soles = gait.at(times[row : row + 1]).soles
        ends[number] = [soles[side][0] for side in SIDES]
    return marks, ends


def _in_world(world: World, laid: WorldArrays) -> dict[str, Any]:
    return laid._asdict() | {
        "contacts": len(world.contacts),
        "gravity": world.gravity,
    }


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
