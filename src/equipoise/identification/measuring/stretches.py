"""Stretches of a log in which the robot stands still on both feet, and their noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import (
    BalanceSeries,
    near,
    runs,
    sliding,
)
from equipoise.identification.measuring.correlation import correlation_length
from equipoise.identification.measuring.log_rows import RowReasons
from equipoise.identification.noise import SensorNoise
from equipoise.identification.statics import (
    FEET,
    MOST_TILT,
    centre_of_pressure,
)
from equipoise.robot.description import STANDARD_GRAVITY

# The CoM is still if slower than this fraction of √(g h): 4 mm/s at h = 0.53 m.
SPEED_FRACTION = 0.00175
# A foot stands if it carries this fraction of the load of both.
LEAST_LOAD = 0.05
# Wrenches are steady while the vertical force (as a fraction of it) and the centre of
# pressure (as a fraction of the CoM's height) stay as near to their medians as this.
FORCE_FRACTION, PRESSURE_FRACTION = 0.02, 0.01
# All stretches carry the same vertical force, to this fraction.
WEIGHT_FRACTION = 0.1
# On force plates soles are at the same height, to this fraction of the leg's length.
SAME_HEIGHT = 0.02
# Why rows are left out in which the robot does not stand still begins with this.
MOVES = "moves: the centre of mass is"
# A stretch ends where a joint has gone this far [rad or m].
MOST_TRAVEL = 0.05
# Rows farther apart than so many usual intervals, and than this [s], are a gap.
GAP_INTERVALS, GAP_SECONDS = 5.0, 0.05

# Components that determine masses: F_z, M_x and M_y of both feet together.
MASS_COMPONENTS = (2, 3, 4)
# Least noise of force [N], and of torque over that of force [m]: logs without any are
# rounded.
LEAST_FORCE, LEAST_ARM = 1e-3, 0.01
# Values nearer than this are one: logs in single precision [rad or m].
SAME_VALUE = 1e-7
# A stretch's mean removes at most all but this fraction of its variance.
LEAST_FREE = 0.1
# Encoders have a visible resolution if a joint has at most this many values for each
# row, and they are mostly whole multiples, to this fraction, of the smallest step.
FEW_VALUES, NEAR_WHOLE, MOSTLY, LEAST_STEPS = 0.25, 0.1, 0.8, 2

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Stillness:
    """Thresholds of standing still.

    Attributes:
        speed: Largest speed of the CoM against either sole [m/s]; None: from the
            robot's height.
        duration_s: Shortest duration [s].
        window_s: Window over which speeds and loads are averaged [s].
    """

    speed: float | None = None
    duration_s: float = 0.8
    window_s: float = 0.4

    def __post_init__(self) -> None:
        """Refuse what is not a speed or duration."""
        for name, value in vars(self).items():
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise EquipoiseError(f"{name} is {value:g}; it must be above zero")

    def speed_limit(self, height: float) -> float:
        """Return the CoM's largest speed at a height above the soles [m] [m/s]."""
        if self.speed is not None:
            return self.speed
        return SPEED_FRACTION * float(np.sqrt(STANDARD_GRAVITY * max(height, 0.0)))


class Stretch(NamedTuple):
    """Rows of a log that are one pose: from first to before end; times in [s]."""

    first: int
    end: int
    start_s: float
    end_s: float

    @property
    def rows(self) -> slice:
        """Its rows."""
        return slice(self.first, self.end)


class FoundStretches(NamedTuple):
    """Stretches that were found, and why others were rejected.

    Attributes:
        kept: Stretches in which both feet stand, joints and wrenches are steady.
        notices: What was left out, a sentence each.
        reasons: Why each row of the log is used or not.
    """

    kept: tuple[Stretch, ...]
    notices: tuple[str, ...]
    reasons: RowReasons


