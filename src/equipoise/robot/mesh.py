"""Triangle meshes: read from files, joined, made coarser.

Binary STL files are read here and all others by coal, in a process of its own
(:mod:`equipoise.robot.mesh_worker`). trimesh reads the same vertices and triangles from
STL files (talos and g1 of example-robot-data), but takes five times as long, and does
not read COLLADA files (romeo) without one more dependency, pycollada.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.input_file import MEGABYTE, open_input, read_input, size_limit
from equipoise.robot.mesh_worker import read_with_coal

# Meshes are large and their files hold single precision.
Vertices = NDArray[np.float32]
Triangles = NDArray[np.int32]

COLLADA_HEAD_BYTES = 65536
LARGEST_MESH_BYTES = 128 * MEGABYTE
# No vertex is farther out, whatever its unit.
LARGEST_COORDINATE = 1e9
STL_HEADER_BYTES = 84
STL_TRIANGLE_BYTES = 50
MOST_STL_TRIANGLES = 200_000
# A mesh is coarse enough at so many times the triangles asked for; before that, its
# vertices are drawn to grids of so many cells along its longest side.
ENOUGH, FINEST_GRID, COARSE_GRID, COARSEST_GRID = 1.3, 200.0, 64.0, 8.0
# Surfaces that bend by less look round [rad].
CREASE = np.deg2rad(40.0)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles that share vertices.

    Attributes:
        vertices: [m], shape (n, 3).
        triangles: Three vertices each, counter-clockwise seen from outside, (m, 3).
    """

    vertices: Vertices
    triangles: Triangles

    def moved(self, pose: Array, scale: Iterable[float] = (1.0, 1.0, 1.0)) -> Mesh:
        """Return the mesh scaled along its axes, then moved by a transform (4, 4)."""
        factors = np.array(tuple(scale))
        points = (self.vertices * factors) @ pose[:3, :3].T + pose[:3, 3]
        mirrored = np.prod(factors) * np.linalg.det(pose[:3, :3]) < 0.0
        triangles = self.triangles[:, ::-1] if mirrored else self.triangles
        return Mesh(points.astype(np.float32), np.ascontiguousarray(triangles))


def join_meshes(meshes: Iterable[Mesh]) -> Mesh:
    """Return several meshes as one."""
    vertices: list[Vertices] = [np.zeros((0, 3), np.float32)]
    triangles: list[Triangles] = [np.zeros((0, 3), np.int32)]
    count = 0
    for mesh in meshes:
        vertices.append(mesh.vertices)
        triangles.append(mesh.triangles + np.int32(count))
        count += len(mesh.vertices)
    return Mesh(np.concatenate(vertices), np.concatenate(triangles))


def weld(mesh: Mesh) -> Mesh:
    """Return a mesh in which equal vertices are one, and triangles have an area."""
    # zeros have two signs and would differ as bytes
    rows = np.ascontiguousarray(mesh.vertices + np.float32(0.0))
    order = np.lexsort(rows.view(np.int32).T)
    ordered = rows[order]
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(len(rows), dtype=np.int32)
    place[order] = np.cumsum(first, dtype=np.int32) - 1
    triangles = place[mesh.triangles]
    a, b, c = triangles.T
    return Mesh(ordered[first], triangles[(a != b) & (b != c) & (c != a)])


