"""A run back from its MCAP file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.folder import summary_beside
from equipoise.log.mcap_format import topics
from equipoise.log.mcap_format.mcap_file import (
    Messages,
    decoded,
    log_path,
    open_log,
    read_whole,
    what_is_lost,
    whole_rows,
)
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.mcap_format.raw_messages import RawLog, read_raw
from equipoise.log.mcap_format.static_messages import (
    described_robot,
    logged_surroundings,
)
from equipoise.log.mcap_format.streams import ARROW_SCALE, JOINT_FIELDS, KINDS
from equipoise.log.run import Event, Measured, Run
from equipoise.log.surroundings import Surroundings
from equipoise.robot.joint_coordinates import (
    BASE_Q,
    BASE_V,
    configurations,
    degree_names,
)
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

SIDES: tuple[Side, ...] = get_args(Side)
# Numbers of a reference, by the path of the first.
REFERENCE_PATHS = {"point.x": 3, **{kind.path: kind.size for kind in KINDS.values()}}


def read_run(
    path: Path | str, robot: Robot | None = None, *, salvage: bool = False
) -> Run:
    """Read what :func:`~equipoise.log.mcap_format.mcap_writer.write_mcap` has written.

    Numbers come back bit for bit, but times, which are whole nanoseconds, and
    positions of continuous and ball joints and the IMU's pose in its frame, to
    rounding. The summary is that of ``summary.json`` beside a file of the name
    ``run.mcap``, and else empty.

    Args:
        path: The folder of a run, or its MCAP file.
        robot: The robot that ran; by default the one described in the log, whose
            joints may come in another order.
        salvage: Whether a log that is cut off or damaged gives the rows that are
            whole, up to the damage; ``notices`` of the summary then say what is lost.

    Raises:
        EquipoiseError: If the file is not the log of a run, or of another robot, or is
            cut off or damaged (with ``salvage``: so that no row of it is whole).
    """
    file = log_path(path)
    raw = read_whole(path) if salvage else None
    with open_log(path) as stream:
        raw = raw or read_raw(stream)
        messages = _salvaged(raw)
    missing = [
        topic for topic in topics.needed_topics(messages) if topic not in messages
    ]
    if missing:
        broken = ", or is cut off or damaged" if raw.damage else ""
        raise EquipoiseError(
            f"{file}: is not the log of a run{broken}: it has no topic '{missing[0]}'; "
            f"its topics are: {', '.join(sorted(messages)) or 'none'}"
        )
    summary = summary_beside(file, salvage=salvage)
    try:
        if robot is None:
            robot = described_robot(messages, raw.attachments, file)
        times = messages[topics.JOINT_STATES].times
        summary = _with_loss(summary, file.name, raw, times)
        return _Reading(messages, robot).run(summary)
    except EquipoiseError as error:
        if str(error).startswith(str(file)):
            raise
        raise EquipoiseError(f"{file}: {error}") from error
    except (ValueError, IndexError, OverflowError) as error:
        raise EquipoiseError(
            f"{file}: is not the log of a run: topics do not fit each other ({error})"
        ) from error


def _salvaged(raw: RawLog) -> dict[str, Messages]:
    """Return messages by topic; where some are lost, up to the last whole row."""
    messages = decoded(raw)
    announced = {topic.channel.topic for topic in raw.topics.values()}
    needed = topics.needed_topics(announced)
    if raw.damage is None or raw.complete or not announced.issuperset(needed):
        return messages
    others = (topics.CONTACTS, topics.BOXES, *map(topics.wrench_topic, SIDES))
    of_every_row = {
        *needed,
        *others,
        *(topics.true_prefix(announced) + topic for topic in others),
        topics.JOINT_COMMANDS,
        topics.ODOMETRY,
        topics.ESTIMATED_JOINTS,
        *(topic for topic in announced if topic.startswith(topics.REFERENCES)),
    }
    return whole_rows(messages, sorted(of_every_row & announced), raw.damage)


def _with_loss(
    summary: Mapping[str, Any], name: str, raw: RawLog, times: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the summary with a notice of what is lost, if anything is."""
    duration = summary.get("duration_s")
    known = duration if isinstance(duration, int | float) else None
    lost = what_is_lost(name, raw, float(times[-1]) / NANOSECONDS, known)
    if lost is None:
        return dict(summary)
    before = summary.get("notices")
    notices = list(before) if isinstance(before, list) else []
    return {**summary, "notices": [*notices, lost]}


