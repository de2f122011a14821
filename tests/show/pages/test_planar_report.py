"""Drawings and reports of the three-link biped say what its walk is."""

from __future__ import annotations

import json
import re
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

from equipoise.planar.classic import classic_gait
from equipoise.planar.gait import PlanarGait
from equipoise.planar.hybrid import Walk
from equipoise.planar.poincare import Basin
from equipoise.planar.virtual_constraints import PD
from equipoise.show.charts.planar_walk import walk_charts
from equipoise.show.films.stick_film import picture_count, stick_pictures
from equipoise.show.pages.gait_plots import (
    basin_plot,
    eigenvalue_plot,
    phase_portraits,
    step_figures,
)
from equipoise.show.pages.stick_replay import frames, stick_replay
from equipoise.show.space.stick_figure import FEET, HIP, TORSO, StickWalk

STEPS = 3


@pytest.fixture(scope="module")
def gait() -> PlanarGait:
    """A gait that needs no search."""
    return classic_gait("constant-torso", PD(0.1))


@pytest.fixture(scope="module")
def walk(gait: PlanarGait) -> Walk:
    """Its first steps."""
    return gait.walk(STEPS, tolerance=1e-6)


def test_limbs_keep_their_length_and_feet_their_place(walk: Walk) -> None:
    """Legs are the same legs after an impact, and nothing jumps there."""
    figures = StickWalk(walk)
    p = walk.model.parameters
    for foot in FEET:
        legs = figures.points[:, HIP] - figures.points[:, foot]
        np.testing.assert_allclose(np.linalg.norm(legs, axis=1), p.leg_length)
    torso = figures.points[:, TORSO] - figures.points[:, HIP]
    np.testing.assert_allclose(np.linalg.norm(torso, axis=1), p.torso_length)
    ends = np.cumsum([len(step.time) for step in walk.steps])[:-1]
    np.testing.assert_allclose(
        figures.points[ends], figures.points[ends - 1], atol=1e-12
    )
    # the foot that carries stays where it is, in each step another
    standing = figures.points[:, 0].copy()
    second = np.asarray(figures.on_second_leg, dtype=bool)
    standing[second] = figures.points[second, 1]
    np.testing.assert_allclose(standing, walk.stance_foot, atol=1e-12)


def test_the_centre_of_mass_is_that_of_the_points(walk: Walk) -> None:
    """The drawn masses have the drawn CoM."""
    figures = StickWalk(walk)
    p = walk.model.parameters
    masses = np.array([0.0, 0.0, p.hip_mass, p.torso_mass, p.leg_mass, p.leg_mass])
    mean = np.tensordot(masses, figures.points, ([0], [1])) / p.total_mass
    np.testing.assert_allclose(mean, figures.com, atol=1e-12)


def test_charts_have_gaps_at_impacts(walk: Walk) -> None:
    """One after each step but the last, in all lines."""
    for chart in walk_charts(walk):
        for line in chart.series:
            assert len(line.values) == len(chart.time)
            assert np.isnan(line.values).sum() == STEPS - 1
        assert (np.diff(chart.time) >= 0.0).all()


def test_the_player_has_the_walk(walk: Walk) -> None:
    """Rows are places in the picture at equal times, from start to end."""
    content = frames(walk)
    rows = np.array(content["rows"])
    assert rows.shape == (len(content["time"]), 18)
    assert content["time"][-1] == pytest.approx(walk.time[-1], abs=1e-4)
    hip = rows[:, 4]
    assert (np.diff(hip) > 0.0).all()  # the biped goes forwards
    page = stick_replay(walk)
    found = re.search(r'id="sticks-data">(.*?)</script>', page)
    assert found is not None
    assert json.loads(found[1]) == content


def test_drawings_are_well_formed(gait: PlanarGait, walk: Walk) -> None:
    """Each is markup with a title; a walk is drawn, or only its periodic step."""
    step = walk.steps[-1]
    steps = np.full((3, 4), 5)
    steps[0] = [0, 1, 5, 5]
    basin = Basin(
        np.array([-0.1, 0.0, 0.1]), np.linspace(-0.3, 0.3, 4), steps, 1.0 * steps, 5
    )
    drawings = [
        step_figures(gait, step),
        *phase_portraits(walk, step),
        *phase_portraits(None, step),
        eigenvalue_plot([0.5 + 0.1j, 0.5 - 0.1j, 0.0]),
        basin_plot(basin),
    ]
    for drawing in drawings:
        assert fromstring(drawing).find("figcaption") is not None
    # cells of a row with the same outcome are one; those that fall at once are none
    assert drawings[-1].count("<rect") == 4
    assert drawings[1].count("line c0 thin") == STEPS
    assert "line c0 thin" not in drawings[4]


def test_films_show_the_walk(walk: Walk) -> None:
    """As many pictures as said, of one size, and they move."""
    short = Walk(walk.model, walk.steps[:1], "")
    pictures = list(stick_pictures(short, "a step"))
    assert len(pictures) == picture_count(short)
    assert {picture.shape for picture in pictures} == {(405, 720, 3)}
    moved = np.abs(pictures[0].astype(int) - pictures[-1].astype(int)).max(axis=2)
    assert np.count_nonzero(moved > 60) > 1000
