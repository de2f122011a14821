from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap.writer import Writer
from runs import sensing, swaying

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import read_whole
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.mcap_format.mcap_writer import write_mcap
from equipoise.log.run import Run
from equipoise.robot.model import Robot

ARRAYS = ("time", "q", "v", "a", "torque", "com", "zmp", "zmp_margin", "boxes")
RUN = swaying(seconds=3.0, rate=200.0)


def as_bytes(run: Run) -> bytes:
    """Return the run as an MCAP file."""
    stream = io.BytesIO()
    write_mcap(run, stream)
    return stream.getvalue()


def without_chunks(content: bytes) -> bytes:
    """Return the same messages as another program would write them, one by one."""
    stream = io.BytesIO()
    writer = Writer(stream, use_chunking=False)
    writer.start("ros2", "another program")
    reader = make_reader(io.BytesIO(content))
    numbers: dict[int, int] = {}
    summary = reader.get_summary()
    for channel in summary.channels.values():
        schema = summary.schemas[channel.schema_id]
        number = writer.register_schema(schema.name, schema.encoding, schema.data)
        numbers[channel.id] = writer.register_channel(channel.topic, "cdr", number)
    for attachment in reader.iter_attachments():
        name, kind = attachment.name, attachment.media_type
        writer.add_attachment(0, 0, name, kind, attachment.data)
    for _, channel, message in reader.iter_messages():
        number, time = numbers[channel.id], message.log_time
        writer.add_message(number, time, message.data, time)
    writer.finish()
    return stream.getvalue()


CHUNKED = as_bytes(RUN)
SENSING = sensing(swaying(seconds=2.0, rate=200.0), estimator=True)
SENSED = as_bytes(SENSING)
LOOSE = without_chunks(as_bytes(swaying(seconds=0.2, rate=100.0)))


def salvaged(content: bytes | bytearray, file: Path, robot: Robot) -> Run | str:
    """Return what is left of a log, or what the error says."""
    file.write_bytes(content)
    try:
        return read_run(file, robot, salvage=True)
    except EquipoiseError as error:
        return str(error)


def is_prefix(part: Run, whole: Run) -> bool:
    """Whether all that changes with time is the beginning of another run's."""
    rows = len(part.time)
    same = [
        np.array_equal(getattr(part, name), getattr(whole, name)[:rows], equal_nan=True)
        for name in ARRAYS
    ]
    same += [
        np.array_equal(values, whole.references[name][:rows], equal_nan=True)
        for name, values in part.references.items()
    ]
    same += [
        np.array_equal(values, whole.foot_wrench[side][:rows])
        for side, values in part.foot_wrench.items()
    ]
    same += [
        np.array_equal(values, getattr(whole, name)[key][:rows])
        for name in ("commands", "estimates")
        for key, values in getattr(part, name).items()
    ]
    if part.measured is not None and whole.measured is not None:
        for name in ("time", "position", "velocity", "orientation"):
            own = getattr(whole.measured, name)[:rows]
            same.append(np.array_equal(getattr(part.measured, name), own))
        for side, values in part.measured.feet.items():
            same.append(np.array_equal(values, whole.measured.feet[side][:rows]))
    same.append((part.measured is None) == (whole.measured is None))
    same.append(set(part.estimates) == set(whole.estimates))
    same.append(np.array_equal(part.supported, whole.supported[:rows]))
    return all(same) and set(part.references) == set(whole.references)


@settings(max_examples=40)
@given(st.integers(0, len(CHUNKED) - 1))
def test_cut_off_anywhere(tmp_path_factory, length):
    """What is whole is read bit for bit; a notice says what is lost; no traceback."""
    file = tmp_path_factory.mktemp("cut") / "run.mcap"
    part = salvaged(CHUNKED[:length], file, RUN.robot)
    if isinstance(part, str):
        assert "cut off" in part
        assert "\n" not in part
        # robot and the first chunk of rows are not much of the file
        assert length < 0.3 * len(CHUNKED)
        return
    assert is_prefix(part, RUN)
    assert all(event.time <= part.time[-1] for event in part.events)
    (notice,) = part.summary["notices"]
    assert "is whole up to" in notice or "are whole" in notice


@settings(max_examples=20)
@given(st.integers(0, len(SENSED) - 1))
def test_cut_off_with_sensors(tmp_path_factory, length):
    """Truth, measurements and estimates end at the same row."""
    file = tmp_path_factory.mktemp("cut") / "run.mcap"
    part = salvaged(SENSED[:length], file, SENSING.robot)
    if isinstance(part, str):
        assert "cut off" in part
        assert length < 0.4 * len(SENSED)
        return
    assert is_prefix(part, SENSING)
    assert part.measured is not None


def test_cut_off_with_sensors_without_chunks(tmp_path):
    """The same where topics end at different rows."""
    whole = sensing(swaying(seconds=0.2, rate=100.0), estimator=True)
    content = without_chunks(as_bytes(whole))
    found = set()
    for fraction in np.linspace(0.5, 0.99, 12):
        part = salvaged(
            content[: int(fraction * len(content))], tmp_path / "run.mcap", whole.robot
        )
        assert not isinstance(part, str)
        assert is_prefix(part, whole)
        found.add(len(part.time))
    assert len(found) > 3


