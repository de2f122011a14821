"""``equipoise trajectory`` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from runs import swaying
from said import Say, names_in

import equipoise as eq


@pytest.fixture
def say(say: Say) -> Say:
    """Run ``equipoise trajectory`` in this process."""
    return lambda *words: say("trajectory", *words)


def test_a_planned_walk(say: Say, tmp_path: Path) -> None:
    """Walk's options plan it; the file replays as a log of the robot."""
    out = tmp_path / "walk.csv"
    words = ("--steps", "1", "--length", "0.1", "--rate", "100")
    said = say("itu-biped", *words, "--out", out)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("planned walk of itu-biped: 12 joints, ")
    assert f"written: {out}" in said.out
    robot = eq.load("itu-biped")
    motion = eq.solve(robot, eq.fit_walk(robot, 1, length=0.1))
    run = eq.open_run(out, robot)
    planned = motion.com[np.searchsorted(motion.time, run.time - 1e-9)]
    assert np.abs(run.com - planned).max() < 1e-6


def test_a_run(say: Say, tmp_path: Path) -> None:
    """Its joints as they were, in a bag of one message for joints, one for the base."""
    swaying().save(tmp_path / "run")
    said = say(tmp_path / "run", "--out", tmp_path / "run.mcap")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("run of humanoid: 29 joints, 101 points in 1.00 s")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("itu-biped",), "--out FILE is needed"),
        (("itu-biped", "--out", "walk.txt"), ".csv or .mcap"),
        (("itu-biped", "--out", "no/folder/walk.csv"), "no/folder"),
        (("itu-biped", "--out", "walk.csv", "--rate", "0"), "--rate 0"),
        (("itu-biped", "--out", "walk.csv", "--rate", "nan"), "--rate nan"),
        (("itu-biped", "--out", "walk.csv", "--length", "9"), "9"),
        (("itu-biped", "--out", "walk.csv", "--terrain", "sea"), "sea"),
        (("no-such-robot", "--out", "walk.csv"), "no-such-robot"),
        (("run", "--out", "walk.csv", "--steps", "3"), "--steps is for a walk to plan"),
        (("run", "--out", "walk.csv", "--terrain", "stairs"), "--terrain is for"),
    ],
)
def test_bad_input_is_one_line(
    words: tuple[str, ...],
    complaint: str,
    say: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Status 2, a line that says what is wrong, nothing written."""
    monkeypatch.chdir(tmp_path)
    swaying(seconds=0.1).save("run")
    said = say(*words)
    assert (said.status, said.out) == (2, "")
    assert complaint in said.err
    assert said.err.count("\n") == 1
    assert names_in(tmp_path) == ["run"]


def test_a_file_is_not_replaced_unasked(say: Say, tmp_path: Path) -> None:
    """Only --force does."""
    out = tmp_path / "walk.csv"
    out.write_text("mine")
    swaying(seconds=0.1).save(tmp_path / "run")
    said = say(tmp_path / "run", "--out", out)
    assert said.status == 2
    assert "--force" in said.err
    assert out.read_text() == "mine"
    assert say(tmp_path / "run", "--out", out, "--force").status == 0
    assert out.read_text().startswith("time,")
