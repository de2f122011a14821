"""From a log, or a table of poses, to measured poses of a robot that stands still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.identification.measuring.balance_series import SoleViews, sole_views
from equipoise.identification.measuring.joint_names import check_joint_names
from equipoise.identification.measuring.measured_poses import FEET, MeasuredPoses
from equipoise.identification.measuring.plausible import (
    FRAME_HINT,
    check_alive,
    check_wrenches,
)
from equipoise.identification.measuring.pose_table import SAMPLES
from equipoise.identification.measuring.scatter import scatter
from equipoise.identification.measuring.stretches import (
    LEAST_LOAD,
    FoundStretches,
    Stillness,
    Stretch,
    find_stretches,
    still_rows,
)
from equipoise.identification.measuring.time_offset import time_offset
from equipoise.identification.measuring.units import base_notice, in_si
from equipoise.identification.measuring.wrench_rows import (
    finite_wrenches,
    measured_rows,
)
from equipoise.identification.noise import SensorNoise
from equipoise.identification.standing_frames import MOST_TILT
from equipoise.log.recordings.match_to_robot import foot_wrenches, matched_positions
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.log.recordings.topic_series import recording_of_run
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import configurations, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Measured:
    """What a log says of a robot that stands still.

    Attributes:
        poses: One for each stretch, or each row of a table.
        noise: Of the sensors, as the stretches scatter; the default for a table.
        notices: What was mended, assumed or left out, a sentence each.
        stretches: Where the poses come from; empty for a table.
        correlation_rows: How many rows in a row are worth one independent sample.
        offset_s: By how much the wrenches were late and were shifted [s]; 0 where
            they were not, None where it cannot be told.
    """

    poses: MeasuredPoses
    noise: SensorNoise
    notices: tuple[str, ...]
    stretches: tuple[Stretch, ...] = ()
    correlation_rows: float = 1.0
    offset_s: float | None = None


@dataclass(frozen=True, eq=False)
class _Log:
    """Rows of a log, in SI units and the soles' frames."""

    source: Path | str
    robot: Robot
    time: Array
    positions: Array
    views: SoleViews
    wrenches: dict[Side, Array]


def measured_poses(
    robot: Robot,
    recording: Recording,
    *,
    table: bool = False,
    units: Mapping[str, str] | None = None,
    wrench_frames: Mapping[str, str] | None = None,
    free_mass: bool = False,
    stillness: Stillness | None = None,
) -> Measured:
    """Return the poses that a log shows a robot in, standing still on both feet.

    Args:
        robot: The robot.
        recording: What was measured.
        table: Each row is a pose (:func:`~.pose_table.read_pose_table`), not a moment.
        units: Of the log where they are not rad, m, N and Nm; see
            :data:`~.units.UNITS`.
        wrench_frames: Frame that wrenches are in, by topic or beginning of columns,
            where the log names another.
        free_mass: The robot may weigh anything; else the model's weight to 25 %.
        stillness: What counts as standing still.

    Raises:
        EquipoiseError: If joints, units, signs, frames or weight do not fit the robot,
            or it never stands still on both feet; says what to do.
    """
    notices = list(recording.notices)
    samples = recording.joints.get(SAMPLES)
    joints = {name: own for name, own in recording.joints.items() if name != SAMPLES}
    recording = in_si(replace(recording, joints=joints), robot, units or {})
    recording = _with_frames(recording, robot, wrench_frames or {})
    notices.extend(filter(None, [base_notice(recording, robot)]))
    notices.extend(check_joint_names(recording, robot))
    positions = matched_positions(recording, robot, notices)
    q = _anywhere(robot, positions)
    views = sole_views(robot, q)
    recording = finite_wrenches(recording, notices)
    wrenches = _both_wrenches(recording, robot, q, notices)
    check_alive(recording.source, robot, wrenches)
    log = _Log(recording.source, robot, recording.time, positions, views, wrenches)
    if table:
        notices.extend(check_wrenches(log.source, robot, wrenches, free_mass=free_mass))
        return _of_table(log, samples, notices)
    late = time_offset(log.time, views, wrenches)
    step = float(np.median(np.diff(log.time))) if len(log.time) > 1 else np.inf
    if late is not None and abs(late) > step:
        recording = _shifted(recording, late)
        log = replace(log, wrenches=_both_wrenches(recording, robot, q, []))
        notices.append(
            f"wrenches come {abs(late) * 1e3:.0f} ms "
            f"{'later' if late > 0.0 else 'earlier'} than joints: they are shifted"
        )
    elif late is not None:
        late = 0.0
    usable = measured_rows(recording, views, notices)
    return _of_log(log, usable, stillness or Stillness(), free_mass, notices, late)


def measure_run(
    run: Run, *, free_mass: bool = False, stillness: Stillness | None = None
) -> Measured:
    """Return the poses in which the robot of a run stands still on both feet.

    Of a run with sensors what these measured counts, as if it were read from its log.

    Args:
        run: Simulated, or replayed.
        free_mass: As for :func:`measured_poses`.
        stillness: What counts as standing still.

    Raises:
        EquipoiseError: As for :func:`measured_poses`.
    """
    robot = run.robot
    if run.measured is not None:
        recording = recording_of_run(run)
        return measured_poses(
            robot, recording, free_mass=free_mass, stillness=stillness
        )
    for side in FEET:
        if side not in run.foot_wrench:
            raise EquipoiseError(
                f"the run of {robot.name} has no wrench of the {side} foot"
            )
    wrenches = {side: np.asarray(run.foot_wrench[side]) for side in FEET}
    check_alive(f"run of {robot.name}", robot, wrenches)
    positions = joint_positions(robot, run.q)
    views = sole_views(robot, run.q)
    log = _Log(f"run of {robot.name}", robot, run.time, positions, views, wrenches)
    usable = np.ones(len(run.time), dtype=np.bool_)
    return _of_log(log, usable, stillness or Stillness(), free_mass, [], 0.0)


