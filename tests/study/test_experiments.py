"""Runs of a study: what parameters do to robot and world, and two ways to walk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from study.studies import varying, written

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.simulation.trials import trial_world
from equipoise.simulation.walking_fleet import CUDA_BATCH
from equipoise.simulation.world import pushed_link
from equipoise.study.batched_walks import MEASURED, MOST_GAITS, Device, count_gaits
from equipoise.study.experiments import Job, make_experiment
from equipoise.study.true_world import true_inertials, true_terrain, true_world


@pytest.fixture(scope="module")
def biped() -> eq.Robot:
    """Return the biped of ITU."""
    return eq.load("itu-biped")


def every_point(study: eq.Study) -> Job:
    """Return all runs of a study as one job."""
    return Job(0, tuple(study.points[k] for k in range(len(study.points))))


def test_masses_of_the_true_robot(biped: eq.Robot) -> None:
    """Factors scale mass and inertia, offsets move CoMs, a payload comes on top."""
    torso = pushed_link(biped)
    other = next(
        link.name
        for link in biped.description.links
        if link.inertial is not None and link.name != torso
    )
    settings = {
        "mass": 1.1,
        "torso.com.x": 0.02,
        f"links.{other}.mass": 2.0,
        f"links.{other}.com.z": -0.01,
        "payload.mass": 3.0,
    }
    found = true_inertials(biped, settings)
    links = biped.description.link_by_name
    old, new = links[other].inertial, found[other]
    assert old is not None
    assert new.mass == pytest.approx(2.2 * old.mass)
    assert new.inertia_in_link == pytest.approx(2.2 * old.inertia_in_link)
    assert new.com_in_link - old.com_in_link == pytest.approx([0.0, 0.0, -0.01])
    old, new = links[torso].inertial, found[torso]
    assert old is not None
    assert new.mass == pytest.approx(1.1 * old.mass + 3.0)
    assert new.com_in_link - old.com_in_link == pytest.approx([0.02, 0.0, 0.0])
    assert true_inertials(biped, {}) == {}


def test_the_true_world(biped: eq.Robot) -> None:
    """Contact, servos and ground; the fraction of critical damping stays."""
    world = trial_world(biped)
    settings = {
        "friction": 0.4,
        "contact.stiffness": 4.0,
        "servo.stiffness": 0.5,
        "actuator.delay": 0.002,
    }
    true = true_world(world, settings, {})
    assert true.material.static_friction == 0.4
    assert true.material.stiffness == pytest.approx(4.0 * world.material.stiffness)
    assert true.material.damping == pytest.approx(2.0 * world.material.damping)
    assert true.actuation.stiffness == pytest.approx(0.5 * world.actuation.stiffness)
    assert (true.actuation.damping == world.actuation.damping).all()
    assert true.actuation.delay == 0.002
    assert true_terrain(biped, {"terrain.roughness": 0.0, "terrain.seed": 1}) is None
    rough = true_terrain(biped, {"terrain.roughness": 0.01, "terrain.seed": 1})
    assert rough is not None
    slope = true_terrain(biped, {"terrain.slope": 5.0})
    assert slope is not None
    assert float(slope.height(1.0, 0.0)) == pytest.approx(np.tan(np.radians(5.0)))


def test_walks_many_at_once_are_those_one_by_one(tmp_path: Path) -> None:
    """Without noise, with everything varied at once: the same to rounding."""
    vary = """
