"""Joint trajectories as files that other programs read: CSV, and ROS 2 in MCAP."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from equipoise.arrays import Array
from equipoise.atomic_file import write_bytes_atomically
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.log.mcap_format.mcap_writer import (
    NANOSECONDS,
    McapFile,
    nanoseconds,
)
from equipoise.log.mcap_format.topics import WORLD
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import BASE_Q, degree_names, joint_positions
from equipoise.robot.model import Robot

BASE_COLUMNS = ("x", "y", "z", "qx", "qy", "qz", "qw")
JOINT_TOPIC, BASE_TOPIC = "/joint_trajectory", "/base_trajectory"
# Digits of a number in a CSV file: angles and positions to a picometre.
DIGITS = 13


class Moving(Protocol):
    """What a motion has: :class:`~equipoise.gait.motion.Motion`, or one of yours."""

    @property
    def robot(self) -> Robot:
        """The robot."""

    @property
    def time(self) -> Array:
        """Times [s], shape (n,)."""

    @property
    def q(self) -> Array:
        """Configurations, shape (n, nq)."""

    @property
    def v(self) -> Array:
        """Velocities, shape (n, nv)."""

    @property
    def joint_torque(self) -> Array:
        """Torques of the joints [Nm or N], shape (n, nv - 6)."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Joints and base over time.

    Attributes:
        robot: The robot.
        time: Increasing [s], shape (n,).
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        torque: Joint torques, in the order of v[6:] [Nm or N], shape (n, nv - 6).
    """

    robot: Robot
    time: Array
    q: Array
    v: Array
    torque: Array

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """A name for each entry of v[6:]."""
        return degree_names(self.robot)

    @cached_property
    def position(self) -> Array:
        """Joint positions in the order of v[6:] [rad or m], shape (n, nv - 6)."""
        return joint_positions(self.robot, self.q)

    def at_rate(self, rate: float) -> Trajectory:
        """Return rows that are a period apart, or nearly: none is interpolated.

        Args:
            rate: Rows a second [Hz]; where there are fewer, all are returned.

        Raises:
            EquipoiseError: If the rate is not positive.
        """
        if not (np.isfinite(rate) and rate > 0.0):
            raise EquipoiseError(f"a rate of {rate:g} Hz; it must be positive")
        periods = (self.time - self.time[0]) * rate
        period = np.rint(periods)
        order = np.lexsort((np.abs(periods - period), period))
        _, first = np.unique(period[order], return_index=True)
        rows = np.unique(np.append(order[first], len(self.time) - 1))
        return self._rows(rows)

    def _rows(self, rows: Array) -> Trajectory:
        arrays = (values[rows] for values in (self.time, self.q, self.v, self.torque))
        return Trajectory(self.robot, *arrays)


def trajectory_of(source: Run | Moving) -> Trajectory:
    """Return the trajectory of a run, as it was executed, or of a planned motion.

    Args:
        source: A run: its true joints and the torques of its actuators; or a motion:
            planned joints and feed-forward torques.

    Raises:
        ShapeError: If arrays of a motion of your own do not fit its robot.
    """
    torque = source.torque if isinstance(source, Run) else source.joint_torque
    robot, time = source.robot, np.asarray(source.time, dtype=np.float64)
    given = {"q": source.q, "v": source.v, "torque": torque}
    sizes = {"q": robot.nq, "v": robot.nv, "torque": robot.nv - 6}
    for name, values in given.items():
        needed = (len(time), sizes[name])
        if np.shape(values) != needed:
            raise ShapeError(
                f"{name} has shape {np.shape(values)}; {robot.name} needs {needed}"
            )
    return Trajectory(robot, time, *map(np.asarray, given.values()))


def write_trajectory(
    source: Run | Moving,
    path: Path | str,
    *,
    rate: float | None = None,
    replace: bool = False,
) -> Trajectory:
    """Write joints over time as CSV or as ROS 2 messages, whole or not at all.

    A CSV file has the columns ``time``, then ``NAME.position``, ``NAME.velocity`` and
    ``NAME.torque`` of each joint, then the pose of the base, ``base.x`` to ``base.qw``.
    An MCAP file has one ``trajectory_msgs/JointTrajectory`` on ``/joint_trajectory``
    and one ``trajectory_msgs/MultiDOFJointTrajectory`` of the base on
    ``/base_trajectory``.

    Args:
        source: A run, or a motion from :func:`~equipoise.gait.motion.solve`.
        path: FILE.csv or FILE.mcap.
        rate: Points a second [Hz]; all there are unless given.
        replace: Whether a file that exists may be replaced.

    Returns:
        What was written.

    Raises:
        EquipoiseError: If the format does not exist, or the file cannot or must not be
            written.
    """
    path = Path(path)
    check_format(path)
    if path.exists() and not replace:
        raise EquipoiseError(f"{path}: exists already; replace=True replaces it")
    trajectory = trajectory_of(source)
    if rate is not None:
        trajectory = trajectory.at_rate(rate)
    write_bytes_atomically(path, _WRITERS[path.suffix.lower()](trajectory))
    return trajectory


def check_format(path: Path) -> None:
    """Refuse a file that is neither CSV nor MCAP, with an :class:`EquipoiseError`."""
    if path.suffix.lower() not in _WRITERS:
        raise EquipoiseError(
            f"{path}: a trajectory is written to a file that ends in "
            f"{' or '.join(_WRITERS)}"
        )


def csv_bytes(trajectory: Trajectory) -> bytes:
    """Return a trajectory as CSV."""
    head = ["time"]
    for kind in ("position", "velocity", "torque"):
        head += [f"{name}.{kind}" for name in trajectory.joint_names]
    head += [f"base.{part}" for part in BASE_COLUMNS]
    table = np.hstack(
        [
            trajectory.time[:, None],
            trajectory.position,
            trajectory.v[:, 6:],
            trajectory.torque,
            trajectory.q[:, :BASE_Q],
        ]
    )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(head)
    np.savetxt(text, table, fmt=f"%.{DIGITS}g", delimiter=",")
    return text.getvalue().encode()


def mcap_bytes(trajectory: Trajectory) -> bytes:
    """Return a trajectory as an MCAP file of two messages."""
    stream = io.BytesIO()
    file = McapFile(stream)
    moments = nanoseconds(trajectory.time)
    since = [_duration(int(moment - moments[0])) for moment in moments]
    header = {"stamp": _duration(int(moments[0]))}
    joints: dict[str, Any] = {
        "header": header,
        "joint_names": list(trajectory.joint_names),
        "points": [
            {"positions": p, "velocities": v, "effort": e, "time_from_start": t}
            for p, v, e, t in zip(
                trajectory.position,
                trajectory.v[:, 6:],
                trajectory.torque,
                since,
                strict=True,
            )
        ],
    }
    base: dict[str, Any] = {
        "header": {**header, "frame_id": WORLD},
        "joint_names": [trajectory.robot.description.root],
        "points": [
            {
                "transforms": [_transform(q)],
                "velocities": [_twist(v)],
                "time_from_start": t,
            }
            for q, v, t in zip(trajectory.q, trajectory.v, since, strict=True)
        ],
    }
    for topic, kind, message in (
        (JOINT_TOPIC, "trajectory_msgs/JointTrajectory", joints),
        (BASE_TOPIC, "trajectory_msgs/MultiDOFJointTrajectory", base),
    ):
        channel, encoder = file.open_channel(topic, kind)
        file.add(channel, int(moments[0]), encoder.encode(message))
    file.end_chunk()
    file.finish()
    return stream.getvalue()


_WRITERS = {".csv": csv_bytes, ".mcap": mcap_bytes}


def _duration(moment: int) -> dict[str, int]:
    seconds, rest = divmod(moment, NANOSECONDS)
    return {"sec": seconds, "nanosec": rest}


def _transform(q: Array) -> dict[str, Any]:
    return {
        "translation": dict(zip("xyz", q[:3], strict=True)),
        "rotation": dict(zip("xyzw", q[3:BASE_Q], strict=True)),
    }


def _twist(v: Array) -> dict[str, Any]:
    return {
        "linear": dict(zip("xyz", v[:3], strict=True)),
        "angular": dict(zip("xyz", v[3:6], strict=True)),
    }
