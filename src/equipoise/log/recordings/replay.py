"""A recording of a real robot as a run of its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_pose, velocities
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import hull_margins
from equipoise.log.recordings.leg_odometry import (
    as_poses,
    estimated_base,
    lowest_corner,
    to_transforms,
)
from equipoise.log.recordings.match_to_robot import (
    foot_wrenches,
    matched_positions,
    matched_torques,
)
from equipoise.log.recordings.recording import Recording
from equipoise.log.run import Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

MOST_ROWS = 20_000
# A floor farther than this from z = 0 is moved there [m].
FLOOR_TOLERANCE = 0.02
AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
# A foot that carries a lower fraction of the weight does not stand.
LEAST_LOAD = 0.05


def recorded_run(recording: Recording, robot: Robot) -> Run:
    """Return a recording as a run, with what follows from the model.

    The CoM is the model's; velocities and accelerations are differences of positions;
    the ZMP is that of the feet's wrenches, where both are known. Where the log does not
    say where the base is, the stance foot stays flat where it was put down. There are
    no contact points, references, boxes or events.

    Args:
        recording: What was measured.
        robot: Its robot.

    Raises:
        EquipoiseError: If the log is of another robot, in degrees, or too short.
    """
    recording, notices = _thinned(recording)
    rows = len(recording.time)
    if rows < 2:
        raise EquipoiseError(f"{recording.source}: has one row only; two are needed")
    positions = matched_positions(recording, robot, notices)
    q_at_origin = configurations(robot, np.tile(AT_ORIGIN, (rows, 1)), positions)
    wrenches = foot_wrenches(recording, robot, q_at_origin, notices)
    base, base_from = _base(recording, robot, q_at_origin, positions, wrenches, notices)
    q = configurations(robot, base, positions)
    v = velocities(robot, q, recording.time)
    zmp = measured_zmp(robot, q, wrenches)
    if not zmp.supported.any():
        notices.append("no ZMP: it needs the wrenches of both feet")
    nothing = np.zeros((rows, 0, 3))
    duration = float(recording.time[-1])
    torque = matched_torques(recording, robot, notices)
    return Run(
        robot=robot,
        time=recording.time,
        q=q,
        v=v,
        a=np.gradient(v, recording.time, axis=0),
        torque=torque,
        contact_names=(),
        contact_position=nothing,
        contact_force=nothing,
        foot_wrench=wrenches,
        com=np.asarray(com(robot, q), dtype=np.float64),
        zmp=zmp.position,
        supported=zmp.supported,
        zmp_margin=zmp.margin,
        references={},
        boxes=np.zeros((rows, 0, 7)),
        events=(),
        summary={
            "verb": "replay",
            "robot": robot.name,
            "source": recording.source.name,
            "duration_s": duration,
            "rows": rows,
            "base_from": base_from,
            "sentence": f"{robot.name}: {duration:.2f} s of {recording.source.name}.",
            "notices": notices,
        },
    )


def _thinned(recording: Recording) -> tuple[Recording, list[str]]:
    """Return a recording of not too many rows, and its notices."""
    notices = list(recording.notices)
    rows = len(recording.time)
    every = -(-rows // MOST_ROWS)
    if every == 1:
        return recording, notices
    notices.append(f"of {rows} rows every {every}th is shown")
    changes: dict[str, Any] = {
        name: {key: row[::every] for key, row in getattr(recording, name).items()}
        for name in ("joints", "velocity", "effort")
    }
    if recording.base_pose is not None:
        changes["base_pose"] = recording.base_pose[::every]
    return replace(recording, time=recording.time[::every], **changes), notices


def _base(
    recording: Recording,
    robot: Robot,
    q_at_origin: Array,
    positions: Array,
    wrenches: dict[Side, Array],
    notices: list[str],
) -> tuple[Array, str]:
    """Return poses of the base (n, 7), and where they come from."""
    measured = _measured_base(recording, robot, q_at_origin, notices)
    if measured is not None:
        return measured, recording.base_source
    if set(robot.soles) != {"left", "right"}:
        notices.append(
            f"the log has no pose of the base, and {robot.name} does not have two "
            "soles: its base stands still"
        )
        return np.tile(robot.standing[:7], (len(q_at_origin), 1)), "nothing"
    load, chosen_by = None, "the lower"
    if len(wrenches) == 2:
        weight = robot.mass * STANDARD_GRAVITY
        load = (wrenches["left"][:, 2] - wrenches["right"][:, 2]) / weight
        chosen_by = "the more loaded"
    notices.append(
        f"the log has no pose of the base: {chosen_by} foot is taken to stay flat "
        "where it was put down, on level ground"
    )
    return estimated_base(robot, positions, load), "legs"


def _measured_base(
    recording: Recording, robot: Robot, q_at_origin: Array, notices: list[str]
) -> Array | None:
    """Return the recorded pose as one of the robot's root, on the floor."""
    base = root_poses(recording, robot, q_at_origin, notices)
    if base is None:
        return None
    soles = {side: sole_pose(robot, q_at_origin, side) for side in robot.soles}
    if soles:
        floor = lowest_corner(robot, to_transforms(base), soles)
        height = float(np.median(floor))
        if abs(height) > FLOOR_TOLERANCE:
            notices.append(
                f"the soles are at z = {height:.3f} m by '{recording.base_source}'; "
                "the floor there is moved to z = 0"
            )
            base[:, 2] -= height
    return base


