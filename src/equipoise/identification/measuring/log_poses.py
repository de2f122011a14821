"""From a log, or a table of poses, to measured poses of a robot that stands still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.identification.measuring.balance_series import (
    BalanceSeries,
    sole_views,
    time_offset,
)
from equipoise.identification.measuring.log_checks import (
    FRAME_HINT,
    base_notice,
    check_alive,
    check_joint_names,
    check_wrenches,
    finite_wrenches,
    in_si,
    measured_rows,
)
from equipoise.identification.measuring.stretches import (
    LEAST_LOAD,
    FoundStretches,
    Stillness,
    Stretch,
    find_stretches,
    scatter,
    still_rows,
)
from equipoise.identification.noise import SensorNoise
from equipoise.identification.statics import FEET, MOST_TILT, MeasuredPoses
from equipoise.log.recordings.match_to_robot import foot_wrenches, matched_positions
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.log.recordings.recording_of_csv import (
    BASE,
    JOINT,
    TIME,
    csv_columns,
    take_wrenches,
)
from equipoise.log.recordings.topic_series import recording_of_run
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import configurations, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# The column with the number of independent samples that a row is the mean of.
SAMPLES = "samples"
# Columns that number or name poses.
NUMBERS = ("pose", "row", "index", "name", "placement", "stance", "")
# More rows than this fraction without a number: it is not a table of poses.
MOST_BROKEN = 0.5


@dataclass(frozen=True, eq=False)
class ExtractedPoses:
    """Measured poses with what else was extracted from their log.

    Attributes:
        poses: One for each stretch, or each row of a table.
        noise: Noise of the sensors within stretches; the default for a table.
        notices: Corrections, assumptions and omissions, a sentence each.
        stretches: Stretches that the poses come from; empty for a table.
        offset_s: Delay of the wrenches, by which they were shifted [s]; 0 where they
            were not, None where it is not identifiable.
    """

    poses: MeasuredPoses
    noise: SensorNoise
    notices: tuple[str, ...]
    stretches: tuple[Stretch, ...] = ()
    offset_s: float | None = None


def measured_poses(
    robot: Robot,
    recording: Recording,
    *,
    table: bool = False,
    units: Mapping[str, str] | None = None,
    wrench_frames: Mapping[str, str] | None = None,
    free_mass: bool = False,
    stillness: Stillness | None = None,
) -> ExtractedPoses:
    """Return the poses of a log in which the robot stands still on both feet.

    Args:
        robot: The robot.
        recording: The log.
        table: Whether each row is a pose (:func:`read_pose_table`), not a moment.
        units: Units of the log where they are not rad, m, N and Nm; see
            :data:`~.log_checks.UNITS`.
        wrench_frames: Frame that wrenches are in, by topic or beginning of columns,
            where the log names another.
        free_mass: Whether the robot may have any weight; else the model's to 25 %.
        stillness: Thresholds of standing still.

    Raises:
        EquipoiseError: If joints, units, signs, frames or weight do not fit the robot,
            or it never stands still on both feet, with what to do.
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
    log = BalanceSeries(
        recording.source, robot, recording.time, positions, views, wrenches
    )
    if table:
        notices.extend(check_wrenches(log.source, robot, wrenches, free_mass=free_mass))
        return _of_table(log, samples, notices)
    late = time_offset(log)
    step = float(np.median(np.diff(log.time))) if len(log.time) > 1 else np.inf
    if late is not None and abs(late) > step:
        shifted = {
            name: own._replace(time=own.time - late)
            for name, own in recording.wrenches.items()
        }
        recording = replace(recording, wrenches=shifted)
        log = replace(log, wrenches=_both_wrenches(recording, robot, q, []))
        notices.append(
            f"wrenches come {abs(late) * 1e3:.0f} ms "
            f"{'later' if late > 0.0 else 'earlier'} than joints: they are shifted"
        )
    elif late is not None:
        late = 0.0
    usable = measured_rows(recording, views, notices)
    return _of_log(log, usable, stillness or Stillness(), free_mass, notices, late)


def measured_poses_of_run(
    run: Run, *, free_mass: bool = False, stillness: Stillness | None = None
) -> ExtractedPoses:
    """Return the poses in which the robot of a run stands still on both feet.

    If the run has sensors, their measurements are used, as if read from its log. Other
    arguments and errors are those of :func:`measured_poses`.
    """
    robot = run.robot
    if run.measured is not None:
        return measured_poses(
            robot, recording_of_run(run), free_mass=free_mass, stillness=stillness
        )
    for side in FEET:
        if side not in run.foot_wrench:
            raise EquipoiseError(
                f"the run of {robot.name} has no wrench of the {side} foot"
            )
    wrenches = {side: np.asarray(run.foot_wrench[side]) for side in FEET}
    source = f"run of {robot.name}"
    check_alive(source, robot, wrenches)
    positions, views = joint_positions(robot, run.q), sole_views(robot, run.q)
    log = BalanceSeries(source, robot, run.time, positions, views, wrenches)
    usable = np.ones(len(run.time), dtype=np.bool_)
    return _of_log(log, usable, stillness or Stillness(), free_mass, [], 0.0)


