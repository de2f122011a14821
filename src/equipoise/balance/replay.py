"""The contact-aided estimator over a log: base, CoM, DCM and CoM offset over time."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.estimator import ContactAidedEstimator, Estimate, EstimatorRates
from equipoise.control.signals import Command, ImuReading, Measurement, State, Wrench
from equipoise.errors import EquipoiseError
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.stance import sole_pose
from equipoise.log.open_run import open_run
from equipoise.log.recordings.leg_odometry import as_poses, estimated_base
from equipoise.log.run import Measured, Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations
from equipoise.robot.model import Robot

# The robot stands still so long at first [s].
STILL = 0.1


@dataclass(frozen=True, eq=False)
class EstimatedLog:
    """What an estimator makes of a log at n times, in the world.

    Attributes:
        time: [s], shape (n,).
        q: Configuration, shape (n, nq).
        v: Velocity, shape (n, nv).
        com: Centre of mass by the model [m], shape (n, 3).
        com_velocity: Its velocity [m/s], shape (n, 3).
        com_offset: What the true centre of mass is off it [m], shape (n, 2).
        dcm: Divergent component of motion of the true CoM [m], shape (n, 2).
        zmp: Measured zero-moment point [m], shape (n, 3).
        gyroscope_bias: [rad/s], shape (n, 3).
        mass_ratio: The robot's mass over the model's, shape (n,).
    """

    time: Array
    q: Array
    v: Array
    com: Array
    com_velocity: Array
    com_offset: Array
    dcm: Array
    zmp: Array
    gyroscope_bias: Array
    mass_ratio: Array


def estimate_log(
    log: Measured | Run | Path | str,
    robot: Robot | None = None,
    rates: EstimatorRates | None = None,
) -> EstimatedLog:
    """Return what the estimator makes of the measurements in a log.

    Joint velocities commanded are not used: what was measured alone is. The robot must
    stand still on both feet at first. It begins tilted as its accelerometer says, where
    the log's own estimate has it; where there is none, with its soles at z = 0 and
    their middle at x = y = 0, facing x.

    Args:
        log: A run with measurements, a path that
            :func:`~equipoise.log.open_run.open_run` opens, or the measurements alone,
            with which a robot must be given.
        robot: The robot as it is known; the log's own unless given.
        rates: How fast to believe what.

    Raises:
        EquipoiseError: If the log lacks a measurement that is needed, which it names.
    """
    measured, known, own, name = _opened(log, robot)
    rows = _rows(measured, name)
    period = float(np.median(np.diff(measured.time[rows])))
    estimator = ContactAidedEstimator(
        known,
        period,
        rates,
        feet_at=measured.feet_at,
        imu_frame=measured.imu_frame,
        transform_imu_to_frame=measured.transform_imu_to_frame,
    )
    estimator.reset(_start(known, measured, own))
    still = np.zeros(known.nv - 6)
    command = Command(still, still, still)
    found: list[Estimate] = []
    for row in rows:
        found.append(estimator.estimate(_at(measured, row), command))
    height = found[0].com[2] - found[0].zmp[2]
    omega = math.sqrt(STANDARD_GRAVITY / height)
    columns = {
        field.name: np.array([getattr(estimate, field.name) for estimate in found])
        for field in fields(EstimatedLog)
        if field.name != "dcm"
    }
    return EstimatedLog(
        **columns, dcm=np.array([estimate.dcm(omega) for estimate in found])
    )


def _opened(
    log: Measured | Run | Path | str, robot: Robot | None
) -> tuple[Measured, Robot, Array | None, str]:
    """Return measurements, the robot, its own first pose of the base, and a name.

    Raises:
        EquipoiseError: Naming what is missing.
    """
    own: Array | None = None
    missing: list[str] = []
    measured: Measured | None
    if isinstance(log, Measured):
        if robot is None:
            raise EquipoiseError("measurements alone do not name a robot: robot=…")
        measured, name, known, feet = log, "the measurements", robot, log.feet
    else:
        run = log if isinstance(log, Run) else open_run(log, robot)
        name = "the run" if isinstance(log, Run) else str(log)
        measured, known = run.measured, robot or run.robot
        feet = run.foot_wrench if measured is None else measured.feet
        if run.estimates:
            own = run.estimates["q"][0, :7]
    if measured is None:
        missing = ["gyroscope", "accelerometer"]
    missing += [f"wrench of the {side} foot" for side in SIDES if side not in feet]
    if missing or measured is None:
        raise EquipoiseError(
            f"{name}: has no {' and no '.join(missing)}; an estimator needs joints, "
            "both feet's wrenches and an IMU"
        )
    return measured, known, own, name


def _rows(measured: Measured, name: str) -> list[int]:
    """Return which rows to take: one for each time.

    Raises:
        EquipoiseError: If there are fewer than two.
    """
    kept = np.flatnonzero(np.diff(measured.time, prepend=-1.0) > 0.0)
    if len(kept) < 2:
        raise EquipoiseError(f"{name}: has one measurement only; two are needed")
    return [int(row) for row in kept]


def _at(measured: Measured, row: int) -> Measurement:
    return Measurement(
        float(measured.time[row]),
        measured.position[row],
        measured.velocity[row],
        {side: Wrench(w[row, :3], w[row, 3:]) for side, w in measured.feet.items()},
        ImuReading(
            measured.angular_velocity[row],
            measured.specific_force[row],
            measured.orientation[row],
        ),
    )


def _start(robot: Robot, measured: Measured, own: Array | None) -> State:
    """Return where a robot begins: upright by its accelerometer, its soles at z = 0.

    Args:
        robot: The robot.
        measured: What was measured.
        own: Pose of the base at the start, for position and heading, shape (7,).
    """
    begin = measured.time < measured.time[0] + STILL
    position = measured.position[:1]
    flat = estimated_base(robot, position, None)[0]
    q = configurations(robot, flat[None], position)[0]
    frame = np.asarray(frame_pose(robot, q, measured.imu_frame))
    up = frame[:3, :3] @ measured.transform_imu_to_frame[:3, :3]
    up = up @ measured.specific_force[begin].mean(axis=0)
    rotation = pin.Quaternion.FromTwoVectors(up, np.array([0.0, 0.0, 1.0])).matrix()
    base = np.array(pin.XYZQUATToSE3(flat).homogeneous)
    base[:3, :3] = rotation @ base[:3, :3]
    if own is not None:
        ahead = pin.Quaternion(own[3:7]).matrix() @ base[:3, :3].T
        yaw = math.atan2(ahead[1, 0] - ahead[0, 1], ahead[0, 0] + ahead[1, 1])
        base[:3, :3] = pin.utils.rotate("z", yaw) @ base[:3, :3]
    q = configurations(robot, as_poses(base[None]), position)[0]
    heights = [sole_pose(robot, q, side)[2, 3] for side in SIDES]
    q[2] -= float(np.mean(heights))
    if own is not None:
        q[:3] = own[:3]
    return State(float(measured.time[0]), q, np.zeros(robot.nv))
