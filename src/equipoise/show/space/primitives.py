"""Meshes of simple solids."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.robot.anatomy.geometry import plane_axes
from equipoise.robot.description import Shape
from equipoise.robot.mesh import Mesh, read_mesh
from equipoise.rotations import transform

AROUND = 24
CAP_RINGS = 6
# Faces of a box by the corners of (x, y, z) in binary, counter-clockwise from outside.
BOX_FACES = (
    (0, 1, 3, 2),
    (4, 6, 7, 5),
    (0, 4, 5, 1),
    (2, 3, 7, 6),
    (0, 2, 6, 4),
    (1, 5, 7, 3),
)


def box(size: ArrayLike) -> Mesh:
    """Return a box about the origin with these edges [m], shape (3,)."""
    corners = np.array(list(product((-0.5, 0.5), repeat=3))) * np.asarray(size)
    faces = np.array(BOX_FACES)
    return _mesh(corners, np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]]))


def revolved(profile: ArrayLike, around: int = AROUND) -> Mesh:
    """Return the solid that a line makes when it turns about the z-axis.

    Args:
        profile: Radius and z of its points [m], from the lowest to the highest,
            shape (k, 2); a radius of zero closes the end.
        around: Points around.
    """
    radius, z = np.asarray(profile, dtype=np.float64).T
    angle = 2.0 * np.pi * np.arange(around) / around
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(around)], axis=1)
    vertices = radius[:, None, None] * ring + z[:, None, None] * np.array([0, 0, 1.0])
    here, there = np.arange(around), np.roll(np.arange(around), -1)
    first = around * np.arange(len(z) - 1)[:, None]
    lower = np.stack([first + here, first + there, first + there + around], axis=-1)
    upper = np.stack(
        [first + here, first + there + around, first + here + around], axis=-1
    )
    # where a ring is a point, one of both triangles has no area
    sides = [*lower[radius[:-1] > 0.0], *upper[radius[1:] > 0.0]]
    return _mesh(vertices.reshape(-1, 3), np.concatenate(sides))


def sphere(radius: float) -> Mesh:
    """Return a ball about the origin."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> Mesh:
    """Return a capsule along z about the origin; ``length`` is its straight part [m].

    A radius of zero gives nothing.
    """
    if radius <= 0.0:
        return _mesh(np.zeros((0, 3)), np.zeros((0, 3)))
    angle = np.linspace(-0.5 * np.pi, 0.0, CAP_RINGS + 1)
    half = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    half[0, 0] = 0.0
    lower = half - [0.0, 0.5 * length]
    upper = half[::-1] * [1.0, -1.0] + [0.0, 0.5 * length]
    return revolved(np.concatenate([lower, upper if length > 0.0 else upper[1:]]))


def cylinder(radius: float, length: float) -> Mesh:
    """Return a cylinder along z about the origin."""
    half = 0.5 * length
    return revolved([[0.0, -half], [radius, -half], [radius, half], [0.0, half]])


def capsule_between(start: Array, end: Array, radius: float) -> Mesh:
    """Return a capsule from one point to another [m], shape (3,)."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return sphere(radius).moved(transform(None, start))
    axis = along / length
    pose = transform(np.column_stack([*plane_axes(axis), axis]), 0.5 * (start + end))
    return capsule(radius, length).moved(pose)


def plate(polygon: Array, thickness: float) -> Mesh:
    """Return a prism from z = 0 up, over a convex polygon of the plane, (k, 2)."""
    count = len(polygon)
    bottom = np.hstack([polygon, np.zeros((count, 1))])
    top = np.hstack([polygon, np.full((count, 1), thickness)])
    lid = np.array([[0, at, at + 1] for at in range(1, count - 1)]).reshape(-1, 3)
    here, there = np.arange(count), np.roll(np.arange(count), -1)
    lower = np.stack([here, there, there + count], axis=1)
    upper = np.stack([here, there + count, here + count], axis=1)
    triangles = np.concatenate([lid[:, ::-1], lid + count, lower, upper])
    return _mesh(np.concatenate([bottom, top]), triangles)


def shape_mesh(shape: Shape) -> Mesh | None:
    """Return the mesh of a robot's shape in link coordinates; None if not found."""
    match shape.kind:
        case "mesh":
            found = None if shape.mesh is None else read_mesh(shape.mesh)
            if found is None:
                return None
            return found.moved(shape.transform_shape_to_link, shape.size)
        case "box":
            solid = box(shape.size)
        case "sphere":
            solid = sphere(shape.size[0])
        case "capsule":
            solid = capsule(*shape.size)
        case "cylinder":
            solid = cylinder(*shape.size)
    return solid.moved(shape.transform_shape_to_link)


def _mesh(vertices: Array, triangles: Array) -> Mesh:
    return Mesh(vertices.astype(np.float32), triangles.astype(np.int32))
