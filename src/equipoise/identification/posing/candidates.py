"""Poses that a robot could be measured in: balanced, within limits, not touching.

Limits are those of joint positions, and of joint torques outside the legs. The motion
from one pose to the next is not checked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.posing.foot_placements import (
    Placement,
    foot_placements,
    posed_legs,
    shortest_side,
)
from equipoise.identification.posing.pose_limits import (
    SelfCollision,
    holdable,
    joint_ranges,
    self_collision,
    torque_bounds,
    within_ranges,
)
from equipoise.identification.prior import (
    Prior,
    com_functionals,
    default_prior,
    prior_belief,
)
from equipoise.identification.statics import FEET, standing_frames
from equipoise.kinematics.com import com as centre_of_mass
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.model import Robot

# The CoM stays inside the soles by this fraction of their shorter side (joints give
# way) and so many standard deviations of the model's CoM; but not beyond this fraction
# of the distance to the middle.
SOLE_FRACTION, DEVIATIONS, MIDDLE_FRACTION = 0.1, 3.0, 0.5
# Poses that are drawn at a time, at most for each that is wanted, and at most where
# none of them will do.
ROUND, MOST_DRAWS, MOST_IN_VAIN = 256, 100, 40 * 256


def pose_candidates(
    robot: Robot,
    count: int,
    seed: int | np.random.Generator = 0,
    *,
    stances: int = 1,
    margin: float | None = None,
    prior: Prior | None = None,
    collisions: SelfCollision | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Array:
    """Return random balanced poses on both feet, as varied as the robot allows.

    Torso, CoM and all joints that carry mass are drawn at random; fingers, ball joints
    and toes stay as in the standing posture.

    Args:
        robot: The robot; any with two soles that are not points.
        count: Number of poses.
        seed: Random seed.
        stances: Number of placements of the feet, equally many poses in each. With
            more than one, sensor offsets and the CoM are separated better, but the
            robot must step.
        margin: Least distance of the CoM inside that part of the support polygon where
            either foot carries a load [m]; :func:`default_margin` by default.
        prior: Standard deviations of the model's parameters, for that margin.
        collisions: Links that must not touch; from the robot's shapes by default.
        progress: Called with how many of the poses are done with: found, or in
            proportion to draws where that is more.

    Returns:
        Configurations, soles at z = 0, shape (n, nq); n < count where poses are hard to
        find.

    Raises:
        EquipoiseError: If no pose was found.
    """
    rng = np.random.default_rng(seed)
    if count < 1 or stances < 1:
        raise EquipoiseError(f"{count} poses in {stances} stances: both must be ≥ 1")
    for side in FEET:
        if side not in robot.soles:
            raise EquipoiseError(f"{robot.name} has no {side} sole to stand on")
    legs = posed_legs(robot)
    places = foot_placements(robot, legs, stances, rng)
    margins = [_margin(robot, place.polygon, margin, prior) for place in places]
    apart = self_collision(robot) if collisions is None else collisions
    limits, bounds = joint_ranges(robot), torque_bounds(robot)
    parts = [np.zeros((0, robot.nq))]
    done_with = drawn = 0
    wanted = [len(part) for part in np.array_split(np.arange(count), stances)]
    for place, least, number in zip(places, margins, wanted, strict=True):
        found = tries = 0
        most = MOST_DRAWS * number + ROUND
        while found < number and tries < (most if found else min(most, MOST_IN_VAIN)):
            postures = _postures(robot, limits, ROUND, rng)
            inner = _points_inside(place.polygon, least, ROUND, rng)
            q = legs.draw(place, inner, postures, rng)
            q = q[within_ranges(q, limits) & _balanced(robot, q, place, least)]
            q = q[holdable(robot, q, bounds)]
            q = q[apart.free(q)][: number - found]
            parts.append(q)
            tries, found = tries + ROUND, found + len(q)
            progress(done_with + max(found, number * min(tries / most, 1.0)))
        done_with, drawn = done_with + number, drawn + tries
    poses = np.concatenate(parts)
    if len(poses) == 0:
        raise EquipoiseError(
            f"{robot.name}: none of {drawn} poses drawn has its soles flat, its CoM "
            f"{1e3 * min(margins):.0f} mm inside, its joints and their torques within "
            "limits and touches nothing"
        )
    return poses


def default_margin(robot: Robot, polygon: Array, prior: Prior | None = None) -> float:
    """Return how far inside a support polygon the CoM should stay [m].

    It is a fraction of the soles, and enough for errors of the model's CoM by a prior,
    :func:`default_prior` by default. The polygon has corners of shape (k, 2) [m].
    """
    belief = prior_belief(robot, default_prior(robot) if prior is None else prior)
    lever = com_functionals(standing_frames(robot, robot.standing[None]), belief)
    deviation = float(np.sqrt(np.mean(np.sum(lever[:, :2] ** 2, axis=2))))
    wanted = SOLE_FRACTION * shortest_side(robot) + DEVIATIONS * deviation
    return min(wanted, MIDDLE_FRACTION * _margin_of_middle(polygon))


def _margin_of_middle(polygon: Array) -> float:
    return float(polygon_margin(polygon, polygon.mean(axis=0)))


def _margin(
    robot: Robot, polygon: Array, margin: float | None, prior: Prior | None
) -> float:
    middle = _margin_of_middle(polygon)
    if middle <= 0.0:
        raise EquipoiseError(
            f"{robot.name}: its soles are points or a line: no pose on them is "
            "balanced with a margin"
        )
    least = default_margin(robot, polygon, prior) if margin is None else margin
    if not 0.0 <= least < middle:
        raise EquipoiseError(
            f"a margin of {1e3 * least:.0f} mm is not possible: the middle of the "
            f"soles is {1e3 * middle:.0f} mm inside"
        )
    return least


def _postures(
    robot: Robot, ranges: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return all joints at random, some near standing, some far, (count, nq)."""
    centre = np.clip(robot.standing, ranges[0], ranges[1])
    drawn = rng.uniform(ranges[0], ranges[1], (count, robot.nq))
    return centre + rng.uniform(0.0, 1.0, (count, 1)) * (drawn - centre)


def _points_inside(
    polygon: Array, margin: float, count: int, rng: np.random.Generator
) -> Array:
    """Return points evenly spread at least a margin inside a polygon, (count, 2)."""
    low, high = polygon.min(axis=0) + margin, polygon.max(axis=0) - margin
    found = np.zeros((0, 2))
    while len(found) < count:
        points = rng.uniform(low, high, (2 * count, 2))
        found = np.vstack([found, points[polygon_margin(polygon, points) >= margin]])
    return found[:count]


def _balanced(
    robot: Robot, q: Array, place: Placement, least: float
) -> NDArray[np.bool_]:
    if len(q) == 0:
        return np.zeros(0, dtype=np.bool_)
    com = np.asarray(centre_of_mass(robot, q))[:, :2]
    # the CoM is where it was asked for but for rounding
    return np.asarray(polygon_margin(place.polygon, com) >= least - 1e-9)
