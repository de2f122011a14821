"""Measurements of single topics put together as a recording: one clock, one start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS, nanoseconds
from equipoise.log.mcap_format.static_messages import (
    foot_sensor_frame,
    static_transforms,
)
from equipoise.log.mcap_format.topics import (
    IMU,
    JOINT_STATES,
    ODOMETRY,
    imu_frame,
    wrench_topic,
)
from equipoise.log.recordings.recording import (
    MeasuredImu,
    MeasuredWrench,
    Recording,
    StaticFrame,
    finite_rows,
    forward_filled,
    last_of_each_time,
    note_gaps,
    note_not_finite,
    poses_at,
    seconds_from,
    sorted_rows,
)
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import BASE_Q, degree_names

# Poses of the base that start later or end earlier by more get a notice [s].
LATE = 0.1
# Fraction of stamps that go back; with more they are not a clock's.
MOST_BACKWARD = 0.05
# Topics whose stamps lie farther apart than this were stamped by two clocks [ns].
MOST_APART = NANOSECONDS // 2
SHORTEST_QUATERNION = 1e-6
# An accelerometer that shows less than this does not measure gravity [m/s²].
LEAST_FORCE = 1.0


class Series(NamedTuple):
    """Numbers of one topic, m rows in order of log time.

    Attributes:
        topic: Topic name.
        frame: Frame that they belong to, if any.
        logged: Log times [ns], shape (m,).
        stamps: Times of measurement, by the headers [ns], shape (m,).
        values: Numbers, shape (m, k), NaN where a message lacks one.
    """

    topic: str
    frame: str
    logged: NDArray[np.int64]
    stamps: NDArray[np.int64]
    values: Array


class JointSeries(NamedTuple):
    """Joint states of one topic, m rows in order of log time.

    Attributes:
        topic: Topic name.
        logged: Log times [ns], shape (m,).
        stamps: Times of measurement, by the headers [ns], shape (m,).
        names: Names of k joints.
        position: Their positions, shape (m, k), NaN where a message lacks one.
        velocity: Their velocities, likewise.
        effort: Their torques, likewise.
        broken: Number of positions that were given, but are not finite.
    """

    topic: str
    logged: NDArray[np.int64]
    stamps: NDArray[np.int64]
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    broken: int = 0


def recording_of_series(
    source: Path,
    states: Sequence[JointSeries],
    wrenches: Sequence[Series],
    base: Series | None,
    imu: Series | None = None,
    *,
    static_frames: Mapping[str, StaticFrame],
    urdf: str | None = None,
    settings: bytes | None = None,
    notices: Iterable[str] = (),
) -> Recording:
    """Return a recording of what topics hold, in order of time.

    Args:
        source: The file or folder that they are from.
        states: Joints; the first gives the times, the others add joints that it lacks.
        wrenches: Wrenches of all sensors.
        base: Poses of the base, if they are known.
        imu: Quaternion xyzw and specific force [m/s²] of an IMU, seven numbers; the
            quaternion is zero where it gives none.
        static_frames: This and the rest as for :class:`~.recording.Recording`.
        urdf: URDF of the robot.
        settings: Settings of the robot.
        notices: Notices so far.

    Raises:
        EquipoiseError: If there are no joint positions.
    """
    notices = list(notices)
    main = states[0]
    logged = _with_log_time([*states, *wrenches, *([base] if base else [])], notices)
    times, label = _times(main, logged), f"'{main.topic}'"
    order = sorted_rows(times, notices, label)
    kept = last_of_each_time(times[order], notices, label)
    times = times[order][kept]
    time = seconds_from(times, int(times[0]))
    note_gaps(time, notices, label)
    joints, velocity, effort = _joint_columns(main, order, kept)
    for other in states[1:]:
        more = _joint_columns(other, *_rows_before(times, _times(other, logged)))
        joints, velocity, effort = (
            own | their | own  # the first topic's joints first, and as it has them
            for own, their in zip((joints, velocity, effort), more, strict=True)
        )
    note_not_finite(main.broken, notices, label)
    _note_missing(main, notices)
    if not joints:
        raise EquipoiseError(f"{source}: {label} holds no joint positions")
    return Recording(
        source=source,
        time=time,
        joints=joints,
        velocity=velocity,
        effort=effort,
        wrenches={
            series.topic: MeasuredWrench(series.frame, own_time, values)
            for series in wrenches
            for own_time, values in [_clean(series, logged, times, notices)]
            if len(values)
        },
        base_pose=_base_at(time, base, logged, times, notices),
        base_source=base.topic if base else "",
        base_frame=base.frame if base else "",
        static_frames=static_frames,
        urdf=urdf,
        settings=settings,
        notices=tuple(notices),
        imu=None if imu is None else _imu(imu, logged, times),
    )


def _imu(series: Series, logged: bool, times: NDArray[np.int64]) -> MeasuredImu | None:
    time, values = _clean(series, logged, times, [])
    return measured_imu(series.frame, time, values[:, :4], values[:, 4:])


def measured_imu(
    frame: str, time: Array, orientation: Array, specific_force: Array
) -> MeasuredImu | None:
    """Return an IMU's measurements; None if it has none.

    Args:
        frame: Its frame.
        time: Times [s], shape (m,).
        orientation: Quaternions xyzw that turn its axes to the world's, shape (m, 4);
            zeros where it gives none.
        specific_force: By its accelerometer [m/s²], shape (m, 3).
    """
    if len(time) == 0:
        return None
    length = np.linalg.norm(orientation, axis=1)
    up = None
    if np.all(length > SHORTEST_QUATERNION):
        x, y, z, w = (orientation / length[:, None]).T
        # the world's z in the IMU's axes: the last row of its rotation matrix
        up = np.stack(
            [
                2.0 * (x * z - y * w),
                2.0 * (y * z + x * w),
                1.0 - 2.0 * (x * x + y * y),
            ],
            axis=1,
        )
    if up is None and np.any(np.linalg.norm(specific_force, axis=1) < LEAST_FORCE):
        return None
    return MeasuredImu(frame, time, up, specific_force)


def _times(series: Series | JointSeries, logged: bool) -> NDArray[np.int64]:
    return series.logged if logged else series.stamps


def _joint_columns(
    states: JointSeries, order: NDArray[np.int64], kept: NDArray[np.int64]
) -> list[dict[str, Array]]:
    """Return positions, velocities and torques in order of time, by joint.

    Columns without numbers are left out.
    """
    return [
        {
            name: column
            for name, column in zip(
                states.names, forward_filled(own[order])[kept].T, strict=True
            )
            if np.isfinite(column).all()
        }
        for own in (states.position, states.velocity, states.effort)
    ]


def _rows_before(
    times: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of another topic's rows, and the last one before each time."""
    order = np.argsort(own, kind="stable")
    before = np.searchsorted(own[order], times, side="right") - 1
    return order, np.maximum(before, 0)


