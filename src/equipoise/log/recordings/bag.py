"""A log that others have recorded: MCAP files, ROS 2 bag folders, SQLite bags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.mcap_format.raw_messages import RawLog, Wanted
from equipoise.log.mcap_format.ros_types import DEFINITIONS, definition
from equipoise.log.mcap_format.salvage import read_whole, what_is_lost
from equipoise.log.mcap_format.topics import EVENTS
from equipoise.log.recordings.bag_files import bag_files
from equipoise.log.recordings.db3_file import read_db3
from equipoise.log.recordings.message_groups import Group, message_groups


class BagTopic(NamedTuple):
    """Messages of a topic in order of log time.

    Attributes:
        name: For example ``"/joint_states"``.
        type: Without ROS 2's middle: ``"sensor_msgs/JointState"``.
        times: When they were logged [ns], shape (n,).
        groups: The messages, read; empty where they are not wanted or not readable.
    """

    name: str
    type: str
    times: NDArray[np.int64]
    groups: tuple[Group, ...]


@dataclass(frozen=True, eq=False)
class Bag:
    """All that a bag holds.

    Attributes:
        path: The file or folder.
        files: Its files, in order.
        topics: By name.
        attachments: Content by name.
        begin: Time of the first message [ns].
        end: Time of the last message that is followed by nothing lost [ns].
        notices: What is lost or could not be read, a sentence each.
    """

    path: Path
    files: tuple[Path, ...]
    topics: Mapping[str, BagTopic]
    attachments: Mapping[str, bytes]
    begin: int
    end: int
    notices: tuple[str, ...]


@dataclass
class _Found:
    """Messages of a topic, over all files."""

    type: str
    definition: str | None
    times: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)


def read_bag(path: Path | str, wanted: Wanted, duration: float | None = None) -> Bag:
    """Read a bag; what is cut off or damaged is read as far as it is whole.

    Args:
        path: An MCAP file, a SQLite bag (.db3), or a folder that holds such.
        wanted: Which topics' messages to read, by name and type
            (``"sensor_msgs/JointState"``); of others only times are kept.
        duration: How far it once went [s], if that is known.

    Raises:
        EquipoiseError: If it is no bag, or nothing in it is readable.
    """
    path = Path(path)
    files = bag_files(path)
    found: dict[str, _Found] = {}
    attachments: dict[str, bytes] = {}
    notices: list[str] = []
    spans: list[tuple[int, int]] = []
    for file in files:
        raw = _read_file(file, lambda name, kind: wanted(name, _short(kind)))
        begin, end = _span(raw)
        spans.append((begin, end))
        lost = what_is_lost(file.name, raw, max(end - begin, 0) / NANOSECONDS, duration)
        notices += [lost] if lost else []
        attachments.update(raw.attachments)
        _add(found, raw, notices)
    if not any(topic.times for topic in found.values()):
        lines = "; ".join(notices) or "there is no message in it"
        raise EquipoiseError(f"{path}: nothing of it is readable: {lines}")
    topics = {name: _topic(name, item, notices) for name, item in found.items()}
    filled = [(begin, end) for begin, end in spans if begin <= end]
    return Bag(
        path=path,
        files=tuple(files),
        topics=topics,
        attachments=attachments,
        begin=min(begin for begin, _ in filled),
        end=max(end for _, end in filled),
        notices=tuple(notices),
    )


def _read_file(file: Path, wanted: Wanted) -> RawLog:
    if file.suffix.lower() == ".db3":
        return read_db3(file, wanted)
    return read_whole(file, wanted)


def _span(raw: RawLog) -> tuple[int, int]:
    """Return the times that a file covers [ns]; the end is before the begin if none."""
    filled = [
        topic.times
        for topic in raw.topics.values()
        # a run's events are written ahead: they go beyond what is whole
        if topic.times and not (raw.damage and topic.channel.topic == EVENTS)
    ]
    if not filled:
        return 1, 0
    return min(map(min, filled)), max(map(max, filled))


def _add(found: dict[str, _Found], raw: RawLog, notices: list[str]) -> None:
    for topic in raw.topics.values():
        schema = raw.schemas.get(topic.channel.schema_id)
        kind = _short(schema.name) if schema else ""
        item = found.setdefault(topic.channel.topic, _Found(kind, None))
        item.times += topic.times
        if not topic.wanted:
            continue
        if topic.channel.message_encoding != "cdr":
            notices.append(
                f"'{topic.channel.topic}' is left out: its messages are encoded as "
                f"'{topic.channel.message_encoding}', not as cdr (ROS 2)"
            )
            continue
        item.data += topic.messages()
        if schema and schema.encoding == "ros2msg" and schema.data:
            item.definition = schema.data.decode(errors="replace")


def _topic(name: str, item: _Found, notices: list[str]) -> BagTopic:
    times = np.array(item.times, dtype=np.int64)
    order = np.argsort(times, kind="stable")
    groups: tuple[Group, ...] = ()
    if item.data and len(item.data) == len(times):
        try:
            text = item.definition or _standard_definition(item.type)
            data = [item.data[at] for at in order.tolist()]
            groups = tuple(message_groups(item.type, text, data))
        except EquipoiseError as error:
            notices.append(f"'{name}' is left out: {error}")
    return BagTopic(name, item.type, times[order], groups)


def _standard_definition(kind: str) -> str:
    if kind not in DEFINITIONS:
        raise EquipoiseError(f"no definition of {kind} is known")
    return definition(kind)


def _short(kind: str) -> str:
    return kind.replace("/msg/", "/")


def topic_names(topics: Iterable[BagTopic]) -> str:
    """Return names and types in a line, for messages."""
    return ", ".join(f"{topic.name} ({topic.type})" for topic in topics) or "none"
