"""The MCAP container, many messages at a time.

The writer of the ``mcap`` package takes 10 µs for a message, whatever is in it; a run
has a hundred thousand. Its records are used here for all but messages.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Sequence
from typing import BinaryIO, NamedTuple

import numpy as np
import zstandard
from mcap import records
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.writer import MCAP0_MAGIC
from numpy.typing import NDArray

from equipoise.log.mcap_format.layout import Bytes

COMPRESSION_LEVEL = 1
MESSAGE_HEAD = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log_time", "<u8"),
        ("publish_time", "<u8"),
    ]
)
# Opcode and length of a record, which its length does not count.
RECORD_HEAD_BYTES = 9
# Opcode, length; channel, bytes of the entries.
MESSAGE_INDEX_HEAD = struct.Struct("<BQHI")


class Block(NamedTuple):
    """Messages of some channels, one of each at every time.

    Attributes:
        channels: Channel numbers.
        times: [ns], shape (n,).
        messages: Encoded messages of each channel, shape (n, size).
    """

    channels: Sequence[int]
    times: NDArray[np.uint64]
    messages: Sequence[Bytes]


class McapFile:
    """An MCAP file being written: chunks compressed with zstd, and all indexes.

    Nothing in it depends on the clock: the same calls give the same bytes.
    """

    def __init__(self, stream: BinaryIO, profile: str, library: str) -> None:
        """Begin a file.

        Args:
            stream: Where to, at its beginning.
            profile: Of the messages, ``"ros2"``.
            library: What writes the file.
        """
        self._stream = stream
        self._at = 0
        self._schemas: list[records.Schema] = []
        self._channels: list[records.Channel] = []
        self._chunks: list[records.ChunkIndex] = []
        self._attachments: list[records.AttachmentIndex] = []
        self._counts: defaultdict[int, int] = defaultdict(int)
        self._write(MCAP0_MAGIC)
        self._write_records(records.Header(profile, library))

    def add_channel(self, topic: str, type_name: str, definition: str) -> int:
        """Announce a topic with messages of a type; return its channel number."""
        schema = next((s for s in self._schemas if s.name == type_name), None)
        if schema is None:
            schema = records.Schema(
                id=len(self._schemas) + 1,
                data=definition.encode(),
                encoding="ros2msg",
                name=type_name,
            )
            self._schemas.append(schema)
            self._write_records(schema)
        channel = records.Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding="cdr",
            metadata={},
            schema_id=schema.id,
        )
        self._channels.append(channel)
        self._write_records(channel)
        return channel.id

    def add_chunk(self, blocks: Sequence[Block]) -> None:
        """Write messages as one chunk, with an index of each channel."""
        parts, at = [], 0
        entries: dict[int, list[NDArray[np.uint64]]] = defaultdict(list)
        for block in blocks:
            rows, starts = self._message_records(block)
            size = np.uint64(rows.shape[1])
            first = np.arange(len(rows), dtype=np.uint64) * size + np.uint64(at)
            for channel, start in zip(block.channels, starts, strict=True):
                pairs = np.stack([block.times, first + np.uint64(start)], axis=1)
                entries[channel].append(pairs)
            parts.append(rows.tobytes())
            at += rows.size
        data = b"".join(parts)
        packed = zstandard.compress(data, COMPRESSION_LEVEL)
        times = np.concatenate([block.times for block in blocks])
        start = self._at
        self._write_records(
            records.Chunk(
                compression="zstd",
                data=packed,
                message_start_time=int(times.min()),
                message_end_time=int(times.max()),
                uncompressed_crc=zlib.crc32(data),
                uncompressed_size=len(data),
            )
        )
        length, offsets = self._at - start, {}
        for channel in sorted(entries):
            offsets[channel] = self._at
            self._write_message_index(channel, np.concatenate(entries[channel]))
        self._chunks.append(
            records.ChunkIndex(
                message_start_time=int(times.min()),
                message_end_time=int(times.max()),
                chunk_start_offset=start,
                chunk_length=length,
                message_index_offsets=offsets,
                message_index_length=self._at - start - length,
                compression="zstd",
                compressed_size=len(packed),
                uncompressed_size=len(data),
            )
        )

    def add_attachment(self, name: str, media_type: str, data: bytes) -> None:
        """Attach a file."""
        start = self._at
        self._write_records(
            records.Attachment(
                create_time=0, log_time=0, name=name, media_type=media_type, data=data
            )
        )
        self._attachments.append(
            records.AttachmentIndex(
                offset=start,
                length=self._at - start,
                log_time=0,
                create_time=0,
                data_size=len(data),
                name=name,
                media_type=media_type,
            )
        )

    def finish(self) -> None:
        """Write indexes and the end; the stream stays open."""
        self._write_records(records.DataEnd(0))
        summary_start = self._at
        groups: list[tuple[Opcode, Sequence[records.McapRecord]]] = [
            (Opcode.SCHEMA, self._schemas),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [self._statistics()]),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.ATTACHMENT_INDEX, self._attachments),
        ]
        summary, offsets = b"", []
        for opcode, group in groups:
            if group:
                content = _encoded(*group)
                begin = summary_start + len(summary)
                offsets.append(records.SummaryOffset(opcode, begin, len(content)))
                summary += content
        offset_start = summary_start + len(summary)
        summary += _encoded(*offsets)
        # the checksum covers the footer up to itself
        head = _encoded(records.Footer(summary_start, offset_start, 0))[:-4]
        crc = zlib.crc32(head, zlib.crc32(summary))
        self._write(summary)
        self._write_records(records.Footer(summary_start, offset_start, crc))
        self._write(MCAP0_MAGIC)

    def _message_records(self, block: Block) -> tuple[Bytes, list[int]]:
        """Return message records, a row for each time, and where each begins."""
        rows, head = len(block.times), MESSAGE_HEAD.itemsize
        sizes = [head + messages.shape[1] for messages in block.messages]
        starts = [0, *np.cumsum(sizes).tolist()]
        out = np.empty((rows, starts[-1]), dtype=np.uint8)
        heads = np.zeros(rows, dtype=MESSAGE_HEAD)
        heads["opcode"] = Opcode.MESSAGE
        heads["log_time"] = heads["publish_time"] = block.times
        for channel, messages, size, start in zip(
            block.channels, block.messages, sizes, starts, strict=False
        ):
            done = self._counts[channel]
            heads["length"] = size - RECORD_HEAD_BYTES
            heads["channel"] = channel
            heads["sequence"] = np.arange(done, done + rows)
            out[:, start : start + head] = heads.view(np.uint8).reshape(rows, head)
            out[:, start + head : start + size] = messages
            self._counts[channel] = done + rows
        return out, starts[:-1]

    def _write_message_index(self, channel: int, entries: NDArray[np.uint64]) -> None:
        content = entries.astype("<u8").tobytes()
        length = MESSAGE_INDEX_HEAD.size - RECORD_HEAD_BYTES + len(content)
        head = (Opcode.MESSAGE_INDEX, length, channel, len(content))
        self._write(MESSAGE_INDEX_HEAD.pack(*head) + content)

    def _statistics(self) -> records.Statistics:
        return records.Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=dict(sorted(self._counts.items())),
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=max(c.message_end_time for c in self._chunks),
            message_start_time=min(c.message_start_time for c in self._chunks),
            metadata_count=0,
            schema_count=len(self._schemas),
        )

    def _write_records(self, *items: records.McapRecord) -> None:
        self._write(_encoded(*items))

    def _write(self, content: bytes) -> None:
        self._stream.write(content)
        self._at += len(content)


def _encoded(*items: records.McapRecord) -> bytes:
    builder = RecordBuilder()
    for item in items:
        item.write(builder)
    content: bytes = builder.end()  # type: ignore[no-untyped-call]
    return content
