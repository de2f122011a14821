"""What a robot, ours or another, has measured: joints, wrenches, its base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from equipoise.arrays import Array, frozen_array
from equipoise.log.mcap_format.mcap_file import LOG_NAME, log_path
from equipoise.log.recordings.bag_files import check_there

CSV_ENDINGS = (".csv", ".tsv", ".txt")


class MeasuredWrench(NamedTuple):
    """What a force-torque sensor, or an estimator, says.

    Attributes:
        frame: The frame that it is about and in, as the log names it.
        time: On the recording's clock [s], shape (m,).
        values: Force then torque [N, Nm], shape (m, 6).
    """

    frame: str
    time: Array
    values: Array


class StaticFrame(NamedTuple):
    """A frame that is fixed to another.

    Attributes:
        parent: The other.
        transform_to_parent: Maps its coordinates to the parent's, shape (4, 4).
    """

    parent: str
    transform_to_parent: Array


@dataclass(frozen=True, eq=False)
class Recording:
    """What was measured at n times; arrays are read-only.

    Attributes:
        source: The file or folder.
        time: Increasing, from 0 [s], shape (n,).
        joints: Position by joint name [rad or m], shape (n,) each, finite.
        velocity: Of those joints that have it [rad/s or m/s], shape (n,) each.
        effort: Of those joints that have it [Nm or N], shape (n,) each.
        wrenches: By topic, or by the beginning of the columns' names.
        base_pose: Position [m] and quaternion xyzw of ``base_frame`` in the world or
            odometry frame, shape (n, 7); None where the log has none.
        base_source: Topic or columns that it came from, ``""`` if there is none.
        base_frame: The frame whose pose it is; ``""`` for the robot's root.
        static_frames: Frames that the log itself fixes to others (``/tf_static``).
        urdf: The robot, where the log describes it.
        settings: TOML of the robot, where the log holds one.
        notices: What was mended, assumed or left out, a sentence each.
    """

    source: Path
    time: Array
    joints: Mapping[str, Array]
    velocity: Mapping[str, Array]
    effort: Mapping[str, Array]
    wrenches: Mapping[str, MeasuredWrench]
    base_pose: Array | None
    base_source: str
    base_frame: str
    static_frames: Mapping[str, StaticFrame]
    urdf: str | None
    settings: bytes | None
    notices: tuple[str, ...]

    def __post_init__(self) -> None:
        """Freeze."""
        self._set("time", frozen_array(self.time))
        for name in ("joints", "velocity", "effort"):
            own = {key: frozen_array(row) for key, row in getattr(self, name).items()}
            self._set(name, MappingProxyType(own))
        if self.base_pose is not None:
            self._set("base_pose", frozen_array(self.base_pose))
        wrenches = {
            key: MeasuredWrench(w.frame, frozen_array(w.time), frozen_array(w.values))
            for key, w in self.wrenches.items()
        }
        self._set("wrenches", MappingProxyType(wrenches))
        self._set("static_frames", MappingProxyType(dict(self.static_frames)))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def read_recording(path: Path | str) -> Recording:
    """Read joint positions, foot wrenches and the base out of anybody's log.

    Args:
        path: An MCAP file, a SQLite bag (.db3), the folder of a ROS 2 bag or of a run,
            or a CSV file with a row of names.

    Raises:
        EquipoiseError: If it is none of these, or holds no joint positions.
    """
    path = Path(path)
    check_there(path)
    if path.suffix.lower() in CSV_ENDINGS and not path.is_dir():
        from equipoise.log.recordings.recording_of_csv import recording_of_csv

        return recording_of_csv(path)
    from equipoise.log.recordings.bag import read_bag
    from equipoise.log.recordings.recording_of_bag import (
        is_measurement,
        recording_of_bag,
    )

    if (path / LOG_NAME).is_file():
        path = log_path(path)
    return recording_of_bag(read_bag(path, is_measurement))
