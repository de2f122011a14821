"""Which way is up: by the soles' normals, or by the base's measured attitude."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import SoleViews, sliding
from equipoise.kinematics.frames import frame_pose
from equipoise.log.recordings.leg_odometry import to_transforms
from equipoise.log.recordings.match_to_robot import placed_frame
from equipoise.log.recordings.recording import Recording
from equipoise.log.recordings.replay import root_poses
from equipoise.robot.model import Robot

Up = Literal["soles", "base"]
# Attitude and soles that differ by more than the first [rad] are worth a word, by more
# than the second one of them is wrong.
WORTH_SAYING, TOO_FAR = np.deg2rad(2.0), np.deg2rad(5.0)
# An accelerometer is averaged over this [s].
AVERAGED = 0.4


class MeasuredUp(NamedTuple):
    """A measured vertical.

    Attributes:
        source: What measured it, for messages.
        in_base: Direction against gravity in the base's axes, shape (n, 3).
    """

    source: str
    in_base: Array


def measured_up(
    recording: Recording, robot: Robot, q_at_origin: Array, notices: list[str]
) -> MeasuredUp | None:
    """Return the vertical by the base's pose, else by an IMU; None without either.

    An IMU's orientation counts, and where it gives none its accelerometer, which is
    right as long as the robot is still.

    Args:
        recording: The log.
        robot: The robot.
        q_at_origin: Configurations with the root at the origin, shape (n, nq).
        notices: Receives why an IMU is not used.
    """
    poses = root_poses(recording, robot, q_at_origin, [])
    if poses is not None:
        source = f"the base's attitude ('{recording.base_source}')"
        return MeasuredUp(source, np.ascontiguousarray(to_transforms(poses)[:, 2, :3]))
    imu = recording.imu
    if imu is None:
        return None
    placed = placed_frame(recording, robot, imu.frame)
    if placed is None:
        notices.append(f"the IMU is not used: {robot.name} has no frame '{imu.frame}'")
        return None
    own, source = imu.up, f"the orientation of IMU '{imu.frame}'"
    if own is None:
        own = sliding(imu.time, imu.specific_force, AVERAGED).mean
        source = f"the accelerometer of IMU '{imu.frame}'"
    up = np.stack([np.interp(recording.time, imu.time, axis) for axis in own.T], axis=1)
    length = np.linalg.norm(up, axis=1, keepdims=True)
    if np.any(length < 1e-6):
        return None
    turn = (np.asarray(frame_pose(robot, q_at_origin, placed.frame)) @ placed.pose)[
        :, :3, :3
    ]
    return MeasuredUp(source, np.einsum("nij,nj->ni", turn, up / length))


def chosen_up(
    measured: MeasuredUp | None,
    soles: SoleViews,
    calm: NDArray[np.bool_],
    wanted: Up | None,
    *,
    on_plates: bool,
    notices: list[str],
) -> Array | None:
    """Return the vertical to use in the base's axes, (n, 3); None: the soles' normals.

    By default it is the soles' normals: legs know better how the base is turned against
    the ground than most cameras. Wrenches of plates reach the robot through its
    attitude, which is then the one to use, unless it contradicts the soles.

    Args:
        measured: The measured vertical.
        soles: Rows of the log as seen from the soles.
        calm: Rows in which the robot is still, shape (n,).
        wanted: Which one to use; None: as above.
        on_plates: Whether wrenches are those of force plates.
        notices: Receives which one is used, and by how much they differ.

    Raises:
        EquipoiseError: If the base's is wanted and the log has none.
    """
    if measured is None:
        if wanted == "base":
            raise EquipoiseError(
                "up='base' needs an attitude of the base: its pose in the log, or an "
                "IMU in a frame of the robot"
            )
        return None
    rows = calm if calm.any() else np.ones(len(calm), dtype=np.bool_)
    by_soles = soles.base_in_level[rows, 2, :3]
    cosine = np.einsum("ni,ni->n", by_soles, measured.in_base[rows])
    apart = np.arccos(np.clip(cosine, -1.0, 1.0))
    middle = float(np.median(apart))
    take_base = wanted == "base" or (wanted is None and on_plates and middle < TOO_FAR)
    taken, other = measured.source, "the mean of the soles' normals"
    if not take_base:
        taken, other = other, taken
    text = (
        f"up is {taken}; {other} is {np.rad2deg(middle):.1f}° away (median), "
        f"{np.rad2deg(apart.max()):.1f}° at most"
    )
    if middle > WORTH_SAYING:
        choice = "soles" if take_base else "base"
        text += f": one of them is wrong (up='{choice}' takes the other)"
    notices.append(text)
    return measured.in_base if take_base else None
