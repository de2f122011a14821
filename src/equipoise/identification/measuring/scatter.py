"""How much a log's sensors scatter while the robot stands still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.measuring.autocorrelation import correlation_length
from equipoise.identification.measuring.balance_series import SoleViews, total_wrench
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.measuring.sliding import sliding
from equipoise.identification.measuring.stretches import Stretch
from equipoise.identification.noise import SensorNoise
from equipoise.robot.parts import Side

# What tells masses: F_z, M_x and M_y of both feet together.
TELLING = (2, 3, 4)
# Noise is never taken for less than this [N], and that of torque as a share of the
# force's [m]: logs without any are rounded.
LEAST_FORCE, LEAST_ARM = 1e-3, 0.01
# Values nearer than this are one: logs in single precision [rad or m].
SAME_VALUE = 1e-7
# A stretch's mean takes at most all but this share of its scatter away.
LEAST_FREE = 0.1
# Steps of encoders are seen if a joint has at most this many values for each row,
# and they are mostly whole multiples, to this share, of the smallest step.
FEW_VALUES, NEAR_WHOLE, MOSTLY, LEAST_STEPS = 0.25, 0.1, 0.8, 2


class Scatter(NamedTuple):
    """What rows within stretches say of the sensors.

    Attributes:
        noise: Of one row.
        correlation_rows: How many rows in a row are worth one.
        samples: Independent samples of each stretch, shape (n,).
    """

    noise: SensorNoise
    correlation_rows: float
    samples: NDArray[np.int64]


def scatter(
    time: Array,
    views: SoleViews,
    wrenches: Mapping[Side, Array],
    positions: Array,
    stretches: Sequence[Stretch],
    window_s: float,
) -> Scatter:
    """Return the sensors' noise, and what the rows of each stretch are worth.

    It is that of both feet's wrenches together, in excess of what the moving CoM
    explains: feet that push against each other do not count. It holds whatever else
    is not known of the balance, such as sway that encoders do not see.

    Args:
        time: [s], shape (n,).
        views: Of the log's rows.
        wrenches: On each foot, about and in the sole's frame [N, Nm], shape (n, 6).
        positions: Of the joints [rad or m], shape (n, nj).
        stretches: At least one.
        window_s: Over which the CoM is averaged [s].
    """
    excess, arms, counts = [], [], []
    for stretch in stretches:
        rows = stretch.rows
        here = views.rows(rows)
        total = total_wrench(here, {side: wrenches[side][rows] for side in FEET})
        weight = float(total[:, 2].mean())
        centre = sliding(time[rows], here.com_in_level, window_s).mean
        total[:, 3] -= weight * centre[:, 1]
        total[:, 4] += weight * centre[:, 0]
        excess.append(total - total.mean(axis=0))
        arms.append([here.sole_in_level[side][:, :3, 3].mean(axis=0) for side in FEET])
        counts.append(len(total))
    # rounding errors do not scatter at random: they do not count
    floor = np.repeat([LEAST_FORCE, LEAST_ARM * LEAST_FORCE], 3)
    told = [at for at in TELLING if np.concatenate(excess)[:, at].std() > floor[at]]
    lengths = [correlation_length([own[:, at] for own in excess]) for at in told]
    length = max(lengths, default=1.0)
    worth = np.array(counts) / length
    free = np.maximum(worth - 1.0, LEAST_FREE * worth)
    squares = sum(np.sum(own**2, axis=0) / length for own in excess)
    variance = np.asarray(squares) / free.sum()
    force = max(float(np.sqrt(variance[:3].mean() / len(FEET))), LEAST_FORCE)
    # Σ M = Σ (M_s + p_s × F_s): what the forces' noise makes of it is taken off
    lever = float(np.sum(np.array(arms) ** 2)) / len(arms)
    by_force = 2.0 * force**2 * lever
    torque_variance = (variance[3:].sum() - by_force) / (3.0 * len(FEET))
    noise = SensorNoise(
        force=force,
        torque=max(float(np.sqrt(max(torque_variance, 0.0))), LEAST_ARM * force),
        joint=max(SensorNoise().joint, encoder_step(positions) / float(np.sqrt(12.0))),
    )
    samples = np.maximum(np.rint(worth), 1).astype(np.int64)
    return Scatter(noise, length, samples)


def encoder_step(positions: Array) -> float:
    """Return the step of the joints' encoders, the median's [rad or m]; 0 if unseen.

    Args:
        positions: Shape (n, nj).
    """
    steps = []
    for column in positions.T:
        values = np.unique(column)
        apart = np.diff(values)
        apart = apart[apart > SAME_VALUE]
        if len(values) > FEW_VALUES * len(column) or len(apart) == 0:
            continue
        step = float(apart.min())
        # a slow move has many values as well, but they are no multiples
        rest = np.abs(apart / step - np.rint(apart / step))
        if np.mean(rest < NEAR_WHOLE) >= MOSTLY and len(apart) >= LEAST_STEPS:
            steps.append(step)
    return float(np.median(steps)) if steps else 0.0
