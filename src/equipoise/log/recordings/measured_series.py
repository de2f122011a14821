"""Measurements of a bag, topic by topic, as columns with both of their times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS
from equipoise.log.recordings.bag import BagTopic
from equipoise.log.recordings.message_groups import Group

# Frames that do not move; a base's pose in one of them is wanted.
FIXED_FRAMES = ("world", "odom", "map")


class Series(NamedTuple):
    """Numbers of one topic, m rows in order of log time.

    Attributes:
        topic: Topic name.
        frame: Frame that they belong to, if any.
        logged: When they were logged [ns], shape (m,).
        stamps: When they were measured, as their header says [ns], shape (m,).
        values: Shape (m, k), NaN where a message lacks a number.
        names: Of the columns, if they have names.
    """

    topic: str
    frame: str
    logged: NDArray[np.int64]
    stamps: NDArray[np.int64]
    values: Array
    names: tuple[str, ...] = ()


class JointSeries(NamedTuple):
    """Joint states of one topic; ``names`` are the same in all three.

    ``broken`` counts positions that were given, but are no numbers.
    """

    position: Series
    velocity: Series
    effort: Series
    broken: int


def joint_series(topic: BagTopic) -> JointSeries:
    """Return the joint states of a topic; messages may hold some joints each."""
    texts = [group.texts("name") for group in topic.groups]
    names = tuple(dict.fromkeys(name for own in texts for name in own))
    place = {name: at for at, name in enumerate(names)}
    rows = len(topic.times)
    stamps = np.zeros(rows, dtype=np.int64)
    columns = {
        key: np.full((rows, len(names)), np.nan)
        for key in ("position", "velocity", "effort")
    }
    broken = 0
    for group, own in zip(topic.groups, texts, strict=True):
        stamps[group.places] = _stamps(group, "header.stamp")
        to = np.array([place[name] for name in own], dtype=np.int64)
        for key, values in columns.items():
            # drivers leave lists empty that they have no numbers for
            if own and group.layout.columns[key].length == len(own):
                numbers = group.numbers(key)
                values[np.ix_(group.places, to)] = numbers
                if key == "position":
                    broken += int(np.count_nonzero(~np.isfinite(numbers)))
    position, velocity, effort = (
        Series(topic.name, "", topic.times, stamps, values, names)
        for values in columns.values()
    )
    return JointSeries(position, velocity, effort, broken)


def stamped_series(
    topic: BagTopic, path: str, count: int, frame: str = "header.frame_id"
) -> Series:
    """Return numbers of messages that have a header.

    Args:
        topic: The topic.
        path: Of the first number, ``"wrench.force.x"``.
        count: How many there are.
        frame: Path of the frame's name.
    """
    rows = len(topic.times)
    values = np.full((rows, count), np.nan)
    stamps = np.zeros(rows, dtype=np.int64)
    for group in topic.groups:
        values[group.places] = group.numbers(path, count)
        stamps[group.places] = _stamps(group, "header.stamp")
    name = topic.groups[0].layout.texts[frame]
    return Series(topic.name, name.lstrip("/"), topic.times, stamps, values)


def transform_series(topic: BagTopic) -> dict[tuple[str, str], Series]:
    """Return the poses of a topic of transforms by parent and child."""
    found: dict[tuple[str, str], list[Series]] = {}
    for group in topic.groups:
        for parent, child, path in _transforms(group):
            poses = group.numbers(f"{path}.transform.translation.x", 7)
            stamps = _stamps(group, f"{path}.header.stamp")
            logged = topic.times[group.places]
            part = Series(topic.name, child, logged, stamps, np.array(poses))
            found.setdefault((parent, child), []).append(part)
    return {key: _joined(parts) for key, parts in found.items()}


def _transforms(group: Group) -> Iterator[tuple[str, str, str]]:
    texts, at = group.layout.texts, 0
    while f"transforms[{at}].child_frame_id" in texts:
        path = f"transforms[{at}]"
        parent = texts[f"{path}.header.frame_id"].lstrip("/")
        yield parent, texts[f"{path}.child_frame_id"].lstrip("/"), path
        at += 1


def _joined(parts: list[Series]) -> Series:
    logged = np.concatenate([part.logged for part in parts])
    order = np.argsort(logged, kind="stable")
    return parts[0]._replace(
        logged=logged[order],
        stamps=np.concatenate([part.stamps for part in parts])[order],
        values=np.concatenate([part.values for part in parts])[order],
    )


def _stamps(group: Group, path: str) -> NDArray[np.int64]:
    seconds = group.numbers(f"{path}.sec")[:, 0].astype(np.int64)
    rest = group.numbers(f"{path}.nanosec")[:, 0].astype(np.int64)
    return np.asarray(seconds * NANOSECONDS + rest, dtype=np.int64)
