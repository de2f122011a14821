"""Anything that can be played, as a run: a run's folder, a bag, a CSV file."""

from __future__ import annotations

from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.log.described_robot import robot_of_urdf
from equipoise.log.mcap_format.mcap_file import log_path, topics
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.mcap_format.salvage import read_whole
from equipoise.log.mcap_format.topics import needed_topics
from equipoise.log.recordings.bag_files import check_there
from equipoise.log.recordings.recording import CSV_ENDINGS, Recording, read_recording
from equipoise.log.recordings.replay import recorded_run
from equipoise.log.run import Run
from equipoise.robot.model import Robot


def open_run(path: Path | str, robot: Robot | None = None) -> Run:
    """Return a run, or another robot's log as one.

    What is cut off or damaged is returned as far as it is whole; ``notices`` of the
    summary say what is lost, mended or assumed.

    Args:
        path: The folder of a run, an MCAP file, a SQLite bag (.db3), the folder of a
            ROS 2 bag, or a CSV file.
        robot: The robot that ran; by default the one that the log describes.

    Raises:
        EquipoiseError: If it is no log, or one of another robot, or describes no robot
            and none is given.
    """
    path = Path(path)
    check_there(path)
    if is_run(path):
        return read_run(path, robot, salvage=True)
    recording = read_recording(path)
    return recorded_run(recording, robot or _described(recording))


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run, or a log with all topics of a run."""
    if path.suffix.lower() in CSV_ENDINGS and path.is_file():
        return False
    file = log_path(path)
    if file.suffix.lower() != ".mcap" or not file.is_file():
        return False
    try:
        announced = {topic.name for topic in topics(file)}
    except EquipoiseError:  # no index: all must be read to know
        raw = read_whole(file, lambda name, kind: False)
        announced = {topic.channel.topic for topic in raw.topics.values()}
    return announced.issuperset(needed_topics(announced))


def _described(recording: Recording) -> Robot:
    if recording.urdf is None:
        raise EquipoiseError(
            f"{recording.source}: is no log of a run, and describes no robot; name "
            "the robot: --robot URDF"
        )
    return robot_of_urdf(recording.urdf, recording.settings, recording.source)
