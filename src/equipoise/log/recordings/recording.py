"""What a robot, ours or another, has measured: joints, wrenches, its base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_writer import NANOSECONDS

# Rows nearer than this in time are one [ns].
SAME_TIME = 1_000
# Longer than this, and than so many usual intervals, is a gap [s].
GAP_SECONDS, GAP_INTERVALS = 0.5, 20.0
Times = NDArray[np.int64]


# What a six-axis sensor measures of force, then torque.
ALL_SIX = (True,) * 6


class MeasuredWrench(NamedTuple):
    """Wrenches by a force-torque sensor, an insole, a force plate or an estimator.

    Attributes:
        frame: The frame that it is about and in, as the log names it.
        time: Time on the recording's clock [s], shape (m,).
        values: Force then torque [N, Nm], shape (m, 6); zero where not measured.
        measured: Which of the six are measured: feet may have F_z only.
        by_pressure: Whether torques were made of a logged centre of pressure.
    """

    frame: str
    time: Array
    values: Array
    measured: tuple[bool, ...] = ALL_SIX
    by_pressure: bool = False


class MeasuredImu(NamedTuple):
    """Measurements of an inertial measurement unit.

    Attributes:
        frame: Its frame, as the log names it.
        time: Time on the recording's clock [s], shape (m,).
        up: Direction against gravity in its axes, by its orientation, shape (m, 3);
            None where it gives none.
        specific_force: By its accelerometer [m/s²], shape (m, 3).
    """

    frame: str
    time: Array
    up: Array | None
    specific_force: Array


class StaticFrame(NamedTuple):
    """A frame that is fixed to a parent.

    Attributes:
        parent: The parent.
        transform_to_parent: Maps its coordinates to the parent's, shape (4, 4).
    """

    parent: str
    transform_to_parent: Array


@dataclass(frozen=True, eq=False)
class Recording:
    """What was measured at n times; arrays are read-only.

    Attributes:
        source: The file or folder.
        time: Increasing, from 0 [s], shape (n,).
        joints: Position by joint name [rad or m], shape (n,) each, finite.
        velocity: Velocity of the joints that have it [rad/s or m/s], shape (n,) each.
        effort: Torque of the joints that have it [Nm or N], shape (n,) each.
        wrenches: Wrenches by topic, or by the prefix of the columns' names.
        base_pose: Position [m] and quaternion xyzw of ``base_frame`` in the world or
            odometry frame, shape (n, 7); None where the log has none.
        base_source: Topic or columns of that pose, ``""`` if there is none.
        base_frame: The frame of that pose; ``""`` for the robot's root.
        imu: Measurements of an IMU, if there is one.
        static_frames: Frames that the log itself fixes to others (``/tf_static``).
        urdf: The robot, where the log describes it.
        settings: TOML of the robot, where the log holds one.
        notices: What was repaired, assumed or left out, a sentence each.
    """

    source: Path
    time: Array
    joints: Mapping[str, Array]
    velocity: Mapping[str, Array]
    effort: Mapping[str, Array]
    wrenches: Mapping[str, MeasuredWrench]
    base_pose: Array | None = None
    base_source: str = ""
    base_frame: str = ""
    static_frames: Mapping[str, StaticFrame] = field(default_factory=dict)
    urdf: str | None = None
    settings: bytes | None = None
    notices: tuple[str, ...] = ()
    imu: MeasuredImu | None = None

    def __post_init__(self) -> None:
        """Freeze."""
        self._set("time", frozen_array(self.time))
        for name in ("joints", "velocity", "effort"):
            own = {key: frozen_array(row) for key, row in getattr(self, name).items()}
            self._set(name, MappingProxyType(own))
        if self.base_pose is not None:
            self._set("base_pose", frozen_array(self.base_pose))
        wrenches = {
            key: w._replace(time=frozen_array(w.time), values=frozen_array(w.values))
            for key, w in self.wrenches.items()
        }
        self._set("wrenches", MappingProxyType(wrenches))
        self._set("static_frames", MappingProxyType(dict(self.static_frames)))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def sorted_rows(times: Times, notices: list[str], name: str) -> NDArray[np.int64]:
    """Return which rows to take in which order, so that times [ns] do not decrease."""
    order = np.argsort(times, kind="stable")
    moved = int(np.count_nonzero(np.diff(times) < 0))
    if moved:
        notices.append(f"{name}: {_many(moved, 'row')} out of order, sorted by time")
    return np.asarray(order, dtype=np.int64)


def last_of_each_time(times: Times, notices: list[str], name: str) -> Times:
    """Return which rows to keep of times that do not decrease: the last of equals."""
    if len(times) == 0:
        raise EquipoiseError(f"{name}: has no row")
    kept = np.flatnonzero(np.append(np.diff(times) >= SAME_TIME, True))
    doubled = len(times) - len(kept)
    if doubled:
        notices.append(
            f"{name}: {_many(doubled, 'row')} with the time of the next, left out"
        )
    return kept


def note_gaps(time: Array, notices: list[str], name: str) -> None:
    """Add a notice of long gaps in time [s]."""
    steps = np.diff(time)
    if len(steps) == 0:
        return
    longest = max(GAP_SECONDS, GAP_INTERVALS * float(np.median(steps)))
    gaps = np.flatnonzero(steps > longest)
    if len(gaps):
        worst = gaps[np.argmax(steps[gaps])]
        notices.append(
            f"{name}: {_many(len(gaps), 'gap')}, the longest of {steps[worst]:.2f} s "
            f"from {time[worst]:.2f} s on"
        )


def note_not_finite(count: int, notices: list[str], name: str) -> None:
    """Add a notice of joint values that were not finite, if any."""
    if count:
        notices.append(
            f"{name}: {_many(count, 'value')} of joints not finite; the one before is "
            "held"
        )


def finite_rows(values: Array, notices: list[str], name: str) -> NDArray[np.intp]:
    """Return which rows of values (n, k) are finite; a notice counts the others."""
    kept = np.flatnonzero(np.isfinite(values).all(axis=1))
    lost = len(values) - len(kept)
    if lost and len(kept):
        notices.append(
            f"{name}: {_many(lost, 'row')} with values that are not finite, left out"
        )
    elif lost:
        notices.append(f"{name} is left out: no row of it has finite values only")
    return kept


def forward_filled(values: Array) -> Array:
    """Return columns (n, k) without NaN: the value before, or at the start the first.

    Columns without any number stay NaN.
    """
    finite = np.isfinite(values)
    if finite.all():
        return values
    rows = np.arange(len(values))[:, None]
    known = np.maximum.accumulate(np.where(finite, rows, -1), axis=0)
    first = np.argmax(finite, axis=0)
    source = np.where(known < 0, first, known)
    filled: Array = np.take_along_axis(values, source, axis=0)
    return np.where(finite.any(axis=0), filled, np.nan)


def seconds_from(times: Times, start: int) -> Array:
    """Return times [ns] in seconds after a start [ns]."""
    return np.asarray((times - start) / NANOSECONDS, dtype=np.float64)


def poses_at(time: Array, own_time: Array, poses: Array) -> Array:
    """Return poses interpolated at other times.

    Args:
        time: Other times [s], shape (n,).
        own_time: Times of the poses, increasing [s], shape (m,).
        poses: Position and unit quaternion xyzw, shape (m, 7).
    """
    if np.array_equal(time, own_time):
        return poses
    # q and -q are the same rotation; between neighbours the nearer one is meant
    flips = np.einsum("ni,ni->n", poses[1:, 3:], poses[:-1, 3:]) < 0.0
    signs = np.cumprod(np.append(1.0, np.where(flips, -1.0, 1.0)))
    near = np.hstack([poses[:, :3], poses[:, 3:] * signs[:, None]])
    found = np.stack([np.interp(time, own_time, column) for column in near.T], axis=1)
    found[:, 3:] /= np.linalg.norm(found[:, 3:], axis=1, keepdims=True)
    return found


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
