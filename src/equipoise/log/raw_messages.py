"""Messages out of the MCAP container, bytes as they are.

The reader of the ``mcap`` package takes 10 µs for a message; its records are used
here for all but messages.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO, NamedTuple

from mcap import records
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.stream_reader import StreamReader, get_chunk_data_stream

RECORD_HEAD = struct.Struct("<BQ")
# Channel, sequence, log time, publish time.
MESSAGE_HEAD = struct.Struct("<HIQQ")


class RawTopic(NamedTuple):
    """Messages of a channel in the order of the file."""

    channel: records.Channel
    times: list[int]
    data: list[bytes]


@dataclass
class RawLog:
    """All that is in an MCAP file.

    Attributes:
        schemas: By number.
        topics: By channel number.
        attachments: Content by name.
    """

    schemas: dict[int, records.Schema] = field(default_factory=dict)
    topics: dict[int, RawTopic] = field(default_factory=dict)
    attachments: dict[str, bytes] = field(default_factory=dict)


def read_raw(stream: BinaryIO) -> RawLog:
    """Read a whole MCAP file; checksums are checked.

    Raises:
        Exception: Of any kind, if it is no MCAP file, or is damaged.
    """
    log = RawLog()
    for record in StreamReader(stream, emit_chunks=True, validate_crcs=True).records:
        if isinstance(record, records.Chunk):
            content, length = get_chunk_data_stream(record, validate_crc=True)
            _read_chunk(log, content.read(length))
        elif isinstance(record, records.Message):
            _add_message(log, record.channel_id, record.log_time, record.data)
        elif isinstance(record, records.Attachment):
            log.attachments[record.name] = record.data
        else:
            _announce(log, record)
    return log


def _read_chunk(log: RawLog, data: bytes) -> None:
    at = 0
    while at < len(data):
        opcode, length = RECORD_HEAD.unpack_from(data, at)
        at += RECORD_HEAD.size
        if opcode == Opcode.MESSAGE:
            channel, _, time, _ = MESSAGE_HEAD.unpack_from(data, at)
            _add_message(log, channel, time, data[at + MESSAGE_HEAD.size : at + length])
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            kind = records.Schema if opcode == Opcode.SCHEMA else records.Channel
            _announce(log, kind.read(ReadDataStream(BytesIO(data[at : at + length]))))
        at += length


def _add_message(log: RawLog, channel: int, time: int, data: bytes) -> None:
    topic = log.topics[channel]
    topic.times.append(time)
    topic.data.append(data)


def _announce(log: RawLog, record: records.McapRecord) -> None:
    if isinstance(record, records.Schema):
        log.schemas.setdefault(record.id, record)
    elif isinstance(record, records.Channel):
        log.topics.setdefault(record.id, RawTopic(record, [], []))
