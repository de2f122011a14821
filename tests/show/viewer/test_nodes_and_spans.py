"""Lines as pieces, symbols as meshes, and parts of a run."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.robot.mesh import triangle_normals
from equipoise.show.viewer.chart_panel import Page, page_at
from equipoise.show.viewer.ground_nodes import dashes, pieces, round_length
from equipoise.show.viewer.scene_nodes import ball_octants, disc, disc_quarters, padded


def test_pieces_keep_ends_and_gaps():
    """A long line is thinned, its ends stay, and no piece crosses a gap."""
    line = np.stack([np.arange(10_001.0), np.zeros(10_001), np.zeros(10_001)], axis=1)
    kept = pieces(line, 1.0, 100)
    assert len(kept) <= 102
    assert kept[0, 0, 0] == 0.0
    assert kept[-1, 1, 0] == 10_000.0
    line[5000:6000] = np.nan
    assert np.isfinite(pieces(line, 1.0, 100)).all()


def test_dashes_are_as_long_as_asked():
    """Half of a straight line is drawn, in dashes of about the length."""
    line = np.linspace([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 7)
    made = dashes(line, 0.05)
    lengths = np.linalg.norm(made[:, 1] - made[:, 0], axis=1)
    assert lengths == pytest.approx(np.full(10, 0.0526), abs=1e-3)
    assert dashes(line[:1], 0.05).shape == (0, 2, 3)


def test_octants_make_a_ball_that_faces_outwards():
    """Both halves together are the surface of a sphere, seen from outside."""
    area = 0.0
    for odd in (False, True):
        mesh = ball_octants(0.5, odd)
        corners = mesh.vertices[mesh.triangles]
        middle = corners.mean(axis=1)
        assert (np.einsum("ij,ij->i", triangle_normals(mesh), middle) > -1e-6).all()
        edges = corners[:, 1:] - corners[:, :1]
        area += 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum()
    assert area == pytest.approx(np.pi, rel=0.02)


@pytest.mark.parametrize(
    "mesh",
    [disc(1.0), disc(1.0, 0.5), disc_quarters(1.0, False), disc_quarters(1, True)],
)
def test_discs_face_upwards(mesh):
    """What lies on the ground is seen from above."""
    normals = triangle_normals(mesh)
    assert (normals[:, 2] > -1e-6).all()


def test_polygons_of_any_size_fill_the_same_mesh():
    """The last corner is repeated; none gives a point."""
    assert np.array_equal(padded(np.eye(3), 5)[3:], np.eye(3)[[2, 2]])
    assert padded(np.zeros((0, 3)), 4).shape == (4, 3)


def test_pages_follow_each_other_and_the_last_is_full():
    """A time is always on its page, which is as long as asked or the whole."""
    whole = Page(0.0, 25.0)
    assert page_at(whole, None, 3.0) == whole
    assert page_at(whole, 60.0, 3.0) == whole
    assert page_at(whole, 10.0, 3.0) == Page(0.0, 10.0)
    assert page_at(whole, 10.0, 24.0) == Page(15.0, 25.0)
    assert page_at(whole, 10.0, 25.0).fraction(25.0) == 1.0
    assert Page(2.0, 2.0).fraction(2.0) == 0.0


def test_cells_of_the_grid_have_round_edges():
    """One, two or five times a power of ten."""
    assert [round_length(x) for x in (0.11, 0.19, 0.4, 0.9)] == pytest.approx(
        [0.1, 0.2, 0.5, 1.0]
    )
