"""Walks of many robots that are about to begin, laid out for the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
            **self._assessed(motions, steps // self.every),
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
            start=self._start(begins),
            upright=fall_limits(world, variation, begins[gait]),
            lowest_cosine=math.cos(FALLEN_TILT),
        )

    def _wanted(self, motions: Sequence[Motion], ticks: int) -> dict[str, Array]:
        """Return what motions want in each control period, a table for each."""
        period, tables = self._hold * self.dt, []
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
        times = self.every * self.dt * np.arange(1, max(records, 1) + 1)
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


def sensor_arrays(
    world: World,
    laid: WorldArrays,
    period: float,
    seeds: NDArray[np.int64],
    noise: Array,
) -> dict[str, Any]:
    """Return the usual sensors of n robots, of their own feet and weights.

    Args:
        world: The robot and all that it meets.
        laid: The same as arrays, with what differs between the robots.
        period: Time between two measurements [s].
        seeds: Seeds of the noise, whole numbers below 2³², shape (n,).
        noise: Noise over the usual, shape (n,).

    Returns:
        The struct ``Sensors`` of kernels by name.
    """
    from equipoise.kernels.bodies import CONTINUOUS

    robot, tree, model = world.robot, laid.tree, world.robot.model
    soles = sole_placements(robot)
    feet = [soles[side][0] for side in SIDES]
    poses = np.array([soles[side][1] for side in SIDES])
    parts = [set(model.subtrees[foot]) for foot in feet]
    bodies = sorted({1}.union(*parts, *(model.supports[foot] for foot in feet)) - {0})
    place = {body: number for number, body in enumerate(bodies)}
    foot_of = [
        next((n for n, part in enumerate(parts) if body in part), -1) for body in bodies
    ]
    own = laid.inertias
    mass, com, inertia = (
        (tree.mass[None], tree.com[None], tree.inertia[None]) if own is None else own
    )
    touched = [int(body) for body in laid.points.body[: len(world.contacts)]]
    on_feet = [n for n, body in enumerate(touched) if foot_of[place.get(body, 0)] >= 0]
    hinges = np.flatnonzero(tree.idx_v[: model.njoints] >= BASE_DOF)
    hinges = hinges[np.argsort(tree.idx_v[hinges])]
    weight = mass[:, 1 : model.njoints].sum(axis=1) * world.gravity
    arm = max(max(sole.size) for sole in robot.soles.values())
    usual = np.zeros((len(seeds), 5))
    usual[:, :3] = ENCODER, GYROSCOPE, ACCELEROMETER
    usual[:, 3] = FORCE * weight
    usual[:, 4] = FORCE * weight * 0.5 * arm
    imu = np.array(model.frames[robot.frame_id("base_link")].placement.homogeneous)
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
        "contact": on_feet,
        "contact_at": [place[touched[n]] for n in on_feet],
        "contact_position": laid.points.position[on_feet],
        "mass": mass[:, bodies],
        "com": com[:, bodies],
        "inertia": inertia[:, bodies],
        "deviation": noise[:, None] * usual,
        "seed": seeds.astype(np.uint32).view(np.int32),
    }


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