def root_poses(
    recording: Recording, robot: Robot, q_at_origin: Array, notices: list[str]
) -> Array | None:
    """Return the recorded poses as those of the robot's root, shape (n, 7).

    None where there are none, or of a frame that the robot does not have.

    Args:
        recording: What was measured.
        robot: The robot.
        q_at_origin: Configurations with the root at the origin, shape (n, nq).
        notices: Receives why poses are left out.
    """
    if recording.base_pose is None:
        return None
    base = np.array(recording.base_pose)
    frame = recording.base_frame
    if frame and frame != robot.description.root:
        try:
            in_root = np.asarray(frame_pose(robot, q_at_origin, frame))
        except NameNotFoundError:
            notices.append(
                f"'{recording.base_source}' is left out: it is the pose of '{frame}', "
                f"which {robot.name} does not have"
            )
            return None
        base = as_poses(to_transforms(base) @ np.linalg.inv(in_root))
    return base


class MeasuredZmp(NamedTuple):
    """Zero-moment points of n rows.

    Attributes:
        position: Points in the world [m], shape (n, 3).
        supported: Whether the feet carry the robot, shape (n,).
        margin: Distance to the edge of the soles that stand, positive inside [m],
            shape (n,).
    """

    position: Array
    supported: NDArray[np.bool_]
    margin: Array


def measured_zmp(robot: Robot, q: Array, wrenches: Mapping[Side, Array]) -> MeasuredZmp:
    """Return where the wrenches of both feet have no horizontal moment.

    With F and M the sum of forces and of moments about the world's origin,
    p_x = (z F_x - M_y) / F_z and p_y = (z F_y + M_x) / F_z, at the height z of the
    soles, weighted by what they carry. Without the wrenches of both feet there is none.

    Args:
        robot: The robot.
        q: Configurations, shape (n, nq).
        wrenches: Wrench on each foot, about and in the sole's frame [N, Nm], (n, 6).
    """
    rows = len(q)
    position, margin = np.full((rows, 3), np.nan), np.full(rows, np.nan)
    if set(wrenches) != {"left", "right"}:
        return MeasuredZmp(position, np.zeros(rows, dtype=np.bool_), margin)
    least = LEAST_LOAD * robot.mass * STANDARD_GRAVITY
    poses = {side: sole_pose(robot, q, side) for side in wrenches}
    force, moment, heights = np.zeros((rows, 3)), np.zeros((rows, 3)), np.zeros(rows)
    carries: dict[Side, NDArray[np.bool_]] = {}
    loads = np.zeros(rows)
    for side, wrench in wrenches.items():
        turn, origin = poses[side][:, :3, :3], poses[side][:, :3, 3]
        own = np.einsum("nij,nj->ni", turn, wrench[:, :3])
        force += own
        moment += np.einsum("nij,nj->ni", turn, wrench[:, 3:]) + np.cross(origin, own)
        load = np.maximum(own[:, 2], 0.0)
        heights += load * origin[:, 2]
        loads += load
        carries[side] = own[:, 2] > least
    supported = force[:, 2] > least
    height = heights / np.where(loads > 0.0, loads, 1.0)
    upward = np.where(supported, force[:, 2], 1.0)
    position[:, 0] = (height * force[:, 0] - moment[:, 1]) / upward
    position[:, 1] = (height * force[:, 1] + moment[:, 0]) / upward
    position[:, 2] = height
    corners, counted = [], []
    nobody = ~np.any(list(carries.values()), axis=0)  # both a little: both count
    for side, pose in poses.items():
        flat = robot.soles[side].polygon_in_sole
        turned = flat @ np.swapaxes(pose[:, :2, :2], 1, 2) + pose[:, None, :2, 3]
        corners.append(turned)
        stands = carries[side] | nobody
        counted.append(np.repeat(stands[:, None], len(flat), axis=1))
    margin = hull_margins(
        np.concatenate(corners, axis=1),
        np.concatenate(counted, axis=1),
        position[:, :2],
    )
    return MeasuredZmp(position, supported, margin)