def _clean(
    series: Series, logged: bool, times: NDArray[np.int64], notices: list[str]
) -> tuple[Array, Array]:
    """Return time [s] and values, sorted, each time once, numbers only."""
    own = _times(series, logged)
    order = np.argsort(own, kind="stable")
    order = order[finite_rows(series.values[order], notices, f"'{series.topic}'")]
    if len(order):
        order = order[last_of_each_time(own[order], [], series.topic)]
    return seconds_from(own[order], int(times[0])), series.values[order]


def _base_at(
    time: Array,
    base: Series | None,
    logged: bool,
    times: NDArray[np.int64],
    notices: list[str],
) -> Array | None:
    if base is None:
        return None
    own_time, poses = _clean(base, logged, times, notices)
    late = max(own_time[0] - time[0], time[-1] - own_time[-1])
    if late > LATE:
        notices.append(
            f"'{base.topic}' lacks up to {late:.2f} s at an end; its last pose is held"
        )
    return poses_at(time, own_time, poses)


def _note_missing(states: JointSeries, notices: list[str]) -> None:
    known = np.asarray(np.isfinite(states.position).any(axis=0))
    lost = [
        f"'{name}'" for name, own in zip(states.names, known, strict=True) if not own
    ]
    if lost:
        notices.append(f"no position is given of {', '.join(lost)}")


