"""Any log opened: as the run that it shows, as what was measured; its contents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from mcap.reader import make_reader

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.folder import summary_beside
from equipoise.log.mcap_format.log_size import BoundedFile
from equipoise.log.mcap_format.mcap_file import LOG_NAME, log_path, open_log, read_whole
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.mcap_format.ros_types import long_name
from equipoise.log.mcap_format.static_messages import robot_of_urdf
from equipoise.log.mcap_format.topics import needed_topics
from equipoise.log.recordings.bag import Bag, check_there, read_bag
from equipoise.log.recordings.recording import Recording, seconds_from
from equipoise.log.recordings.recording_of_bag import (
    described_urdf,
    is_description,
    is_measurement,
    recording_of_bag,
)
from equipoise.log.recordings.recording_of_csv import recording_of_csv
from equipoise.log.recordings.replay import recorded_run
from equipoise.log.run import Run
from equipoise.robot.formats.xml_file import parse_xml
from equipoise.robot.load import FILE_ENDINGS, load
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


def open_run_or_robot(
    what: str | os.PathLike[str],
    robot: Robot | None = None,
    settings: Path | None = None,
) -> Run | Robot:
    """Return the run or robot that is meant.

    Args:
        what: A path to the folder or log of a run; or what
            :func:`~equipoise.robot.load.load` loads.
        robot: Robot of the run; without it the log must describe its robot.
        settings: TOML file for a robot file.

    Raises:
        EquipoiseError: If it is neither.
    """
    text = os.fspath(what)
    if robot is not None or is_log(text):
        return open_run(text, robot)
    return load(text, settings)


def is_log(text: str) -> bool:
    """Return whether a path exists and is not a robot file."""
    if text.lower().endswith(FILE_ENDINGS):
        return False
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # longer than any name can be
        return False


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run, or a log with all topics of one."""
    if path.suffix.lower() in CSV_ENDINGS and path.is_file():
        return False
    file = log_path(path)
    if file.suffix.lower() != ".mcap" or not file.is_file():
        return False
    try:
        with open_log(file) as stream:
            index = make_reader(cast("BinaryIO", BoundedFile(stream))).get_summary()
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


class TopicFacts(NamedTuple):
    """A topic of a log.

    Attributes:
        name: For example ``"/joint_states"``.
        type: For example ``"sensor_msgs/msg/JointState"``.
        messages: Number of messages.
        rate: Mean rate [Hz]; None for fewer than two messages, or all at one time.
        first: Time of the first, from the log's start [s]; None without messages.
        last: Time of the last [s]; None without messages.
    """

    name: str
    type: str
    messages: int
    rate: float | None
    first: float | None
    last: float | None


class Contents(NamedTuple):
    """What is in a log.

    Attributes:
        path: The file or folder.
        topics: Its topics, in order of name.
        duration: Time from the first message to the last [s].
        size: Size on disk [bytes].
        robot: Name of the robot, if the log describes it.
        summary: Results, where the log is a run's.
        notices: What is lost or could not be read, a sentence each.
    """

    path: Path
    topics: tuple[TopicFacts, ...]
    duration: float
    size: int
    robot: str | None
    summary: dict[str, Any]
    notices: tuple[str, ...]


def log_contents(path: Path | str) -> Contents:
    """Return what is in a log; of a damaged one, what is whole.

    Args:
        path: The folder of a run, an MCAP file, a SQLite bag (.db3), the folder of a
            ROS 2 bag, or a CSV file.

    Raises:
        EquipoiseError: If it is none of these, or nothing in it is readable.
    """
    path = Path(path)
    check_there(path)
    if path.suffix.lower() in CSV_ENDINGS and not path.is_dir():
        return _csv_contents(path)
    file = log_path(path) if (path / LOG_NAME).is_file() else path
    summary = summary_beside(file, salvage=True)
    duration = summary.get("duration_s")
    known = duration if isinstance(duration, int | float) else None
    bag = read_bag(file, is_description, known)
    topics = [
        _facts(
            name,
            long_name(topic.type) if topic.type.count("/") == 1 else topic.type,
            seconds_from(topic.times, bag.begin),
        )
        for name, topic in bag.topics.items()
    ]
    return Contents(
        path=path,
        topics=tuple(sorted(topics)),
        duration=(bag.end - bag.begin) / NANOSECONDS,
        size=sum(item.stat().st_size for item in bag.files),
        robot=_robot_name(bag) or summary.get("robot"),
        summary=summary,
        notices=(*summary.get("notices", ()), *bag.notices),
    )


def _facts(name: str, kind: str, times: Array) -> TopicFacts:
    count = len(times)
    if count == 0:
        return TopicFacts(name, kind, 0, None, None, None)
    span = float(times[-1] - times[0])
    rate = (count - 1) / span if span > 0.0 else None
    return TopicFacts(name, kind, count, rate, float(times[0]), float(times[-1]))


def _robot_name(bag: Bag) -> str | None:
    """Return the robot's name in a bag's URDF, if there is one."""
    urdf = described_urdf(bag)
    try:
        return parse_xml(urdf.encode(), bag.path).get("name") if urdf else None
    except EquipoiseError:  # a table of topics needs no robot
        return None


def _csv_contents(file: Path) -> Contents:
    """Return the columns of a CSV file as if they were topics."""
    recording = read_recording(file)
    parts = {
        f"joints: {what} ({len(group)})": recording.time
        for what, group in (
            ("position", recording.joints),
            ("velocity", recording.velocity),
            ("effort", recording.effort),
        )
        if group
    }
    parts |= {f"{name}: wrench": w.time for name, w in recording.wrenches.items()}
    if recording.base_pose is not None:
        parts[recording.base_source.removeprefix("columns ")] = recording.time
    return Contents(
        path=file,
        topics=tuple(_facts(name, "CSV", time) for name, time in parts.items()),
        duration=float(recording.time[-1]),
        size=file.stat().st_size,
        robot=None,
        summary={},
        notices=recording.notices,
    )
