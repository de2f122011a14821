"""Messages out of chunks, many at a time, are those that MCAP's own reader gives."""

from __future__ import annotations

import io
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import NonSeekingReader
from mcap.writer import CompressionType, Writer
from runs import swaying

from equipoise.log.mcap_format import raw_messages
from equipoise.log.mcap_format.mcap_writer import write_mcap
from equipoise.log.mcap_format.raw_messages import RawTopic, read_raw

Sent = list[tuple[int, int]]  # channel and length of each message
Found = dict[str, list[tuple[int, bytes]]]


def expected(content: bytes) -> Found:
    """Return times and messages by topic, read by the package of MCAP's makers."""
    found: Found = defaultdict(list)
    reader = NonSeekingReader(io.BytesIO(content))
    for _, channel, message in reader.iter_messages(log_time_order=False):
        found[channel.topic].append((message.log_time, message.data))
    return dict(found)


def found(content: bytes) -> Found:
    """Return times and messages by topic, read by us."""
    raw = read_raw(io.BytesIO(content))
    return {
        topic.channel.topic: list(zip(topic.times, messages(topic), strict=True))
        for topic in raw.topics.values()
        if topic.times
    }


def messages(topic: RawTopic) -> list[bytes]:
    """Return the messages of a topic in the order of the file."""
    found = {
        place: row.tobytes()
        for places, rows in topic.tables()
        for place, row in zip(places, rows, strict=True)
    }
    return [found[place] for place in sorted(found)]


def written(sent: Sent) -> bytes:
    """Return an MCAP file of messages, in one chunk."""
    stream = io.BytesIO()
    writer = Writer(stream, compression=CompressionType.NONE)
    writer.start()
    channels = [writer.register_channel(f"/{at}", "cdr", 0) for at in range(4)]
    for time, (channel, length) in enumerate(sent):
        data = bytes((time + place) % 251 for place in range(length))
        writer.add_message(channels[channel], time, data, time)
    writer.finish()
    return stream.getvalue()


ROW: Sent = [(0, 40), (1, 0), (2, 7)]


@pytest.mark.parametrize(
    "sent",
    [
        ROW * 100,
        ROW * 7,
        ROW * 9 + [(3, 5)] + ROW * 20,
        [(0, 40), (1, 8), (1, 8)] * 30,
        [(0, 40), (1, 8), (1, 9)] * 30,
        ROW * 20 + [(0, 41), (1, 0), (2, 7)] * 20 + ROW[:2],
        [*ROW, (3, 1), *ROW, *ROW] * 15,
        [],
    ],
)
def test_rows_are_read_as_they_are(sent: Sent) -> None:
    """Whether rows repeat, nearly repeat or do not, nothing is lost or moved."""
    content = written(sent)
    assert found(content) == expected(content)


@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(st.integers(0, 3), st.integers(0, 12)), min_size=1, max_size=4
            ),
            st.integers(1, 24),
        ),
        max_size=6,
    )
)
def test_any_mixture_is_read(parts: list[tuple[Sent, int]]) -> None:
    """Rows of any channels and lengths, any number of times."""
    content = written([item for row, count in parts for item in row * count])
    assert found(content) == expected(content)


def test_a_run_is_read_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's own log takes the short way, and gives what the long one does."""
    stream = io.BytesIO()
    write_mcap(swaying(seconds=3.0), stream)
    content = stream.getvalue()
    quick = found(content)
    assert quick == expected(content)
    monkeypatch.setattr(raw_messages, "LEAST_ROWS", 10**9)
    assert found(content) == quick


def test_messages_of_a_length_are_the_rows_of_a_table() -> None:
    """Each length has its table, and the indices of its messages."""
    raw = read_raw(io.BytesIO(written(ROW * 50 + [(1, 3)])))
    topics = {topic.channel.topic: topic for topic in raw.topics.values()}
    (places, rows), *others = topics["/0"].tables()
    assert not others
    assert places.tolist() == list(range(50))
    assert rows.shape == (50, 40)
    sizes = [(places.tolist(), rows.shape) for places, rows in topics["/1"].tables()]
    assert sizes == [(list(range(50)), (50, 0)), ([50], (1, 3))]
