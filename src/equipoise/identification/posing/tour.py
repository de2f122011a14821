"""Poses in an order of little joint travel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.measuring.measured_poses import FEET
from equipoise.kinematics.com import com as centre_of_mass
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin, support_polygon
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.rotations import rpy_from_rotation

# Soles that are placed the same but for this are [m or rad].
SAME_PLACE = 1e-6


def short_tour(robot: Robot, q: Array) -> NDArray[np.int64]:
    """Return an order of poses, from standing on, with little travel between them.

    Travel is that of the joint that moves farthest; feet are moved as rarely as
    possible. Nearest neighbours first, then pieces of the order are turned round while
    that helps.

    Args:
        robot: The robot.
        q: Shape (n, nq).

    Returns:
        Shape (n,).
    """
    rows = np.vstack([robot.standing, q])
    distance = _distances(robot, rows)
    order = [0]
    left = set(range(1, len(rows)))
    while left:
        order.append(min(left, key=lambda row: (distance[order[-1], row], row)))
        left.remove(order[-1])
    improved = True
    while improved:
        improved = False
        for first in range(1, len(order) - 1):
            for last in range(first + 1, len(order)):
                if _shorter(distance, order, first, last):
                    order[first : last + 1] = order[first : last + 1][::-1]
                    improved = True
    return np.array(order[1:], dtype=np.int64) - 1


def joint_travel(robot: Robot, q: Array) -> Array:
    """Return how far the joint that moves farthest goes between rows, (n, n).

    Args:
        robot: The robot.
        q: Shape (n, nq).
    """
    joints = joint_positions(robot, q)
    return np.asarray(np.abs(joints[:, None] - joints[None]).max(axis=2, initial=0.0))


def foot_placement(robot: Robot, q: Array) -> NDArray[np.int64]:
    """Return a number for each pose, the same where feet are placed the same, (n,).

    They count from 0 in the order of their first poses.
    """
    left, right = (sole_pose(robot, q, side) for side in FEET)
    between = (np.linalg.inv(left) @ right)[:, :3].reshape(len(q), -1)
    numbers = np.zeros(len(q), dtype=np.int64)
    kinds: list[Array] = []
    for row, pose in enumerate(between):
        same = [at for at, kind in enumerate(kinds) if _same(kind, pose)]
        if not same:
            kinds.append(pose)
        numbers[row] = same[0] if same else len(kinds) - 1
    return numbers


def _distances(robot: Robot, q: Array) -> Array:
    travel = joint_travel(robot, q)
    places = foot_placement(robot, q)
    return np.asarray(travel + (places[:, None] != places) * travel.sum())


def _shorter(distance: Array, order: list[int], first: int, last: int) -> bool:
    """Whether the tour is shorter with a piece turned round."""
    before = distance[order[first - 1], order[first]]
    after = distance[order[first - 1], order[last]]
    if last + 1 < len(order):
        before += distance[order[last], order[last + 1]]
        after += distance[order[first], order[last + 1]]
    return bool(after < before - 1e-12)


def _same(one: Array, other: Array) -> bool:
    return bool(np.abs(one - other).max() < SAME_PLACE)


class DescribedPose(NamedTuple):
    """A pose in figures.

    Attributes:
        number: Of the pose, from 0.
        placement: Of the feet, from 0.
        torso_rpy: Of the base against its attitude standing [rad].
        com_margin: Of the CoM inside the support polygon [m].
        place_on_tour: From 0.
        travel: Of the joint that moves farthest from the pose before on the tour, the
            posture standing for the first [rad or m].
    """

    number: int
    placement: int
    torso_rpy: tuple[float, ...]
    com_margin: float
    place_on_tour: int
    travel: float


def described_poses(
    robot: Robot, q: Array, tour: NDArray[np.int64]
) -> list[DescribedPose]:
    """Return figures of poses, in the order of the poses.

    Args:
        robot: The robot.
        q: Shape (n, nq).
        tour: An order of them, shape (n,).
    """
    upright = np.array(pin.Quaternion(robot.standing[3:7]).toRotationMatrix())
    travel = joint_travel(robot, np.vstack([robot.standing, q]))
    before = np.concatenate([[0], tour + 1])
    placed = np.argsort(tour)
    placement = foot_placement(robot, q)
    com = np.asarray(centre_of_mass(robot, q))[:, :2]
    found = []
    for row, (pose, polygon) in enumerate(
        zip(q, support_polygon(robot, q), strict=True)
    ):
        turned = np.array(pin.Quaternion(pose[3:7]).toRotationMatrix()) @ upright.T
        at = int(placed[row])
        found.append(
            DescribedPose(
                row,
                int(placement[row]),
                tuple(rpy_from_rotation(turned).tolist()),
                float(polygon_margin(polygon, com[row])),
                at,
                float(travel[before[at], row + 1]),
            )
        )
    return found
