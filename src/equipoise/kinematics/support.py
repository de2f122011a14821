"""The support polygon, and how far inside it, or inside many hulls, points are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.pose_arrays import finite_numbers
from equipoise.robot.anatomy.geometry import convex_hull, signed_distance
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Corners nearer than this to a line between others are not corners [m].
CORNER_TOLERANCE = 1e-9
# Points nearer than this are one [m].
SAME_POINT = 1e-9
# Numbers that hulls are computed from at a time.
MOST_NUMBERS = 2_000_000


def support_polygon(
    robot: Robot, q: ArrayLike, feet: Sequence[Side] = ("left", "right")
) -> Array | tuple[Array, ...]:
    """Return the convex hull of the touching soles, seen from above.

    Which feet touch is for the caller to say; whether a sole is flat on the ground is
    not checked, its corners are projected along z.

    Args:
        robot: The robot.
        q: One configuration, shape (nq,), or a batch, shape (n, nq).
        feet: The feet that touch the ground, in all configurations.

    Returns:
        Corners in the world, counter-clockwise from above [m], shape (k, 2); k is 1
        for one point foot and 2 for two of them. For a batch a tuple of n such
        arrays, whose k differ.

    Raises:
        NameNotFoundError: If the robot has no such sole.
        EquipoiseError: If no foot touches.
        ShapeError: If ``q`` is not a configuration of this robot.
    """
    q = robot.check_q(q)
    if not feet:
        raise EquipoiseError("no foot touches the ground: there is no support polygon")
    corners = []
    for foot in feet:
        if foot not in robot.soles:
            raise NameNotFoundError("sole", foot, robot.soles, robot.name)
        sole = robot.soles[foot]
        pose = frame_pose(robot, q, sole.link)
        to_world = np.swapaxes(pose[..., :2, :3], -1, -2)
        corners.append(sole.corners_in_link @ to_world + pose[..., None, :2, 3])
    points = np.concatenate(corners, axis=-2, dtype=np.float64)
    if q.ndim == 1:
        return _true_corners(convex_hull(points))
    return tuple(_true_corners(convex_hull(row)) for row in points)


def polygon_margin(polygon: ArrayLike, points: ArrayLike) -> Array:
    """Return the signed distance of points to the boundary of a convex polygon.

    Args:
        polygon: Corners in any order [m], shape (k, 2) with k ≥ 1; those inside the
            convex hull of the others do not count. One corner is a point, two are a
            segment.
        points: One point, shape (2,), or many, shape (m, 2) [m].

    Returns:
        Distance to the nearest boundary point [m], positive inside, negative outside;
        shape () or (m,).

    Raises:
        ShapeError: If polygon or points have another shape, are not numbers or are not
            finite.
    """
    corners = finite_numbers(polygon, "polygon")
    if corners.ndim != 2 or corners.shape[0] == 0 or corners.shape[1] != 2:
        raise ShapeError(
            f"polygon has shape {corners.shape}; (k, 2) with k ≥ 1 is needed"
        )
    positions = finite_numbers(points, "points")
    if positions.ndim not in (1, 2) or positions.shape[-1] != 2:
        raise ShapeError(
            f"points has shape {positions.shape}; (2,) or (m, 2) is needed"
        )
    return signed_distance(convex_hull(corners), positions)


def distance_to_edge(polygon: ArrayLike, point: ArrayLike, direction: float) -> float:
    """Return how far a point can go in a direction before it leaves a polygon [m].

    Args:
        polygon: Corners in any order [m], shape (k, 2); their convex hull counts.
        point: Where it begins [m], shape (2,).
        direction: Where it goes, about the world's z from x [rad].

    Returns:
        The distance, zero or more; zero if it begins at the edge or outside.

    Raises:
        ShapeError: If polygon or point have another shape, are not numbers or are not
            finite.
    """
    if polygon_margin(polygon, point) <= 0.0:
        return 0.0
    corners = convex_hull(finite_numbers(polygon, "polygon"))
    along = np.roll(corners, -1, axis=0) - corners
    outwards = np.stack([along[:, 1], -along[:, 0]], axis=1)
    approach = outwards @ np.array([math.cos(direction), math.sin(direction)])
    inside = ((corners - finite_numbers(point, "point")) * outwards).sum(axis=1)
    ahead = approach > 0.0
    return float((inside[ahead] / approach[ahead]).min())


def _true_corners(hull: Array) -> Array:
    """Drop corners that only rounding has made: those all but on the next edge."""
    kept = list(hull)
    at = 0
    while at < len(kept) > 1:
        neighbours = np.array([kept[at - 1], kept[(at + 1) % len(kept)]])
        if -signed_distance(neighbours, kept[at]) <= CORNER_TOLERANCE:
            del kept[at]
            at = max(at - 1, 0)
        else:
            at += 1
    return np.array(kept)


def hull_margins(corners: Array, counted: NDArray[np.bool_], points: Array) -> Array:
    """Return distances of points to the edges of convex hulls, positive inside [m].

    Outside it is the distance to the line through the edge that the point is farthest
    beyond: beside a corner less than the distance to the hull. Where nothing counts it
    is zero; one corner and a line have no inside.

    Args:
        corners: Corners of n hulls, in any order [m], shape (n, k, 2).
        counted: Which of them count, shape (n, k).
        points: One for each hull [m], shape (n, 2).

    Returns:
        Shape (n,).
    """
    distance = np.zeros(len(corners))
    step = max(1, MOST_NUMBERS // max(1, corners.shape[1] ** 3))
    for first in range(0, len(corners), step):
        rows = slice(first, first + step)
        distance[rows] = _margins(corners[rows], counted[rows], points[rows])
    return distance


def _margins(corners: Array, counted: NDArray[np.bool_], point: Array) -> Array:
    """Find edges: lines through two corners with all others on one side."""
    along = corners[:, None, :, :] - corners[:, :, None, :]  # from corner i to j
    length = np.linalg.norm(along, axis=-1)
    apart = (length > SAME_POINT) & counted[:, :, None] & counted[:, None, :]
    across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
    across /= np.where(apart, length, 1.0)[..., None]

    def beyond(others: Array) -> Array:
        """Return how far others (n, m, 2) are left of each line, (n, k, k, m)."""
        offset = others[:, None, :, :] - corners[:, :, None, :]
        return np.asarray(np.einsum("nijc,nimc->nijm", across, offset))

    left = np.where(counted[:, None, None, :], beyond(corners), 0.0)
    edge = apart & (left >= -SAME_POINT).all(axis=-1)
    inside = np.where(edge, beyond(point[:, None])[..., 0], np.inf)
    nearest = inside.min(axis=(1, 2), initial=np.inf)
    flat = (left <= SAME_POINT).all(axis=-1) & edge  # all on one line
    degenerate = flat.any(axis=(1, 2)) | ~np.isfinite(nearest)
    margin = np.where(degenerate, np.minimum(nearest, 0.0), nearest)
    return np.asarray(np.where(np.isfinite(margin), margin, 0.0))
