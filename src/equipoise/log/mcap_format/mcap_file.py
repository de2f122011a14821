"""Topics of an MCAP file, their messages as columns, and what is whole of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.input_file import open_input
from equipoise.log.mcap_format.cdr import Bytes, Layout, MessageType
from equipoise.log.mcap_format.raw_messages import (
    Damage,
    RawLog,
    RawTopic,
    Wanted,
    read_raw,
)
from equipoise.log.mcap_format.topics import EVENTS, JOINT_STATES, TRUE, ZMP, ZMP_MARGIN

LOG_NAME = "run.mcap"
# Topics without a message at some of the rows, though they are whole.
INTERMITTENT = (EVENTS, ZMP, ZMP_MARGIN, f"{TRUE}{ZMP}", f"{TRUE}{ZMP_MARGIN}")
# A loss below this counts as none [s].
NEGLIGIBLE = 1e-6


class Group(NamedTuple):
    """Messages of a topic that have the same layout, texts included.

    Attributes:
        places: Their indices among the messages of the topic, increasing, shape (m,).
        layout: Their layout.
        rows: The messages, shape (m, size).
    """

    places: NDArray[np.int64]
    layout: Layout
    rows: Bytes

    def numbers(self, path: str, count: int | None = None) -> NDArray[Any]:
        """Return the numbers at a path and those after it, shape (m, count)."""
        return self.layout.get(self.rows, path, count)


@dataclass(frozen=True, eq=False)
class Messages:
    """All messages of one topic, in order of log time.

    Attributes:
        topic: Topic name.
        type: Without ROS 2's middle: ``"sensor_msgs/JointState"``.
        times: Log times [ns], shape (n,).
        groups: The messages, decoded; empty where not kept or not readable.
    """

    topic: str
    type: str
    times: NDArray[np.int64]
    groups: tuple[Group, ...]

    @property
    def layout(self) -> Layout:
        """Layout of the first message."""
        return next(group.layout for group in self.groups if group.places[0] == 0)

    def text(self, path: str) -> list[str]:
        """Return a text of each message."""
        found = [""] * len(self.times)
        for group in self.groups:
            for place in group.places:
                found[place] = group.layout.texts[path]
        return found

    def numbers(self, path: str, count: int | None = None) -> NDArray[Any]:
        """Return the numbers at a path and those after it, shape (n, count).

        Raises:
            EquipoiseError: If a message has none, or another number of them.
        """
        try:
            parts = [group.numbers(path, count) for group in self.groups]
            if len(parts) == 1:
                return parts[0]
            places = np.concatenate([group.places for group in self.groups])
            return np.concatenate(parts)[np.argsort(places)]
        except (EquipoiseError, ValueError) as error:
            raise EquipoiseError(
                f"topic '{self.topic}': '{path}' is missing or differs in length"
            ) from error

    def first(self, count: int) -> Messages:
        """Return a number of messages from the first on."""
        cut = [(g, int(np.searchsorted(g.places, count))) for g in self.groups]
        groups = (Group(g.places[:n], g.layout, g.rows[:n]) for g, n in cut if n)
        return replace(self, times=self.times[:count], groups=tuple(groups))


def decode(topic: RawTopic, kind: MessageType) -> Messages:
    """Return the messages of a topic, sorted by log time.

    Raises:
        EquipoiseError: If a message is not of the type.
    """
    times = np.array(topic.times, dtype=np.int64)
    order = np.argsort(times, kind="stable")
    groups = tuple(_groups(topic, kind, order))
    return Messages(topic.channel.topic, kind.name, times[order], groups)


def _groups(
    topic: RawTopic, kind: MessageType, order: NDArray[np.intp]
) -> Iterator[Group]:
    """Sort messages by layout: lists in them may differ in length."""
    in_time = np.empty(len(order), dtype=np.int64)
    in_time[order] = np.arange(len(order))
    for indices, rows in topic.tables():
        places = in_time[indices]
        if np.any(places[1:] < places[:-1]):
            sorting = np.argsort(places)
            places, rows = places[sorting], rows[sorting]
        while len(places):
            layout = kind.layout(rows[0].tobytes())
            same = layout.fits(rows)
            if same.all():
                yield Group(places, layout, rows)
                break
            yield Group(places[same], layout, rows[same])
            places, rows = places[~same], rows[~same]


def decoded(raw: RawLog) -> dict[str, Messages]:
    """Return ROS 2 messages by topic; topics that have none are left out.

    Raises:
        EquipoiseError: If a message is not of its type.
    """
    found = {}
    for topic in raw.topics.values():
        channel = topic.channel
        schema = raw.schemas.get(channel.schema_id)
        readable = topic.wanted and topic.times and channel.message_encoding == "cdr"
        if readable and schema is not None:
            kind = MessageType.parse(schema.name, schema.data.decode())
            found[channel.topic] = decode(topic, kind)
    return found


def log_path(path: Path | str) -> Path:
    """Return the log itself, given it or the folder of its run."""
    path = Path(path)
    return path / LOG_NAME if path.is_dir() else path


@contextmanager
def open_log(path: Path | str) -> Iterator[BinaryIO]:
    """Open a log; whatever goes wrong in it becomes one clear line."""
    file = log_path(path)
    if not file.exists():
        beside = f"; a run's folder holds {LOG_NAME}" if Path(path).is_dir() else ""
        raise EquipoiseError(f"{file}: no such file{beside}")
    try:
        with open_input(file) as stream:
            yield stream
    except EquipoiseError as error:
        if isinstance(error, NameNotFoundError):
            raise
        message = str(error)
        raise EquipoiseError(
            message if message.startswith(str(path)) else f"{file}: {message}"
        ) from error
    # a damaged file can make its reader fail in any way
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise EquipoiseError(
            f"{file}: is not an MCAP file, or is cut off or damaged ({reason})"
        ) from error


def read_whole(path: Path | str, wanted: Wanted | None = None) -> RawLog:
    """Read all that lies before the first damage of an MCAP file.

    A chunk that is cut off or fails its checksum is lost, and all after it: what is
    returned has no gap.

    Args:
        path: The folder of a run, or any MCAP file.
        wanted: Topics whose messages to keep, by name and type; all by default.

    Raises:
        EquipoiseError: If there is no such file, or not even a topic is readable.
    """
    with open_log(path) as stream:
        raw = read_raw(stream, salvage=True, wanted=wanted)
    if raw.damage and not raw.topics:
        raise EquipoiseError(
            f"{log_path(path)}: is not an MCAP file, or is cut off or damaged before "
            f"its first topic ({raw.damage.reason})"
        )
    return raw


def whole_rows(
    messages: Mapping[str, Messages], of_every_row: Iterable[str], damage: Damage
) -> dict[str, Messages]:
    """Return a run's messages up to the last row that all topics have.

    Args:
        messages: Messages by topic.
        of_every_row: Topics that have a message at each row.
        damage: Why the log ends early.

    Raises:
        EquipoiseError: If not even one row is whole.
    """
    nothing = np.zeros(0, dtype=np.int64)
    times = messages[JOINT_STATES].times if JOINT_STATES in messages else nothing
    count = len(times)
    for topic in of_every_row:
        own = messages[topic].times if topic in messages else nothing
        count = min(count, len(own))
        differing = np.flatnonzero(own[:count] != times[:count])
        count = int(differing[0]) if len(differing) else count
    if damage.unsure_from is not None:
        count = min(count, int(np.searchsorted(times, damage.unsure_from)))
    if count == 0:
        word = "cut off" if damage.cut_off else "damaged"
        raise EquipoiseError(f"is {word} before its first whole row; nothing is left")
    cut = dict(messages)
    for topic in of_every_row:
        cut[topic] = messages[topic].first(count)
    for topic in INTERMITTENT:
        if topic in messages:
            own = messages[topic].times
            until = int(np.searchsorted(own, times[count - 1], side="right"))
            cut[topic] = messages[topic].first(until)
            if until == 0:
                del cut[topic]
    return cut


def what_is_lost(
    name: str, raw: RawLog, whole: float, duration: float | None = None
) -> str | None:
    """Return a sentence on what a damaged log lacks; None if it is sound.

    Args:
        name: Name of the file.
        raw: What was read of it.
        whole: Time up to which it could be read [s].
        duration: Its duration when it was whole [s], if that is known.
    """
    if raw.damage is None:
        return None
    if raw.complete:
        return f"{name} is damaged at its end; all of its {whole:.2f} s are whole"
    how = "cut off" if raw.damage.cut_off else f"damaged ({raw.damage.reason})"
    if not duration or duration <= whole - NEGLIGIBLE:
        return f"{name} is {how}: it is whole up to {whole:.2f} s, the rest is lost"
    if duration <= whole + NEGLIGIBLE:
        return f"{name} is {how}: all of its {duration:.2f} s are whole"
    lost = 100.0 * (1.0 - whole / duration)
    return (
        f"{name} is {how}: {whole:.2f} s of {duration:.2f} s are whole "
        f"(the rest, {lost:.0f} %, is lost)"
    )
