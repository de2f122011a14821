"""Placements of the feet on the ground, and postures with flat soles on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.feet import separation
from equipoise.identification.measuring.stretches import LEAST_LOAD
from equipoise.identification.posing.pose_limits import joint_ranges, within_ranges
from equipoise.identification.posing.sole_legs import SoleLegs
from equipoise.identification.statics import FEET
from equipoise.kinematics.com import com as centre_of_mass
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.anatomy.geometry import convex_hull
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.rotations import rotation_from_rpy

# Largest changes against standing: fractions of the legs' length, and a turn [rad].
MOST_STAGGER, MOST_WIDTH, MOST_YAW = 0.2, 0.25, 0.4
# Fraction of the soles' width that stays between them.
GAP_FRACTION = 0.1
MOST_TRIES = 100
# Soles nearer to each other than this fraction of their shorter side are one sole.
APART_FRACTION = 0.1
# Search ranges, more than legs allow: turns of the base about each axis [rad], and CoM
# displacements down and up, as fractions of the legs' length.
MOST_TURN, TURNS = 1.0, 33
MOST_DOWN, MOST_UP, HEIGHTS = 0.5, 0.1, 49
# Turns and displacements are drawn from a little more than each alone allows.
BEYOND = 1.1

Soles = Mapping[Side, Array]


class Placement(NamedTuple):
    """Feet on the ground.

    Attributes:
        soles: Transforms from sole to world by side, shape (4, 4) each.
        polygon: Corners of the part of the support polygon over which the CoM leaves
            enough load on either foot [m], shape (k, 2).
        home: A balanced configuration there, shape (nq,).
    """

    soles: Soles
    polygon: Array
    home: Array


def foot_placements(
    robot: Robot, legs: ComLegs | SoleLegs, count: int, rng: np.random.Generator
) -> list[Placement]:
    """Return random places for the feet; the first is that of the standing posture.

    Raises:
        EquipoiseError: If so many cannot be found: legs with few joints cannot stand
            elsewhere.
    """
    standing = _standing_soles(robot)
    placed = [Placement(standing, _polygon(robot, standing), robot.standing)]
    tries = 0
    while len(placed) < count:
        if tries >= MOST_TRIES * count:
            raise EquipoiseError(
                f"{robot.name}: only {len(placed)} of {count} placements of the feet "
                "were found that its legs reach"
            )
        drawn = [_displaced(robot, standing, rng) for _ in range(legs.homes_at_once)]
        tries += len(drawn)
        places = [(soles, _polygon(robot, soles)) for soles in drawn if soles]
        for (soles, polygon), home in zip(places, legs.homes(places), strict=True):
            if home is not None:
                placed.append(Placement(soles, polygon, home))
    return placed[:count]


def shortest_side(robot: Robot) -> float:
    """Return the shortest side of any sole [m]."""
    return min(min(sole.size) for sole in robot.soles.values())


def _standing_soles(robot: Robot) -> dict[Side, Array]:
    return {side: sole_pose(robot, robot.standing, side) for side in FEET}


def _displaced(
    robot: Robot, standing: Soles, rng: np.random.Generator
) -> dict[Side, Array] | None:
    """Return soles elsewhere, None if they would overlap."""
    length = min(leg.length for leg in robot.legs.values())
    ahead, aside = rng.uniform([-1.0, -0.2], 1.0) * [MOST_STAGGER, MOST_WIDTH]
    soles = {}
    for side, sign in zip(FEET, (1.0, -1.0), strict=True):
        turn = np.eye(4)
        turn[:3, :3] = rotation_from_rpy([0.0, 0.0, rng.uniform(-1, 1) * MOST_YAW])
        soles[side] = standing[side] @ turn
        soles[side][:2, 3] += 0.5 * sign * length * np.array([ahead, aside])
    left, right = (_corners(robot, soles, side) for side in FEET)
    gap = GAP_FRACTION * min(sole.size[1] for sole in robot.soles.values())
    return soles if separation(left, right) >= gap else None


def _corners(robot: Robot, soles: Soles, side: Side) -> Array:
    polygon, pose = robot.soles[side].polygon_in_sole, soles[side]
    return np.asarray(polygon @ pose[:2, :2].T + pose[:2, 3])


def _polygon(robot: Robot, soles: Soles) -> Array:
    """Return where the CoM may be: between lines across both soles, at their frames."""
    hull = convex_hull(np.concatenate([_corners(robot, soles, side) for side in FEET]))
    left, right = (soles[side][:2, 3] for side in FEET)
    for light, heavy in ((left, right), (right, left)):
        way = light - heavy
        if np.linalg.norm(way) <= APART_FRACTION * shortest_side(robot):
            break  # as if one sole
        # the fraction of the weight that the light foot carries, less the least
        spare = (hull - heavy) @ way / (way @ way) - LEAST_LOAD
        hull = _part_above_zero(hull, spare)
    return convex_hull(hull)


def _part_above_zero(corners: Array, heights: Array) -> Array:
    """Return the part of a convex polygon above zero, of a height linear in place."""
    kept = []
    following = np.roll(corners, -1, axis=0), np.roll(heights, -1)
    for here, up, there, up_there in zip(corners, heights, *following, strict=True):
        if up >= 0.0:
            kept.append(here)
        if (up < 0.0) != (up_there < 0.0):
            kept.append(here + up / (up - up_there) * (there - here))
    return np.array(kept)


def posed_legs(robot: Robot) -> ComLegs | SoleLegs:
    """Return what holds a robot's soles flat: by its CoM, if its legs can."""
    com = np.asarray(centre_of_mass(robot, robot.standing))
    try:
        solve_com(robot, com_targets(com, *_standing_soles(robot).values()))
        exact = not any(leg.yaw_free for leg in leg_freedom(robot).values())
    except EquipoiseError:
        exact = False
    return ComLegs(robot) if exact else SoleLegs(robot)


