"""``equipoise pose`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from said import Say, names_in

import equipoise as eq


@pytest.fixture(scope="module")
def poses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that ``equipoise poses`` wrote."""
    from equipoise.cli.main import run

    path = tmp_path_factory.mktemp("poses") / "poses.csv"
    few = ("--count", "4", "--candidates", "40", "--out", str(path))
    assert run(["poses", "mahru-1", *few]) == 0
    return path


@pytest.fixture
def say(say: Say) -> Say:
    """Run ``equipoise pose`` in this process."""
    return lambda *words: say("pose", *words)


def test_a_pose_is_shown_and_written(say: Say, poses: Path, tmp_path: Path) -> None:
    """Base, joints and CoM; the JSON file holds the same."""
    out = tmp_path / "pose.json"
    said = say("mahru-1", poses, "2", "--out", out)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("pose 2 of mahru-1: CoM (")
    assert "inside the support polygon" in said.out
    assert f"written: {out}" in said.out
    assert "not flat" not in said.out
    facts = json.loads(out.read_text())
    robot = eq.load("mahru-1")
    assert list(facts["joints"]) == list(robot.model.names)[2:]
    np.testing.assert_allclose(eq.com(robot, facts["q"]), facts["com_m"], atol=1e-12)
    assert facts["sole_height_difference_m"] < 1e-7


def test_settings_with_the_posture(say: Say, poses: Path, tmp_path: Path) -> None:
    """A TOML file gives the robot the posture."""
    out = tmp_path / "pose.toml"
    assert say("mahru-1", poses, "2", "--out", out).status == 0
    assert "pose_2" in eq.load("mahru-1", out).postures


def test_the_viewer_shows_it(say: Say, poses: Path) -> None:
    """The address is printed last."""
    words = ("--view", "--seconds", "0", "--port", "8720")
    said = say("mahru-1", poses, "1", *words)
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[-1].startswith("http://127.0.0.1:87")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("mahru-1", "POSES", "7"), "has no pose 7"),
        (("mahru-1", "POSES", "first"), "first"),
        (("mahru-1", "POSES"), "N"),
        (("mahru-1", "nowhere.csv", "1"), "nowhere.csv"),
        (("three-link", "POSES", "1"), "another robot"),
        (("no-such-robot", "POSES", "1"), "no-such-robot"),
        (("mahru-1", "POSES", "1", "--out", "pose.csv"), ".json or .toml"),
        (("mahru-1", "POSES", "1", "--out", "no/folder/p.json"), "no/folder"),
        (("mahru-1", "POSES", "1", "--view", "--seconds", "-1"), "--seconds -1"),
    ],
)
def test_bad_input_is_one_line(
    words: tuple[str, ...],
    complaint: str,
    say: Say,
    poses: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Status 2, a line that says what is wrong, nothing written."""
    monkeypatch.chdir(tmp_path)
    said = say(*(poses if word == "POSES" else word for word in words))
    assert (said.status, said.out) == (2, "")
    assert complaint in said.err
    assert said.err.count("\n") == 1
    assert names_in(tmp_path) == []


def test_a_file_is_not_replaced_unasked(say: Say, poses: Path, tmp_path: Path) -> None:
    """Only --force does."""
    out = tmp_path / "pose.json"
    out.write_text("mine")
    said = say("mahru-1", poses, "1", "--out", out)
    assert said.status == 2
    assert "--force" in said.err
    assert out.read_text() == "mine"
    assert say("mahru-1", poses, "1", "--out", out, "--force").status == 0
