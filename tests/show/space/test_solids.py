from __future__ import annotations

import numpy as np
import pytest
import trimesh

from equipoise.robot.description import Shape
from equipoise.robot.mesh import Mesh, weld
from equipoise.rotations import transform
from equipoise.show.space.solids import capsule_between, prism, shape_mesh


def as_trimesh(mesh: Mesh) -> trimesh.Trimesh:
    """Return a mesh as a solid of trimesh."""
    mesh = weld(mesh)
    return trimesh.Trimesh(mesh.vertices, mesh.triangles, process=True)


@pytest.mark.parametrize(
    ("kind", "size", "volume"),
    [
        ("box", (0.2, 0.3, 0.4), 0.024),
        ("sphere", (0.2,), 4 / 3 * np.pi * 0.2**3),
        ("cylinder", (0.1, 0.5), np.pi * 0.1**2 * 0.5),
        ("capsule", (0.1, 0.5), np.pi * 0.1**2 * 0.5 + 4 / 3 * np.pi * 0.1**3),
    ],
)
def test_solids_are_closed_and_as_large_as_they_should_be(kind, size, volume) -> None:
    """Each solid is watertight, looks outwards, and has its volume within 4 %."""
    pose = transform(None, [1.0, 2.0, 3.0])
    mesh = shape_mesh(Shape(kind, size, pose))
    assert mesh is not None
    solid = as_trimesh(mesh)
    assert solid.is_watertight
    assert solid.volume == pytest.approx(volume, rel=0.04)
    np.testing.assert_allclose(solid.center_mass, [1.0, 2.0, 3.0], atol=1e-4)


def test_a_mesh_that_is_not_there_is_none() -> None:
    """A shape whose file is missing gives nothing to draw."""
    assert shape_mesh(Shape("mesh", (1.0, 1.0, 1.0), mesh_name="a.stl")) is None


def test_a_sphere_without_radius_is_nothing() -> None:
    """Drake marks contact points by spheres of radius zero."""
    mesh = shape_mesh(Shape("sphere", (0.0,)))
    assert mesh is not None
    assert len(mesh.triangles) == 0


@pytest.mark.parametrize(
    "end", [[0, 0, 0.7], [0.3, -0.2, 0.1], [0, 0, -0.4], [0, 0, 0]]
)
def test_capsules_reach_from_point_to_point(end) -> None:
    """No vertex is nearer or farther than the radius from the line between both."""
    start, end = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]) + end
    vertices = capsule_between(start, end, 0.05).vertices
    along = end - start
    fraction = np.clip((vertices - start) @ along / max(along @ along, 1e-12), 0.0, 1.0)
    distance = np.linalg.norm(vertices - start - fraction[:, None] * along, axis=1)
    np.testing.assert_allclose(distance, 0.05, atol=1e-6)


def test_prisms_stand_on_their_polygon() -> None:
    """A prism is watertight and has the volume of area times thickness."""
    polygon = np.array([[0.0, 0.0], [0.2, 0.0], [0.25, 0.1], [0.0, 0.1]])
    solid = as_trimesh(prism(polygon, 0.0, 0.02))
    assert solid.is_watertight
    assert solid.volume == pytest.approx(0.0225 * 0.02, rel=1e-5)
    assert solid.bounds[:, 2].tolist() == pytest.approx([0.0, 0.02])
