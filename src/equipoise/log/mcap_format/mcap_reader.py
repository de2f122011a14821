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
from equipoise.log.mcap_format.salvage import (
    read_whole,
    summary_beside,
    what_is_lost,
    whole_rows,
)
from equipoise.log.mcap_format.streams import (
    ARROW_SCALE,
    BASE_ACCELERATION,
    BOXES,
    COM,
    CONTACTS,
    EVENTS,
    JOINT_ACCELERATIONS,
    JOINT_STATES,
    ODOMETRY,
    REFERENCES,
    SURROUNDINGS,
    ZMP,
    ZMP_MARGIN,
    wrench_topic,
)
from equipoise.log.run import Event, Run
from equipoise.log.surroundings import Surroundings, from_messages
from equipoise.robot.description import Array
from equipoise.robot.joint_coordinates import (
    BASE_Q,
    BASE_V,
    configurations,
    degree_names,
)
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

SIDES: tuple[Side, ...] = get_args(Side)
NEEDED = (
    JOINT_STATES,
    JOINT_ACCELERATIONS,
    ODOMETRY,
    BASE_ACCELERATION,
    COM,
)


def read_run(
    path: Path | str, robot: Robot | None = None, *, salvage: bool = False
) -> Run:
    """Read what :func:`~equipoise.log.mcap_format.mcap_writer.write_mcap` has written.

    Numbers come back bit for bit, but times, which are whole nanoseconds, and
    positions of continuous and ball joints, to rounding. The summary is that of
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
    missing = [topic for topic in NEEDED if topic not in messages]
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
        return _Reading(messages, robot, summary).run()
    except EquipoiseError as error:
        if str(error).startswith(str(file)):
            raise
        raise EquipoiseError(f"{file}: {error}") from error


class _Reading:
    """One reading of a log: its messages, brought into a robot's order."""

    def __init__(
        self,
        messages: Mapping[str, Messages],
        robot: Robot,
        summary: Mapping[str, Any],
    ) -> None:
        self.messages = messages
        self.robot = robot
        self.summary = summary
        self.times = messages[JOINT_STATES].times
        self.names = degree_names(robot)

    def run(self) -> Run:
        states, odometry = self.messages[JOINT_STATES], self.messages[ODOMETRY]
        base = self.rows(ODOMETRY, odometry.numbers("pose.pose.position.x", BASE_Q))
        twist = self.rows(ODOMETRY, odometry.numbers("twist.twist.linear.x", BASE_V))
        positions = self.by_degree(states, "name", "position")
        velocities = self.by_degree(states, "name", "velocity")
        supported, zmp, margin = self.support()
        names, contact_position, contact_force = self.contacts()
        return Run(
            robot=self.robot,
            time=self.times / NANOSECONDS,
            q=configurations(self.robot, base, positions),
            v=np.hstack([twist, velocities]),
            a=np.hstack(
                [
                    self.column(BASE_ACCELERATION, "accel.linear.x", BASE_V),
                    self.by_degree(
                        self.messages[JOINT_ACCELERATIONS],
                        "joint_names",
                        "points[0].accelerations",
                    ),
                ]
            ),
            torque=self.by_degree(states, "name", "effort"),
            contact_names=names,
            contact_position=contact_position,
            contact_force=contact_force,
            foot_wrench={
                side: self.column(wrench_topic(side), "wrench.force.x", 6)
                for side in self.robot.soles
                if wrench_topic(side) in self.messages
            },
            com=self.column(COM, "point.x", 3),
            zmp=zmp,
            supported=supported,
            zmp_margin=margin,
            references={
                topic.removeprefix(REFERENCES): self.reference(topic)
                for topic in self.messages
                if topic.startswith(REFERENCES)
            },
            boxes=self.boxes(),
            events=self.events(),
            summary=self.summary,
            surroundings=self.surroundings(),
        )

    def surroundings(self) -> Surroundings:
        if SURROUNDINGS not in self.messages:
            return Surroundings()
        return from_messages(self.messages[SURROUNDINGS])

    def column(self, topic: str, path: str, count: int | None = None) -> Array:
        return self.rows(topic, self.messages[topic].numbers(path, count))

    def rows(self, topic: str, values: NDArray[Any]) -> Array:
        if not np.array_equal(self.messages[topic].times, self.times):
            raise EquipoiseError(f"'{topic}' and '{JOINT_STATES}' differ in time")
        return values.astype(np.float64, copy=False)

    def by_degree(self, messages: Messages, names: str, path: str) -> Array:
        """Return a column for each of the robot's degrees of freedom, by name."""
        place = {name: at for at, name in enumerate(messages.texts(names))}
        lacking = [name for name in self.names if name not in place]
        if lacking:
            raise EquipoiseError(
                f"is a log of another robot: joint '{lacking[0]}' of {self.robot.name} "
                f"is not in '{messages.topic}'"
            )
        values = self.rows(messages.topic, messages.numbers(path))
        if values.shape[1] != len(place):
            raise EquipoiseError(
                f"'{messages.topic}': '{path}' has not one entry a name"
            )
        ordered: Array = values[:, [place[name] for name in self.names]]
        return ordered

    def support(self) -> tuple[NDArray[np.bool_], Array, Array]:
        count = len(self.times)
        supported = np.zeros(count, dtype=np.bool_)
        zmp, margin = np.full((count, 3), np.nan), np.full(count, np.nan)
        if ZMP in self.messages and ZMP_MARGIN in self.messages:
            supported = np.isin(self.times, self.messages[ZMP].times)
            zmp[supported] = self.messages[ZMP].numbers("point.x", 3)
            margin[supported] = self.messages[ZMP_MARGIN].numbers("data")[:, 0]
        return supported, zmp, margin

    def contacts(self) -> tuple[tuple[str, ...], Array, Array]:
        if CONTACTS not in self.messages:
            nothing = np.zeros((len(self.times), 0, 3))
            return (), nothing, nothing
        names = tuple(self.messages[CONTACTS].texts("markers[].ns"))
        position, force = (
            np.stack(
                [
                    self.column(CONTACTS, f"markers[{at}].{path}", 3)
                    for at in range(len(names))
                ],
                axis=1,
            )
            for path in ("pose.position.x", "points[1].x")
        )
        return names, position, force / ARROW_SCALE

    def boxes(self) -> Array:
        if BOXES not in self.messages:
            return np.zeros((len(self.times), 0, 7))
        paths = self.messages[BOXES].layouts[0].columns
        count = sum(path.endswith(".orientation.w") for path in paths)
        values = self.column(BOXES, "poses[0].position.x", 7 * count)
        return values.reshape(len(values), count, 7)

    def reference(self, topic: str) -> Array:
        messages = self.messages[topic]
        columns = messages.layouts[0].columns
        if "point.x" in columns:
            return self.column(topic, "point.x", 3)
        if "data" not in columns:
            path = topic.removeprefix(f"{REFERENCES}joint_")
            return self.by_degree(messages, "name", path)
        values = self.column(topic, "data")
        sizes: list[int] = []
        while (path := f"layout.dim[{len(sizes)}].size") in columns:
            sizes.append(int(messages.numbers(path)[0, 0]))
        return values.reshape(len(values), *sizes)

    def events(self) -> tuple[Event, ...]:
        if EVENTS not in self.messages:
            return ()
        messages = self.messages[EVENTS]
        times = (messages.times / NANOSECONDS).tolist()
        return tuple(map(Event, times, messages.text("msg")))


def _salvaged(raw: RawLog) -> dict[str, Messages]:
    """Return messages by topic; where some are lost, up to the last whole row."""
    messages = decoded(raw)
    announced = {topic.channel.topic for topic in raw.topics.values()}
    if raw.damage is None or raw.complete or not announced.issuperset(NEEDED):
        return messages
    of_every_row = [
        topic
        for topic in sorted(announced)
        if topic in (*NEEDED, CONTACTS, BOXES)
        or topic.startswith(REFERENCES)
        or topic in map(wrench_topic, SIDES)
    ]
    return whole_rows(messages, of_every_row, raw.damage)


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
