"""A run as an MCAP file of ROS 2 messages."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from equipoise.log.mcap_format.cdr import MessageType
from equipoise.log.mcap_format.container import Block, McapFile
from equipoise.log.mcap_format.layout import Bytes, Layout
from equipoise.log.mcap_format.ros_types import definition, long_name
from equipoise.log.mcap_format.stream import Stream
from equipoise.log.mcap_format.streams import event_message, still_messages, streams
from equipoise.log.mcap_format.topics import EVENTS
from equipoise.log.run import Run
from equipoise.robot.formats.export_urdf import to_urdf
from equipoise.robot.formats.settings_text import to_settings_toml

# Before compression; what a reader unpacks at a time.
CHUNK_BYTES = 2**20
# Limbs, soles and postures, which URDF cannot hold.
SETTINGS_ATTACHMENT = "robot.toml"
NANOSECONDS = 10**9


def write_mcap(run: Run, stream: BinaryIO) -> None:
    """Write a run; the same run gives the same bytes.

    Times are the run's own, counted from 0. See
    :mod:`equipoise.log.mcap_format.streams` for what is on which topic.

    Args:
        run: The run.
        stream: Where to, at its beginning.
    """
    file = McapFile(stream, "ros2", "equipoise")
    topics = [_Topic(file, item, run) for item in streams(run)]
    settings = to_settings_toml(run.robot)
    file.add_attachment(SETTINGS_ATTACHMENT, "application/toml", settings.encode())
    times = nanoseconds(run.time)
    _write_singles(file, run, int(times[0]))
    present = np.stack([topic.rows for topic in topics], axis=1)
    row_bytes = sum(topic.layout.size for topic in topics)
    step = max(1, CHUNK_BYTES // row_bytes)
    for start in range(0, len(times), step):
        stop = min(start + step, len(times))
        encoded = [topic.encode(start, stop) for topic in topics]
        blocks = []
        for first, last in _even_spans(present, start, stop):
            there = np.flatnonzero(present[first]).tolist()
            blocks.append(
                Block(
                    [topics[at].channel for at in there],
                    times[first:last],
                    [encoded[at][first - start : last - start] for at in there],
                )
            )
        file.add_chunk(blocks)
    file.finish()


def nanoseconds(time: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return times [s] in whole nanoseconds."""
    return np.rint(time * NANOSECONDS).astype(np.uint64)


class _Topic:
    """A stream that has its channel in a file and the layout of its messages."""

    def __init__(self, file: McapFile, stream: Stream, run: Run) -> None:
        self.stream = stream
        self.channel, kind = _open_channel(file, stream.topic, stream.type)
        template = kind.encode(stream.message)
        self.layout: Layout = kind.layout(template)
        self.rows = (
            np.ones(len(run.time), dtype=np.bool_)
            if stream.rows is None
            else stream.rows
        )
        stamped = run.time if stream.stamped is None else stream.stamped
        self._stamps = np.divmod(nanoseconds(stamped), NANOSECONDS)
        self._template: Bytes = np.frombuffer(template, dtype=np.uint8)

    def encode(self, start: int, stop: int) -> Bytes:
        messages = np.tile(self._template, (stop - start, 1))
        for path, values in self.stream.columns.items():
            self.layout.put(messages, path, np.asarray(values)[start:stop])
        seconds, rest = (part[start:stop] for part in self._stamps)
        for path in self.stream.stamps:
            self.layout.put(messages, f"{path}.sec", seconds)
            self.layout.put(messages, f"{path}.nanosec", rest)
        return messages


def _open_channel(file: McapFile, topic: str, name: str) -> tuple[int, MessageType]:
    text = definition(name)
    channel = file.add_channel(topic, long_name(name), text)
    return channel, MessageType.parse(name, text)


def _write_singles(file: McapFile, run: Run, start: int) -> None:
    """Write what does not come with every row: the robot and the events."""
    items: list[tuple[str, str, dict[str, Any], int]] = [
        (topic, name, message, start)
        for topic, name, message in still_messages(run, to_urdf(run.robot.description))
    ]
    moments = nanoseconds(np.array([event.time for event in run.events]))
    for event, moment in zip(run.events, moments.tolist(), strict=True):
        message = event_message(event.text, *divmod(moment, NANOSECONDS))
        items.append((EVENTS, "rcl_interfaces/Log", message, moment))
    channels: dict[str, tuple[int, MessageType]] = {}
    blocks = []
    for topic, name, message, moment in items:
        if topic not in channels:
            channels[topic] = _open_channel(file, topic, name)
        channel, kind = channels[topic]
        encoded = np.frombuffer(kind.encode(message), dtype=np.uint8)
        at = np.array([moment], dtype=np.uint64)
        blocks.append(Block([channel], at, [encoded[None]]))
    file.add_chunk(blocks)


def _even_spans(
    present: NDArray[np.bool_], start: int, stop: int
) -> list[tuple[int, int]]:
    """Return spans of rows in which the same topics have messages."""
    part = present[start:stop]
    changes = np.flatnonzero((part[1:] != part[:-1]).any(axis=1)) + 1
    edges = [start, *(changes + start).tolist(), stop]
    return list(pairwise(edges))