def creased(mesh: Mesh, angle: float = CREASE) -> Mesh:
    """Return a mesh whose vertices are shared only where it bends gently.

    Normals that a program averages over the triangles of a vertex then leave edges
    sharp.

    Args:
        mesh: Its equal vertices are one.
        angle: Triangles that meet at a larger one do not share vertices [rad].
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    triangles, count = mesh.triangles, len(mesh.triangles)
    normals = triangle_normals(mesh)
    # each side of a triangle, from the corner with the lesser vertex to the other
    corner = np.arange(3 * count).reshape(-1, 3)
    ends = np.stack([corner, np.roll(corner, -1, axis=1)], axis=-1).reshape(-1, 2)
    vertices = triangles.reshape(-1)[ends]
    ends = np.where((vertices[:, :1] > vertices[:, 1:]), ends[:, ::-1], ends)
    vertices = np.sort(vertices, axis=1)
    order = np.lexsort(vertices.T)
    sides, ends = vertices[order], ends[order]
    same = np.flatnonzero((sides[1:] == sides[:-1]).all(axis=1))
    one, other = ends[same], ends[same + 1]
    bend = np.einsum("ij,ij->i", normals[one[:, 0] // 3], normals[other[:, 0] // 3])
    gentle = bend > np.cos(angle)
    rows, columns = one[gentle].reshape(-1), other[gentle].reshape(-1)
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(3 * count,) * 2)
    _, place = connected_components(links, directed=False)
    _, first = np.unique(place, return_index=True)
    points = mesh.vertices[triangles.reshape(-1)[first]]
    return Mesh(points, place.reshape(-1, 3).astype(np.int32))


def triangle_normals(mesh: Mesh) -> Vertices:
    """Return unit vectors out of the triangles, zero for those without area."""
    a, b, c = (mesh.vertices[corner] for corner in mesh.triangles.T)
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    none = np.zeros_like(normals)
    unit: Vertices = np.divide(normals, length, out=none, where=length > 0.0)
    return unit


def coarser(mesh: Mesh, most: int) -> Mesh:
    """Return a mesh of about ``most`` triangles, or the same if it has no more."""
    if len(mesh.triangles) <= most:
        return mesh
    import fast_simplification

    fine = _on_grid(mesh, FINEST_GRID)  # what the eye cannot see takes most of the time
    if len(fine.triangles) <= most:
        return fine
    points, faces = fast_simplification.simplify(
        fine.vertices, fine.triangles, target_count=most
    )
    found = Mesh(points.astype(np.float32), faces.astype(np.int32))
    # meshes of many loose pieces resist: their vertices are drawn together
    cells = COARSE_GRID
    while len(found.triangles) > ENOUGH * most and cells > COARSEST_GRID:
        found = _on_grid(found, cells)
        cells *= 0.7
    return found


def _on_grid(mesh: Mesh, cells: float) -> Mesh:
    """Return a mesh whose vertices lie on a grid of cells along its longest side."""
    grid = np.float32(np.ptp(mesh.vertices, axis=0).max() / cells)
    if grid == 0.0:
        return mesh
    return weld(Mesh(np.rint(mesh.vertices / grid) * grid, mesh.triangles))


def read_mesh(path: Path) -> Mesh | None:
    """Return the mesh in a file [m]; None where there is none or it is unreadable.

    Vertices are as they stand in the file, but for the unit of COLLADA files. Read
    once for all callers; do not write to it.
    """
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return _read(path, state.st_mtime_ns, state.st_size)


def rotation_to_z_up(path: Path) -> Array | None:
    """Return the rotation that makes a COLLADA file's up axis z, None if it is."""
    try:
        head = _collada_head(path)
    except EquipoiseError:
        return None
    if re.search(rb"<up_axis>\s*Y_UP", head):
        return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    if re.search(rb"<up_axis>\s*X_UP", head):
        return np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    return None


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, size: int) -> Mesh | None:
    if size > size_limit(LARGEST_MESH_BYTES):
        return None
    try:
        mesh = _read_binary_stl(path) or _read_with_coal(path)
    except (OSError, EquipoiseError):
        return None
    if mesh is None or len(mesh.vertices) == 0:
        return None
    if not (np.abs(mesh.vertices) <= LARGEST_COORDINATE).all():
        return None
    if not _corners_exist(mesh):
        return None
    mesh.vertices.flags.writeable = False
    mesh.triangles.flags.writeable = False
    return mesh


def _corners_exist(mesh: Mesh) -> bool:
    corners = mesh.triangles
    return corners.size == 0 or 0 <= corners.min() <= corners.max() < len(mesh.vertices)


def _read_with_coal(path: Path) -> Mesh | None:
    open_input(path, LARGEST_MESH_BYTES).close()
    found = read_with_coal(path)
    if found is None:
        return None
    with np.errstate(all="ignore"):  # beyond single precision is not finite
        vertices = (found.vertices * _collada_unit(path)).astype(np.float32)
    return Mesh(vertices, found.triangles.astype(np.int32))


def _collada_head(path: Path) -> bytes:
    if path.suffix.lower() != ".dae":
        return b""
    with open_input(path) as file:
        return file.read(COLLADA_HEAD_BYTES)


def _collada_unit(path: Path) -> float:
    """Return the metres that a COLLADA file counts in; the loader ignores them."""
    pattern = rb"<unit\b[^>]*\bmeter\s*=\s*[\"']([^\"']+)"
    unit = re.search(pattern, _collada_head(path))
    try:
        metres = float(unit.group(1)) if unit else 1.0
    except ValueError:
        return 1.0
    return metres if 0.0 < metres < np.inf else 1.0


def _read_binary_stl(path: Path) -> Mesh | None:
    """Read a binary STL file; None for any other format."""
    if path.suffix.lower() != ".stl":
        return None
    content = read_input(path, LARGEST_MESH_BYTES)
    head, size = STL_HEADER_BYTES, STL_TRIANGLE_BYTES
    count = int.from_bytes(content[head - 4 : head], "little")
    if len(content) < head + size * count or len(content) < head:
        return None
    if content.startswith(b"solid") and b"facet" in content[:512]:
        return None
    records = np.frombuffer(content, dtype=np.uint8, count=size * count, offset=head)
    corners = records.reshape(count, size)[:, 12:48].copy().view("<f4")
    triangles = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    return Mesh(corners.reshape(-1, 3), triangles)


def mujoco_reads(mesh: Path) -> bool:
    """Whether MuJoCo reads a mesh file: OBJ, its own MSH, and binary STL.

    Text STL and COLLADA are what robot files often name and MuJoCo refuses.
    """
    suffix = mesh.suffix.lower()
    if suffix != ".stl":
        return suffix in (".obj", ".msh")
    try:
        with open_input(mesh) as file:
            header = file.read(STL_HEADER_BYTES)
        if len(header) < STL_HEADER_BYTES:
            return False
        count = int.from_bytes(header[-4:], "little")
        size = mesh.stat().st_size
    except (OSError, EquipoiseError):
        return False
    whole = size == STL_HEADER_BYTES + STL_TRIANGLE_BYTES * count
    return whole and 0 < count <= MOST_STL_TRIANGLES
