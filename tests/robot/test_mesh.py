from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from equipoise.robot.mesh import (
    Mesh,
    coarser,
    creased,
    join_meshes,
    read_mesh,
    triangle_normals,
    weld,
)
from equipoise.rotations import rotation_from_rpy, transform


def as_mesh(solid: trimesh.Trimesh) -> Mesh:
    """Return a solid of trimesh as ours."""
    return Mesh(solid.vertices.astype(np.float32), solid.faces.astype(np.int32))


def volume(mesh: Mesh) -> float:
    """Return the enclosed volume, positive if triangles look outwards."""
    a, b, c = (mesh.vertices[corner].astype(float) for corner in mesh.triangles.T)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize("suffix", [".stl", ".obj"])
def test_files_give_their_triangles(tmp_path: Path, suffix: str) -> None:
    """A solid written by trimesh has its volume when it is read."""
    solid = trimesh.creation.icosphere(subdivisions=2, radius=0.3)
    file = tmp_path / f"solid{suffix}"
    solid.export(file)
    mesh = read_mesh(file)
    assert mesh is not None
    assert volume(mesh) == pytest.approx(solid.volume, rel=1e-5)
    assert len(mesh.triangles) == len(solid.faces)


def test_what_is_not_a_mesh(tmp_path: Path) -> None:
    """Missing, empty and senseless files give no mesh, and no error."""
    (tmp_path / "empty.stl").write_bytes(b"")
    (tmp_path / "words.obj").write_text("these are words")
    for name in ("missing.stl", "empty.stl", "words.obj"):
        assert read_mesh(tmp_path / name) is None


@given(st.integers(0, 2**32 - 1))
def test_moving_keeps_the_outside_outside(seed: int) -> None:
    """Volume scales with the product of the scales, mirrored or not."""
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 2.0, 3) * rng.choice([-1.0, 1.0], 3)
    pose = transform(rotation_from_rpy(rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3))
    mesh = as_mesh(trimesh.creation.box((0.2, 0.3, 0.4)))
    moved = mesh.moved(pose, scale)
    expected = volume(mesh) * abs(float(np.prod(scale)))
    assert volume(moved) == pytest.approx(expected, rel=1e-4)


def test_weld_joins_equal_vertices() -> None:
    """Loose triangles of a sphere become the sphere again."""
    solid = trimesh.creation.icosphere(subdivisions=2)
    corners = solid.vertices[solid.faces].reshape(-1, 3).astype(np.float32)
    corners[corners == 0.0] *= np.float32(-1.0)  # zeros of both signs
    loose = Mesh(corners, np.arange(len(corners), dtype=np.int32).reshape(-1, 3))
    welded = weld(loose)
    assert len(welded.vertices) == len(solid.vertices)
    assert volume(welded) == pytest.approx(solid.volume, rel=1e-5)


def test_weld_drops_triangles_without_area() -> None:
    """A triangle with two equal corners is none."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]], np.float32)
    mesh = Mesh(points, np.array([[0, 1, 2], [0, 1, 3]], np.int32))
    assert len(weld(mesh).triangles) == 1


def test_creases_stay_sharp_and_curves_smooth() -> None:
    """A box gets its own corners on each face; a sphere keeps its vertices."""
    box = creased(as_mesh(trimesh.creation.box()))
    assert len(box.vertices) == 24
    ball = as_mesh(trimesh.creation.icosphere(subdivisions=3))
    assert len(creased(ball).vertices) == len(ball.vertices)
    # normals averaged at vertices are those of the faces
    normals, faces = np.zeros((24, 3)), triangle_normals(box)
    for corner in range(3):
        np.add.at(normals, box.triangles[:, corner], faces)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(normals).max(axis=1), 1.0, atol=1e-6)


def test_coarser_keeps_the_shape() -> None:
    """A sphere of a tenth of the triangles still has 95 % of the volume."""
    ball = as_mesh(trimesh.creation.icosphere(subdivisions=5))
    few = coarser(ball, len(ball.triangles) // 10)
    assert len(few.triangles) <= 1.05 * len(ball.triangles) / 10
    assert volume(few) == pytest.approx(volume(ball), rel=0.05)
    assert coarser(few, 10**6) is few


def test_joined_meshes_keep_their_triangles() -> None:
    """Volumes add up; nothing joined is nothing."""
    parts = [as_mesh(trimesh.creation.box()), as_mesh(trimesh.creation.icosphere())]
    assert volume(join_meshes(parts)) == pytest.approx(sum(map(volume, parts)))
    assert len(join_meshes([]).triangles) == 0