class ComLegs:
    """Legs of six joints or more, which bring the CoM where it is wanted."""

    homes_at_once = 1

    def __init__(self, robot: Robot) -> None:
        from equipoise.kernels.runtime import SCALARS, device_named, lane_width

        self.robot = robot
        # rows are not a path: each begins at home, and none at another's failure
        scalar = SCALARS[np.dtype(np.float64)]
        self.together = lane_width(device_named("cpu"), scalar)
        self.ranges = joint_ranges(robot)
        self.rest = np.clip(robot.standing, self.ranges[0], self.ranges[1])
        self.length = min(leg.length for leg in robot.legs.values())
        self.centre = np.asarray(centre_of_mass(robot, robot.standing))
        self.height, self.turn = self._reach()

    def homes(self, places: Sequence[tuple[Soles, Array]]) -> list[Array | None]:
        """Return postures with the CoM over the middle, legs bent half-way.

        There is one for each pair of soles and polygon, None where legs do not reach.
        """
        height = self.centre[2] + self.height.mean()
        found: list[Array | None] = []
        for soles, polygon in places:
            com = np.array([[*polygon.mean(axis=0), height]])
            q = self._solved(com, soles, np.eye(3)[None], self.rest[None])[0]
            found.append(q[0] if len(q) else None)
        return found

    def draw(
        self, place: Placement, inner: Array, postures: Array, rng: np.random.Generator
    ) -> Array:
        """Return configurations on a placement that legs reach, shape (m, nq), m ≤ n.

        The CoM is above points ``inner`` [m], shape (n, 2); all joints but the legs'
        are those of ``postures``, shape (n, nq); attitudes and heights are drawn.
        """
        from scipy.spatial.transform import Rotation

        robot, count = self.robot, len(postures)
        angles = rng.uniform(BEYOND * self.turn[0], BEYOND * self.turn[1], (count, 3))
        angles *= rng.uniform(0.0, 1.0, (count, 1))
        torso = Rotation.from_euler("xyz", angles)
        turned = _with_legs(robot, postures, robot.standing)
        turned[:, :3] = robot.standing[:3]
        upright = Rotation.from_quat(robot.standing[3:7])
        turned[:, 3:7] = (torso * upright).as_quat()
        height = np.asarray(centre_of_mass(robot, turned))[:, 2]
        height += rng.uniform(BEYOND * self.height[0], self.height[1], count)
        turned[:, :3] = place.home[:3]
        turned = _with_legs(robot, turned, place.home)
        com = np.column_stack([inner, height])
        return self._solved(com, place.soles, torso.as_matrix(), turned)[0]

    def _reach(self) -> tuple[Array, Array]:
        """Return how far down and up [m], (2,), and how far round [rad], (2, 3)."""
        soles = _standing_soles(self.robot)
        middle = np.mean([pose[:2, 3] for pose in soles.values()], axis=0)
        shifts = np.linspace(-MOST_DOWN, MOST_UP, HEIGHTS) * self.length
        com = np.column_stack([np.tile(middle, (HEIGHTS, 1)), self.centre[2] + shifts])
        reached = self._solved(com, soles, np.eye(3)[None], self.rest[None])[1]
        if not reached.any():
            raise EquipoiseError(
                f"{self.robot.name}: its legs do not bring the CoM over the middle of "
                "its feet, upright and arms at rest"
            )
        height = shifts[reached][[0, -1]]
        com = np.array([[*middle, self.centre[2] + height.mean()]])
        angles = np.linspace(-MOST_TURN, MOST_TURN, TURNS)
        turns = np.zeros((2, 3))
        for axis in range(3):
            rpy = np.outer(angles, np.eye(3)[axis])
            torso = np.array([rotation_from_rpy(row) for row in rpy])
            reached = self._solved(com, soles, torso, self.rest[None])[1]
            if reached.any():
                turns[:, axis] = angles[reached][[0, -1]]
        return height, turns

    def _solved(
        self, com: Array, soles: Soles, torso: Array, postures: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return configurations within limits, and which of n rows they are for."""
        count = max(len(com), len(torso))
        points = np.broadcast_to(com, (count, 3))
        turns = np.broadcast_to(torso, (count, 3, 3))
        starts = np.broadcast_to(postures, (count, self.robot.nq))
        found, reached = [], []
        for first in range(0, count, self.together):
            rows = slice(first, first + self.together)
            targets = com_targets(
                points[rows], soles["left"], soles["right"], turns[rows]
            )
            legs = solve_com(self.robot, targets, posture=starts[rows])
            good = legs.converged & within_ranges(legs.q, self.ranges)
            found.append(legs.q[good])
            reached.append(good)
        return np.concatenate(found), np.concatenate(reached)


def _with_legs(robot: Robot, postures: Array, home: Array) -> Array:
    """Return postures with the legs of another."""
    found = np.array(postures)
    for leg in robot.legs.values():
        columns = [robot.model.joints[robot.joint_id(j)].idx_q for j in leg.joints]
        found[:, columns] = home[columns]
    return found
