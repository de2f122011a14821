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
    runs,
    sliding,
)
from equipoise.identification.noise import SensorNoise
from equipoise.identification.statics import (
    FEET,
    MOST_TILT,
    centre_of_pressure,
    total_wrench,
)
from equipoise.robot.description import STANDARD_GRAVITY

# The CoM is still if slower than this fraction of √(g h): 4 mm/s at h = 0.53 m.
SPEED_FRACTION = 0.00175
# A foot stands if it carries this fraction of the load of both.
LEAST_LOAD = 0.05
# Wrenches are steady while the vertical force (as a fraction of it) and the centre of
# pressure (as a fraction of the CoM's height) stay as near to their medians as this.
FORCE_FRACTION, PRESSURE_FRACTION = 0.02, 0.01
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
# The sum of correlations ends where the lag is so many times the sum so far.
WINDOW = 6.0
MOST_ROUNDS = 20

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
    """

    kept: tuple[Stretch, ...]
    notices: tuple[str, ...]


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
    moves = np.append(0, np.cumsum(~slow))
    first = np.searchsorted(time, time - 0.5 * window, side="left")
    last = np.searchsorted(time, time + 0.5 * window, side="right")
    return np.asarray(moves[last] == moves[first])


def find_stretches(
    log: BalanceSeries, usable: Rows, stillness: Stillness
) -> FoundStretches:
    """Return the stretches of a log that are quasi-static on both feet.

    Args:
        log: Rows of the log.
        usable: Rows whose wrenches were measured, shape (n,).
        stillness: Thresholds of standing still.
    """
    time, views = log.time, log.views
    total = total_wrench(views.sole_in_level, log.wrenches)
    window = stillness.window_s
    load = np.stack([log.wrenches[side][:, 2] for side in FEET], axis=1)
    load = sliding(time, load, window).mean
    fraction = load / np.maximum(load.sum(axis=1, keepdims=True), 1e-9)
    stands = (fraction >= LEAST_LOAD).all(axis=1)
    flat = views.tilt <= MOST_TILT
    pressed = centre_of_pressure(total) - views.com_in_level[:, :2]
    steady_of = np.column_stack([total[:, 2], pressed])
    steady_of = sliding(time, steady_of, window).mean
    height = float(np.median(views.com_in_level[:, 2]))
    smooth = sliding(time, log.positions, window).mean
    kept: list[Stretch] = []
    notices: list[str] = []
    for lull in _long(time, still_rows(log, stillness), stillness.duration_s):
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
            reason = _reason(usable[rows], fraction[rows], flat[rows], tilt)
            notices.append(
                f"{lull.start_s:.2f} s to {lull.end_s:.2f} s is left out: {reason}"
            )
    return FoundStretches(tuple(kept), tuple(notices))


def _long(time: Array, rows: Rows, duration_s: float) -> list[Stretch]:
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
    log: BalanceSeries, stretches: Sequence[Stretch], window_s: float
) -> Scatter:
    """Return the sensors' noise, and the independent samples of each stretch.

    It is that of both feet's wrenches together, in excess of what the moving CoM
    explains: feet that push against each other do not count. Unmodelled motion, such
    as sway that encoders do not show, is included.

    Args:
        log: Rows of the log.
        stretches: At least one.
        window_s: Window over which the CoM is averaged [s].
    """
    excess, arms, counts = [], [], []
    for stretch in stretches:
        rows = stretch.rows
        soles = {side: log.views.sole_in_level[side][rows] for side in FEET}
        total = total_wrench(soles, {side: log.wrenches[side][rows] for side in FEET})
        weight = float(total[:, 2].mean())
        centre = sliding(log.time[rows], log.views.com_in_level[rows], window_s).mean
        total[:, 3] -= weight * centre[:, 1]
        total[:, 4] += weight * centre[:, 0]
        excess.append(total - total.mean(axis=0))
        arms.append([soles[side][:, :3, 3].mean(axis=0) for side in FEET])
        counts.append(len(total))
    # rounding errors do not scatter at random: they do not count
    floor = np.repeat([LEAST_FORCE, LEAST_ARM * LEAST_FORCE], 3)
    varying = [
        at for at in MASS_COMPONENTS if np.concatenate(excess)[:, at].std() > floor[at]
    ]
    lengths = [correlation_length([own[:, at] for own in excess]) for at in varying]
    length = max(lengths, default=1.0)
    independent = np.array(counts) / length
    free = np.maximum(independent - 1.0, LEAST_FREE * independent)
    squares = sum(np.sum(own**2, axis=0) / length for own in excess)
    variance = np.asarray(squares) / free.sum()
    force = max(float(np.sqrt(variance[:3].mean() / len(FEET))), LEAST_FORCE)
    # Σ M = Σ (M_s + p_s × F_s): the part of the forces' noise is subtracted
    lever = float(np.sum(np.array(arms) ** 2)) / len(arms)
    by_force = 2.0 * force**2 * lever
    torque_variance = (variance[3:].sum() - by_force) / (3.0 * len(FEET))
    noise = SensorNoise(
        force=force,
        torque=max(float(np.sqrt(max(torque_variance, 0.0))), LEAST_ARM * force),
        joint=max(
            SensorNoise().joint, encoder_step(log.positions) / float(np.sqrt(12.0))
        ),
    )
    samples = np.maximum(np.rint(independent), 1).astype(np.int64)
    return Scatter(noise, samples)


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


def correlation_length(pieces: Sequence[Array]) -> float:
    """Return the number of consecutive samples that count as one, at least 1.

    It is τ = 1 + 2 Σ ρ_k with the autocorrelation ρ_k at lag k, pooled over pieces of
    one process that may have different means; the sum ends at the first lag k ≥ 6 τ
    (Sokal's window). The mean of n samples has the variance of n / τ independent ones.

    Args:
        pieces: Samples at equal time intervals, shape (n_i,) each.
    """
    centred = [piece - piece.mean() for piece in pieces if len(piece) > 1]
    if not centred or not any(np.any(piece != 0.0) for piece in centred):
        return 1.0
    longest = max(len(piece) for piece in centred)
    products, counts = np.zeros(longest), np.zeros(longest)
    for piece in centred:
        lags = len(piece)
        spectrum = np.fft.rfft(piece, 2 * lags)  # Σ_i x_i x_{i+k} for every lag k
        products[:lags] += np.fft.irfft(np.abs(spectrum) ** 2, 2 * lags)[:lags]
        counts[:lags] += np.arange(lags, 0, -1)
    covariance = products / counts
    mean_length = sum(len(piece) for piece in centred) / len(centred)
    length, lost = 1.0, 0.0
    for _ in range(MOST_ROUNDS):
        # subtracting the pieces' own means removed the variance of the mean
        rho = (covariance + lost) / (covariance[0] + lost)
        before, length = length, _summed(rho, mean_length)
        fraction = min(length / mean_length, 0.9)
        lost = covariance[0] * fraction / (1.0 - fraction)
        if abs(length - before) < 1e-3 * length:
            break
    return length


def _summed(rho: Array, most: float) -> float:
    sums = 1.0 + 2.0 * np.cumsum(np.append(0.0, rho[1:]))
    ends = np.flatnonzero(np.arange(len(rho)) >= WINDOW * np.maximum(sums, 1.0))
    end = int(ends[0]) if len(ends) else len(rho) - 1
    return float(min(max(sums[end], 1.0), max(most, 1.0)))
