"""Any log opened: as the run that it shows, or as what was measured."""

from __future__ import annotations

from pathlib import Path

from mcap.reader import make_reader

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import LOG_NAME, log_path, open_log, read_whole
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.mcap_format.static_messages import robot_of_urdf
from equipoise.log.mcap_format.topics import needed_topics
from equipoise.log.recordings.bag import check_there, read_bag
from equipoise.log.recordings.recording import Recording
from equipoise.log.recordings.recording_of_bag import is_measurement, recording_of_bag
from equipoise.log.recordings.recording_of_csv import recording_of_csv
from equipoise.log.recordings.replay import recorded_run
from equipoise.log.run import Run
from equipoise.robot.model import Robot

CSV_ENDINGS = (".csv", ".tsv", ".txt")


def open_run(path: Path | str, robot: Robot | None = None) -> Run:
    """Return a run, or another robot's log as one.

    What is cut off or damaged is returned as far as it is whole; ``notices`` of the
    summary say what is lost, repaired or assumed.

    Args:
        path: The folder of a run, an MCAP file, a SQLite bag (.db3), the folder of a
            ROS 2 bag, or a CSV file.
        robot: The robot that ran; by default the one that the log describes.

    Raises:
        EquipoiseError: If it is not a log, is one of another robot, or describes no
            robot and none is given.
    """
    path = Path(path)
    check_there(path)
    if is_run(path):
        return read_run(path, robot, salvage=True)
    recording = read_recording(path)
    return recorded_run(recording, robot or _described(recording))


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run, or a log with all topics of one."""
    if path.suffix.lower() in CSV_ENDINGS and path.is_file():
        return False
    file = log_path(path)
    if file.suffix.lower() != ".mcap" or not file.is_file():
        return False
    try:
        with open_log(file) as stream:
            index = make_reader(stream).get_summary()
            if index is None or index.statistics is None:
                raise EquipoiseError("has no list of its topics")
            announced = {channel.topic for channel in index.channels.values()}
    except EquipoiseError:  # all must be read to know
        raw = read_whole(file, lambda name, kind: False)
        announced = {topic.channel.topic for topic in raw.topics.values()}
    return announced.issuperset(needed_topics(announced))


def read_recording(path: Path | str) -> Recording:
    """Read joint positions, foot wrenches and the base out of any robot's log.

    Args:
        path: An MCAP file, a SQLite bag (.db3), the folder of a ROS 2 bag or of a run,
            or a CSV file with a row of names.

    Raises:
        EquipoiseError: If it is none of these, or holds no joint positions.
    """
    path = Path(path)
    check_there(path)
    if path.suffix.lower() in CSV_ENDINGS and not path.is_dir():
        return recording_of_csv(path)
    if (path / LOG_NAME).is_file():
        path = log_path(path)
    return recording_of_bag(read_bag(path, is_measurement))


def _described(recording: Recording) -> Robot:
    if recording.urdf is None:
        raise EquipoiseError(
            f"{recording.source}: is not the log of a run, and describes no robot; "
            "name the robot: robot=…"
        )
    return robot_of_urdf(recording.urdf, recording.settings, recording.source)
