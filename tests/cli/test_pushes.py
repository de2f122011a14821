"""``--push`` and ``--friction`` of the verbs that simulate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from said import Say, names_in, summary_of

import equipoise as eq
from equipoise.simulation.world import horizontal_push, with_friction

ENGINES = ["native", "mujoco"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_push_in_the_air_changes_the_momentum_by_its_impulse(
    engine: str, say: Say, tmp_path: Path
) -> None:
    """Σ J = m Δv in the direction asked for, whatever link is pushed."""
    out = tmp_path / "out"
    pushes = ("--push", "7@90@0.1@torso", "--push", "2@180@0.15")
    words = ("--height", "1.2", "--seconds", "1.1", "--engine", engine)
    say("drop", "humanoid", *words, *pushes, "--out", out)
    run = eq.open_run(out)
    row = int(np.searchsorted(run.time, 0.4))
    velocity = np.gradient(run.com, run.time, axis=0)[row]
    expected = np.array([-2.0, 7.0]) / run.robot.mass
    np.testing.assert_allclose(velocity[:2], expected, rtol=1e-3, atol=1e-5)


def test_pushes_are_told(say: Say, tmp_path: Path) -> None:
    """In table, summary, events and report; the time is a third of the run."""
    out = tmp_path / "out"
    said = say("stand", "itu-biped", "--push", "1@-90", "--out", out)
    assert said.status == 0, said.err
    assert "1 N s towards −90°, 1 to 1.1 s" in said.out
    (push,) = summary_of(out)["pushes"]
    assert push["link"] == "torso"
    assert push["impulse_ns"] == pytest.approx(1.0)
    assert push["direction_deg"] == pytest.approx(-90.0)
    assert push["force_n"]["y"] == pytest.approx(-10.0)
    assert (push["start_s"], push["duration_s"]) == (1.0, 0.1)
    assert "pushed at torso" in next(e.text for e in eq.open_run(out).events)
    assert "push at torso" in (out / "report.html").read_text(encoding="utf-8")


def test_a_walk_is_pushed_after_a_third_of_it(say: Say, tmp_path: Path) -> None:
    """Its duration is known once it is planned; a strong push fells it."""
    out = tmp_path / "out"
    words = ("--steps", "2", "--push", "40@90", "--out", out)
    assert say("walk", "itu-biped", *words).status == 1
    figures = summary_of(out)
    (push,) = figures["pushes"]
    assert 0.5 < push["start_s"] < figures["fell_at_s"]
    assert push["impulse_ns"] == pytest.approx(40.0)


@pytest.mark.parametrize(("friction", "holds"), [("0.3", True), ("0.1", False)])
def test_a_robot_holds_on_a_slope_up_to_its_friction(
    friction: str, holds: bool, say: Say, tmp_path: Path
) -> None:
    """On 10° (tan 0.18) it stands with a coefficient above that and slides below."""
    out = tmp_path / "out"
    words = ("--terrain", "slope:10", "--seconds", "1", "--out", out)
    said = say("stand", "itu-biped", "--friction", friction, *words)
    assert said.status == (0 if holds else 1), said.out + said.err
    contact = summary_of(out)["contact"]
    assert contact["static_friction"] == float(friction)
    assert contact["dynamic_friction"] == pytest.approx(0.875 * float(friction))
    com = eq.open_run(out).com
    assert (np.linalg.norm(com[-1] - com[0]) < 0.02) == holds


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--push", "20"), "NS@DEG[@S][@LINK]"),
        (("--push", ""), "NS@DEG[@S][@LINK]"),
        (("--push", "a@b"), "NS@DEG[@S][@LINK]"),
        (("--push", "0@90"), "must be positive"),
        (("--push", "nan@90"), "must be positive"),
        (("--push", "1e9@90"), "at most"),
        (("--push", "5@inf"), "finite direction"),
        (("--push", "5@0@-1"), "0 s or later"),
        (("--push", "5@0@1@tail"), "no link 'tail'"),
        (("--push", "5@0@tail"), "no link 'tail'"),
        (("--push", "5@0@1e6"), "after the end"),
        (("--friction", "-0.1"), "from 0 to"),
        (("--friction", "nan"), "from 0 to"),
        (("--friction", "rubber"), "--friction"),
    ],
)
@pytest.mark.parametrize("verb", ["stand", "drop", "walk"])
def test_bad_pushes_and_frictions_are_one_line(
    verb: str,
    words: tuple[str, ...],
    complaint: str,
    say: Say,
    tmp_path: Path,
) -> None:
    """Status 2, a line that names what is wrong, nothing written."""
    said = say(verb, "itu-biped", *words, "--out", tmp_path / "out")
    assert said.status == 2
    assert complaint in said.err
    assert said.err.count("\n") == 1
    assert names_in(tmp_path) == []


def test_the_help_explains_them(say: Say) -> None:
    """Units, directions and defaults are named."""
    for verb in ("stand", "drop", "walk"):
        text = " ".join(say(verb, "--help").out.replace("│", " ").split())
        assert "NS@DEG[@S][@LINK]" in text
        assert "90 to the left" in text
        assert "--friction" in text


def test_the_paper_is_not_pushed(say: Say) -> None:
    """Its experiment has a floor of its own, and no pushes."""
    for words in (("--push", "5@0"), ("--friction", "0.4")):
        said = say("walk", "itu-biped", "--paper", *words)
        assert said.status == 2
        assert f"{words[0]} cannot be changed" in said.err


def test_a_push_acts_at_a_links_centre_of_mass() -> None:
    """Of the torso, or of the root link where there is none."""
    robot = eq.load("humanoid")
    push = horizontal_push(robot, 10.0, 0.0, 1.0)
    assert push.link == robot.limbs["torso"].end_link
    inertial = robot.description.link_by_name[push.link].inertial
    assert inertial is not None
    np.testing.assert_allclose(push.point_in_link, inertial.com_in_link)
    np.testing.assert_allclose(push.force_in_world * push.duration, [10.0, 0.0, 0.0])
    with pytest.raises(eq.EquipoiseError, match="longer than 0 s"):
        horizontal_push(robot, 10.0, 0.0, 1.0, duration=0.0)


def test_friction_leaves_the_rest_of_a_world_alone() -> None:
    """Stiffness, damping and the ratio of both coefficients stay."""
    world = eq.make_world(eq.load("itu-biped"))
    other = with_friction(world, 0.4)
    assert other.material.stiffness == world.material.stiffness
    assert other.material.damping == world.material.damping
    assert other.material.dynamic_friction == pytest.approx(0.35)
    assert other.robot is world.robot