def _of_log(
    log: _Log,
    usable: NDArray[np.bool_],
    stillness: Stillness,
    free_mass: bool,
    notices: list[str],
    late: float | None,
) -> Measured:
    calm = still_rows(log.time, log.views, stillness) & usable
    looked_at = calm if calm.any() else usable
    seen = {side: own[looked_at] for side, own in log.wrenches.items()}
    notices.extend(check_wrenches(log.source, log.robot, seen, free_mass=free_mass))
    found = find_stretches(
        log.time, log.views, log.wrenches, log.positions, usable, stillness
    )
    if not found.kept:
        raise EquipoiseError(_nothing_found(log, found, stillness))
    notices.extend(found.notices)
    rows = [stretch.rows for stretch in found.kept]
    spread = scatter(
        log.time,
        log.views,
        log.wrenches,
        log.positions,
        found.kept,
        stillness.window_s,
    )
    means = np.array([_mean_position(log.positions[row]) for row in rows])
    poses = MeasuredPoses(
        log.robot,
        _anywhere(log.robot, means),
        {
            side: np.array([own[row].mean(axis=0) for row in rows])
            for side, own in log.wrenches.items()
        },
        spread.samples,
        np.array([stretch.start_s for stretch in found.kept]),
    )
    return Measured(
        poses, spread.noise, tuple(notices), found.kept, spread.correlation_rows, late
    )


def _of_table(log: _Log, samples: Array | None, notices: list[str]) -> Measured:
    load = np.stack([log.wrenches[side][:, 2] for side in FEET], axis=1)
    share = load / np.maximum(load.sum(axis=1, keepdims=True), 1e-9)
    for side, own in zip(FEET, share.T, strict=True):
        if own.min() < LEAST_LOAD:
            row = int(np.argmin(own))
            raise EquipoiseError(
                f"{log.source}: in pose {log.time[row]:.0f} the {side} foot carries "
                f"{own[row]:.0%} of the weight; both feet must stand (at least "
                f"{LEAST_LOAD:.0%})"
            )
    counts = np.ones(len(log.time)) if samples is None else samples
    if np.any(counts < 1.0):
        row = int(np.argmin(counts))
        raise EquipoiseError(
            f"{log.source}: pose {log.time[row]:.0f} has {counts[row]:g} samples; at "
            "least one is needed"
        )
    poses = MeasuredPoses(
        log.robot,
        _anywhere(log.robot, log.positions),
        log.wrenches,
        np.rint(counts).astype(np.int64),
        log.time,
    )
    return Measured(poses, SensorNoise(), tuple(notices))


def _both_wrenches(
    recording: Recording, robot: Robot, q: Array, notices: list[str]
) -> dict[Side, Array]:
    for side in FEET:
        if side not in robot.soles:
            raise EquipoiseError(f"{robot.name} has no {side} sole to stand on")
    found = foot_wrenches(recording, robot, q, notices)
    for side in FEET:
        if side not in found:
            known = [
                f"'{name}' in '{w.frame}'" for name, w in recording.wrenches.items()
            ]
            raise EquipoiseError(
                f"{recording.source}: no wrench is in a frame of the {side} leg of "
                f"{robot.name}; its wrenches are: {', '.join(known) or 'none'}; "
                f"{FRAME_HINT}"
            )
    return found


def _with_frames(
    recording: Recording, robot: Robot, frames: Mapping[str, str]
) -> Recording:
    wrenches = dict(recording.wrenches)
    for name, frame in frames.items():
        if name not in wrenches:
            raise NameNotFoundError("wrench", name, wrenches, str(recording.source))
        if frame not in recording.static_frames:
            robot.frame_id(frame)
        wrenches[name] = wrenches[name]._replace(frame=frame)
    return replace(recording, wrenches=wrenches)


def _shifted(recording: Recording, late: float) -> Recording:
    wrenches = {
        name: MeasuredWrench(own.frame, own.time - late, own.values)
        for name, own in recording.wrenches.items()
    }
    return replace(recording, wrenches=wrenches)


def _anywhere(robot: Robot, positions: Array) -> Array:
    return configurations(robot, np.tile(AT_ORIGIN, (len(positions), 1)), positions)


def _mean_position(positions: Array) -> Array:
    """Return the mean of rows of joint positions, across turns of a circle."""
    return np.asarray(np.unwrap(positions, axis=0).mean(axis=0))


def _nothing_found(log: _Log, found: FoundStretches, stillness: Stillness) -> str:
    height = float(np.median(log.views.com_in_level[:, 2]))
    limit = stillness.speed_limit(height)
    if found.notices:
        return (
            f"{log.source}: the robot never stands still on both feet: "
            f"{'; '.join(found.notices[:3])}"
        )
    tilt = float(np.rad2deg(np.median(log.views.tilt)))
    tilted = tilt > np.rad2deg(MOST_TILT)
    return (
        f"{log.source}: the robot never stands still: its centre of mass is never "
        f"slower than {limit * 1e3:.1f} mm/s for {stillness.duration_s:g} s"
        + (f"; the soles are {tilt:.0f}° apart, are angles in rad?" if tilted else "")
    )
