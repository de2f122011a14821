"""A run back from its MCAP file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.log.described_robot import described_robot
from equipoise.log.mcap_format.mcap_file import (
    Messages,
    decoded,
    log_path,
    open_log,
    read_messages,
)
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.mcap_format.raw_messages import RawLog
from equipoise.log.mcap_format.run_messages import run_of_messages
from equipoise.log.mcap_format.salvage import (
    read_whole,
    summary_beside,
    what_is_lost,
    whole_rows,
)
from equipoise.log.mcap_format.topics import (
    BOXES,
    CONTACTS,
    ESTIMATED_JOINTS,
    JOINT_COMMANDS,
    JOINT_STATES,
    ODOMETRY,
    REFERENCES,
    needed_topics,
    true_prefix,
    wrench_topic,
)
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

SIDES: tuple[Side, ...] = get_args(Side)


def read_run(
    path: Path | str, robot: Robot | None = None, *, salvage: bool = False
) -> Run:
    """Read what :func:`~equipoise.log.mcap_format.mcap_writer.write_mcap` has written.

    Numbers come back bit for bit, but times, which are whole nanoseconds, and
    positions of continuous and ball joints and the IMU's pose in its frame, to
    rounding. The summary is that of
    ``summary.json`` beside a file of the name ``run.mcap``, and else empty.

    Args:
        path: The folder of a run, or its MCAP file.
        robot: The robot that ran; by default the one described in the log, whose
            joints may come in another order.
        salvage: Whether a log that is cut off or damaged gives the rows that are
            whole, up to the damage; ``notices`` of the summary then say what is lost.

    Raises:
        EquipoiseError: If the file is no log of a run, or of another robot, or is cut
            off or damaged (with ``salvage``: so that not a row of it is whole).
    """
    file = log_path(path)
    raw: RawLog | None = None
    if salvage:
        raw = read_whole(path)
        with open_log(path):
            messages, attachments = _salvaged(raw), raw.attachments
    else:
        messages, attachments = read_messages(path)
    missing = [topic for topic in needed_topics(messages) if topic not in messages]
    if missing:
        broken = ", or is cut off or damaged" if raw and raw.damage else ""
        raise EquipoiseError(
            f"{file}: is no log of a run{broken}: it has no topic '{missing[0]}'; "
            f"its topics are: {', '.join(sorted(messages)) or 'none'}"
        )
    summary = summary_beside(file, salvage=salvage)
    try:
        if robot is None:
            robot = described_robot(messages, attachments, file)
        if raw is not None:
            times = messages[JOINT_STATES].times
            summary = _with_loss(summary, file.name, raw, times)
        return run_of_messages(messages, robot, summary)
    except EquipoiseError as error:
        if str(error).startswith(str(file)):
            raise
        raise EquipoiseError(f"{file}: {error}") from error


def _salvaged(raw: RawLog) -> dict[str, Messages]:
    """Return messages by topic; where some are lost, up to the last whole row."""
    messages = decoded(raw)
    announced = {topic.channel.topic for topic in raw.topics.values()}
    needed = needed_topics(announced)
    if raw.damage is None or raw.complete or not announced.issuperset(needed):
        return messages
    others = (CONTACTS, BOXES, *map(wrench_topic, SIDES))
    of_every_row = {
        *needed,
        *others,
        *(true_prefix(announced) + topic for topic in others),
        JOINT_COMMANDS,
        ODOMETRY,
        ESTIMATED_JOINTS,
        *(topic for topic in announced if topic.startswith(REFERENCES)),
    }
    return whole_rows(messages, sorted(of_every_row & announced), raw.damage)


def _with_loss(
    summary: Mapping[str, Any], name: str, raw: RawLog, times: NDArray[np.uint64]
) -> dict[str, Any]:
    """Return the figures with a notice of what is lost, if anything is."""
    duration = summary.get("duration_s")
    known = duration if isinstance(duration, int | float) else None
    lost = what_is_lost(name, raw, float(times[-1]) / NANOSECONDS, known)
    if lost is None:
        return dict(summary)
    before = summary.get("notices")
    notices = list(before) if isinstance(before, list) else []
    return {**summary, "notices": [*notices, lost]}
