"""Stretches of a log in which the robot stands still on both feet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import (
    SoleViews,
    centre_of_pressure,
    total_wrench,
)
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.measuring.sliding import sliding
from equipoise.identification.standing_frames import MOST_TILT
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.parts import Side

# The CoM is still if slower than this share of √(g h): 4 mm/s at a height h of 0.53 m.
SPEED_SHARE = 0.00175
# A foot stands if it carries this share of what both do.
LEAST_LOAD = 0.05
# Wrenches are steady while what they push with, and where (as a share of the CoM's
# height), stay as near to the stretch's middle as this.
FORCE_SHARE, PRESSURE_SHARE = 0.02, 0.01
# A stretch ends where a joint has gone this far [rad or m].
MOST_TRAVEL = 0.05
# Rows farther apart than so many usual intervals, and than this [s], are a gap.
GAP_INTERVALS, GAP_SECONDS = 5.0, 0.05

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Stillness:
    """What counts as standing still.

    Attributes:
        speed: Of the CoM against either sole, at most [m/s]; by the robot's height
            where None.
        duration_s: At least [s].
        window_s: Over which speeds and loads are averaged [s].
    """

    speed: float | None = None
    duration_s: float = 0.8
    window_s: float = 0.4

    def __post_init__(self) -> None:
        """Refuse what is no speed or duration."""
        for name in ("speed", "duration_s", "window_s"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise EquipoiseError(f"{name} is {value:g}; it must be above zero")

    def speed_limit(self, height: float) -> float:
        """Return the CoM's largest speed at a height above the soles [m] [m/s]."""
        if self.speed is not None:
            return self.speed
        return SPEED_SHARE * float(np.sqrt(STANDARD_GRAVITY * max(height, 0.0)))


class Stretch(NamedTuple):
    """Rows of a log that are one pose.

    Attributes:
        first: Index of the first row.
        end: Index after the last row.
        start_s: Time of the first row [s].
        end_s: Time of the last row [s].
    """

    first: int
    end: int
    start_s: float
    end_s: float

    @property
    def rows(self) -> slice:
        """Its rows."""
        return slice(self.first, self.end)


class FoundStretches(NamedTuple):
    """Stretches, and why others were none.

    Attributes:
        kept: Both feet stand, joints and wrenches are steady.
        notices: What was left out, a sentence each.
        longest_still_s: How long the joints were still at most [s].
    """

    kept: tuple[Stretch, ...]
    notices: tuple[str, ...]
    longest_still_s: float


def still_rows(time: Array, views: SoleViews, stillness: Stillness) -> Rows:
    """Return where the CoM does not move against either sole, shape (n,).

    It must be slow, and so must be half a window before and after: a move that begins
    smoothly pushes before it shows. Its acceleration c̈ must not push by more than it
    would go at the limit in a time of √(h / g).
    """
    height = max(float(np.median(views.com_in_level[:, 2])), 1e-9)
    limit, window = stillness.speed_limit(height), stillness.window_s
    slow = np.ones(len(time), dtype=np.bool_)
    for own in views.com_in_sole.values():
        velocity = sliding(time, own, window).slope
        push = sliding(time, velocity, window).slope * np.sqrt(
            height / STANDARD_GRAVITY
        )
        slow &= np.linalg.norm(velocity, axis=1) < limit
        slow &= np.linalg.norm(push, axis=1) < limit
    moves = np.append(0, np.cumsum(~slow))
    first = np.searchsorted(time, time - 0.5 * window, side="left")
    last = np.searchsorted(time, time + 0.5 * window, side="right")
    return np.asarray(moves[last] == moves[first])


