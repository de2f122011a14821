"""Solids of a robot's links, to find where they touch.

Primitives are taken as they are and meshes as their convex hulls, which are larger:
what is apart here is apart, what is not may be.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.robot.anatomy.geometry import (
    link_shapes,
    shape_is_known,
    sphere_directions,
)
from equipoise.robot.description import Shape
from equipoise.robot.mesh import read_mesh
from equipoise.robot.model import Robot

# Corners of a hull are the points that are farthest along so many directions.
HULL_DIRECTIONS = 200
PIECE = 4096
# Least size of a flat mesh [m].
THINNEST = 0.005
PRIMITIVES = {
    "box": coal.Box,
    "sphere": coal.Sphere,
    "cylinder": coal.Cylinder,
    "capsule": coal.Capsule,
}


def collision_geometry(robot: Robot) -> tuple[pin.GeometryModel, list[str]]:
    """Return the shapes on a robot's bodies, and links with mass but no shape.

    They are named ``link:number``; no pairs are chosen.
    """
    geometry = pin.GeometryModel()
    bare = []
    for link in robot.description.links:
        shapes = [shape for shape in link_shapes(link)[0] if shape_is_known(shape)]
        if not shapes and link.inertial is not None:
            bare.append(link.name)
        for number, shape in enumerate(shapes):
            frame = robot.model.frames[robot.model.getBodyId(link.name)]
            pose = frame.placement * pin.SE3(np.array(shape.transform_shape_to_link))
            name, body = f"{link.name}:{number}", int(frame.parentJoint)
            placed = pin.GeometryObject(name, body, pose, _coal_shape(shape))
            geometry.addGeometryObject(placed)
    return geometry, bare


def link_of(name: str) -> str:
    """Return the link of a shape of that name."""
    return name.rpartition(":")[0]


def _coal_shape(shape: Shape) -> Any:
    if shape.kind != "mesh":
        return PRIMITIVES[shape.kind](*shape.size)
    if shape.mesh is None:
        return _hull(np.zeros((0, 3)))
    return _mesh_hull(shape.mesh, shape.mesh.stat().st_mtime_ns, shape.size)


@lru_cache(maxsize=256)
def _mesh_hull(path: Path, changed_ns: int, size: tuple[float, ...]) -> Any:
    """Return the convex hull of a mesh; robots are loaded more than once."""
    mesh = read_mesh(path)
    points = np.zeros((0, 3)) if mesh is None else mesh.vertices
    return _hull(np.asarray(points * np.array(size), dtype=np.float64))


def _hull(points: Array) -> Any:
    """Return the convex hull of points, shape (k, 3).

    It is that of the outermost points along directions 15° apart: 1 % of its radius
    may be missing where it is round, which the clearance makes up for.
    """
    from scipy.spatial import ConvexHull, QhullError

    corners = np.unique(points[_farthest(points)], axis=0)
    try:
        faces = ConvexHull(corners)
    except (QhullError, ValueError):  # flat: a box around it is as good
        middle, size = 0.5 * (points.max(0) + points.min(0)), np.ptp(points, axis=0)
        signs = np.array(list(np.ndindex(2, 2, 2))) - 0.5
        corners = middle + signs * np.maximum(size, THINNEST)
        faces = ConvexHull(corners)
    triangles = coal.StdVec_Triangle()
    sides = corners[faces.simplices]
    normals = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
    inward = np.einsum("fi,fi->f", normals, sides[:, 0] - corners.mean(axis=0)) < 0.0
    ordered = np.where(inward[:, None], faces.simplices[:, ::-1], faces.simplices)
    for a, b, c in ordered.tolist():
        triangles.append(coal.Triangle(a, b, c))
    vertices = coal.StdVec_Vec3s()
    for corner in corners:
        vertices.append(corner)
    return coal.Convex(vertices, triangles)


def _farthest(points: Array) -> NDArray[np.int64]:
    """Return which points are farthest along directions spread over a sphere."""
    single = sphere_directions(HULL_DIRECTIONS).astype(np.float32)
    pieces = []
    for first in range(0, len(points), PIECE):  # a piece fits into the cache
        heights = single @ points[first : first + PIECE].T.astype(np.float32)
        pieces.append(first + np.unique(np.argmax(heights, axis=1)))
    kept = np.concatenate(pieces)
    heights = single @ points[kept].T.astype(np.float32)
    return np.asarray(kept[np.unique(np.argmax(heights, axis=1))])