def still_rows(log: BalanceSeries, stillness: Stillness) -> Rows:
    """Return where the CoM does not move against either sole, shape (n,).

    It must be slow, also half a window before and after: a smooth motion accelerates
    before it is visible. Its acceleration c̈ times √(h / g) must be below the speed
    limit, too.
    """
    time, views = log.time, log.views
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
    return np.asarray(~near(time, ~slow, 0.5 * window))


class Footing(NamedTuple):
    """How the feet stand in each row of a log.

    Attributes:
        load: Fraction of the load that the left and the right foot carry, shape (n, 2).
        stands: Whether both carry enough, shape (n,).
        flat: Whether both can be flat on the ground, shape (n,).
    """

    load: Array
    stands: Rows
    flat: Rows


def footing(log: BalanceSeries, window_s: float) -> Footing:
    """Return how the feet stand.

    On force plates loads follow from the centre of pressure between the soles: their
    distances to it, as those of a lever.

    Args:
        log: Rows of the log.
        window_s: Window over which loads are averaged [s].
    """
    time, views = log.time, log.views
    flat = views.tilt <= MOST_TILT
    if log.plates:
        total = sliding(time, log.total, window_s).mean
        left, right = (views.sole_in_level[side][:, :3, 3] for side in FEET)
        across = (left - right)[:, :2]
        along = np.sum((centre_of_pressure(total) - right[:, :2]) * across, axis=1)
        on_left = along / np.maximum(np.sum(across**2, axis=1), 1e-12)
        fraction = np.column_stack([on_left, 1.0 - on_left])
        length = max(leg.length for leg in log.robot.legs.values())
        flat = flat & (np.abs((left - right)[:, 2]) <= SAME_HEIGHT * length)
    else:
        load = np.stack([log.wrenches[side][:, 2] for side in FEET], axis=1)
        load = sliding(time, load, window_s).mean
        fraction = load / np.maximum(load.sum(axis=1, keepdims=True), 1e-9)
    stands = np.asarray((fraction >= LEAST_LOAD).all(axis=1))
    return Footing(fraction, stands, flat)


def find_stretches(
    log: BalanceSeries, usable: Rows, stillness: Stillness
) -> FoundStretches:
    """Return the stretches of a log that are quasi-static on both feet.

    Args:
        log: Rows of the log.
        usable: Rows whose wrenches were measured, shape (n,).
        stillness: Thresholds of standing still.
    """
    time, views, total = log.time, log.views, log.total
    window = stillness.window_s
    fraction, stands, flat = footing(log, window)
    pressed = centre_of_pressure(total) - views.com_in_level[:, :2]
    steady_of = np.column_stack([total[:, 2], pressed])
    steady_of = sliding(time, steady_of, window).mean
    height = float(np.median(views.com_in_level[:, 2]))
    smooth = sliding(time, log.positions, window).mean
    still = still_rows(log, stillness)
    reasons = RowReasons(len(time))
    limit = 1e3 * stillness.speed_limit(height)
    reasons.say(~usable, "a wrench is missing")
    reasons.say(~still, f"{MOVES} faster than {limit:.1f} mm/s")
    reasons.say(~stands, "a foot does not stand")
    reasons.say(~flat, "a foot is not flat")
    kept: list[Stretch] = []
    notices: list[str] = []
    for lull in long_runs(time, still, stillness.duration_s):
        rows = lull.rows
        good = (usable & stands & flat)[rows]
        if good.any():
            good &= _steady(steady_of[rows], good, height)
        inner = long_runs(time[rows], good, stillness.duration_s)
        pieces = [
            piece
            for part in inner
            for piece in _pieces(time, smooth, part, lull.first, stillness.duration_s)
        ]
        kept.extend(pieces)
        unsteady = np.zeros(len(time), dtype=np.bool_)
        unsteady[rows] = ~good
        reasons.say(unsteady, "the wrenches are not steady")
        if not pieces:
            tilt = float(np.rad2deg(np.median(views.tilt[rows])))
            reason = _reason(usable[rows], fraction[rows], flat[rows], tilt)
            notices.append(
                f"{lull.start_s:.2f} s to {lull.end_s:.2f} s is left out: {reason}"
            )
    kept, strange = with_the_weight(log, kept)
    for stretch, text in strange:
        reasons.say(stretch.rows, text)
        notices.append(
            f"{stretch.start_s:.2f} s to {stretch.end_s:.2f} s is left out: {text}"
        )
    for number, stretch in enumerate(kept):
        reasons.say(stretch.rows, "stands still", pose=number)
    reasons.say(slice(None), f"still for less than {stillness.duration_s:g} s")
    return FoundStretches(tuple(kept), tuple(notices), reasons)


