"""Messages out of the MCAP container, bytes as they are.

The reader of the ``mcap`` package takes 10 µs for a message; its records are used
here for all but messages. A run writes the same topics in the same order at each of
its times: where records repeat so, many rows are taken out of a chunk at once.
"""

from __future__ import annotations

import os
import struct
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO, NamedTuple

import numpy as np
from mcap import records
from mcap.data_stream import ReadDataStream
from mcap.exceptions import EndOfFile, InvalidMagic
from mcap.opcode import Opcode
from mcap.stream_reader import CRCValidationError, StreamReader
from numpy.typing import NDArray

from equipoise.log.mcap_format.cdr import Bytes
from equipoise.log.mcap_format.log_size import (
    Allowance,
    LogTooLargeError,
    check_time,
    chunk_content,
)

# Opcode, length.
RECORD_HEAD = struct.Struct("<BQ")
# Channel, sequence, log time, publish time.
MESSAGE_HEAD = struct.Struct("<HIQQ")
# Where in a message's record the log time and the message itself begin.
LOG_TIME, CONTENT = 15, RECORD_HEAD.size + MESSAGE_HEAD.size
# Opcode, length, channel: the same in every row.
ROW_HEAD = struct.Struct("<BQH")
# Fewer rows are read faster one by one; more are read in several goes.
LEAST_ROWS, MOST_ROWS = 8, 4096
# Whether to keep the messages of a topic, by its name and type.
Wanted = Callable[[str, str], bool]