class _Reading:
    """Messages of a run's log, by topic, as arrays in a robot's order."""

    def __init__(self, messages: Mapping[str, Messages], robot: Robot) -> None:
        self.messages = messages
        self.robot = robot
        self.true = topics.true_prefix(messages)
        self.times = messages[topics.JOINT_STATES].times
        self.names = degree_names(robot)

    def run(self, summary: Mapping[str, Any]) -> Run:
        true = self.true
        states = self.messages[true + topics.JOINT_STATES]
        q, v = self.motion(true + topics.JOINT_STATES, true + topics.ODOMETRY)
        base = self.column(true + topics.BASE_ACCELERATION, "accel.linear.x", BASE_V)
        accelerations = self.messages[true + topics.JOINT_ACCELERATIONS]
        path = "points[0].accelerations"
        joints = self.by_degree(accelerations, "joint_names", path)
        supported, zmp, margin = self.support()
        names, contact_position, contact_force = self.contacts()
        return Run(
            robot=self.robot,
            time=self.times / NANOSECONDS,
            q=q,
            v=v,
            a=np.hstack([base, joints]),
            torque=self.by_degree(states, "name", "effort"),
            contact_names=names,
            contact_position=contact_position,
            contact_force=contact_force,
            foot_wrench=self.wrenches(true),
            com=self.column(true + topics.COM, "point.x", 3),
            zmp=zmp,
            supported=supported,
            zmp_margin=margin,
            references={
                topic.removeprefix(topics.REFERENCES): self.reference(topic)
                for topic in self.messages
                if topic.startswith(topics.REFERENCES)
            },
            boxes=self.boxes(),
            events=self.events(),
            summary=summary,
            surroundings=self.surroundings(),
            commands=self.commands(),
            measured=self.measured() if true else None,
            estimates=self.estimates(),
        )

    def motion(self, joints: str, base: str) -> tuple[Array, Array]:
        """Return configurations and velocities, of joints and odometry."""
        states = self.messages[joints]
        pose = self.column(base, "pose.pose.position.x", BASE_Q)
        twist = self.column(base, "twist.twist.linear.x", BASE_V)
        positions = self.by_degree(states, "name", "position")
        v = np.hstack([twist, self.by_degree(states, "name", "velocity")])
        return configurations(self.robot, pose, positions), v

    def wrenches(self, prefix: str) -> dict[Side, Array]:
        return {
            side: self.column(prefix + topics.wrench_topic(side), "wrench.force.x", 6)
            for side in self.robot.soles
            if prefix + topics.wrench_topic(side) in self.messages
        }

    def commands(self) -> dict[str, Array]:
        if topics.JOINT_COMMANDS not in self.messages:
            return {}
        messages = self.messages[topics.JOINT_COMMANDS]
        return {
            name: self.by_degree(messages, "name", field)
            for name, field in JOINT_FIELDS.items()
        }

    def measured(self) -> Measured:
        states, imu = self.messages[topics.JOINT_STATES], self.messages[topics.IMU]
        seconds = states.numbers("header.stamp.sec")[:, 0].astype(np.int64)
        rest = states.numbers("header.stamp.nanosec")[:, 0].astype(np.int64)
        feet = self.wrenches("")
        frames = [
            self.messages[topics.wrench_topic(side)].layout.texts["header.frame_id"]
            for side in feet
        ]
        at_ankle = any(frame not in map(topics.sole_frame, feet) for frame in frames)
        frame, pose = self.fixed_frame(imu.layout.texts["header.frame_id"])
        return Measured(
            time=(seconds * NANOSECONDS + rest) / NANOSECONDS,
            position=self.by_degree(states, "name", "position"),
            velocity=self.by_degree(states, "name", "velocity"),
            feet=feet,
            feet_at="ankle" if at_ankle else "sole",
            angular_velocity=self.column(topics.IMU, "angular_velocity.x", 3),
            specific_force=self.column(topics.IMU, "linear_acceleration.x", 3),
            orientation=self.column(topics.IMU, "orientation.x", 4),
            imu_frame=frame,
            transform_imu_to_frame=pose,
        )

    def fixed_frame(self, name: str) -> tuple[str, Array]:
        """Return the parent of a frame, and its pose there, as the log has them."""
        if topics.STATIC_TRANSFORMS in self.messages:
            messages = self.messages[topics.STATIC_TRANSFORMS]
            children = messages.layout.list_texts("transforms[].child_frame_id")
            if name in children:
                path = f"transforms[{children.index(name)}]"
                parent = messages.layout.texts[f"{path}.header.frame_id"]
                pose = messages.numbers(f"{path}.transform.translation.x", BASE_Q)
                return parent, np.array(pin.XYZQUATToSE3(pose[0]).homogeneous)
        return name, np.eye(4)

    def estimates(self) -> dict[str, Array]:
        if not self.true or topics.ESTIMATED_JOINTS not in self.messages:
            return {}
        q, v = self.motion(topics.ESTIMATED_JOINTS, topics.ODOMETRY)
        return {"q": q, "v": v}

    def surroundings(self) -> Surroundings:
        if topics.SURROUNDINGS not in self.messages:
            return Surroundings()
        return logged_surroundings(self.messages[topics.SURROUNDINGS])

    def column(self, topic: str, path: str, count: int | None = None) -> Array:
        return self.rows(topic, self.messages[topic].numbers(path, count))

    def rows(self, topic: str, values: NDArray[Any]) -> Array:
        if not np.array_equal(self.messages[topic].times, self.times):
            raise EquipoiseError(
                f"'{topic}' and '{topics.JOINT_STATES}' differ in time"
            )
        return values.astype(np.float64, copy=False)

    def by_degree(self, messages: Messages, names: str, path: str) -> Array:
        """Return a column for each of the robot's degrees of freedom, by name."""
        place = {
            name: at for at, name in enumerate(messages.layout.list_texts(f"{names}[]"))
        }
        lacking = [name for name in self.names if name not in place]
        if lacking:
            raise EquipoiseError(
                f"is a log of another robot: joint '{lacking[0]}' of {self.robot.name} "
                f"is not in '{messages.topic}'"
            )
        values = self.rows(messages.topic, messages.numbers(path))
        if values.shape[1] != len(place):
            raise EquipoiseError(
                f"'{messages.topic}': '{path}' does not have one entry for each name"
            )
        ordered: Array = values[:, [place[name] for name in self.names]]
        return ordered

    def support(self) -> tuple[NDArray[np.bool_], Array, Array]:
        count = len(self.times)
        supported = np.zeros(count, dtype=np.bool_)
        zmp, margin = np.full((count, 3), np.nan), np.full(count, np.nan)
        point = self.messages.get(self.true + topics.ZMP)
        distance = self.messages.get(self.true + topics.ZMP_MARGIN)
        if point is not None and distance is not None:
            supported = np.isin(self.times, point.times)
            if not len(point.times) == len(distance.times) == supported.sum():
                raise EquipoiseError(
                    f"'{point.topic}' and '{distance.topic}' differ in time from "
                    f"'{topics.JOINT_STATES}'"
                )
            zmp[supported] = point.numbers("point.x", 3)
            margin[supported] = distance.numbers("data")[:, 0]
        return supported, zmp, margin

    def contacts(self) -> tuple[tuple[str, ...], Array, Array]:
        topic = self.true + topics.CONTACTS
        if topic not in self.messages:
            nothing = np.zeros((len(self.times), 0, 3))
            return (), nothing, nothing
        names = tuple(self.messages[topic].layout.list_texts("markers[].ns"))
        position, force = (
            np.stack(
                [
                    self.column(topic, f"markers[{at}].{path}", 3)
                    for at in range(len(names))
                ],
                axis=1,
            )
            for path in ("pose.position.x", "points[1].x")
        )
        with np.errstate(over="ignore"):  # checked where the run is made
            return names, position, force / ARROW_SCALE

    def boxes(self) -> Array:
        topic = self.true + topics.BOXES
        if topic not in self.messages:
            return np.zeros((len(self.times), 0, 7))
        paths = self.messages[topic].layout.columns
        count = sum(path.endswith(".orientation.w") for path in paths)
        values = self.column(topic, "poses[0].position.x", 7 * count)
        return values.reshape(len(values), count, 7)

    def reference(self, topic: str) -> Array:
        messages = self.messages[topic]
        columns = messages.layout.columns
        for path, size in REFERENCE_PATHS.items():
            if path in columns:
                return self.column(topic, path, size)
        if "data" not in columns:
            kind = topic.removeprefix(f"{topics.REFERENCES}joint_")
            return self.by_degree(messages, "name", JOINT_FIELDS.get(kind, kind))
        values = self.column(topic, "data")
        sizes: list[int] = []
        while (path := f"layout.dim[{len(sizes)}].size") in columns:
            sizes.append(int(messages.numbers(path)[0, 0]))
        return values.reshape(len(values), *sizes)

    def events(self) -> tuple[Event, ...]:
        if topics.EVENTS not in self.messages:
            return ()
        messages = self.messages[topics.EVENTS]
        times = (messages.times / NANOSECONDS).tolist()
        return tuple(map(Event, times, messages.text("msg")))
