"""Where a robot's feet may stand: side by side, wider, one ahead, toes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.collisions import separation
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.measuring.stretches import LEAST_LOAD
from equipoise.identification.posing.flat_feet import PosedLegs
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.anatomy.geometry import convex_hull
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.rotations import rotation_from_rpy

# Largest changes against standing: shares of the legs' length, and a turn [rad].
MOST_STAGGER, MOST_WIDTH, MOST_YAW = 0.2, 0.25, 0.4
# Share of the soles' width that stays between them.
GAP_SHARE = 0.1
MOST_TRIES = 100
# Soles nearer to each other than this share of their shorter side are one sole.
APART_SHARE = 0.1


class Placement(NamedTuple):
    """Feet on the ground.

    Attributes:
        soles: Transforms from sole to world by side, shape (4, 4) each.
        polygon: Corners of the part of the support polygon over which the CoM leaves
            enough load on either foot [m], shape (k, 2).
        home: A balanced configuration there, shape (nq,).
    """

    soles: Mapping[Side, Array]
    polygon: Array
    home: Array


def foot_placements(
    robot: Robot, legs: PosedLegs, count: int, rng: np.random.Generator
) -> list[Placement]:
    """Return places for the feet; the first is that of the posture standing.

    Args:
        robot: The robot.
        legs: Put the soles there.
        count: How many places.
        rng: Chooses them.

    Raises:
        EquipoiseError: If so many cannot be found: legs with few joints cannot stand
            elsewhere.
    """
    standing = {side: sole_pose(robot, robot.standing, side) for side in FEET}
    placed = [Placement(standing, _polygon(robot, standing), robot.standing)]
    tries = 0
    while len(placed) < count:
        tries += 1
        if tries > MOST_TRIES * count:
            raise EquipoiseError(
                f"{robot.name}: only {len(placed)} of {count} placements of the feet "
                "were found that its legs reach"
            )
        soles = _moved(robot, standing, rng)
        if soles is None:
            continue
        polygon = _polygon(robot, soles)
        home = legs.home(soles, polygon)
        if home is not None:
            placed.append(Placement(soles, polygon, home))
    return placed


def _moved(
    robot: Robot, standing: Mapping[Side, Array], rng: np.random.Generator
) -> dict[Side, Array] | None:
    """Return soles elsewhere, None if they would be on each other."""
    length = min(leg.length for leg in robot.legs.values())
    ahead, aside = rng.uniform([-1.0, -0.2], 1.0) * [MOST_STAGGER, MOST_WIDTH]
    soles = {}
    for side, sign in zip(FEET, (1.0, -1.0), strict=True):
        turn = np.eye(4)
        turn[:3, :3] = rotation_from_rpy([0.0, 0.0, rng.uniform(-1, 1) * MOST_YAW])
        soles[side] = standing[side] @ turn
        soles[side][:2, 3] += 0.5 * sign * length * np.array([ahead, aside])
    corners = [_corners(robot, soles, side) for side in FEET]
    gap = GAP_SHARE * min(sole.size[1] for sole in robot.soles.values())
    return soles if separation(corners[0], corners[1]) >= gap else None


def _corners(robot: Robot, soles: Mapping[Side, Array], side: Side) -> Array:
    polygon, pose = robot.soles[side].polygon_in_sole, soles[side]
    return np.asarray(polygon @ pose[:2, :2].T + pose[:2, 3])


def _polygon(robot: Robot, soles: Mapping[Side, Array]) -> Array:
    """Return where the CoM may be: between lines across both soles, at their frames."""
    hull = convex_hull(np.concatenate([_corners(robot, soles, side) for side in FEET]))
    left, right = (soles[side][:2, 3] for side in FEET)
    for light, heavy in ((left, right), (right, left)):
        way = light - heavy
        if np.linalg.norm(way) <= APART_SHARE * shortest_side(robot):  # as if one sole
            break
        # the share of the weight that the light foot carries, less the least
        share = (hull - heavy) @ way / (way @ way) - LEAST_LOAD
        hull = _kept(hull, share)
    return convex_hull(hull)


def shortest_side(robot: Robot) -> float:
    """Return the shortest side of any sole [m]."""
    return min(min(sole.size) for sole in robot.soles.values())


def _kept(corners: Array, heights: Array) -> Array:
    """Return the part of a convex polygon above zero, of a height linear in place."""
    kept = []
    following = np.roll(corners, -1, axis=0), np.roll(heights, -1)
    for here, up, there, up_there in zip(corners, heights, *following, strict=True):
        if up >= 0.0:
            kept.append(here)
        if (up < 0.0) != (up_there < 0.0):
            kept.append(here + up / (up - up_there) * (there - here))
    return np.array(kept)
