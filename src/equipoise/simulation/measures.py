"""What contact forces say: ZMP, support polygon, wrenches of feet and at ankles.

Arrays of contact points have shape (…, nc, 3): one state, or a trace of states. Where
nothing touches there is no ZMP; results say so in ``supported`` and hold zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.control.signals import Wrench
from equipoise.errors import NameNotFoundError, ShapeError
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import hull_margins
from equipoise.robot.anatomy.geometry import convex_hull
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side, Sole
from equipoise.simulation.contacts import ContactPoint

# A force below this is rounding, not touching [N].
LEAST_FORCE = 1e-6
UP = (0.0, 0.0, 1.0)


class Zmp(NamedTuple):
    """Zero-moment points.

    Attributes:
        position: [m], shape (…, 3); zeros where there is none.
        supported: Whether there is one, shape (…).
    """

    position: Array
    supported: NDArray[np.bool_]


class Margin(NamedTuple):
    """How far inside a support polygon a point is.

    Attributes:
        distance: To its boundary [m], positive inside, shape (…); zeros where
            nothing touches.
        supported: Whether anything touches, shape (…).
    """

    distance: Array
    supported: NDArray[np.bool_]


def zmp(positions: ArrayLike, forces: ArrayLike, normal: ArrayLike = UP) -> Zmp:
    """Return where contact forces have no moment along the ground (the CoP).

    The point lies in the plane with the given normal through the mean of the contact
    points, weighted by normal force, and the moment about it is parallel to the
    normal: p = c + n × M_c / (n·F). Where all points lie in such a plane M_c is
    parallel to n, and p = c is Eq. (51) of [Sariyildiz2015].

    Args:
        positions: Positions of contact points in the world [m], shape (…, nc, 3).
        forces: On them from the ground, in world axes [N], shape (…, nc, 3).
        normal: Unit vector out of the ground; upwards unless given. On a slope give
            the slope's normal to get a point of the slope.
    """
    points, pushes = _pair(positions, forces)
    n = np.asarray(normal, dtype=np.float64)
    normal = pushes @ n
    load = normal.sum(axis=-1)
    supported = np.asarray(load > LEAST_FORCE)
    per_load = np.where(supported, 1.0 / np.where(supported, load, 1.0), 0.0)[..., None]
    centre = np.einsum("...k,...ki->...i", normal, points) * per_load  # Eq. (51)
    moment = np.cross(points - centre[..., None, :], pushes).sum(axis=-2)
    return Zmp(centre + np.cross(n, moment) * per_load, supported)


def touching_polygon(positions: ArrayLike, forces: ArrayLike) -> Array:
    """Return the convex hull of the points that touch, seen from above.

    Args:
        positions: Positions of contact points in the world [m], shape (nc, 3).
        forces: On them [N], shape (nc, 3).

    Returns:
        Corners in the world, counter-clockwise [m], shape (k, 2); k is 0 where
        nothing touches.
    """
    points, pushes = _pair(positions, forces)
    if points.ndim != 2:
        raise ShapeError(f"positions have shape {points.shape}; (nc, 3) is needed")
    touching = points[np.linalg.norm(pushes, axis=-1) > LEAST_FORCE]
    return convex_hull(touching[:, :2]) if len(touching) else np.zeros((0, 2))


def zmp_margin(positions: ArrayLike, forces: ArrayLike) -> Margin:
    """Return how far the ZMP is inside the polygon of the points that touch.

    Forces that only push keep it inside; it comes to the edge when the robot is about
    to tip.

    Args:
        positions: Positions of contact points in the world [m], shape (…, nc, 3).
        forces: On them from the ground, in world axes [N], shape (…, nc, 3).
    """
    points, pushes = _pair(positions, forces)
    point, supported = zmp(points, pushes)
    shape = supported.shape
    flat = points.reshape(supported.size, *points.shape[-2:])
    touching = np.linalg.norm(pushes, axis=-1).reshape(len(flat), -1) > LEAST_FORCE
    ever = touching.any(axis=0)  # most points never touch
    corners, touching = flat[:, ever, :2], touching[:, ever]
    targets = point.reshape(-1, 3)[:, :2]
    distance = hull_margins(corners, touching, targets)
    distance = np.where(supported, distance.reshape(shape), 0.0)
    return Margin(distance, supported)


def points_of_foot(
    robot: Robot, contacts: Sequence[ContactPoint], side: Side
) -> list[int]:
    """Return which contact points are on a foot: on its sole, its toes, anywhere."""
    body, _ = placement_in_body(robot.model, _sole(robot, side))
    carried = set(robot.model.subtrees[body])
    frames, body_id = robot.model.frames, robot.model.getBodyId
    return [
        number
        for number, point in enumerate(contacts)
        if frames[body_id(point.link)].parentJoint in carried
    ]


def foot_wrench(
    robot: Robot,
    q: ArrayLike,
    contacts: Sequence[ContactPoint],
    positions: ArrayLike,
    forces: ArrayLike,
    side: Side,
) -> Wrench:
    """Return what the world does to a foot, about the sole's origin in sole axes.

    Eq. (52) of [Sariyildiz2015] with the moment of each force, τ = Σ (p_i - p) × F_i:
    friction forces at several points also turn the foot about its normal, which
    (p_ZMP - p) × F lacks.

    Args:
        robot: The robot.
        q: One configuration, shape (nq,), or many, shape (n, nq).
        contacts: The contact points, nc of them.
        positions: Positions of them in the world [m], shape (…, nc, 3).
        forces: On them, in world axes [N], shape (…, nc, 3).
        side: Which foot.
    """
    points, pushes = _pair(positions, forces)
    if points.shape[-2] != len(contacts):
        raise ShapeError(
            f"positions have shape {points.shape}; (…, {len(contacts)}, 3) is needed"
        )
    pose = sole_pose(robot, q, side)
    own = points_of_foot(robot, contacts, side)
    arms = points[..., own, :] - pose[..., None, :3, 3]
    force = pushes[..., own, :].sum(axis=-2)
    torque = np.cross(arms, pushes[..., own, :]).sum(axis=-2)
    to_sole = np.swapaxes(pose[..., :3, :3], -1, -2)
    return Wrench(
        np.einsum("...ij,...j->...i", to_sole, force),
        np.einsum("...ij,...j->...i", to_sole, torque),
    )


def yaw_moment(robot: Robot, q: ArrayLike, wrench: ArrayLike, side: Side) -> Array:
    """Return the moment of the ground on a foot that turns it about the vertical [Nm].

    It is taken about the vertical through the middle of the sole.

    Args:
        robot: The robot.
        q: One configuration, shape (nq,), or many, shape (n, nq).
        wrench: Force and torque on the foot, about and in its sole's frame
            (:func:`foot_wrench`), shape (…, 6).
        side: Which foot.
    """
    corners = _sole(robot, side).polygon_in_sole
    middle = np.append(0.5 * (corners.min(axis=0) + corners.max(axis=0)), 0.0)
    both = np.asarray(wrench, dtype=np.float64)
    about_middle = both[..., 3:] - np.cross(middle, both[..., :3])
    upward = sole_pose(robot, q, side)[..., 2, :3]  # the vertical in axes of the sole
    return np.asarray((upward * about_middle).sum(axis=-1))


def ankle_zmp(wrench_at_ankle: Wrench, ankle_height: float) -> Zmp:
    """Return the ZMP in the sole from what an ankle sensor measures.

    Eq. (15–16) of [Sanliturk2024], whose x points down from the ankle to the sole, y
    left and z forward, in our axes:
    p_x = -(M_y + h F_x) / F_z, p_y = (M_x - h F_y) / F_z.

    The wrench is what the foot does to the shank, so that F_z > 0 in standing; turn all
    six signs of a sensor that says what the shank does to the foot. A sensor does not
    feel weight and inertia of the foot below it: the point is the foot's ZMP as far as
    these are small.

    Args:
        wrench_at_ankle: About the sensor, in axes parallel to the sole's.
        ankle_height: Height of the sensor above the sole, h [m].

    Returns:
        Points of the sole relative to the point below the sensor, z = 0, and whether
        the foot carries load.
    """
    force = np.asarray(wrench_at_ankle.force, dtype=np.float64)
    torque = np.asarray(wrench_at_ankle.torque, dtype=np.float64)
    supported = np.asarray(force[..., 2] > LEAST_FORCE)
    load = np.where(supported, force[..., 2], 1.0)
    x = -(torque[..., 1] + ankle_height * force[..., 0]) / load  # Eq. (15)
    y = (torque[..., 0] - ankle_height * force[..., 1]) / load  # Eq. (16)
    point = np.stack([x, y, np.zeros_like(x)], axis=-1)
    return Zmp(np.where(supported[..., None], point, 0.0), supported)


def _sole(robot: Robot, side: Side) -> Sole:
    if side not in robot.soles:
        raise NameNotFoundError("sole", side, robot.soles, robot.name)
    return robot.soles[side]


def _vectors(values: ArrayLike, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 2 or array.shape[-1] != 3:
        raise ShapeError(f"{name} have shape {array.shape}; (…, nc, 3) is needed")
    return array


def _pair(positions: ArrayLike, forces: ArrayLike) -> tuple[Array, Array]:
    points, pushes = _vectors(positions, "positions"), _vectors(forces, "forces")
    if points.shape != pushes.shape:
        raise ShapeError(
            f"positions have shape {points.shape}, forces have shape {pushes.shape}"
        )
    return points, pushes
