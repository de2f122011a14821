"""Points on a link's shapes, and convex polygons in the plane: for soles and hulls."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import Link, Shape
from equipoise.robot.mesh import Vertices, read_mesh, rotation_to_z_up
from equipoise.rotations import transform

CIRCLE_POINTS = 16
DIRECTIONS = 16


def link_shapes(link: Link) -> tuple[tuple[Shape, ...], str]:
    """Return the shapes to reason about and what they are.

    Collision shapes come first; visual shapes stand in where there are none, or where
    their meshes are missing.
    """
    if visuals_stand_in(link):
        return link.visuals, "visual geometry (collision meshes missing)"
    if link.collisions:
        return link.collisions, "collision geometry"
    return link.visuals, "visual geometry"


def visuals_stand_in(link: Link) -> bool:
    """Whether no collision shape of a link can be had, but visual ones can."""
    return (
        bool(link.collisions)
        and not any(map(shape_is_known, link.collisions))
        and any(map(shape_is_known, link.visuals))
    )


def shape_is_known(shape: Shape) -> bool:
    """Whether the points of a shape can be had (a mesh may not be on disk)."""
    return shape.kind != "mesh" or len(_vertices(shape)) > 0


def plane_axes(normal: Array) -> Array:
    """Return two unit vectors that span the plane across a unit vector, (2, 3)."""
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


def contact_points(shape: Shape, down_in_link: Array) -> Array:
    """Return the points of a shape that can touch a plane below it.

    They are in link coordinates [m], shape (k, 3), the lowest among them; k = 0 for a
    missing mesh. ``down_in_link`` is a unit vector towards the plane.
    """
    pose = shape.transform_shape_to_link
    if shape.kind in ("sphere", "capsule"):
        heights = (0.0,) if shape.kind == "sphere" else (0.5, -0.5)
        centres = np.array([[0.0, 0.0, part * shape.size[-1]] for part in heights])
        return _to_link(centres, pose) + shape.size[0] * down_in_link
    return _to_link(_corners(shape, pose[:3, :3].T @ down_in_link), pose)


def upright_variant(shape: Shape) -> Shape | None:
    """Return a COLLADA mesh turned so that its up axis is z, or None if it is.

    Some viewers turn such meshes and some do not, so the file alone does not determine
    which is meant; geometry here takes vertices as they stand in the file.
    """
    rotation = None if shape.mesh is None else rotation_to_z_up(shape.mesh)
    if rotation is None:
        return None
    pose = shape.transform_shape_to_link @ transform(rotation)
    return dataclasses.replace(shape, transform_shape_to_link=frozen_array(pose))


def support_point(shape: Shape, direction_in_link: Array) -> Array:
    """Return the point of a shape that is farthest along a unit vector, shape (3,).

    Both are in link coordinates, the point in [m].
    """
    pose = shape.transform_shape_to_link
    local = pose[:3, :3].T @ direction_in_link
    if shape.kind in ("sphere", "capsule"):
        half = 0.0 if shape.kind == "sphere" else shape.size[1] / 2
        point = shape.size[0] * local + np.array([0, 0, np.copysign(half, local[2])])
    elif shape.kind == "mesh":
        vertices = _vertices(shape)
        scaled = np.array(shape.size) * local
        farthest = int(np.argmax(vertices @ scaled.astype(vertices.dtype)))
        point = np.array(shape.size) * vertices[farthest]
    else:
        corners = _corners(shape, local)
        point = corners[int(np.argmax(corners @ local))]
    return np.asarray(pose[:3, :3] @ point + pose[:3, 3])


def _corners(shape: Shape, direction: Array) -> Array:
    """Return corner points in shape coordinates, for a ring one along a direction."""
    match shape.kind:
        case "box":
            half = np.array(shape.size) / 2
            return np.array(list(product((-1.0, 1.0), repeat=3))) * half
        case "cylinder":
            radius, length = shape.size
            start = np.arctan2(direction[1], direction[0])
            angle = start + 2 * np.pi * np.arange(CIRCLE_POINTS) / CIRCLE_POINTS
            ring = radius * np.column_stack([np.cos(angle), np.sin(angle)])
            ends = np.repeat([-length / 2, length / 2], CIRCLE_POINTS)
            return np.column_stack([np.tile(ring, (2, 1)), ends])
        case "mesh":
            return np.asarray(_vertices(shape) * np.array(shape.size))
        case kind:
            raise ValueError(f"{kind} has no corners")


def _to_link(points: Array, pose: Array) -> Array:
    return np.asarray(points @ pose[:3, :3].T + pose[:3, 3])


def _vertices(shape: Shape) -> Vertices:
    """Return a mesh's vertices as they stand in its file, (k, 3); k = 0 if none."""
    mesh = None if shape.mesh is None else read_mesh(shape.mesh)
    return np.zeros((0, 3), dtype=np.float32) if mesh is None else mesh.vertices


