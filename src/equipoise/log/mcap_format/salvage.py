"""What is whole of a log that is cut off or damaged, and what is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.log.folder import SUMMARY_NAME, read_summary
from equipoise.log.mcap_format.mcap_file import LOG_NAME, Messages, log_path, open_log
from equipoise.log.mcap_format.raw_messages import Damage, RawLog, Wanted, read_raw
from equipoise.log.mcap_format.topics import (
    EVENTS,
    JOINT_STATES,
    TRUE,
    ZMP,
    ZMP_MARGIN,
)

# Topics that have no message at some of the rows, and are none the less whole.
SOMETIMES = (EVENTS, ZMP, ZMP_MARGIN, f"{TRUE}{ZMP}", f"{TRUE}{ZMP_MARGIN}")
# Nearer to its end than this, nothing is lost [s].
NOTHING = 1e-6


def read_whole(path: Path | str, wanted: Wanted | None = None) -> RawLog:
    """Read all that lies before the first damage of an MCAP file.

    A chunk that is cut off or fails its checksum is lost, and all after it: what is
    returned has no gap.

    Args:
        path: The folder of a run, or any MCAP file.
        wanted: Which topics' messages to keep, by name and type; all by default.

    Raises:
        EquipoiseError: If there is no such file, or not even a topic is readable.
    """
    with open_log(path) as stream:
        raw = read_raw(stream, salvage=True, wanted=wanted)
    if raw.damage and not raw.topics:
        raise EquipoiseError(
            f"{log_path(path)}: is no MCAP file, or is cut off or damaged before its "
            f"first topic ({raw.damage.reason})"
        )
    return raw


def summary_beside(file: Path, *, salvage: bool) -> dict[str, Any]:
    """Return the figures beside a run's log; none beside other logs.

    Args:
        file: The log.
        salvage: Whether figures that are broken become a notice instead of an error.

    Raises:
        EquipoiseError: If they are broken.
    """
    if file.name != LOG_NAME or not file.with_name(SUMMARY_NAME).is_file():
        return {}
    try:
        return read_summary(file.parent)
    except EquipoiseError as error:
        if not salvage:
            raise
        return {"notices": [f"{error}; it is left out"]}


def whole_rows(
    messages: Mapping[str, Messages], of_every_row: Iterable[str], damage: Damage
) -> dict[str, Messages]:
    """Return a run's messages up to the last row that all topics have.

    Args:
        messages: By topic.
        of_every_row: Topics that have a message at each row.
        damage: Why the log ends early.

    Raises:
        EquipoiseError: If not even one row is whole.
    """
    nothing = np.zeros(0, dtype=np.uint64)
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
    for topic in SOMETIMES:
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
    """Say in a sentence what a damaged log lacks; None if it is sound.

    Args:
        name: Of the file.
        raw: What was read of it.
        whole: How far it could be read [s].
        duration: How far it once went [s], if that is known.
    """
    if raw.damage is None:
        return None
    if raw.complete:
        return f"{name} is damaged at its end; all of its {whole:.2f} s are whole"
    how = "cut off" if raw.damage.cut_off else f"damaged ({raw.damage.reason})"
    if not duration or duration <= whole - NOTHING:
        return f"{name} is {how}: it is whole up to {whole:.2f} s, the rest is lost"
    if duration <= whole + NOTHING:
        return f"{name} is {how}: all of its {duration:.2f} s are whole"
    share = 100.0 * (1.0 - whole / duration)
    return (
        f"{name} is {how}: {whole:.2f} s of {duration:.2f} s are whole "
        f"(the rest, {share:.0f} %, is lost)"
    )
