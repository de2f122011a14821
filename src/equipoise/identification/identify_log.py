"""From a log to a corrected robot, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from equipoise.identification.identified import Identified
from equipoise.identification.identify import identify_poses
from equipoise.identification.measuring.measure import (
    Measured,
    measure_run,
    measured_poses,
)
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.noise import SensorNoise
from equipoise.identification.prior import Prior
from equipoise.log.open_run import read_recording
from equipoise.log.run import Run
from equipoise.robot.model import Robot


def identify(
    robot: Robot,
    log: Path | str | Run,
    *,
    table: bool = False,
    units: Mapping[str, str] | None = None,
    wrench_frames: Mapping[str, str] | None = None,
    free_mass: bool = False,
    noise: SensorNoise | None = None,
    level: float | None = None,
    prior: Prior | None = None,
    seed: int = 0,
) -> Identified:
    """Return where a robot's centres of mass really are, and how well that is known.

    Args:
        robot: The robot as its file describes it.
        log: A log of joint angles and both feet's wrenches (CSV, MCAP, ROS 2 bag, or
            the folder of a run), in which the robot stands still now and then; or a
            run.
        table: Whether the log is a CSV table of poses, a row each.
        units: Of the log where they are not SI, as ``{"angle": "deg"}``.
        wrench_frames: Frames of wrenches, by topic or column name, where the log's own
            are wrong or missing.
        free_mass: Whether the robot may weigh much more or less than its model.
        noise: Of the sensors; as the log itself shows if not given.
        level: Of the soles' attitude against the level [rad], one standard deviation;
            as forces sideways show if not given.
        prior: How far the model may be off;
            :func:`~equipoise.identification.prior.default_prior` if not given.
        seed: Of the bootstrap that judges the improvement.

    Raises:
        EquipoiseError: If the log does not fit the robot, or tells too little.
    """
    measured = _measured(robot, log, table, units, wrench_frames, free_mass)
    seen = noise or measured.noise
    return identify_poses(
        measured.poses,
        noise=seen if level is None else replace(seen, level=level),
        prior=prior,
        seed=seed,
        notices=measured.notices,
    )


def _measured(
    robot: Robot,
    log: Path | str | Run,
    table: bool,
    units: Mapping[str, str] | None,
    wrench_frames: Mapping[str, str] | None,
    free_mass: bool,
) -> Measured:
    if isinstance(log, Run):
        return measure_run(log, free_mass=free_mass)
    recording = read_pose_table(Path(log)) if table else read_recording(log)
    return measured_poses(
        robot,
        recording,
        table=table,
        units=units,
        wrench_frames=wrench_frames,
        free_mass=free_mass,
    )