def recording_of_run(run: Run) -> Recording:
    """Return what a run's sensors measured, as reading its log gives it.

    Raises:
        EquipoiseError: If the run has no sensors.
    """
    robot, measured = run.robot, run.measured
    if measured is None:
        raise EquipoiseError(f"the run of {robot.name} has no sensors")
    logged = nanoseconds(run.time).astype(np.int64)
    taken, names = nanoseconds(measured.time).astype(np.int64), degree_names(robot)
    measurements = (measured.position, measured.velocity, run.torque)
    base = None
    if run.estimates:
        poses = run.estimates["q"][:, :BASE_Q]
        root = robot.description.root
        base = valid_poses(Series(ODOMETRY, root, logged, taken, poses))
    frames = {}
    for item in static_transforms(run):
        place = item["transform"]
        pose = [*place["translation"].values(), *place["rotation"].values()]
        parent = item["header"]["frame_id"]
        frames[item["child_frame_id"]] = static_frame(parent, np.array(pose))
    return recording_of_series(
        Path(f"run of {robot.name}"),
        [JointSeries(JOINT_STATES, logged, taken, names, *measurements)],
        [
            Series(
                wrench_topic(side), foot_sensor_frame(run, side), logged, taken, values
            )
            for side, values in measured.feet.items()
        ],
        base,
        Series(
            IMU,
            imu_frame(robot),
            logged,
            taken,
            np.hstack([measured.orientation, measured.specific_force]),
        ),
        static_frames=frames,
    )


def _with_log_time(series: Sequence[Series | JointSeries], notices: list[str]) -> bool:
    """Return whether log times must be used, because header stamps are not a clock's.

    One clock is used for all topics: two would shift them against each other.
    """
    for item in series:
        reason = _fault(item)
        if reason:
            notices.append(f"'{item.topic}': {reason}; times of the log are used")
            return True
    delays = [float(np.median(item.logged - item.stamps)) for item in series]
    if delays and max(delays) - min(delays) > MOST_APART:
        first, last = series[int(np.argmin(delays))], series[int(np.argmax(delays))]
        notices.append(
            f"'{first.topic}' and '{last.topic}' are stamped by two clocks "
            f"({(max(delays) - min(delays)) / NANOSECONDS:.3g} s apart); times of the "
            "log are used"
        )
        return True
    return False


def _fault(series: Series | JointSeries) -> str | None:
    stamps = series.stamps
    # a simulator's first stamps are zero, at its time zero
    if np.count_nonzero((stamps == 0) & (series.logged > MOST_APART)) > 1:
        return "its headers have no time"
    if len(stamps) > 1 and np.all(stamps == stamps[0]):
        return "its headers all have the same time"
    backward = np.count_nonzero(np.diff(stamps) < 0)
    if backward > max(1.0, MOST_BACKWARD * len(stamps)):
        return f"the time of its headers goes back {backward} times"
    return None


def valid_poses(series: Series) -> Series | None:
    """Return poses with unit quaternions, NaN where one is invalid; None if all are."""
    values = np.array(series.values)
    length = np.linalg.norm(values[:, 3:], axis=1)
    valid = np.isfinite(values).all(axis=1) & (length > SHORTEST_QUATERNION)
    values[valid, 3:] /= length[valid, None]
    values[~valid] = np.nan
    return series._replace(values=values) if valid.any() else None


def static_frame(parent: str, pose: Array) -> StaticFrame:
    """Return a frame that is fixed to a parent.

    Args:
        parent: The parent.
        pose: Position and quaternion xyzw there, of any length but zero, shape (7,).
    """
    unit = np.append(pose[:3], pose[3:] / np.linalg.norm(pose[3:]))
    return StaticFrame(parent, np.asarray(pin.XYZQUATToSE3(unit).homogeneous))
