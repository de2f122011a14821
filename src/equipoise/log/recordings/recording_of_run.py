"""What the sensors of a simulated robot measured, as a recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_writer import nanoseconds
from equipoise.log.mcap_format.sensor_streams import (
    foot_sensor_frame,
    static_transforms,
)
from equipoise.log.mcap_format.topics import JOINT_STATES, ODOMETRY, wrench_topic
from equipoise.log.recordings.base_series import fair_poses, static_frame
from equipoise.log.recordings.measured_series import JointSeries, Series
from equipoise.log.recordings.recording import Recording
from equipoise.log.recordings.recording_of_series import recording_of_series
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import BASE_Q, degree_names


def recording_of_run(run: Run) -> Recording:
    """Return what a run's sensors measured, as reading its log gives it.

    Args:
        run: A run with sensors.

    Raises:
        EquipoiseError: If it has none.
    """
    robot, measured = run.robot, run.measured
    if measured is None:
        raise EquipoiseError(f"the run of {robot.name} has no sensors")
    logged, names = _whole(run.time), degree_names(robot)
    taken = _whole(measured.time)
    position, velocity, effort = (
        Series(JOINT_STATES, "", logged, taken, values, names)
        for values in (measured.position, measured.velocity, run.torque)
    )
    base = None
    if run.estimates:
        poses = run.estimates["q"][:, :BASE_Q]
        root = robot.description.root
        base = fair_poses(Series(ODOMETRY, root, logged, taken, poses))
    frames = {}
    for item in static_transforms(run):
        place = item["transform"]
        pose = [*place["translation"].values(), *place["rotation"].values()]
        parent = item["header"]["frame_id"]
        frames[item["child_frame_id"]] = static_frame(parent, np.array(pose))
    return recording_of_series(
        Path(f"run of {robot.name}"),
        [JointSeries(position, velocity, effort, 0)],
        [
            Series(
                wrench_topic(side), foot_sensor_frame(run, side), logged, taken, values
            )
            for side, values in measured.feet.items()
        ],
        base,
        static_frames=frames,
    )


def _whole(time: Array) -> NDArray[np.int64]:
    return nanoseconds(time).astype(np.int64)
