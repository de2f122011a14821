"""One pose of a table of poses: the whole configuration, standing on both soles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.statics import FEET, MOST_TILT
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin, support_polygon
from equipoise.log.recordings.match_to_robot import matched_positions
from equipoise.log.recordings.recording_of_csv import csv_columns
from equipoise.robot.anatomy.posture import stand, unevenness
from equipoise.robot.joint_coordinates import (
    configurations,
    degree_names,
    joint_positions,
)
from equipoise.robot.model import Robot

NUMBER = "pose"
# Soles whose heights differ by more than this fraction of the legs are not both flat.
MOST_HEIGHT = 0.02


@dataclass(frozen=True, eq=False)
class TablePose:
    """A pose of a table, on both soles.

    Attributes:
        robot: The robot.
        number: Number of the pose in its table.
        q: Configuration, read-only: soles on z = 0, level on average, their middle at
            x = y = 0, facing x. Shape (nq,).
        tilt: Largest angle between a sole and the ground [rad].
        height: Difference in height between the soles [m].
        notices: What was assumed, a sentence each.
    """

    robot: Robot
    number: int
    q: Array
    tilt: float
    height: float
    notices: tuple[str, ...]

    @property
    def com(self) -> Array:
        """Centre of mass [m], shape (3,)."""
        return np.asarray(com(self.robot, self.q), dtype=np.float64)

    @property
    def com_margin(self) -> float:
        """Distance of the CoM inside the support polygon [m], negative outside."""
        polygon = support_polygon(self.robot, self.q)
        return float(polygon_margin(polygon, self.com[:2]))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: base, joints by name, and the whole configuration."""
        joints = joint_positions(self.robot, self.q).tolist()
        return {
            "robot": self.robot.name,
            "pose": self.number,
            "base": {
                "link": self.robot.description.root,
                "position_m": self.q[:3].tolist(),
                "quaternion_xyzw": self.q[3:7].tolist(),
            },
            "joints": dict(zip(degree_names(self.robot), joints, strict=True)),
            "q": self.q.tolist(),
            "com_m": self.com.tolist(),
            "com_margin_m": self.com_margin,
            "sole_tilt_rad": self.tilt,
            "sole_height_difference_m": self.height,
        }


def pose_of_table(robot: Robot, path: Path | str, number: int) -> TablePose:
    """Return a pose of a CSV table such as ``equipoise poses`` writes.

    Args:
        robot: The robot, with two soles.
        path: The table: a row for each pose, a column for each joint.
        number: Which pose: its number in the column ``pose``, or its row, counted from
            1, where there is no such column.

    Raises:
        EquipoiseError: If there is no such pose, or its soles cannot both be flat.
    """
    file = Path(path)
    for side in FEET:
        if side not in robot.soles:
            raise EquipoiseError(f"{robot.name} has no {side} sole to stand on")
    table = read_pose_table(file)
    columns = csv_columns(file, may_be_cut_off=False).columns
    count = len(next(iter(columns.values())))
    numbers = columns.get(NUMBER, np.arange(1, count + 1))
    found = np.flatnonzero(numbers == number)
    if len(found) == 0:
        known = numbers[np.isfinite(numbers)]
        raise EquipoiseError(
            f"{file}: has no pose {number}; its {count} poses are numbered from "
            f"{known.min(initial=1):g} to {known.max(initial=1):g}"
        )
    row = np.flatnonzero(table.time == found[0])
    if len(row) == 0:
        raise EquipoiseError(f"{file}: pose {number} lacks a number")
    notices = list(table.notices)
    positions = matched_positions(table, robot, notices)[row]
    q = on_soles(robot, configurations(robot, robot.standing[None, :7], positions)[0])
    off = unevenness(robot.model, q, robot.soles)
    if off.tilt > MOST_TILT:
        raise EquipoiseError(
            f"{file}: in pose {number} soles are tilted by up to "
            f"{np.rad2deg(off.tilt):.1f}°: the feet are not both flat on the ground "
            f"(at most {np.rad2deg(MOST_TILT):.0f}°)"
        )
    if off.height > MOST_HEIGHT * robot.longest_limb:
        raise EquipoiseError(
            f"{file}: in pose {number} one sole is {1e3 * off.height:.0f} mm higher "
            "than the other: the feet are not both flat on the ground (at most "
            f"{1e3 * MOST_HEIGHT * robot.longest_limb:.0f} mm)"
        )
    return TablePose(robot, number, q, off.tilt, off.height, tuple(notices))


def on_soles(robot: Robot, q: Array) -> Array:
    """Return a configuration whose base is moved so that it stands on its soles.

    Args:
        robot: The robot.
        q: Configuration whose joints are kept, shape (nq,).

    Returns:
        Soles on z = 0 and level on average, their middle at x = y = 0, facing x;
        read-only, shape (nq,).
    """
    upright = pin.Quaternion(robot.standing[3:7]).toRotationMatrix()
    placed = np.array(stand(robot.model, q, robot.soles, upright))
    ahead = [sole_pose(robot, placed, side)[:2, 0] for side in robot.soles]
    x, y = np.sum(ahead, axis=0)
    turn = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, -np.arctan2(y, x)), np.zeros(3))
    placed[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(placed[:7]))
    return frozen_array(placed)
