"""A log that others have recorded: MCAP files, ROS 2 bag folders, SQLite bags."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mcap import records

from equipoise.errors import EquipoiseError
from equipoise.input_file import LARGEST_TEXT_BYTES, open_input, read_input_text
from equipoise.log.folder import FILES
from equipoise.log.mcap_format.cdr import MessageType
from equipoise.log.mcap_format.log_size import FARTHEST_TIME
from equipoise.log.mcap_format.mcap_file import (
    LOG_NAME,
    Messages,
    decode,
    read_whole,
    what_is_lost,
)
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.mcap_format.raw_messages import Damage, RawLog, RawTopic, Wanted
from equipoise.log.mcap_format.ros_types import DEFINITIONS, definition
from equipoise.log.mcap_format.topics import EVENTS

METADATA = "metadata.yaml"
BAG_ENDINGS = (".mcap", ".db3")
PACKED = ".zstd"
# Names in a damaged file, and so in the error about it, may not be UTF-8.
BROKEN = (sqlite3.Error, UnicodeDecodeError)
UNPACK = "unpack it (ros2 bag convert, or zstd -d)"


@dataclass(frozen=True, eq=False)
class Bag:
    """All that a bag holds.

    Attributes:
        path: The file or folder.
        files: Its files, in order.
        topics: Topics by name.
        attachments: Content by name.
        begin: Time of the first message [ns].
        end: Time of the last message that is followed by nothing lost [ns].
        notices: What is lost or could not be read, a sentence each.
    """

    path: Path
    files: tuple[Path, ...]
    topics: Mapping[str, Messages]
    attachments: Mapping[str, bytes]
    begin: int
    end: int
    notices: tuple[str, ...]


@dataclass
class _Found:
    """Messages of a topic, over all files."""

    type: str
    messages: RawTopic
    definition: str | None = None


def read_bag(path: Path | str, wanted: Wanted, duration: float | None = None) -> Bag:
    """Read a bag; what is cut off or damaged is read as far as it is whole.

    Args:
        path: An MCAP file, a SQLite bag (.db3), or a folder that holds such.
        wanted: Topics whose messages to read, by name and type
            (``"sensor_msgs/JointState"``); of others only times are kept.
        duration: Its duration when it was whole [s], if that is known.

    Raises:
        EquipoiseError: If it is not a bag, or nothing in it is readable.
    """
    path = Path(path)
    files = bag_files(path)
    found: dict[str, _Found] = {}
    attachments: dict[str, bytes] = {}
    notices: list[str] = []
    spans: list[tuple[int, int]] = []
    for file in files:
        read = read_db3 if file.suffix.lower() == ".db3" else read_whole
        raw = read(file, lambda name, kind: wanted(name, _short(kind)))
        begin, end = _span(raw)
        spans.append((begin, end))
        lost = what_is_lost(file.name, raw, max(end - begin, 0) / NANOSECONDS, duration)
        notices += [lost] if lost else []
        attachments.update(raw.attachments)
        _add(found, raw, notices)
    if not any(item.messages.times for item in found.values()):
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
        empty = RawTopic(topic.channel)
        item = found.setdefault(topic.channel.topic, _Found(kind, empty))
        if topic.wanted and topic.channel.message_encoding != "cdr":
            notices.append(
                f"'{topic.channel.topic}' is left out: its messages are encoded as "
                f"'{topic.channel.message_encoding}', not as cdr (ROS 2)"
            )
            item.messages.times += topic.times
            continue
        item.messages.extend(topic)
        if topic.wanted and schema and schema.encoding == "ros2msg" and schema.data:
            item.definition = schema.data.decode(errors="replace")


def _topic(name: str, item: _Found, notices: list[str]) -> Messages:
    if item.messages.is_kept():
        try:
            if not item.definition and item.type not in DEFINITIONS:
                raise EquipoiseError(f"no definition of {item.type} is known")
            text = item.definition or definition(item.type)
            return decode(item.messages, MessageType.parse(item.type, text))
        except EquipoiseError as error:
            notices.append(f"'{name}' is left out: {error}")
    times = np.sort(np.array(item.messages.times, dtype=np.int64))
    return Messages(name, item.type, times, ())


def _short(kind: str) -> str:
    return kind.replace("/msg/", "/")


def topic_names(topics: Iterable[Messages]) -> str:
    """Return names and types in a line, for messages."""
    return ", ".join(f"{topic.topic} ({topic.type})" for topic in topics) or "none"


def check_there(path: Path) -> None:
    """Raise an EquipoiseError if there is neither file nor folder at a path."""
    try:
        there = path.exists()
    except (OSError, ValueError):  # longer than any name can be
        there = False
    if not there:
        raise EquipoiseError(f"{path}: no such file or folder")


def bag_files(path: Path) -> list[Path]:
    """Return the files of a bag in order.

    Raises:
        EquipoiseError: If there are none, or they are compressed as a whole.
    """
    check_there(path)
    if not path.is_dir():
        _check_file(path)
        return [path]
    if any((path / name).is_file() for name in FILES):
        raise EquipoiseError(
            f"{path}: is not the folder of a run: it has no {LOG_NAME}"
        )
    metadata = path / METADATA
    files = _listed(metadata) if metadata.is_file() else []
    if not files:
        inside = [
            item
            for item in path.iterdir()
            if item.name.removesuffix(PACKED).endswith(BAG_ENDINGS)
        ]
        files = sorted(inside, key=_natural)
    if not files:
        raise EquipoiseError(
            f"{path}: is not the folder of a run or a ROS 2 bag: it has neither "
            f"{LOG_NAME} nor {METADATA} nor any file that ends in "
            f"{' or '.join(BAG_ENDINGS)}"
        )
    for file in files:
        _check_file(file)
    return files


def _listed(metadata: Path) -> list[Path]:
    """Return the files that a bag's metadata names; it is YAML of one known form."""
    text = read_input_text(metadata, LARGEST_TEXT_BYTES)
    if re.search(r"^\s*compression_mode:\s*['\"]?message\b", text, re.M | re.I):
        raise EquipoiseError(f"{metadata.parent}: its messages are packed; {UNPACK}")
    block = re.search(r"^\s*relative_file_paths:[ \t]*\n((?:\s*-.*\n?)+)", text, re.M)
    lines = block.group(1).splitlines() if block else []
    names = [line.strip().removeprefix("-").strip().strip("'\"") for line in lines]
    # older bags name their own folder as well
    return [metadata.parent / Path(name).name for name in names if name]


