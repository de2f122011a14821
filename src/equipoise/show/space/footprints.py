"""Where feet stood in a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# A foot that carries less than this fraction of the weight is not loaded: its centre of
# pressure is mostly noise.
LOADED_FRACTION = 0.02
# Corners of a sole at rest are slower than this [m/s].
AT_REST = 0.05
# A sole that is tilted by more than this does not stand [rad].
STEEPEST = 0.6
# A foot that stands does so for at least this long [s].
SHORTEST = 0.05
# Where corners are nearer than this to where they were, it is the same print [m].
SAME_PLACE = 0.015


@dataclass(frozen=True, eq=False)
class Footprint:
    """Where a foot stood for a while.

    Attributes:
        side: Side of the foot.
        polygon_in_world: Corners of its sole, in the order of
            :attr:`~equipoise.robot.parts.Sole.polygon_in_sole` [m], shape (k, 3).
        start_s: When it began to stand there [s].
        end_s: When it ended to stand there [s].
    """

    side: Side
    polygon_in_world: Array
    start_s: float
    end_s: float


def is_loaded(run: Run, side: Side) -> NDArray[np.bool_]:
    """Return whether a foot carries some of the weight, shape (n,)."""
    least = LOADED_FRACTION * run.robot.mass * STANDARD_GRAVITY
    return np.asarray(run.foot_wrench[side][:, 2] > least)


def centre_of_pressure_in_sole(run: Run, side: Side) -> Array:
    """Return a foot's centre of pressure in its sole's frame [m], shape (n, 2).

    With the foot's wrench about the sole's origin, x = -τy / Fz and y = τx / Fz; NaN
    while the foot is not loaded.
    """
    wrench = run.foot_wrench[side]
    loaded = is_loaded(run, side)
    load = np.where(loaded, wrench[:, 2], np.nan)
    return np.stack([-wrench[:, 4] / load, wrench[:, 3] / load], axis=1)


def footprints(run: Run) -> tuple[Footprint, ...]:
    """Return where feet stood: loaded, flat enough, and at rest.

    A foot whose wrench is not known stood where its sole was at rest. Feet that slide
    or roll leave no prints while they do. They are in the order in which they began.
    """
    found = [print_ for side in run.robot.soles for print_ in _of_foot(run, side)]
    return tuple(sorted(found, key=lambda print_: print_.start_s))


def sole_corners(robot: Robot, q: Array, side: Side) -> Array:
    """Return the corners of a sole in the world [m], shape (k, 3) or (n, k, 3)."""
    pose = np.asarray(sole_pose(robot, q, side))
    turned = robot.soles[side].polygon_in_sole @ pose[..., :3, :2].swapaxes(-1, -2)
    return np.asarray(turned + pose[..., None, :3, 3])


def _of_foot(run: Run, side: Side) -> list[Footprint]:
    corners = sole_corners(run.robot, run.q, side)
    upwards = sole_pose(run.robot, run.q, side)[:, 2, 2]
    stands = (upwards > np.cos(STEEPEST)) & (_speed(run.time, corners) < AT_REST)
    if side in run.foot_wrench:
        stands &= is_loaded(run, side)
    least = min(SHORTEST, float(run.time[-1] - run.time[0]))
    prints: list[Footprint] = []
    for first, last in _stretches(stands):
        start, end = float(run.time[first]), float(run.time[last])
        polygon = frozen_array(np.median(corners[first : last + 1], axis=0))
        before = prints[-1].polygon_in_world if prints else polygon + np.inf
        if np.linalg.norm(before - polygon, axis=1).max() < SAME_PLACE:
            prints[-1] = replace(prints[-1], end_s=end)
        elif end - start >= least:
            prints.append(Footprint(side, polygon, start, end))
    return prints


def _speed(time: Array, corners: Array) -> Array:
    """Return the speed of the fastest corner, the slower of both sides of a row."""
    if len(time) == 1:
        return np.zeros(1)
    steps = np.linalg.norm(np.diff(corners, axis=0), axis=2).max(axis=1) / np.diff(time)
    after, before = np.append(steps, steps[-1]), np.insert(steps, 0, steps[0])
    return np.asarray(np.minimum(after, before))


def _stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last rows of the stretches in which a flag is set."""
    edges = np.flatnonzero(np.diff(flags)) + 1
    bounds = [0, *edges.tolist(), len(flags)]
    return [(a, b - 1) for a, b in pairwise(bounds) if flags[a]]
