"""What is in a log: topics, duration, size, robot, and what is lost of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import LOG_NAME, log_path
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.mcap_format.ros_types import long_name
from equipoise.log.open_run import CSV_ENDINGS, read_recording
from equipoise.log.recordings.bag import Bag, check_there, read_bag
from equipoise.log.recordings.recording import seconds_from
from equipoise.log.recordings.recording_of_bag import described_urdf, is_description
from equipoise.log.summary import summary_beside
from equipoise.robot.formats.xml_file import parse_xml


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
