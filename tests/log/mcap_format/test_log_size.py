"""Logs that decompress to more than fits, and times that no clock shows."""

from __future__ import annotations

import io
import sqlite3
import struct
import zlib
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from runs import swaying

from equipoise.errors import EquipoiseError
from equipoise.input_file import LIMIT_VARIABLE
from equipoise.log.mcap_format import log_size
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.mcap_format.mcap_writer import write_mcap
from equipoise.log.open_run import log_contents, open_run
from equipoise.log.recordings.bag import read_db3

MAGIC = b"\x89MCAP0\r\n"
COMPRESS = {"zstd": zstandard.compress, "lz4": lz4.frame.compress}


def record(opcode: int, content: bytes) -> bytes:
    """Return a record of an MCAP file."""
    return struct.pack("<BQ", opcode, len(content)) + content


def text(words: str) -> bytes:
    """Return a text as MCAP has it."""
    return struct.pack("<I", len(words)) + words.encode()


def bomb(compression: str, size: int, declared: int, chunks: int = 1) -> bytes:
    """Return a log whose chunks are one message of zeros each."""
    channel = record(4, struct.pack("<HH", 1, 0) + text("/t") + text("cdr") + b"\0" * 4)
    message = record(5, struct.pack("<HIQQ", 1, 0, 0, 0) + bytes(size))
    content = channel + message
    packed = COMPRESS[compression](content)
    declared = declared or len(content)
    head = struct.pack("<QQQI", 0, 0, declared, zlib.crc32(content))
    chunk = head + text(compression) + struct.pack("<Q", len(packed)) + packed
    begin = MAGIC + record(1, text("ros2") + text(""))
    return begin + record(6, chunk) * chunks + record(15, b"\0" * 4)


@pytest.mark.parametrize("compression", list(COMPRESS))
@pytest.mark.parametrize("declared", [0, 2**40, 100])
def test_logs_that_decompress_without_bound(
    tmp_path: Path, compression: str, declared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what a chunk declares nor what it holds goes beyond the allowance."""
    monkeypatch.setattr(log_size, "SMALL_LOG_BYTES", 4_000_000)
    path = tmp_path / "bomb.mcap"
    path.write_bytes(bomb(compression, 3_000_000, declared, chunks=8))
    words = "MAX_INPUT_MB" if declared != 100 else "size that it declares"
    for reader in (log_contents, open_run):
        with pytest.raises(EquipoiseError, match=words):
            reader(path)


def test_the_allowance_can_be_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment variable allows what is too much without it."""
    monkeypatch.setattr(log_size, "SMALL_LOG_BYTES", 4_000_000)
    path = tmp_path / "large.mcap"
    path.write_bytes(bomb("zstd", 3_000_000, 0, chunks=8))
    monkeypatch.setenv(LIMIT_VARIABLE, "100")
    (topic,) = log_contents(path).topics
    assert topic.messages == 8


@pytest.mark.parametrize("time", [2**63, 2**64 - 1, 2**62])
@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("chunked", [True, False])
def test_times_that_no_clock_shows(
    tmp_path: Path, time: int, count: int, chunked: bool
) -> None:
    """Times that differences would overflow with are damage, not a crash."""
    path = tmp_path / "late.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream, use_chunking=chunked, compression=CompressionType.NONE)
        writer.start()
        number = writer.register_channel("/t", "cdr", 0)
        for _ in range(count):
            writer.add_message(number, time, bytes(8), time)
        writer.finish()
    with pytest.raises(EquipoiseError, match="no clock shows"):
        log_contents(path)


def test_views_in_sqlite_bags(tmp_path: Path) -> None:
    """A view could go on for ever; a bag has tables."""
    path = tmp_path / "bag.db3"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE topics(id, name, type, serialization_format)")
    database.execute("INSERT INTO topics VALUES (1, '/t', 'std_msgs/Empty', 'cdr')")
    database.execute(
        "CREATE VIEW messages AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT "
        "id + 1 FROM c) SELECT id, 1 AS topic_id, 1 AS timestamp, x'00' AS data FROM c"
    )
    database.commit()
    database.close()
    with pytest.raises(EquipoiseError, match="is a view"):
        read_db3(path, lambda name, kind: True)


def test_a_bounded_file_reads_no_more_than_there_is(tmp_path: Path) -> None:
    """A reader that asks for terabytes gets the rest of the file."""
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    with path.open("rb") as stream:
        bounded = log_size.BoundedFile(stream)
        bounded.seek(2)
        assert bounded.read(2**60) == b"cdef"
        assert bounded.seek(0, io.SEEK_END) == bounded.tell() == 6


@pytest.mark.parametrize("topic", ["/zmp", "/zmp_margin", "/com", "/joint_states"])
@pytest.mark.parametrize("how", ["fewer", "huge"])
def test_rows_of_unlike_number_or_size(tmp_path: Path, topic: str, how: str) -> None:
    """A log whose topics do not have the same rows, or absurd numbers, is refused."""
    run = swaying(seconds=0.5, rate=100.0)
    content = io.BytesIO()
    write_mcap(run, content)
    reader = make_reader(io.BytesIO(content.getvalue()))
    summary = reader.get_summary()
    assert summary is not None
    path = tmp_path / "log.mcap"
    seen = 0
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2")
        numbers = {}
        for channel in summary.channels.values():
            schema = summary.schemas[channel.schema_id]
            number = writer.register_schema(schema.name, schema.encoding, schema.data)
            numbers[channel.id] = writer.register_channel(channel.topic, "cdr", number)
        for _, channel, message in reader.iter_messages():
            data, seen = message.data, seen + (channel.topic == topic)
            if channel.topic == topic and seen == 3:
                if how == "fewer":
                    continue
                data = data[:-8] + np.array([1e300], "<f8").tobytes()
            time = message.log_time
            writer.add_message(numbers[channel.id], time, data, time)
        writer.finish()
    with pytest.raises(EquipoiseError, match=r"differ in time|not finite"):
        read_run(path, run.robot)
