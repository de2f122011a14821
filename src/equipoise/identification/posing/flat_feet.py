"""Postures drawn at random, with both soles flat where they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.identification.posing.joint_ranges import joint_ranges, within_ranges
from equipoise.kinematics.com import com as centre_of_mass
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.stance import sole_errors, sole_pose
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.rotations import rotation_from_rpy

# More than legs allow, to see how far they go: turns of the base about each axis
# [rad], and ways of the CoM down and up, as shares of the legs' length.
MOST_TURN, TURNS = 1.0, 33
MOST_DOWN, MOST_UP, HEIGHTS = 0.5, 0.1, 49
# Turns and ways are drawn from a little more than each alone allows.
BEYOND = 1.1
TOLERANCE = 1e-10
MOST_STEPS = 40
# A step of the search turns no joint by more than this [rad or m].
LONGEST_STEP = 0.3
# Singular values below this share of the largest are not used.
RANK_TOLERANCE = 1e-6


class PosedLegs(Protocol):
    """Legs that hold both soles in place whatever the rest of the robot does."""

    def home(self, soles: Mapping[Side, Array], polygon: Array) -> Array | None:
        """Return a plain posture on soles, shape (nq,); None if there is none."""

    def draw(
        self,
        home: Array,
        soles: Mapping[Side, Array],
        inner: Array,
        postures: Array,
        rng: np.random.Generator,
    ) -> Array:
        """Return configurations with these soles, at most n, shape (m, nq).

        Args:
            home: A posture on these soles, shape (nq,).
            soles: Wanted poses in the world, shape (4, 4) each.
            inner: Points that the CoM should be above [m], shape (n, 2).
            postures: All joints but the legs', shape (n, nq).
            rng: Draws attitudes and heights.
        """


def posed_legs(robot: Robot) -> PosedLegs:
    """Return what holds the soles of a robot: by its CoM, if its legs can."""
    soles = [sole_pose(robot, robot.standing, side) for side in FEET]
    com = np.asarray(centre_of_mass(robot, robot.standing))
    try:
        solve_com(robot, com_targets(com, *soles))
    except EquipoiseError:
        return FewJoints(robot)
    return ManyJoints(robot)


class ManyJoints:
    """Legs of six joints or more: the CoM can be asked for."""

    def __init__(self, robot: Robot) -> None:
        from equipoise.kernels.runtime import SCALARS, device_named, lane_width

        self.robot = robot
        # so many rows are no path: each begins at home, and none at another's failure
        scalar = SCALARS[np.dtype(np.float64)]
        self.together = lane_width(device_named("cpu"), scalar)
        self.ranges = joint_ranges(robot)
        self.rest = np.clip(robot.standing, self.ranges[0], self.ranges[1])
        self.length = min(leg.length for leg in robot.legs.values())
        self.centre = np.asarray(centre_of_mass(robot, robot.standing))
        self.height, self.turn = self._reach()

    def home(self, soles: Mapping[Side, Array], polygon: Array) -> Array | None:
        """Return the posture with its CoM over the middle, legs bent half-way."""
        height = self.centre[2] + self.height.mean()
        com = np.array([[*polygon.mean(axis=0), height]])
        q = self._solved(com, soles, np.eye(3)[None], self.rest[None])[0]
        return q[0] if len(q) else None

    def draw(
        self,
        home: Array,
        soles: Mapping[Side, Array],
        inner: Array,
        postures: Array,
        rng: np.random.Generator,
    ) -> Array:
        """Return those configurations that legs reach."""
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
        turned[:, :3] = home[:3]
        turned = _with_legs(robot, turned, home)
        com = np.column_stack([inner, height])
        return self._solved(com, soles, torso.as_matrix(), turned)[0]

    def _reach(self) -> tuple[Array, Array]:
        """Return how far down and up [m], (2,), and how far round [rad], (2, 3)."""
        soles = {
            side: sole_pose(self.robot, self.robot.standing, side) for side in FEET
        }
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
        self, com: Array, soles: Mapping[Side, Array], torso: Array, postures: Array
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


class FewJoints:
    """Any other legs: all joints move to where the soles are flat.

    Where the CoM comes to is left to chance.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def home(self, soles: Mapping[Side, Array], polygon: Array) -> Array | None:
        """Return the posture nearest to standing."""
        return self._settled(self.robot.standing, soles)

    def draw(
        self,
        home: Array,
        soles: Mapping[Side, Array],
        inner: Array,
        postures: Array,
        rng: np.random.Generator,
    ) -> Array:
        """Return those configurations whose soles came to their places."""
        rows = [self._settled(posture, soles) for posture in postures]
        kept = [row for row in rows if row is not None]
        return np.array(kept).reshape(len(kept), self.robot.nq)

    def _settled(self, start: Array, soles: Mapping[Side, Array]) -> Array | None:
        """Return a posture near another with the soles in place."""
        robot, q = self.robot, np.array(start)
        for _ in range(MOST_STEPS):
            error, jacobian = sole_errors(robot, q, soles)
            if np.abs(error).max() < TOLERANCE:
                return q
            step = np.linalg.pinv(jacobian, RANK_TOLERANCE) @ error
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
            q = np.array(pin.integrate(robot.model, q, step))
        return None


def points_inside(
    polygon: Array, margin: float, count: int, rng: np.random.Generator
) -> Array:
    """Return points at least a margin inside a polygon, evenly spread, (count, 2).

    The polygon has points so far inside.
    """
    low, high = polygon.min(axis=0) + margin, polygon.max(axis=0) - margin
    found = np.zeros((0, 2))
    while len(found) < count:
        points = rng.uniform(low, high, (2 * count, 2))
        found = np.vstack([found, points[polygon_margin(polygon, points) >= margin]])
    return found[:count]


def _with_legs(robot: Robot, postures: Array, home: Array) -> Array:
    """Return postures with the legs of another."""
    found = np.array(postures)
    for leg in robot.legs.values():
        columns = [robot.model.joints[robot.joint_id(j)].idx_q for j in leg.joints]
        found[:, columns] = home[columns]
    return found
