"""A plan as it was executed: moved with the feet that carry.

A robot with sensors alone does not know where in the world it is, and a floor that was
not planned for puts feet elsewhere. What it can keep is its plan relative to the stance
foot. A point x of the plan, planned beside sole s, is executed at
p_s + R_z(ψ_s) (x - x_s): x_s and p_s are the planned and the true position of the sole,
ψ_s is how far it is turned about the vertical from its plan. In double support both
soles count, each by the load that it was meant to carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.parts import Side

Soles = Mapping[Side, Array]


def true_soles(run: Run) -> dict[Side, Array]:
    """Return where the soles were, transforms from sole to world, (n, 4, 4) each."""
    return {side: sole_pose(run.robot, run.q, side) for side in SIDES}


def planned_soles(run: Run) -> dict[Side, Array]:
    """Return where the soles were meant to be, as a run's references have it."""
    from scipy.spatial.transform import Rotation  # slow to import

    soles: dict[Side, Array] = {}
    for side in SIDES:
        reference = run.references[f"{side}_sole"]
        poses = np.tile(np.eye(4), (len(reference), 1, 1))
        poses[:, :3, :3] = Rotation.from_quat(reference[:, 3:]).as_matrix()
        poses[:, :3, 3] = reference[:, :3]
        soles[side] = poses
    return soles


def planned_loads(run: Run, planned: Soles) -> dict[Side, Array]:
    """Return which fraction of the weight each foot was meant to carry, (n,) each.

    Args:
        run: Its references have the ZMP and the feet in support.
        planned: Where the soles were meant to be.
    """
    share = left_load(run.references["zmp"], run.references["support"], planned)
    return {"left": share, "right": 1.0 - share}


def left_load(zmp: Array, support: Array, planned: Soles) -> Array:
    """Return which fraction of the weight the left foot was meant to carry, (n,).

    Args:
        zmp: Where the ZMP was planned [m], shape (n, 3).
        support: Which feet were meant to carry, index into ``SUPPORTS``, shape (n,).
        planned: Where the soles were meant to be.
    """
    left, right = (planned[side][:, :2, 3] for side in SIDES)
    between = left - right
    along = ((zmp[:, :2] - right) * between).sum(axis=1)
    share = np.clip(along / (between * between).sum(axis=1), 0.0, 1.0)
    share = np.where(support == SUPPORTS.index("left"), 1.0, share)
    return np.where(support == SUPPORTS.index("right"), 0.0, share)


class MovedPlan(NamedTuple):
    """Soles as one knows them, those of another, and which of them count.

    Attributes:
        planned: Soles beside which points are given, (n, 4, 4) each.
        true: Where these soles are, (n, 4, 4) each.
        loads: Weight of each sole, (n,) each; they add up to one.
    """

    planned: Soles
    true: Soles
    loads: Mapping[Side, Array]

    def turn(self) -> Array:
        """Return how far the soles are turned about the vertical [rad], shape (n,)."""
        return np.asarray(sum(self.loads[s] * self._turn(s) for s in SIDES))

    def points(self, points: Array) -> Array:
        """Return where points beside the planned soles are [m], both (n, 3)."""
        moved = np.zeros((len(points), 3))
        for side in SIDES:
            lever = points - self.planned[side][:, :3, 3]
            beside = turned(lever, self._turn(side)) + self.true[side][:, :3, 3]
            moved += self.loads[side][:, None] * beside
        return moved

    def _turn(self, side: Side) -> Array:
        turn = yaw(self.true[side]) - yaw(self.planned[side])
        return np.asarray((turn + np.pi) % (2.0 * np.pi) - np.pi)


def yaw(poses: Array) -> Array:
    """Return the headings of poses (n, 4, 4) [rad], shape (n,)."""
    return np.asarray(np.arctan2(poses[:, 1, 0], poses[:, 0, 0]))


def turned(vectors: Array, angles: Array) -> Array:
    """Return vectors, (n, 2) or (n, 3), turned about the vertical by angles [rad]."""
    c, s = np.cos(angles), np.sin(angles)
    x, y = vectors[:, 0], vectors[:, 1]
    out = np.array(vectors)
    out[:, 0], out[:, 1] = c * x - s * y, s * x + c * y
    return out


def com_error_from_stance(run: Run, executed: MovedPlan, until: float) -> Array:
    """Return how far the CoM is horizontally from its executed plan [m], shape (m,).

    Args:
        run: What happened.
        executed: The plan, moved with the feet.
        until: Later times do not count [s].
    """
    off = run.com - executed.points(run.references["com"])
    distance = np.linalg.norm(off[:, :2], axis=1)
    return np.asarray(distance[_until(run, until)])


def distance_walked(run: Run, soles: Soles, stride: float, until: float) -> float:
    """Return the length of the path midway between the feet [m].

    Args:
        run: What happened.
        soles: Where the soles were, (n, 4, 4) each.
        stride: Time of two steps, over which the path is averaged [s].
        until: Later times do not count [s].
    """
    rows = _until(run, until)
    time, path = run.time[rows], 0.5 * (soles["left"] + soles["right"])[rows, :2, 3]
    if len(time) < 2:
        return 0.0
    width = max(1, round(stride / float(time[1] - time[0])))
    padded = np.concatenate(
        [np.repeat(path[:1], width, axis=0), path, np.repeat(path[-1:], width, axis=0)]
    )
    total = np.cumsum(np.vstack([np.zeros(2), padded]), axis=0)
    smooth = (total[width:] - total[:-width]) / width
    return float(np.linalg.norm(np.diff(smooth, axis=0), axis=1).sum())


def _until(run: Run, last: float) -> Array:
    rows = run.time <= last
    rows[0] = True
    return np.asarray(rows)