def find_stretches(
    time: Array,
    views: SoleViews,
    wrenches: Mapping[Side, Array],
    positions: Array,
    usable: Rows,
    stillness: Stillness,
) -> FoundStretches:
    """Return the stretches of a log that are quasi-static on both feet.

    Args:
        time: Increasing [s], shape (n,).
        views: Of its rows.
        wrenches: On each foot, about and in the sole's frame [N, Nm], shape (n, 6).
        positions: Of the joints [rad or m], shape (n, nj).
        usable: Rows whose wrenches were measured, shape (n,).
        stillness: What counts as standing still.
    """
    total = total_wrench(views, wrenches)
    window = stillness.window_s
    load = np.stack([wrenches[side][:, 2] for side in FEET], axis=1)
    load = sliding(time, load, window).mean
    share = load / np.maximum(load.sum(axis=1, keepdims=True), 1e-9)
    stands = (share >= LEAST_LOAD).all(axis=1)
    flat = views.tilt <= MOST_TILT
    pressed = centre_of_pressure(total) - views.com_in_level[:, :2]
    steady_of = np.column_stack([total[:, 2], pressed])
    steady_of = sliding(time, steady_of, window).mean
    height = float(np.median(views.com_in_level[:, 2]))
    smooth = sliding(time, positions, window).mean
    still = _long(time, still_rows(time, views, stillness), stillness.duration_s)
    kept: list[Stretch] = []
    notices: list[str] = []
    for lull in still:
        rows = lull.rows
        good = (usable & stands & flat)[rows]
        if good.any():
            good &= _steady(steady_of[rows], good, height)
        inner = _long(time[rows], good, stillness.duration_s)
        pieces = [
            piece
            for part in inner
            for piece in _pieces(time, smooth, part, lull.first, stillness.duration_s)
        ]
        kept.extend(pieces)
        if not pieces:
            tilt = float(np.rad2deg(np.median(views.tilt[rows])))
            reason = _reason(usable[rows], share[rows], flat[rows], tilt)
            notices.append(
                f"{lull.start_s:.2f} s to {lull.end_s:.2f} s is left out: {reason}"
            )
    longest = max((lull.end_s - lull.start_s for lull in still), default=0.0)
    return FoundStretches(tuple(kept), tuple(notices), longest)


def _long(time: Array, rows: Rows, duration_s: float) -> list[Stretch]:
    """Return runs of rows without a gap that last long enough."""
    if len(time) < 2:
        return []
    steps = np.diff(time)
    gap = steps > max(GAP_SECONDS, GAP_INTERVALS * float(np.median(steps)))
    change = np.append(True, (rows[1:] != rows[:-1]) | gap)
    starts = np.flatnonzero(change)
    ends = np.append(starts[1:], len(rows))
    return [
        Stretch(first, end, float(time[first]), float(time[end - 1]))
        for first, end in zip(starts.tolist(), ends.tolist(), strict=True)
        if rows[first] and time[end - 1] - time[first] >= duration_s
    ]


def _steady(values: Array, good: Rows, height: float) -> Rows:
    """Return where upward force and place of pressure stay near the middle."""
    middle = np.median(values[good], axis=0)
    off = np.abs(values - middle)
    force = off[:, 0] <= FORCE_SHARE * abs(middle[0])
    return np.asarray(force & (off[:, 1:] <= PRESSURE_SHARE * height).all(axis=1))


def _pieces(
    time: Array, positions: Array, part: Stretch, offset: int, duration_s: float
) -> Iterator[Stretch]:
    """Cut where joints have crept too far for one pose."""
    first, end = part.first + offset, part.end + offset
    while first < end:
        away = np.abs(positions[first:end] - positions[first]).max(axis=1)
        beyond = np.flatnonzero(away > MOST_TRAVEL)
        cut = first + int(beyond[0]) if len(beyond) else end
        if time[cut - 1] - time[first] >= duration_s:
            yield Stretch(first, cut, float(time[first]), float(time[cut - 1]))
        first = cut


def _reason(usable: Rows, share: Array, flat: Rows, tilt_deg: float) -> str:
    """Say why a lull is no stretch, by what most of its rows lack."""
    if usable.mean() < 0.5:
        return "wrenches are missing there"
    left, right = np.median(share, axis=0)
    if min(left, right) < LEAST_LOAD:
        name, own = ("left", left) if left < right else ("right", right)
        return (
            f"the {name} foot does not stand (it carries {own:.0%} of the weight, "
            f"{LEAST_LOAD:.0%} is needed)"
        )
    if flat.mean() < 0.5:
        return f"a foot is not flat: the soles are {tilt_deg:.1f}° apart"
    return "the wrenches are not steady"