def with_the_weight(
    log: BalanceSeries, stretches: list[Stretch]
) -> tuple[list[Stretch], list[tuple[Stretch, str]]]:
    """Return stretches that carry the same weight, and the others with the reason.

    A robot that tips, leans on something or is held is not a standing robot. Of two
    that differ, the one nearer to the model's weight is kept.
    """
    kept, strange = list(stretches), []
    weight = log.robot.mass * STANDARD_GRAVITY
    while len(kept) > 1:
        loads = np.array([log.total[own.rows, 2].mean() for own in kept])
        others = np.array([np.median(np.delete(loads, at)) for at in range(len(loads))])
        away = np.abs(loads / others - 1.0)
        if away.max() <= WEIGHT_FRACTION:
            break
        worst = int(np.argmax(away if len(kept) > 2 else np.abs(loads - weight)))
        more = loads[worst] > others[worst]
        text = (
            f"the ground carries {loads[worst]:.0f} N there, "
            f"{abs(loads[worst] / others[worst] - 1.0):.0%} "
            f"{'more' if more else 'less'} than in the other stretches "
            f"({others[worst]:.0f} N; at most {WEIGHT_FRACTION:.0%}): the robot tips, "
            "or something holds it"
        )
        strange.append((kept.pop(worst), text))
    return kept, strange


def long_runs(time: Array, rows: Rows, duration_s: float) -> list[Stretch]:
    """Return runs of rows without a gap that last long enough."""
    if len(time) < 2:
        return []
    steps = np.diff(time)
    gap = steps > max(GAP_SECONDS, GAP_INTERVALS * float(np.median(steps)))
    starts, ends = runs((rows[1:] != rows[:-1]) | gap)
    return [
        Stretch(first, end, float(time[first]), float(time[end - 1]))
        for first, end in zip(starts.tolist(), ends.tolist(), strict=True)
        if rows[first] and time[end - 1] - time[first] >= duration_s
    ]


def _steady(values: Array, good: Rows, height: float) -> Rows:
    """Return where vertical force and centre of pressure stay near their medians."""
    middle = np.median(values[good], axis=0)
    off = np.abs(values - middle)
    force = off[:, 0] <= FORCE_FRACTION * abs(middle[0])
    return np.asarray(force & (off[:, 1:] <= PRESSURE_FRACTION * height).all(axis=1))


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


def _reason(usable: Rows, fraction: Array, flat: Rows, tilt_deg: float) -> str:
    """Return why still rows are not a stretch, by what most of them lack."""
    if usable.mean() < 0.5:
        return "wrenches are missing there"
    left, right = np.median(fraction, axis=0)
    if min(left, right) < LEAST_LOAD:
        name, own = ("left", left) if left < right else ("right", right)
        return (
            f"the {name} foot does not stand (it carries {own:.0%} of the weight, "
            f"{LEAST_LOAD:.0%} is needed)"
        )
    if flat.mean() < 0.5:
        return f"a foot is not flat: the soles are {tilt_deg:.1f}° apart"
    return "the wrenches are not steady"


class Scatter(NamedTuple):
    """Noise of the sensors, from rows within stretches.

    Attributes:
        noise: Standard deviations of one row.
        samples: Independent samples of each stretch, shape (n,).
    """

    noise: SensorNoise
    samples: NDArray[np.int64]


