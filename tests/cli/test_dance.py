"""``equipoise dance`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from said import Say


@pytest.fixture
def wave(tmp_path: Path) -> Path:
    """A short motion of both arms."""
    path = tmp_path / "wave.csv"
    rows = ["time,left_shoulder_pitch,right_shoulder_pitch"]
    rows += [
        f"{0.1 * k},{0.1 * min(k, 6 - k)},{-0.1 * min(k, 6 - k)}" for k in range(7)
    ]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_arms_of_a_file_dance(say: Say, wave: Path, tmp_path: Path) -> None:
    """Mahru I unless named; both runs in table, summary and report."""
    out = tmp_path / "run"
    said = say("dance", "--arms", wave, "--out", out)
    assert said.status == 0, said.err
    assert "mahru-1 danced for 0.6 s on flat ground" in said.out
    assert "legs held" in said.out
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["compared"]) == {"legs keep the CoM", "legs held"}
    assert (summary["law"], summary["feedback"]) == ("paper", "sensors")
    page = (out / "report.html").read_text()
    for words in ("Side by side", "held CoM", "left arm", "left leg, legs held"):
        assert words in page
    assert say("dance", "--arms", wave, "--out", out).status == 2


@pytest.mark.parametrize(
    ("words", "law", "knowledge"),
    [
        (("--open-loop",), "servos", "none"),
        (("--true-state", "--law", "stabiliser"), "stabiliser", "true state"),
    ],
)
def test_feedback_is_chosen(
    say: Say,
    wave: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    law: str,
    knowledge: str,
) -> None:
    """Servos alone, or another law, or the true state."""
    out = tmp_path / "run"
    assert say("dance", "--arms", wave, *words, "--out", out).status == 0
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["law"], summary["feedback"]) == (law, knowledge)


def test_arms_beyond_limits_are_one_line(say: Say, tmp_path: Path) -> None:
    """Joint and time are named; status 2."""
    path = tmp_path / "far.csv"
    path.write_text("time,left_elbow\n0,0\n1,2\n2,3\n3,0\n", encoding="utf-8")
    said = say("dance", "--arms", path)
    assert said.status == 2
    assert len(said.err.splitlines()) == 1
    assert "joint 'left_elbow' would be at 2.30" in said.err
    assert "its limits are 0.000 to 2.300" in said.err
    assert str(path) in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("itu-biped",), "has no arms to dance with: give motions of other joints, --"),
        (("--arms", "missing.csv"), "missing.csv: no such file"),
        (("three-link",), "three-link"),
        (("--open-loop", "--true-state"), "not with --open-loop"),
    ],
)
def test_bad_input_is_one_line(say: Say, words: tuple[str, ...], message: str) -> None:
    """Status 2 and what is wrong."""
    said = say("dance", *words)
    assert said.status == 2
    assert len(said.err.splitlines()) == 1
    assert message in said.err