def convex_hull(points: Array) -> Array:
    """Return the convex hull of points in the plane, counter-clockwise.

    Points on the edges are left out. Points on a line give its two ends, equal
    points give one.

    Args:
        points: Shape (n, 2), n ≥ 1.
    """
    ordered = np.unique(_without_inner(np.asarray(points, dtype=np.float64)), axis=0)
    if len(ordered) < 3:
        return ordered
    lower, upper = _half_hull(ordered), _half_hull(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def _without_inner(points: Array) -> Array:
    """Drop points that are well inside the hull, so that few remain to sort.

    What is inside the polygon of the extreme points in a few directions cannot be
    a corner of the hull (Akl and Toussaint).
    """
    if len(points) < 4 * DIRECTIONS:
        return points
    angle = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    corners = points[np.argmax(points @ directions.T, axis=0)]
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.column_stack([-edges[:, 1], edges[:, 0]])
    depth = points @ normals.T - np.sum(corners * normals, axis=1)
    degenerate = np.all(edges == 0.0, axis=1)
    inside = np.all((depth > 0.0) | degenerate, axis=1)
    return np.asarray(points[~inside])


def _half_hull(points: Array) -> list[Array]:
    """Return one monotone chain of the hull (Andrew's algorithm)."""
    chain: list[Array] = []
    for point in points:
        while len(chain) > 1 and _cross(chain[-2], chain[-1], point) <= 0.0:
            chain.pop()
        chain.append(point)
    return chain


def _cross(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def area(polygon: Array) -> float:
    """Return the area of a counter-clockwise polygon [m²]; 0 below three corners."""
    if len(polygon) < 3:
        return 0.0
    x, y = polygon.T
    return 0.5 * float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def signed_distance(polygon: Array, points: Array) -> Array:
    """Return the distance of points to the boundary of a convex polygon [m].

    Args:
        polygon: Counter-clockwise, shape (k, 2), k ≥ 1, or one for each point, shape
            (m, k, 2); one corner is a point, two are a segment, neither of which has an
            inside.
        points: Shape (2,) or (m, 2).

    Returns:
        Distances, positive inside and negative outside, shape () or (m,).
    """
    edges = np.roll(polygon, -1, axis=-2) - polygon
    lengths_squared = np.einsum("...ki,...ki->...k", edges, edges)
    from_corners = points[..., None, :] - polygon
    along = np.einsum("...ki,...ki->...k", from_corners, edges)
    fraction = along / np.where(lengths_squared > 0.0, lengths_squared, 1.0)
    offsets = from_corners - np.clip(fraction, 0, 1)[..., None] * edges
    distance = np.sqrt(np.einsum("...ki,...ki->...k", offsets, offsets)).min(axis=-1)
    if polygon.shape[-2] < 3:
        return np.asarray(-distance)
    left_of = (
        edges[..., 0] * from_corners[..., 1] - edges[..., 1] * from_corners[..., 0]
    ).min(axis=-1)
    return np.asarray(np.where(left_of >= 0.0, distance, -distance))


def simplify(polygon: Array, corners: int, area_loss: float) -> Array:
    """Drop the corners that matter least, keeping length and width.

    Args:
        polygon: Convex, counter-clockwise, shape (k, 2).
        corners: As many may remain in any case.
        area_loss: Fraction of the whole area that each further drop may cost.

    Returns:
        A convex polygon inside the given one.
    """
    kept = polygon
    whole = area(polygon)
    while len(kept) > 4:
        before, after = np.roll(kept, 1, axis=0), np.roll(kept, -1, axis=0)
        loss = np.array(
            [0.5 * _cross(a, b, c) for a, b, c in zip(before, kept, after, strict=True)]
        )
        for extremes in (kept.argmin(axis=0), kept.argmax(axis=0)):
            loss[extremes] = np.inf
        least = int(np.argmin(loss))
        if len(kept) <= corners and loss[least] > area_loss * whole:
            break
        kept = np.delete(kept, least, axis=0)
    return kept


def widest_corners(polygon: Array, most: int) -> list[int]:
    """Return which corners of a convex polygon enclose most area, in their order.

    Args:
        polygon: Corners in their order, shape (n, 2).
        most: How many to keep at most.
    """
    if len(polygon) <= most:
        return list(range(len(polygon)))
    best = max(
        combinations(range(len(polygon)), most),
        key=lambda keep: area(polygon[list(keep)]),
    )
    return list(best)


def sphere_directions(count: int) -> Array:
    """Return unit vectors evenly over a sphere (a Fibonacci spiral), (count, 3)."""
    at = np.arange(count) + 0.5
    z = 1.0 - 2.0 * at / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * at
    ring = np.sqrt(1.0 - z**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
