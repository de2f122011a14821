"""SQLite bags of ROS 2 (.db3), read without ROS."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcap import records

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.raw_messages import Damage, RawLog, RawTopic, Wanted

# Names in a damaged file, and so in the error about it, may not be UTF-8.
BROKEN = (sqlite3.Error, UnicodeDecodeError)


def read_db3(file: Path, wanted: Wanted) -> RawLog:
    """Read a SQLite bag into the same form as an MCAP file.

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


def _read_messages(database: sqlite3.Connection, log: RawLog) -> None:
    kept = [number for number, topic in log.topics.items() if topic.wanted]
    # unwanted messages can be pictures: they stay on disk
    rows = database.execute(
        "SELECT topic_id, timestamp, "
        f"CASE WHEN topic_id IN ({', '.join(map(str, kept))}) THEN data ELSE x'' END "
        "FROM messages ORDER BY id"
    )
    for number, time, data in rows:
        topic = log.topics.get(number)
        if not isinstance(time, int) or not isinstance(data, bytes):
            raise sqlite3.DatabaseError("a message is damaged")
        if topic is not None:
            topic.add([time], data)


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
