"""From a log, or a table of poses, to measured poses of a robot that stands still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.identification.evidence import USUAL_LEVEL
from equipoise.identification.measuring.attitude import Up, chosen_up, measured_up
from equipoise.identification.measuring.balance_series import (
    BalanceSeries,
    sole_views,
)
from equipoise.identification.measuring.log_checks import (
    base_notice,
    check_joint_names,
    finite_wrenches,
    held_joints_notice,
    in_si,
    measured_rows,
)
from equipoise.identification.measuring.log_rows import LogRows, RowReasons
from equipoise.identification.measuring.plates import plates_in_base
from equipoise.identification.measuring.sensed import (
    Sensed,
    sensed_wrenches,
    with_expected_pressure,
)
from equipoise.identification.measuring.slow_motion import (
    SHORTEST_PIECE,
    SLOW_FRACTION,
    mean_bend,
    slow_motion,
)
from equipoise.identification.measuring.sole_calibration import FlatSoles, flat_soles
from equipoise.identification.measuring.stretches import (
    LEAST_LOAD,
    FoundStretches,
    Stillness,
    Stretch,
    find_stretches,
    footing,
    scatter,
    still_rows,
    with_the_weight,
)
from equipoise.identification.measuring.time_offset import time_offset
from equipoise.identification.measuring.wrench_checks import (
    check_alive,
    check_sides,
    check_wrenches,
)
from equipoise.identification.noise import SensorNoise
from equipoise.identification.statics import FEET, MOST_TILT, MeasuredPoses
from equipoise.log.recordings.match_to_robot import matched_positions
from equipoise.log.recordings.recording import Recording
from equipoise.log.recordings.topic_series import recording_of_run
from equipoise.log.run import Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations, joint_positions
from equipoise.robot.model import Robot

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# The column with the number of independent samples that a row is the mean of.
SAMPLES = "samples"
# With fewer standing poses than this, slow motion is used as well.
FEWEST_POSES = 3


@dataclass(frozen=True, eq=False)
class ExtractedPoses:
    """Measured poses with what else was extracted from their log.

    Attributes:
        poses: One for each stretch or piece of slow motion, or each row of a table.
        noise: Noise of the sensors within stretches; the default for a table.
        notices: Corrections, assumptions and omissions, a sentence each.
        stretches: Stretches that the poses come from; empty for a table.
        offset_s: Delay of the wrenches, by which they were shifted [s]; 0 where they
            were not, None where it is not identifiable.
        rows: All rows of the log in order, used or left out, with the reason.
    """

    poses: MeasuredPoses
    noise: SensorNoise
    notices: tuple[str, ...]
    stretches: tuple[Stretch, ...] = ()
    offset_s: float | None = None
    rows: tuple[LogRows, ...] = ()

    @property
    def used(self) -> tuple[LogRows, ...]:
        """Rows that are part of a pose."""
        return tuple(own for own in self.rows if own.pose is not None)

    @property
    def dropped(self) -> tuple[LogRows, ...]:
        """Rows that are left out, with the reason."""
        return tuple(own for own in self.rows if own.pose is None)


def measured_poses(
    robot: Robot,
    recording: Recording,
    *,
    table: bool = False,
    units: Mapping[str, str] | None = None,
    wrench_frames: Mapping[str, str] | None = None,
    plate_at: Mapping[str, Sequence[float]] | None = None,
    up: Up | None = None,
    moving: bool = False,
    free_mass: bool = False,
    stillness: Stillness | None = None,
) -> ExtractedPoses:
    """Return the poses of a log in which the robot stands still on both feet.

    Args:
        robot: The robot.
        recording: The log.
        table: Whether each row is a pose (:func:`~.pose_table.read_pose_table`), not a
            moment.
        units: Units of the log where they are not rad, m, N and Nm; see
            :data:`~.log_checks.UNITS`.
        wrench_frames: Frame that wrenches are in, by topic or beginning of columns,
            where the log names another.
        plate_at: Position [m] and yaw [rad] of force plates in the world of the base's
            pose, by topic or beginning of columns, or by ``""`` for one plate.
        up: Whether up is the mean of the soles' normals or the base's attitude; see
            :func:`~.attitude.chosen_up` for the default.
        moving: Whether slow motion is used, too, where standing poses are enough.
        free_mass: Whether the robot may have any weight; else the model's to 25 %.
        stillness: Thresholds of standing still.

    Raises:
        EquipoiseError: If joints, units, signs, frames or weight do not fit the robot,
            or it never stands still on both feet, with what to do.
    """
    notices = list(recording.notices)
    stillness = stillness or Stillness()
    samples = recording.joints.get(SAMPLES)
    joints = {name: own for name, own in recording.joints.items() if name != SAMPLES}
    recording = in_si(replace(recording, joints=joints), robot, units or {})
    recording = _with_frames(recording, robot, wrench_frames or {})
    notices.extend(check_joint_names(recording, robot))
    positions = matched_positions(recording, robot, notices)
    notices.extend(held_joints_notice(recording, robot, positions))
    q = _anywhere(robot, positions)
    attitude = measured_up(recording, robot, q, notices)
    views = sole_views(robot, q)
    log = BalanceSeries(recording.source, robot, recording.time, positions, views, {})
    calm = np.ones(len(q), dtype=np.bool_) if table else still_rows(log, stillness)
    believed = attitude.in_base if attitude is not None and up == "base" else None
    flat = flat_soles(robot, positions, calm, believed)
    if flat is not None:
        positions, q = flat.positions, _anywhere(robot, flat.positions)
        views = sole_views(robot, q)
        log = replace(log, positions=positions, views=views)
        notices.append(flat.notice)
    recording = finite_wrenches(recording, notices)
    sensed = sensed_wrenches(recording, robot, q, plate_at or {}, notices)
    recording = replace(
        recording, wrenches={name: recording.wrenches[name] for name in sensed.names}
    )
    if sensed.plates is None:
        notices.extend(filter(None, [base_notice(recording, robot)]))
    vertical = chosen_up(
        attitude,
        views,
        calm,
        up,
        on_plates=sensed.plates is not None,
        notices=notices,
    )
    log = _sensed_by(log, q, sensed, vertical)
    check_alive(log)
    if not wrench_frames:
        check_sides(log, calm if calm.any() else np.ones(len(q), dtype=np.bool_))
    if table:
        notices.extend(check_wrenches(log, calm, free_mass=free_mass))
        return _tilted_by(_of_table(log, samples, notices), flat)
    late = time_offset(log)
    step = float(np.median(np.diff(log.time))) if len(log.time) > 1 else np.inf
    if late is not None and abs(late) > step:
        shifted = {
            name: own._replace(time=own.time - late)
            for name, own in recording.wrenches.items()
        }
        recording = replace(recording, wrenches=shifted)
        sensed = sensed_wrenches(recording, robot, q, plate_at or {}, [])
        log = _sensed_by(log, q, sensed, vertical)
        notices.append(
            f"wrenches come {abs(late) * 1e3:.0f} ms "
            f"{'later' if late > 0.0 else 'earlier'} than joints: they are shifted"
        )
    elif late is not None:
        late = 0.0
    usable = measured_rows(recording, views, notices)
    found = _of_log(log, usable, stillness, moving, free_mass, notices, late)
    return _tilted_by(found, flat)


def _tilted_by(found: ExtractedPoses, flat: FlatSoles | None) -> ExtractedPoses:
    """Return poses whose up is as uncertain as which of two soles was wrong."""
    if flat is None or flat.uncertain == 0.0:
        return found
    return replace(found, noise=replace(found.noise, level=flat.uncertain))


def _sensed_by(
    log: BalanceSeries, q: Array, sensed: Sensed, up_in_base: Array | None
) -> BalanceSeries:
    """Return a log with the wrenches of its sensors, seen along a measured up."""
    views, plates = log.views, {}
    if sensed.plates is not None:
        # without another vertical the plates' is that of the soles which stand on them
        by_soles = views.base_in_level[:, 2, :3] if up_in_base is None else None
        plates = plates_in_base(sensed.plates, by_soles)
    if up_in_base is not None:
        views = sole_views(log.robot, q, up_in_base)
    seen = replace(
        log,
        views=views,
        wrenches=sensed.wrenches,
        plates=plates,
        missing_std=sensed.missing_std,
        up_in_base=up_in_base,
    )
    return with_expected_pressure(seen)


def measured_poses_of_run(
    run: Run,
    *,
    up: Up | None = None,
    moving: bool = False,
    free_mass: bool = False,
    stillness: Stillness | None = None,
) -> ExtractedPoses:
    """Return the poses in which the robot of a run stands still on both feet.

    If the run has sensors, their measurements are used, as if read from its log. Other
    arguments and errors are those of :func:`measured_poses`.
    """
    robot = run.robot
    stillness = stillness or Stillness()
    if run.measured is not None:
        return measured_poses(
            robot,
            recording_of_run(run),
            up=up,
            moving=moving,
            free_mass=free_mass,
            stillness=stillness,
        )
    for side in FEET:
        if side not in run.foot_wrench:
            raise EquipoiseError(
                f"the run of {robot.name} has no wrench of the {side} foot"
            )
    wrenches: dict[str, Array] = {
        side: np.asarray(run.foot_wrench[side]) for side in FEET
    }
    source = f"run of {robot.name}"
    positions, views = joint_positions(robot, run.q), sole_views(robot, run.q)
    log = BalanceSeries(source, robot, run.time, positions, views, wrenches)
    check_alive(log)
    usable = np.ones(len(run.time), dtype=np.bool_)
    return _of_log(log, usable, stillness, moving, free_mass, [], 0.0)


def _of_log(
    log: BalanceSeries,
    usable: NDArray[np.bool_],
    stillness: Stillness,
    moving: bool,
    free_mass: bool,
    notices: list[str],
    late: float | None,
) -> ExtractedPoses:
    calm = still_rows(log, stillness) & usable
    rows_checked = calm if calm.any() else usable
    notices.extend(check_wrenches(log, rows_checked, free_mass=free_mass))
    found = find_stretches(log, usable, stillness)
    pieces, slow = found.kept, None
    if moving or len(found.kept) < FEWEST_POSES:
        slow = slow_motion(log, usable, stillness, found.kept, found.reasons)
        slow = slow if len(slow.pieces) > len(found.kept) else None
        if slow is not None:
            pieces = slow.pieces
            notices.append(
                f"{len(slow.pieces) - len(found.kept)} pieces of slow motion (CoM "
                f"below {1e3 * slow.speed:.0f} mm/s, in "
                f"{len(set(slow.run.tolist()))} continuous movements) are used, and "
                f"{len(found.kept)} standing poses; the model's rate of momentum is "
                "taken into account"
            )
    if not pieces:
        raise EquipoiseError(_nothing_found(log, found, stillness))
    notices.extend(found.notices)
    rate_of_row = None if slow is None else slow.rate_of_row
    spread = scatter(log, pieces, stillness.window_s, rate_of_row)
    poses = _means(log, pieces, spread.samples)
    if slow is not None:
        rate = slow.rate + mean_bend(log, poses, [piece.rows for piece in pieces])
        poses = replace(poses, stretch=slow.run, momentum_rate=rate)
    return ExtractedPoses(
        poses,
        _with_level(spread.noise, poses),
        tuple(notices),
        pieces,
        late,
        found.reasons.rows(log.time),
    )


def _means(
    log: BalanceSeries, pieces: Sequence[Stretch], samples: NDArray[np.int64]
) -> MeasuredPoses:
    """Return the poses that stretches of a log are on average."""
    rows = [piece.rows for piece in pieces]

    def mean(values: Array) -> Array:
        return np.array([values[row].mean(axis=0) for row in rows])

    # means across turns of a circle
    joints = [np.unwrap(log.positions[row], axis=0).mean(axis=0) for row in rows]
    # what is not measured is wrong by the same in all poses: more do not help
    shared = float(np.sqrt(len(rows)))
    return MeasuredPoses(
        log.robot,
        _anywhere(log.robot, np.array(joints)),
        {name: mean(own) for name, own in log.wrenches.items()},
        samples,
        np.array([piece.start_s for piece in pieces]),
        plates={name: _rigid(mean(own)) for name, own in log.plates.items()},
        missing_std={name: shared * mean(own) for name, own in log.missing_std.items()},
        up_in_base=None if log.up_in_base is None else mean(log.up_in_base),
    )


def _rigid(transforms: Array) -> Array:
    """Return the rigid transforms nearest to means of some, shape (n, 4, 4)."""
    left, _, right = np.linalg.svd(transforms[:, :3, :3])
    rigid = np.array(transforms)
    rigid[:, :3, :3] = left @ right
    return rigid


def _of_table(
    log: BalanceSeries, samples: Array | None, notices: list[str]
) -> ExtractedPoses:
    for side, own in zip(FEET, footing(log, 0.5).load.T, strict=True):
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
    pieces = [
        Stretch(row, row + 1, float(number), float(number))
        for row, number in enumerate(log.time)
    ]
    kept, strange = with_the_weight(log, pieces)
    reasons = RowReasons(len(pieces))
    for piece, text in strange:
        reasons.say(piece.rows, text)
        notices.append(f"pose {piece.start_s:.0f} is left out: {text}")
    for number, piece in enumerate(kept):
        reasons.say(piece.rows, "pose of the table", pose=number)
    counts = counts[[piece.first for piece in kept]]
    poses = _means(log, kept, np.rint(counts).astype(np.int64))
    rows = reasons.rows(log.time)
    noise = _with_level(SensorNoise(), poses)
    return ExtractedPoses(poses, noise, tuple(notices), rows=rows)


def _with_level(noise: SensorNoise, poses: MeasuredPoses) -> SensorNoise:
    """Return the noise with a usual level of the soles where no lateral force shows it.

    That is where no sensor measures lateral forces.
    """
    blind = [np.any(own[:, :2]) for own in poses.missing_std.values()]
    if len(blind) == len(poses.sensors) and all(blind):
        return replace(noise, level=USUAL_LEVEL)
    return noise


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
    slow = 1e3 * SLOW_FRACTION * np.sqrt(STANDARD_GRAVITY * max(height, 0.0))
    return (
        f"{log.source}: the robot never stands still: its centre of mass is never "
        f"slower than {limit * 1e3:.1f} mm/s for {stillness.duration_s:g} s, nor does "
        f"it move on both feet at less than {slow:.0f} mm/s for {SHORTEST_PIECE:g} s"
        + (f"; the soles are {tilt:.0f}° apart, are angles in rad?" if tilted else "")
    )