def _of_log(
    log: BalanceSeries,
    usable: NDArray[np.bool_],
    stillness: Stillness,
    free_mass: bool,
    notices: list[str],
    late: float | None,
) -> ExtractedPoses:
    calm = still_rows(log, stillness) & usable
    rows_checked = calm if calm.any() else usable
    checked = {side: own[rows_checked] for side, own in log.wrenches.items()}
    notices.extend(check_wrenches(log.source, log.robot, checked, free_mass=free_mass))
    found = find_stretches(log, usable, stillness)
    if not found.kept:
        raise EquipoiseError(_nothing_found(log, found, stillness))
    notices.extend(found.notices)
    rows = [stretch.rows for stretch in found.kept]
    spread = scatter(log, found.kept, stillness.window_s)
    # means across turns of a circle
    means = np.array(
        [np.unwrap(log.positions[row], axis=0).mean(axis=0) for row in rows]
    )
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
    return ExtractedPoses(poses, spread.noise, tuple(notices), found.kept, late)


def _of_table(
    log: BalanceSeries, samples: Array | None, notices: list[str]
) -> ExtractedPoses:
    load = np.stack([log.wrenches[side][:, 2] for side in FEET], axis=1)
    fraction = load / np.maximum(load.sum(axis=1, keepdims=True), 1e-9)
    for side, own in zip(FEET, fraction.T, strict=True):
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
        {side: own for side, own in log.wrenches.items()},
        np.rint(counts).astype(np.int64),
        log.time,
    )
    return ExtractedPoses(poses, SensorNoise(), tuple(notices))


def _both_wrenches(
    recording: Recording, robot: Robot, q: Array, notices: list[str]
) -> dict[Side, Array]:
    for side in FEET:
        if side not in robot.soles:
            raise EquipoiseError(f"{robot.name} has no {side} sole to stand on")
    found = foot_wrenches(recording, robot, q, notices)
    for side in FEET:
        if side not in found:
            known = [f"'{n}' in '{w.frame}'" for n, w in recording.wrenches.items()]
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


def _anywhere(robot: Robot, positions: Array) -> Array:
    return configurations(robot, np.tile(AT_ORIGIN, (len(positions), 1)), positions)


def _nothing_found(
    log: BalanceSeries, found: FoundStretches, stillness: Stillness
) -> str:
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


def read_pose_table(path: Path | str) -> Recording:
    """Read a CSV file that holds one measured pose a row.

    Columns are those of logs; a column of time is not needed, and ``samples`` may give
    the number of independent samples that a row is the mean of. Rows that lack a number
    are left out. Times are the numbers of the poses, from 0.

    Raises:
        EquipoiseError: If it is not such a table, naming the row or column at fault.
    """
    file = Path(path)
    columns, notices = csv_columns(file, may_be_cut_off=False, unread=NUMBERS)
    used = [name for name in columns if not BASE.fullmatch(name)]
    broken = np.any([~np.isfinite(columns[name]) for name in used], axis=0)
    lost = np.flatnonzero(broken)
    if len(lost) > MOST_BROKEN * len(broken):
        raise EquipoiseError(
            f"{file}: {len(lost)} of {len(broken)} rows lack a number, the first is "
            f"row {lost[0] + 2}"
        )
    if len(lost):
        rows = ", ".join(str(row + 2) for row in lost[:8])
        more = f" and {len(lost) - 8} more" if len(lost) > 8 else ""
        notices.append(
            f"{file.name}: {len(lost)} of {len(broken)} poses are left out: numbers "
            f"are missing in row {rows}{more}"
        )
    kept = {name: columns[name][~broken] for name in used}
    time = np.flatnonzero(~broken).astype(np.float64)
    wrenches = {
        name: MeasuredWrench(name.split("/")[-1], time, values)
        for name, values in take_wrenches(kept, notices).items()
    }
    found = ((JOINT.fullmatch(name), name) for name in kept)
    joints = {
        match.group(1): kept[name]
        for match, name in found
        if match
        and match.group(2) in (None, "position")
        and not TIME.fullmatch(name.lower())
    }
    if not joints:
        raise EquipoiseError(
            f"{file}: holds no joint positions; its columns are: {', '.join(columns)}"
        )
    return Recording(
        source=file,
        time=time,
        joints=joints,
        velocity={},
        effort={},
        wrenches=wrenches,
        base_pose=None,
        base_source="",
        base_frame="",
        static_frames={},
        urdf=None,
        settings=None,
        notices=tuple(notices),
    )