def scatter(
    log: BalanceSeries,
    stretches: Sequence[Stretch],
    window_s: float,
    rate: Array | None = None,
) -> Scatter:
    """Return the sensors' noise, and the independent samples of each stretch.

    It is that of all wrenches together, in excess of what the moving CoM explains: feet
    that push against each other do not count. Unmodelled motion, such as sway that
    encoders do not show, is included.

    Args:
        log: Rows of the log.
        stretches: At least one.
        window_s: Window over which the CoM is averaged [s].
        rate: Rate of the model's momentum in the level frame [N, Nm], shape (n, 6),
            where it moves.
    """
    # errors of a model that moves are a trend, not noise
    degree = 0 if rate is None else 1
    excess, arms, counts = [], [], []
    places = log.sensor_in_level.values()
    for stretch in stretches:
        rows = stretch.rows
        total = np.array(log.total[rows])
        if rate is not None:
            total -= rate[rows]
        weight = float(total[:, 2].mean())
        centre = sliding(log.time[rows], log.views.com_in_level[rows], window_s).mean
        total[:, 3] -= weight * centre[:, 1]
        total[:, 4] += weight * centre[:, 0]
        excess.append(_rest(log.time[rows], total, degree))
        arms.append([place[rows, :3, 3].mean(axis=0) for place in places])
        counts.append(len(total))
    # rounding errors do not scatter at random: they do not count
    floor = np.repeat([LEAST_FORCE, LEAST_ARM * LEAST_FORCE], 3)
    varying = [
        at for at in MASS_COMPONENTS if np.concatenate(excess)[:, at].std() > floor[at]
    ]
    lengths = [correlation_length([own[:, at] for own in excess]) for at in varying]
    length = max(lengths, default=1.0)
    independent = np.array(counts) / length
    free = np.maximum(independent - 1.0 - degree, LEAST_FREE * independent)
    squares = sum(np.sum(own**2, axis=0) / length for own in excess)
    variance = np.asarray(squares) / free.sum()
    # of what all sensors measure
    missing = [own.any(axis=0) for own in log.missing_std.values()]
    known = ~np.any(missing, axis=0) if missing else np.ones(6, dtype=np.bool_)
    known[2] = True
    sensors = len(log.wrenches)
    force = float(np.sqrt(variance[:3][known[:3]].mean() / sensors))
    force = max(force, LEAST_FORCE)
    # Σ M = Σ (M_s + p_s × F_s): the part of the forces' noise is subtracted
    lever = float(np.sum(np.array(arms) ** 2)) / len(arms)
    torque_variance = 0.0
    if known[3:].any():
        by_force = 2.0 * force**2 * lever / 3.0
        own = float(variance[3:][known[3:]].mean())
        torque_variance = max(own - by_force, 0.0) / sensors
    noise = SensorNoise(
        force=force,
        torque=max(float(np.sqrt(torque_variance)), LEAST_ARM * force),
        joint=max(
            SensorNoise().joint, encoder_step(log.positions) / float(np.sqrt(12.0))
        ),
    )
    samples = np.maximum(np.rint(independent), 1).astype(np.int64)
    return Scatter(noise, samples)


def _rest(time: Array, values: Array, degree: int) -> Array:
    """Return values (n, k) less the best polynomial in time of a degree."""
    since = (time - time.mean()) / max(float(np.ptp(time)), 1e-9)
    basis = np.vander(since, degree + 1)
    return np.asarray(values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0])


def encoder_step(positions: Array) -> float:
    """Return the median step of the joints' encoders [rad or m]; 0 if not visible.

    ``positions`` have shape (n, nj).
    """
    steps = []
    for column in positions.T:
        values = np.unique(column)
        apart = np.diff(values)
        apart = apart[apart > SAME_VALUE]
        if len(values) > FEW_VALUES * len(column) or len(apart) == 0:
            continue
        step = float(apart.min())
        # a slow motion has many values as well, but they are not multiples
        rest = np.abs(apart / step - np.rint(apart / step))
        if np.mean(rest < NEAR_WHOLE) >= MOSTLY and len(apart) >= LEAST_STEPS:
            steps.append(step)
    return float(np.median(steps)) if steps else 0.0
