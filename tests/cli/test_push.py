"""``equipoise push`` as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from said import Say, names_in

from equipoise.log.open_run import open_run


@pytest.fixture
def push(say: Say) -> Say:
    """Run ``equipoise push`` in this process."""
    return lambda *words: say("push", *words)


def test_one_push_is_a_run(push: Say, tmp_path: Path) -> None:
    """A table, and a run folder with log and report; status 0 if the robot stands."""
    out = tmp_path / "run"
    said = push("humanoid", "--impulse", "8", "--open-loop", "--out", out)
    assert said.status == 0
    assert "stood after a push of 8 N s towards 0°" in said.out
    for words in ("theoretical limit J*", "impulse over J*", "soles slip"):
        assert words in said.out
    assert names_in(out) == ["report.html", "run.mcap", "summary.json"]
    assert open_run(out).summary["feedback"] == "none"


def test_a_push_that_is_too_hard(push: Say) -> None:
    """Status 1, with the reason."""
    said = push("humanoid", "--impulse", "60", "--at", "pelvis", "--pull")
    assert said.status == 1
    assert "after a pull of 60 N s towards 180°" in said.out


def test_several_directions(push: Say, tmp_path: Path) -> None:
    """A row for each, and a folder with table, picture and report."""
    out = tmp_path / "pushes"
    words = ("--impulse", "9", "--direction", "0", "--direction", "90")
    said = push("humanoid", *words, "--open-loop", "--out", out)
    assert said.status == 0
    assert "stood after 2 of 2 pushes of 9 N s" in said.out
    files = ["pushes.csv", "pushes.svg", "report.html", "summary.json"]
    assert names_in(out) == files
    again = push("humanoid", *words, "--open-loop", "--out", out)
    assert again.status == 2
    assert "--force replaces it" in again.err


def test_limits_are_found(push: Say, tmp_path: Path) -> None:
    """Impulse, impulse over mass and over J*, with and without feedback."""
    out = tmp_path / "limits"
    words = ("--find-limit", "--directions", "1", "--true-state")
    said = push("humanoid", *words, "--out", out)
    assert said.status == 0
    assert "% of J*" in said.out
    assert "without feedback [N s]" in said.out
    results = json.loads((out / "summary.json").read_text())
    (row,) = results["directions"]
    assert "not all weaker pushes were tried" in results["sentence"]
    assert results["feedback"] == "true state"
    assert results["link"] == "torso"
    assert row["limit_fraction"] == row["impulse_ns"] / row["theoretical_limit_ns"]
    with (out / "pushes.csv").open(newline="") as file:
        (kept,) = csv.DictReader(file)
    assert float(kept["impulse_ns"]) == row["impulse_ns"]
    assert (out / "pushes.svg").read_bytes().startswith(b"<?xml")
    page = (out / "report.html").read_text()
    for part in ("theoretical limit J*", "What must hold afterwards"):
        assert part in page


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "--impulse NS is missing"),
        (("--impulse", "3", "--find-limit"), "give no --impulse"),
        (("--impulse", "-3"), "must be positive"),
        (("--impulse", "nan", "--directions", "4"), "must be positive"),
        (("--impulse", "3", "--direction", "nan"), "must be finite"),
        (("--impulse", "3", "--at", "nose"), "no link 'nose'"),
        (("--find-limit", "--directions", "0"), "1 to 360"),
        (("--find-limit", "--direction", "0", "--directions", "2"), "not both"),
        (("--impulse", "3", "--open-loop", "--true-state"), "--true-state"),
        (("--impulse", "3", "--seconds", "1"), "too short"),
        (("--find-limit", "--dt", "1e-6"), "1e-06"),
    ],
)
def test_bad_input(
    words: tuple[Any, ...],
    named: str,
    push: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line, status 2, nothing written."""
    monkeypatch.chdir(tmp_path)
    said = push("humanoid", *words, "--out", "out")
    assert said.status == 2
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--law", "paper", "--kp", "3", "--kc", "2"),
            "k_c > k_p > 0 does not hold; stable ones near to them are k_p = 1.8/s",
        ),
        (("--law", "paper", "--kp", "3"), "--kp and --kc are given together"),
        (("--kp", "1", "--kc", "2"), "are for --law paper"),
        (("--law", "paper", "--open-loop"), "not with --open-loop"),
    ],
)
def test_gains_of_the_paper_are_checked(
    push: Say, words: tuple[str, ...], message: str
) -> None:
    """One line, status 2."""
    said = push("humanoid", "--impulse", "5", *words)
    assert said.status == 2
    assert message in said.err
    assert len(said.err.splitlines()) == 1


def test_the_paper_s_law_pushes(push: Say, tmp_path: Path) -> None:
    """The law is part of the results; unstable gains are used if forced."""
    out = tmp_path / "run"
    words = ("--law", "paper", "--seconds", "2", "--out", out)
    assert push("mahru-1", "--impulse", "4", *words).status == 0
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["law"], summary["feedback"]) == ("paper", "sensors")
    forced = ("--kp", "0.4", "--kc", "0.3", "--force-gains", "--true-state")
    words = ("--law", "paper", "--seconds", "2", *forced)
    assert push("mahru-1", "--impulse", "1", *words).status in (0, 1)
