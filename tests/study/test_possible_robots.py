"""Robots from an identification, by their number, and walks of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.test_identify import write_table
from identification.true_robots import measure, random_poses, random_truth
from study.studies import varying, written

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.identification.posterior import posterior_of, sample_robots
from equipoise.identification.randomisation_files import EXPORT_FILES, read_posterior
from equipoise.log.folder import summary_as_json
from equipoise.study.places import Place
from equipoise.study.possible_robots import BLOCK, PossibleRobots, possible_robots
from equipoise.study.runs import StudyRuns

ROBOT = "mahru-1"
TEXT = varying(
    "friction = [0.5, 0.8]",
    "",
    'method = "posterior"\nlog = "poses.csv"\ntable = true\ncount = 100\nseed = 4',
).replace("itu-biped", ROBOT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's file beside twelve measured poses."""
    folder = tmp_path_factory.mktemp("possible")
    rng = np.random.default_rng(51)
    truth = random_truth(eq.load(ROBOT), rng, offsets=False)
    poses = measure(truth, random_poses(truth.model, 12, rng), rng)
    write_table(folder / "poses.csv", poses)
    written(folder, TEXT)
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> eq.Identified:
    """What they say."""
    return eq.identify(eq.load(ROBOT), folder / "poses.csv", table=True)


def test_robots_have_numbers(found: eq.Identified) -> None:
    """Any of them can be had alone; mass and CoM are those of the robot drawn."""
    posterior = posterior_of(found)
    robots = PossibleRobots(posterior, seed=4, inertia_std=0.1)
    far, near = robots[BLOCK + 3], robots[2]
    again = PossibleRobots(posterior, seed=4, inertia_std=0.1)
    assert again[BLOCK + 3].values == far.values
    assert far.values != near.values
    true = found.original.with_inertials(far.inertials)
    number, mass, *away = far.values
    assert number == BLOCK + 3
    assert mass == pytest.approx(true.mass)
    standing = found.original.standing
    moved = eq.com(true, standing) - eq.com(found.original, standing)
    assert away == pytest.approx(moved)


def test_the_folder_of_an_identification(found: eq.Identified, tmp_path: Path) -> None:
    """Its export draws the same robots as the identification itself."""
    (tmp_path / "summary.json").write_text(summary_as_json(found.summary()))
    with pytest.raises(EquipoiseError, match="identify with --export json"):
        read_posterior(tmp_path, found.original)
    (tmp_path / EXPORT_FILES["json"]).write_text(found.export("json"))
    text = TEXT.replace("poses.csv", str(tmp_path)).replace("table = true\n", "")
    study = eq.load_study(written(tmp_path, text))
    robots = possible_robots(study)
    assert robots is not None
    drawn = sample_robots(robots.found, 5, seed=1)
    same = found.sample(5, seed=1)
    for name, masses in same.mass.items():
        assert drawn.mass[name] == pytest.approx(masses, rel=1e-6)
    with pytest.raises(EquipoiseError, match="of another robot"):
        read_posterior(tmp_path, eq.load("humanoid"))
    (tmp_path / EXPORT_FILES["json"]).write_text("{}")
    with pytest.raises(EquipoiseError, match="is not what identify wrote"):
        read_posterior(tmp_path, found.original)


def test_jobs_of_possible_robots(folder: Path) -> None:
    """Rows begin with the robot, and jobs carry its masses."""
    study = eq.load_study(folder / "study.toml")
    runs = StudyRuns(study, Place("cores", 1))
    assert study.columns[:6] == (
        *("posterior.robot", "posterior.mass", "posterior.com.x"),
        *("posterior.com.y", "posterior.com.z", "friction"),
    )
    job = runs.job(70, 72)
    assert len(job.points) == len(job.drawn) == 2
    first, second = job.halves()
    assert (first.begins + second.begins, second.first) == (job.begins, 71)
    row = job.begins[1]
    assert row[0] == 71
    assert row[5] in (0.5, 0.8)
    true = study.robot.with_inertials(job.drawn[1])
    assert row[1] == pytest.approx(true.mass)
    assert StudyRuns(study, Place("cores", 1)).identity() == runs.identity()