sensors.noise = [0.0]
torso.com.x = [0.02]
links.left_foot.mass = [1.3]
payload.mass = [1.0]
friction = [0.5]
contact.stiffness = [0.5]
servo.stiffness = [0.9]
servo.damping = [1.2]
actuator.delay = [0.002]
terrain.roughness = [0.01]
push.impulse = [0.1]
push.direction = [90.0]
push.time = [1.5]
gait.length = [0.2]
gains.dcm = [2.5]
"""
    asked = f"outcomes = {[*MEASURED]!r}\n".replace("'", '"')
    rows = []
    for option in ("one_by_one = true", ""):
        text = varying(vary, option).replace("[run]", f"{asked}[run]")
        study = eq.load_study(written(tmp_path, text))
        experiment = make_experiment(study)
        assert (experiment.device is None) == bool(option)
        rows.append(experiment(every_point(study)))
    (alone,), (together,) = rows
    assert alone[-1] is together[-1] is None
    for name, one, other in zip(MEASURED, alone, together, strict=False):
        # a sample more or less, in a mean or at the end
        rough = any(part in name for part in ("mean", "fraction", "heading"))
        same = one if one is None else pytest.approx(one, rel=5e-3 if rough else 1e-5)
        assert other == same, name


def test_a_bad_point_costs_no_other(tmp_path: Path) -> None:
    """A step that no leg can make, and an inertia that no body has: errors."""
    study = eq.load_study(
        written(tmp_path, varying("gait.length = [0.1, 5.0]\nsensors.seed = [1]"))
    )
    experiment = make_experiment(study)
    good, bad = experiment(every_point(study))
    assert good[0] is True
    assert good[-1] is None
    assert bad[:-1] == (None,) * 5
    assert bad[-1] is not None
    alone = experiment(Job(0, (study.points[0],)))
    assert alone == [good]  # whatever walks beside it


def pushing(vary: str) -> str:
    """Return the text of a study of pushes."""
    text = varying(vary, "seconds = 1.6").replace('"walk"', '"push"')
    return text.replace("steps = 2\n", "")


def test_gains_that_are_the_usual_ones_change_nothing(tmp_path: Path) -> None:
    """Feedback made with gains of its own is the usual one where these are."""
    vary = "push.impulse = [0.05]\nsensors.seed = [3]"
    rows = []
    for more in ("", "\ngains.dcm = [2.0]", "\ngains.dcm = [1.0]"):
        study = eq.load_study(written(tmp_path, pushing(vary + more)))
        rows += make_experiment(study)(every_point(study))
    assert rows[0] == rows[1] != rows[2]


@pytest.mark.parametrize(
    ("run", "vary", "message"),
    [
        ('law = "paper"', "friction = [0.5]", "for robots that stand"),
        ('law = "whole-body"', "servo.stiffness = [0.5]", "joints .* told torques"),
        ("dt = 1.0", "friction = [0.5]", "time step"),
        ('terrain = "sea"', "friction = [0.5]", "no terrain 'sea'"),
    ],
)
def test_what_no_run_can_do_is_refused(
    tmp_path: Path, run: str, vary: str, message: str
) -> None:
    """Before anything is begun, in one line."""
    study = eq.load_study(written(tmp_path, varying(vary, run)))
    with pytest.raises(EquipoiseError, match=message):
        make_experiment(study)


def test_an_error_is_part_of_the_row(tmp_path: Path) -> None:
    """A push of nothing is refused by the run, not by the study."""
    study = eq.load_study(written(tmp_path, pushing("push.impulse = [0.0]")))
    (row,) = make_experiment(study)(every_point(study))
    assert row[:-1] == (None,) * len(study.outcomes)
    assert "it must be positive" in str(row[-1])


@pytest.mark.parametrize(
    ("vary", "sampling", "size"),
    [
        ("friction = { from = 0.4, to = 0.9 }", 'method = "random"', CUDA_BATCH),
        ("gait.step_time = [0.8, 0.9]", 'method = "random"', CUDA_BATCH),
        ("gait.step_time = { from = 0.8, to = 0.9 }", 'method = "random"', MOST_GAITS),
    ],
)
def test_jobs_on_a_gpu_are_small_where_every_run_has_its_gait(
    vary: str, sampling: str, size: int, tmp_path: Path
) -> None:
    """Gaits take memory; runs of the same gait share it."""
    text = varying(vary, sampling=f"{sampling}\ncount = 100000")
    study = eq.load_study(written(tmp_path, text))
    assert Device("cuda", "float32").size(100_000, count_gaits(study)) == size