@dataclass
class RawTopic:
    """Messages of a channel in the order of the file.

    Attributes:
        channel: The channel's record in the file.
        wanted: Whether messages are kept; else only their times are.
        times: Log times [ns].
    """

    channel: records.Channel
    wanted: bool = True
    times: list[int] = field(default_factory=list)
    _blocks: list[tuple[int, bytes]] = field(default_factory=list)

    def add(self, times: list[int], data: bytes) -> None:
        """Add messages of one length, given after each other."""
        self.times += times
        if self.wanted:
            self._blocks.append((len(times), data))

    def extend(self, other: RawTopic) -> None:
        """Add the messages of another channel."""
        self.times += other.times
        self._blocks += other._blocks

    def is_kept(self) -> bool:
        """Whether there are messages, and not the times alone of any of them."""
        return 0 < len(self.times) == sum(count for count, _ in self._blocks)

    def tables(self) -> list[tuple[NDArray[np.int64], Bytes]]:
        """Return the messages of each length as rows (m, length), after their indices.

        Lengths increase; so do the indices among the messages of all lengths, (m,).
        """
        indices: dict[int, list[NDArray[np.int64]]] = defaultdict(list)
        blocks: dict[int, list[bytes]] = defaultdict(list)
        begin = 0
        for count, data in self._blocks:
            indices[len(data) // count].append(np.arange(begin, begin + count))
            blocks[len(data) // count].append(data)
            begin += count
        if len(blocks) == 1:  # logs are large: no second copy
            self._blocks = [(begin, b"".join(data)) for data in blocks.values()]
            blocks = {size: [self._blocks[0][1]] for size in blocks}
        found = []
        for size in sorted(blocks):
            own = np.concatenate(indices[size])
            flat = np.frombuffer(b"".join(blocks[size]), dtype=np.uint8)
            found.append((own, flat.reshape(len(own), size)))
        return found


class Damage(NamedTuple):
    """Why a file could not be read to its end.

    Attributes:
        cut_off: Whether it just ends; it is damaged otherwise.
        reason: A few words.
        unsure_from: Log time from which topics may lack messages [ns]; None where
            they end together.
    """

    cut_off: bool
    reason: str
    unsure_from: int | None


@dataclass
class RawLog:
    """All that is in an MCAP file.

    Attributes:
        schemas: Schemas by number.
        topics: Topics by channel number.
        attachments: Content by name.
        damage: Damage that ended the reading early; None where there was none.
        complete: Whether all messages were read.
        allowance: What may still be read of it.
    """

    schemas: dict[int, records.Schema] = field(default_factory=dict)
    topics: dict[int, RawTopic] = field(default_factory=dict)
    attachments: dict[str, bytes] = field(default_factory=dict)
    damage: Damage | None = None
    complete: bool = False
    allowance: Allowance = field(default_factory=lambda: Allowance(0))

    def add(self, channel: int, times: list[int], data: bytes) -> None:
        """Add messages of one length to a channel, given after each other."""
        topic = self.topics[channel]
        self.allowance.keep(len(times), len(data) if topic.wanted else 0)
        topic.add(times, data)

    def type_of(self, channel: records.Channel) -> str:
        """Return the message type of a channel, ``""`` if the file does not say."""
        schema = self.schemas.get(channel.schema_id)
        return schema.name if schema else ""


def read_raw(
    stream: BinaryIO, *, salvage: bool = False, wanted: Wanted | None = None
) -> RawLog:
    """Read a whole MCAP file; checksums are checked.

    Args:
        stream: The file, at its beginning.
        salvage: Whether to return what lies before the first damage, and say so in
            ``damage``, instead of raising. A chunk is whole or not read at all.
        wanted: Topics whose messages to keep, else times only; all by default.

    Raises:
        LogTooLargeError: If it decompresses to more than is allowed.
        Exception: An exception of any other kind, if it is not an MCAP file, or is
            damaged.
    """
    whole = _WholeReads(stream)
    log = RawLog(allowance=Allowance(whole.size))
    latest: int | None = None
    reader = _Reader(
        whole,  # type: ignore[arg-type]
        emit_chunks=True,
        validate_crcs=True,
    )
    try:
        for record in reader.records:
            if isinstance(record, records.Chunk):
                latest = None
                content = chunk_content(record, log.allowance)
                _read_chunk(log, content, wanted)
            elif isinstance(record, records.Message):
                latest = record.log_time
                log.add(record.channel_id, [check_time(latest)], record.data)
            elif isinstance(record, records.Attachment):
                log.allowance.keep(1, len(record.data))
                log.attachments[record.name] = record.data
            elif isinstance(record, records.DataEnd):
                log.complete = True
            else:
                _announce(log, record, wanted)
    except LogTooLargeError:
        raise
    # a damaged file can make its reader fail in any way
    except Exception as error:
        if not salvage:
            raise
        cut_off = isinstance(error, EndOfFile)
        log.damage = Damage(cut_off, _reason(error), None if log.complete else latest)
    return log


def _reason(error: Exception) -> str:
    """Return a short reason in plain words."""
    match error:
        case InvalidMagic():
            return "it does not begin as one"
        case CRCValidationError():
            return f"a checksum of its {type(error.record).__name__.lower()}s is wrong"
        case _:
            return str(error) or type(error).__name__


class _Reader(StreamReader):
    """Reads records, but passes over indexes: all messages are read anyway."""

    def _read_record(self, opcode: int, length: int) -> records.McapRecord | None:
        if opcode == Opcode.MESSAGE_INDEX:
            self._stream.read(length)
            return None
        return super()._read_record(opcode, length)


class _WholeReads:
    """A file that gives as many bytes as were asked for, or none."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = self._left = stream.seek(0, os.SEEK_END)
        stream.seek(0)

    def read(self, length: int) -> bytes:
        if length > self._left:
            raise EndOfFile("the file ends early")
        self._left -= length
        return self._stream.read(length)


def _read_chunk(log: RawLog, data: bytes, wanted: Wanted | None) -> None:
    at = 0
    while at < len(data):
        rows = _rows_at(data, at)
        if len(rows.table):
            for place, channel in enumerate(rows.channels):
                topic = log.topics[channel]
                content = rows.contents(place) if topic.wanted else b""
                log.add(channel, rows.times(place), content)
            at += rows.table.size
            continue
        for _ in range(max(len(rows.channels), 1)):
            at = _read_record(log, data, at, wanted)


def _read_record(log: RawLog, data: bytes, at: int, wanted: Wanted | None) -> int:
    """Read one record of a chunk, and return where the next begins."""
    opcode, length = RECORD_HEAD.unpack_from(data, at)
    at += RECORD_HEAD.size
    if at + length > len(data):
        raise ValueError("a record goes beyond its chunk")
    if opcode == Opcode.MESSAGE:
        channel, _, time, _ = MESSAGE_HEAD.unpack_from(data, at)
        log.add(channel, [check_time(time)], data[at + MESSAGE_HEAD.size : at + length])
    elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
        kind = records.Schema if opcode == Opcode.SCHEMA else records.Channel
        record = kind.read(ReadDataStream(BytesIO(data[at : at + length])))
        _announce(log, record, wanted)
    return int(at + length)


def _announce(log: RawLog, record: records.McapRecord, wanted: Wanted | None) -> None:
    if isinstance(record, records.Schema):
        log.schemas.setdefault(record.id, record)
    elif isinstance(record, records.Channel):
        keep = wanted is None or wanted(record.topic, log.type_of(record))
        log.topics.setdefault(record.id, RawTopic(record, keep))


class _Rows(NamedTuple):
    """Rows of messages that follow each other in a chunk.

    Attributes:
        channels: Channels of the messages of a row, in order.
        edges: Starts of the records of a row, and the end of the last.
        table: The rows, shape (n, bytes of a row); n is 0 where too few are alike.
    """

    channels: list[int]
    edges: list[int]
    table: Bytes

    def times(self, at: int) -> list[int]:
        """Return the log times of a channel [ns]."""
        begin = self.edges[at] + LOG_TIME
        column = np.ascontiguousarray(self.table[:, begin : begin + 8])
        stamps = column.view("<u8").ravel()
        check_time(int(stamps.max()))
        times: list[int] = stamps.tolist()
        return times

    def contents(self, at: int) -> bytes:
        """Return a channel's messages after each other."""
        return self.table[:, self.edges[at] + CONTENT : self.edges[at + 1]].tobytes()


def _rows_at(data: bytes, at: int) -> _Rows:
    """Return the messages from a record on, up to the first that begins a new row."""
    channels: list[int] = []
    edges = [0]
    first = None
    while at + edges[-1] + ROW_HEAD.size <= len(data):
        opcode, length, channel = ROW_HEAD.unpack_from(data, at + edges[-1])
        end = edges[-1] + RECORD_HEAD.size + length
        whole = length >= MESSAGE_HEAD.size and at + end <= len(data)
        if opcode != Opcode.MESSAGE or not whole or (length, channel) == first:
            break
        first = first or (length, channel)
        channels.append(channel)
        edges.append(end)
    return _Rows(channels, edges, _table(data, at, channels, edges))


def _table(data: bytes, at: int, channels: list[int], edges: list[int]) -> Bytes:
    size = edges[-1]
    none = np.zeros((0, size), dtype=np.uint8)
    if not channels or len(set(channels)) < len(channels):
        return none
    count = min((len(data) - at) // size, MOST_ROWS)
    far = at + (LEAST_ROWS - 1) * size
    if count < LEAST_ROWS or any(
        data[at + edge : at + edge + ROW_HEAD.size]
        != data[far + edge : far + edge + ROW_HEAD.size]
        for edge in edges[:-1]
    ):
        return none
    table = np.frombuffer(data, np.uint8, count * size, at).reshape(count, size)
    places = np.add.outer(edges[:-1], np.arange(ROW_HEAD.size)).ravel()
    heads = table[:, places]
    # records are where they were in the row before as long as all lengths are equal
    alike = (heads == heads[0]).all(axis=1)
    count = count if alike.all() else int(np.argmin(alike))
    return table[:count] if count >= LEAST_ROWS else none