@settings(max_examples=40)
@given(st.integers(0, len(LOOSE) - 1))
def test_cut_off_without_chunks(tmp_path_factory, length):
    """Topics that end at different rows are cut to those that all of them have."""
    file = tmp_path_factory.mktemp("cut") / "any.mcap"
    whole = swaying(seconds=0.2, rate=100.0)
    part = salvaged(LOOSE[:length], file, whole.robot)
    if isinstance(part, str):
        assert "\n" not in part
    else:
        assert is_prefix(part, whole)


@settings(max_examples=40)
@given(st.integers(0, len(CHUNKED) - 1), st.integers(1, 255))
def test_damaged_anywhere(tmp_path_factory, at, change):
    """A changed byte costs what comes after it, at most."""
    content = bytearray(CHUNKED)
    content[at] ^= change
    file = tmp_path_factory.mktemp("damaged") / "run.mcap"
    part = salvaged(content, file, RUN.robot)
    if isinstance(part, str):
        assert "\n" not in part
    else:
        assert len(part.time) <= len(RUN.time)
        np.testing.assert_array_equal(part.q, RUN.q[: len(part.time)])


def test_folder_says_how_much_is_lost(tmp_path):
    """The fraction is known from summary.json; its own notices are kept."""
    results = {**RUN.summary, "notices": ["it was windy"]}
    swaying(seconds=3.0, rate=200.0, summary=results).save(tmp_path / "out")
    log = tmp_path / "out" / "run.mcap"
    log.write_bytes(CHUNKED[: len(CHUNKED) // 2])
    part = read_run(tmp_path / "out", salvage=True)
    assert part.robot.name == "humanoid"
    assert is_prefix(part, RUN)
    whole = part.time[-1]
    assert 0.5 < whole < 1.8
    assert part.summary["notices"] == [
        "it was windy",
        f"run.mcap is cut off: {whole:.2f} s of 3.00 s are whole "
        f"(the rest, {100 * (1 - whole / 3.0):.0f} %, is lost)",
    ]
    assert part.summary["verb"] == "stand"


def test_strict_by_default(tmp_path):
    """Without salvage a log is whole or refused; a whole one gets no notice."""
    file = tmp_path / "run.mcap"
    file.write_bytes(CHUNKED[: len(CHUNKED) // 2])
    with pytest.raises(EquipoiseError, match="cut off"):
        read_run(file)
    file.write_bytes(CHUNKED)
    assert "notices" not in read_run(file, salvage=True).summary
    assert is_prefix(read_run(file, RUN.robot, salvage=True), RUN)


def test_chunk_that_fails_its_checksum(tmp_path):
    """Rows before a chunk that was changed are played, those in it and after not."""
    chunks = _chunk_places(CHUNKED)
    content = bytearray(CHUNKED)
    content[chunks[3] + 200] ^= 1
    file = tmp_path / "any.mcap"
    file.write_bytes(content)
    part = read_run(file, RUN.robot, salvage=True)
    sound = _rows_before(CHUNKED, chunks[3])
    assert len(part.time) == sound > 100
    assert "any.mcap is damaged" in part.summary["notices"][0]


def test_lost_index_loses_nothing(tmp_path):
    """Messages are whole though the index behind them is gone."""
    file = tmp_path / "any.mcap"
    file.write_bytes(CHUNKED[:-40])
    part = read_run(file, RUN.robot, salvage=True)
    assert len(part.time) == len(RUN.time)
    assert "all of its 3.00 s are whole" in part.summary["notices"][0]


def test_nothing_is_left(tmp_path):
    """No row, no topic, no file: one clear line each."""
    first = _chunk_places(CHUNKED)[1]
    file = tmp_path / "run.mcap"
    for length, reason in (
        (first + 100, r"is cut off before its first whole row; nothing is left"),
        (
            20,
            r"run\.mcap: is not an MCAP file, or is cut off or damaged before its "
            r"first topic",
        ),
        (0, r"is not an MCAP file"),
    ):
        file.write_bytes(CHUNKED[:length])
        with pytest.raises(EquipoiseError, match=reason):
            read_run(file, salvage=True)
    with pytest.raises(EquipoiseError, match="no such file"):
        read_run(Path("nowhere.mcap"), salvage=True)


def _chunk_places(content: bytes) -> list[int]:
    summary = make_reader(io.BytesIO(content)).get_summary()
    return sorted(index.chunk_start_offset for index in summary.chunk_indexes)


def _rows_before(content: bytes, place: int) -> int:
    """Return how many rows the makers' reader finds in a file's beginning."""
    channels, rows = {}, 0
    reader = StreamReader(io.BytesIO(content[:place]))
    try:
        for record in reader.records:
            if type(record).__name__ == "Channel":
                channels[record.id] = record.topic
            elif type(record).__name__ == "Message":
                rows += channels[record.channel_id] == "/joint_states"
    except Exception:  # the file ends here
        return rows
    return rows


def test_reasons_are_words(tmp_path):
    """What is not an MCAP file, or is changed within, is named without its bytes."""
    (tmp_path / "a.mcap").write_text("not an MCAP file at all", encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"\(it does not begin as one\)$"):
        read_whole(tmp_path / "a.mcap")
    file = swaying(seconds=0.5).save(tmp_path / "run") / "run.mcap"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    damage = read_whole(file).damage
    assert damage is not None
    assert not any(character.isdigit() for character in damage.reason)
