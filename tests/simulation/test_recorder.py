from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.kinematics.blocks import blocks
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, rough
from equipoise.log.surroundings import Surroundings
from equipoise.robot.mesh import triangle_normals
from equipoise.simulation.recorder import ground_mesh
from equipoise.simulation.world import Box, Wall

LOW, HIGH = np.array([-1.0, -0.5]), np.array([2.0, 0.7])


@pytest.mark.parametrize(
    "terrain",
    [
        Flat(0.1),
        Slope(0.1, -0.05),
        Stairs(0.1, 0.3, 4, 0.2),
        Stairs(-0.1, 0.3, 4, 0.2),
        rough(0.03, 1, extent=4.0),
        blocks(0.03, 1, 0.1, 0.4, 0.3, 4.0),
    ],
)
def test_ground_is_where_the_terrain_says(terrain) -> None:
    """The middle of every upward triangle is on the ground, and all look outwards."""
    mesh = ground_mesh(terrain, LOW, HIGH)
    normals = triangle_normals(mesh)
    assert np.all(normals[:, 2] > -1e-6)
    level = normals[:, 2] > 0.5
    middle = mesh.vertices[mesh.triangles[level]].mean(axis=1).astype(float)
    height = terrain.height(middle[:, 0], middle[:, 1])
    loose = 0.01 if isinstance(terrain, HeightField) else 1e-6
    np.testing.assert_allclose(middle[:, 2], height, atol=loose)
    # seen from above it covers the rectangle
    a, b, c = (mesh.vertices[corner, :2].astype(float) for corner in mesh.triangles.T)
    area = np.abs(np.linalg.det(np.stack([b - a, c - a], axis=1))).sum() / 2
    assert area == pytest.approx(np.prod(HIGH - LOW), rel=1e-5)


def test_tops_of_blocks_are_exact() -> None:
    """All but the edges between blocks, a cell wide, are drawn where they are."""
    terrain = blocks(0.03, 1, 0.1, 0.4, 0.3, 4.0)
    mesh = ground_mesh(terrain, LOW, HIGH)
    corners = mesh.vertices[mesh.triangles].astype(float)
    tops = np.ptp(corners, axis=1)[:, :2].min(axis=1) > 2.0 * terrain.cell
    assert np.count_nonzero(tops) > 50
    middle = corners[tops].mean(axis=1)
    height = terrain.height(middle[:, 0], middle[:, 1])
    np.testing.assert_allclose(middle[:, 2], height, atol=1e-6)


def test_risers_look_at_who_climbs() -> None:
    """Upright triangles of stairs look backward when they go up."""
    normals = triangle_normals(ground_mesh(Stairs(0.1, 0.3, 4, 0.2), LOW, HIGH))
    upright = normals[np.abs(normals[:, 2]) < 0.5]
    assert len(upright) == 8
    np.testing.assert_allclose(upright[:, 0], -1.0, atol=1e-6)


def test_a_run_keeps_what_it_met(tmp_path) -> None:
    """Walls and boxes come back from the log, to the last digit."""
    robot = eq.load("itu-biped")
    world = eq.make_world(
        robot,
        walls=[Wall(np.array([1.5, 0.0, 0.5]), np.array([0.1, 2.0, 1.0]), 0.3)],
        boxes=[Box(np.array([1.0, 0.0, 0.1]), np.full(3, 0.2), 1.0)],
    )
    reference = eq.Hold(eq.joint_positions(robot, robot.standing))
    run = eq.simulate(world, reference, 0.05)
    run.save(tmp_path / "run")
    back = eq.open_run(tmp_path / "run").surroundings
    for kept, others in (
        (run.surroundings.walls, back.walls),
        (run.surroundings.boxes, back.boxes),
    ):
        assert len(kept) == len(others) == 1
        np.testing.assert_array_equal(kept[0].pose, others[0].pose)
        np.testing.assert_array_equal(kept[0].size, others[0].size)
    assert run.surroundings.ground is not None
    assert back.ground is not None
    corners = run.surroundings.ground.vertices[run.surroundings.ground.triangles]
    np.testing.assert_array_equal(back.ground.vertices, corners.reshape(-1, 3))


def test_nothing_is_nothing() -> None:
    """A log from elsewhere has no surroundings."""
    assert not Surroundings()