def _check_file(file: Path) -> None:
    if file.name.endswith(PACKED):
        raise EquipoiseError(f"{file}: is packed as a whole; {UNPACK}")
    check_there(file)
    open_input(file).close()
    if file.suffix.lower() not in BAG_ENDINGS:
        raise EquipoiseError(
            f"{file}: is not a log file; logs are .mcap, .db3 and .csv files, folders "
            "of ROS 2 bags, and folders of runs"
        )


def _natural(file: Path) -> list[str | int]:
    """Order bag_2 before bag_10."""
    parts = re.split(r"(\d+)", file.name)
    return [int(part) if part.isdigit() else part for part in parts]


def read_db3(file: Path, wanted: Wanted) -> RawLog:
    """Read a SQLite bag (.db3) into the same form as an MCAP file.

    Newer bags hold the definitions of their messages; where one does not, they are
    missing in ``schemas``; standard types are known.

    Args:
        file: The .db3 file.
        wanted: Topics whose messages to keep, by name and type.

    Raises:
        EquipoiseError: If it is not one, or is damaged before the first message.
    """
    log = RawLog()
    with _opened(file) as database:
        _check_tables(database)
        definitions = _definitions(database)
        rows = database.execute(
            "SELECT id, name, type, serialization_format FROM topics"
        )
        for number, name, kind, encoding in rows.fetchall():
            texts = (name, kind, encoding)
            if not isinstance(number, int) or not all(
                isinstance(t, str) for t in texts
            ):
                raise sqlite3.DatabaseError("the table of topics is damaged")
            schema = definitions.get(kind, ("", ""))
            log.schemas[number] = records.Schema(
                id=number, name=kind, encoding=schema[0], data=schema[1].encode()
            )
            channel = records.Channel(
                id=number,
                topic=name,
                message_encoding=encoding,
                metadata={},
                schema_id=number,
            )
            log.topics[number] = RawTopic(channel, wanted(name, kind))
        try:
            _read_messages(database, log)
            log.complete = True
        except BROKEN as error:
            log.damage = Damage(False, str(error), None)
    if log.damage and not any(topic.times for topic in log.topics.values()):
        raise EquipoiseError(f"{file}: is damaged ({log.damage.reason})")
    return log


def _check_tables(database: sqlite3.Connection) -> None:
    """Refuse views in place of tables: they can run a program that never ends."""
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")
    views = [name for (name,) in rows.fetchall()]
    if views:
        raise sqlite3.DatabaseError(f"'{views[0]}' is a view, not a table")


def _read_messages(database: sqlite3.Connection, log: RawLog) -> None:
    kept = [number for number, topic in log.topics.items() if topic.wanted]
    # unwanted messages can be pictures: they stay on disk
    rows = database.execute(
        "SELECT topic_id, timestamp, "
        f"CASE WHEN topic_id IN ({', '.join(map(str, kept))}) THEN data ELSE x'' END "
        "FROM messages ORDER BY id"
    )
    for number, time, data in rows:
        if not isinstance(time, int) or not isinstance(data, bytes):
            raise sqlite3.DatabaseError("a message is damaged")
        if abs(time) >= FARTHEST_TIME:
            raise sqlite3.DatabaseError("a message has a time that no clock shows")
        if number in log.topics:
            log.add(number, [time], data)
        else:
            log.allowance.keep(1, 0)


def _definitions(database: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Return encoding and text of message definitions by type, if the bag has them."""
    try:
        rows = database.execute(
            "SELECT topic_type, encoding, encoded_message_definition "
            "FROM message_definitions"
        ).fetchall()
    except sqlite3.OperationalError:  # bags before ROS 2 Iron have no such table
        return {}
    return {
        kind: (encoding, text)
        for kind, encoding, text in rows
        if isinstance(encoding, str) and isinstance(text, str)
    }


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    database = None
    try:
        uri = f"{file.resolve().as_uri()}?mode=ro"
        database = sqlite3.connect(uri, uri=True)
        yield database
    except BROKEN as error:
        raise EquipoiseError(
            f"{file}: is not a ROS 2 bag, or is damaged ({error})"
        ) from error
    finally:
        if database is not None:
            database.close()
