"""A run as an MCAP file of ROS 2 messages."""

from __future__ import annotations

import struct
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from mcap.opcode import Opcode
from mcap.writer import MCAP0_MAGIC, Writer
from numpy.typing import NDArray

from equipoise.log.mcap_format.cdr import MessageType
from equipoise.log.mcap_format.ros_types import definition, long_name
from equipoise.log.mcap_format.static_messages import (
    SETTINGS_ATTACHMENT,
    static_messages,
)
from equipoise.log.mcap_format.streams import Stream, streams
from equipoise.log.mcap_format.topics import EVENTS
from equipoise.robot.formats.write import to_settings_toml

if TYPE_CHECKING:
    from equipoise.log.run import Run

# Before compression; what a reader unpacks at a time.
CHUNK_BYTES = 2**20
NANOSECONDS = 10**9
PROFILE, LIBRARY = "ros2", "equipoise"
# Level INFO of rcl_interfaces/Log.
INFO = 20


def write_mcap(run: Run, stream: BinaryIO) -> None:
    """Write a run; the same run gives the same bytes.

    Times are the run's own, counted from 0. See
    :mod:`equipoise.log.mcap_format.streams` for what is on which topic.

    Args:
        run: The run.
        stream: Output stream, at its beginning.
    """
    file = McapFile(stream)
    topics = [_Topic(file, item, run) for item in streams(run)]
    file.attach(SETTINGS_ATTACHMENT, "application/toml", to_settings_toml(run.robot))
    times = nanoseconds(run.time).tolist()
    _write_single_messages(file, run, times[0])
    step = max(1, CHUNK_BYTES // sum(topic.layout.size for topic in topics))
    for start in range(0, len(times), step):
        stop = min(start + step, len(times))
        encoded = [topic.encode(start, stop) for topic in topics]
        for row in range(start, stop):
            for topic, messages in zip(topics, encoded, strict=True):
                if topic.rows[row]:
                    file.add(topic.channel, times[row], messages[row - start])
        file.end_chunk()
    file.finish()


def is_own_log(path: Path) -> bool:
    """Return whether the header of a file says that Equipoise wrote it."""
    texts = (text.encode() for text in (PROFILE, LIBRARY))
    content = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    header = MCAP0_MAGIC + struct.pack("<BQ", Opcode.HEADER, len(content)) + content
    with path.open("rb") as stream:
        return stream.read(len(header)) == header


def nanoseconds(time: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return times [s] in whole nanoseconds."""
    return np.rint(time * NANOSECONDS).astype(np.uint64)


class McapFile:
    """An MCAP file in which nothing depends on the clock, and chunks on us alone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._writer = Writer(stream, chunk_size=sys.maxsize)
        self._writer.start(PROFILE, LIBRARY)
        self._schemas: dict[str, int] = {}
        self._counts: Counter[int] = Counter()

    def open_channel(self, topic: str, name: str) -> tuple[int, MessageType]:
        """Return the number of a new topic, and its type, given the type's name."""
        text = definition(name)
        if name not in self._schemas:
            self._schemas[name] = self._writer.register_schema(
                long_name(name), "ros2msg", text.encode()
            )
        channel = self._writer.register_channel(topic, "cdr", self._schemas[name])
        return channel, MessageType.parse(name, text)

    def add(self, channel: int, time: int, message: bytes) -> None:
        """Add an encoded message at a time [ns]."""
        self._writer.add_message(channel, time, message, time, self._counts[channel])
        self._counts[channel] += 1

    def attach(self, name: str, media_type: str, text: str) -> None:
        """Attach a text."""
        self._writer.add_attachment(0, 0, name, media_type, text.encode())

    def end_chunk(self) -> None:
        """End a chunk: what a reader unpacks at a time."""
        self._writer.flush()  # type: ignore[no-untyped-call]

    def finish(self) -> None:
        """Write the index."""
        self._writer.finish()  # type: ignore[no-untyped-call]


class _Topic:
    """A stream that has its channel in a file and the layout of its messages."""

    def __init__(self, file: McapFile, stream: Stream, run: Run) -> None:
        self.channel, kind = file.open_channel(stream.topic, stream.type)
        self._template = kind.encode(stream.message)
        self.layout = kind.layout(self._template)
        everywhere = np.ones(len(run.time), dtype=np.bool_)
        self.rows = (everywhere if stream.rows is None else stream.rows).tolist()
        self._stream = stream
        stamped = run.time if stream.stamped is None else stream.stamped
        self._stamps = np.divmod(nanoseconds(stamped), NANOSECONDS)

    def encode(self, start: int, stop: int) -> list[bytes]:
        template = np.frombuffer(self._template, dtype=np.uint8)
        messages = np.tile(template, (stop - start, 1))
        for path, values in self._stream.columns.items():
            self.layout.put(messages, path, np.asarray(values)[start:stop])
        seconds, rest = (part[start:stop] for part in self._stamps)
        for path in self._stream.stamps:
            self.layout.put(messages, f"{path}.sec", seconds)
            self.layout.put(messages, f"{path}.nanosec", rest)
        return [message.tobytes() for message in messages]


def _write_single_messages(file: McapFile, run: Run, start: int) -> None:
    """Write what does not come with every row: the robot and the events."""
    items: list[tuple[str, str, dict[str, Any], int]] = [
        (topic, name, message, start) for topic, name, message in static_messages(run)
    ]
    moments = nanoseconds(np.array([event.time for event in run.events])).tolist()
    for event, moment in zip(run.events, moments, strict=True):
        stamp = dict(zip(("sec", "nanosec"), divmod(moment, NANOSECONDS), strict=True))
        text = {"stamp": stamp, "level": INFO, "name": "equipoise", "msg": event.text}
        items.append((EVENTS, "rcl_interfaces/Log", text, moment))
    channels: dict[str, tuple[int, MessageType]] = {}
    for topic, name, message, moment in items:
        if topic not in channels:
            channels[topic] = file.open_channel(topic, name)
        channel, kind = channels[topic]
        file.add(channel, moment, kind.encode(message))
    file.end_chunk()
