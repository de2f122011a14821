"""Pieces of slow motion on both feet, with the rate of the model's momentum.

Averaged over a piece of a log that lasts T, gravity, the wrenches of the ground and
the rate of momentum p balance; the latter has the mean (p(T) - p(0)) / T. It needs
velocities at both ends, and no accelerations. The level frame is fixed to the soles,
which stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.measuring.balance_series import (
    FEET_SPEED,
    BalanceSeries,
    near,
    sliding,
    sole_views,
)
from equipoise.identification.measuring.log_rows import RowReasons
from equipoise.identification.measuring.stretches import (
    MOVES,
    WEIGHT_FRACTION,
    Stillness,
    Stretch,
    footing,
    long_runs,
)
from equipoise.identification.statics import (
    FEET,
    MeasuredPoses,
    carried_weight,
    frames_of,
    total_wrench,
)
from equipoise.kinematics.com import centroidal_momentum, com
from equipoise.kinematics.frames import velocities
from equipoise.log.recordings.leg_odometry import as_poses
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations

# Slow is a CoM below this fraction of √(g h), 45 mm/s at h = 0.53 m, whose acceleration
# moves the centre of pressure by less than the same fraction of the height.
SLOW_FRACTION = 0.02
# Pieces last about as long as this, and at least that long [s].
PIECE_SECONDS, SHORTEST_PIECE = 0.8, 0.5
# Joint positions are smoothed twice over this, and momentum once [s].
SMOOTHING = 0.2
# More pieces than this tell nothing new: some are taken, evenly.
MOST_PIECES = 300


class SlowMotion(NamedTuple):
    """Pieces of slow motion.

    Attributes:
        pieces: Rows of each.
        run: Number of the continuous movement that each is of, shape (k,).
        rate: Mean rate of momentum in the level frame of each [N, Nm], shape (k, 6).
        rate_of_row: The same row by row, shape (n, 6), for the noise.
        speed: Largest speed of the CoM that counts as slow [m/s].
    """

    pieces: tuple[Stretch, ...]
    run: NDArray[np.int64]
    rate: Array
    rate_of_row: Array
    speed: float


def slow_motion(
    log: BalanceSeries,
    usable: NDArray[np.bool_],
    stillness: Stillness,
    standing: Sequence[Stretch],
    reasons: RowReasons,
) -> SlowMotion:
    """Return pieces in which the robot moves slowly on both feet.

    Stretches in which it stands are pieces as they are, the first ones.

    Args:
        log: Rows of the log.
        usable: Rows whose wrenches were measured, shape (n,).
        stillness: Its window is that of speeds.
        standing: Stretches in which it stands still.
        reasons: Receives which rows are used.
    """
    time, views = log.time, log.views
    height = max(float(np.median(views.com_in_level[:, 2])), 1e-9)
    speed = SLOW_FRACTION * float(np.sqrt(STANDARD_GRAVITY * height))
    carried = np.median(log.total[usable, 2]) if usable.any() else 0.0
    factor = max(float(carried), 0.0) / (log.robot.mass * STANDARD_GRAVITY)
    momentum = factor * level_momentum(log)
    slow = usable & _inner(time) & _slow(log, stillness.window_s, speed, height)
    rate = sliding(time, momentum, stillness.window_s).slope
    carried = sliding(time, log.total[:, 2:3] - rate[:, 2:3], stillness.window_s).mean
    carried = carried[:, 0]
    if slow.any():
        usual = float(np.median(carried[slow]))
        strange = np.abs(carried - usual) > WEIGHT_FRACTION * abs(usual)
        # who tips does so before it is visible
        slow &= ~near(time, strange, stillness.window_s)
    taken = np.zeros(len(time), dtype=np.bool_)
    for stretch in standing:
        taken[stretch.rows] = True
    runs_ = long_runs(time, slow | taken, SHORTEST_PIECE)
    number = np.full(len(time), -1)
    for at, run in enumerate(runs_):
        number[run.rows] = at
    moving = [
        piece
        for part in long_runs(time, slow & ~taken, SHORTEST_PIECE)
        for piece in _cut(time, part)
    ]
    if len(moving) > MOST_PIECES:
        some = np.linspace(0, len(moving) - 1, MOST_PIECES).astype(int)
        moving = [moving[at] for at in some]
    pieces = (*standing, *moving)
    fast = f"moves faster than {1e3 * speed:.0f} mm/s, or not on both feet"
    reasons.say(~slow, fast, instead_of=MOVES)
    brief = f"moves slowly for less than {SHORTEST_PIECE:g} s"
    reasons.say(slow, brief, instead_of=MOVES)
    for at, piece in enumerate(moving, start=len(standing)):
        reasons.say(piece.rows, "moves slowly", pose=at)
    first, last = (
        np.array(ends, dtype=np.int64)
        for ends in ([own.first for own in pieces], [own.end - 1 for own in pieces])
    )
    means = (momentum[last] - momentum[first]) / (time[last] - time[first])[:, None]
    return SlowMotion(
        pieces,
        number[first],
        means,
        rate,
        speed,
    )


def level_momentum(log: BalanceSeries) -> Array:
    """Return linear and angular momentum about the level frame's origin, (n, 6).

    They are the model's, of smoothed joint positions, as seen from soles that stand
    [N s, N m s].
    """
    smooth = np.unwrap(log.positions, axis=0)
    for _ in range(2):
        smooth = sliding(log.time, smooth, SMOOTHING).line
    at_origin = np.tile([0.0] * 6 + [1.0], (len(smooth), 1))
    q = configurations(log.robot, at_origin, smooth)
    base = sole_views(log.robot, q).base_in_level
    q = configurations(log.robot, as_poses(base), smooth)
    v = velocities(log.robot, q, log.time)
    momentum = np.array(centroidal_momentum(log.robot, q, v), np.float64)
    centre = np.asarray(com(log.robot, q), np.float64)
    momentum[:, 3:] += np.cross(centre, momentum[:, :3])
    return sliding(log.time, momentum, SMOOTHING).line


def mean_bend(log: BalanceSeries, poses: MeasuredPoses, rows: Sequence[slice]) -> Array:
    """Return what mean poses do not show of the balance of moving ones, (k, 6) [N, Nm].

    Places of links and soles are not linear in joints: those of the mean joints differ
    from the mean places, by a millimetre where joints turn by 0.3 rad in a piece. It is
    what the wrenches' sum has in the mean pose more than on average, and the weight at
    the model's CoM less.

    Args:
        log: Rows of the log.
        poses: Means over the pieces.
        rows: Rows of each piece.
    """
    frames = frames_of(poses)
    bend = total_wrench(frames.sensor_in_level, poses.wrenches)
    bend -= np.array([log.total[row].mean(axis=0) for row in rows])
    centre = sole_views(log.robot, poses.q, poses.up_in_base).com_in_level
    more = np.array([log.views.com_in_level[row].mean(axis=0) for row in rows]) - centre
    weight = carried_weight(frames, poses)
    bend[:, 3] += weight * more[:, 1]
    bend[:, 4] -= weight * more[:, 0]
    return bend


def _inner(time: Array) -> NDArray[np.bool_]:
    """Return which rows are not at an end of the log or of a gap, (n,).

    Windows that reach beyond are not centred.
    """
    inner = np.zeros(len(time), dtype=np.bool_)
    for part in long_runs(time, np.ones(len(time), dtype=np.bool_), 0.0):
        own = time[part.rows]
        inner[part.rows] = (own >= own[0] + SMOOTHING) & (own <= own[-1] - SMOOTHING)
    return inner


def _slow(
    log: BalanceSeries, window_s: float, speed: float, height: float
) -> NDArray[np.bool_]:
    """Return where the CoM is slow, and both feet stand flat where they are, (n,)."""
    time, views = log.time, log.views
    stands = footing(log, window_s)
    left, right = (views.sole_in_level[side][:, :3, 3] for side in FEET)
    apart = np.linalg.norm(sliding(time, left - right, window_s).slope, axis=1)
    slow = stands.stands & stands.flat & (apart < FEET_SPEED)
    scale = np.sqrt(height / STANDARD_GRAVITY)
    for own in views.com_in_sole.values():
        velocity = sliding(time, own, window_s).slope
        push = sliding(time, velocity, window_s).slope * scale
        slow &= np.linalg.norm(velocity, axis=1) < speed
        slow &= np.linalg.norm(push, axis=1) < speed
    return np.asarray(slow)


def _cut(time: Array, part: Stretch) -> list[Stretch]:
    """Cut a stretch into pieces of about the same length."""
    count = max(1, round((part.end_s - part.start_s) / PIECE_SECONDS))
    bounds = np.linspace(part.start_s, part.end_s, count + 1)[1:-1]
    inner = np.searchsorted(time, bounds)
    edges = [part.first, *inner.tolist(), part.end]
    return [
        Stretch(first, end, float(time[first]), float(time[end - 1]))
        for first, end in pairwise(edges)
        if end - first > 1
    ]
