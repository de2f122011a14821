"""``equipoise reach`` and ``walk --to-box`` as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest
from said import Say, names_in

from equipoise.log.open_run import open_run


def test_a_reach_is_a_run(say: Say, tmp_path: Path) -> None:
    """A table, and a run folder with log and report; status 0 if it gets there."""
    out = tmp_path / "run"
    said = say("reach", "humanoid", "--to", "0.4,-0.2,1.0", "--out", out)
    assert said.status == 0
    assert "humanoid reached (0.4, -0.2, 1) m with its right hand" in said.out
    assert "hand off its goal" in said.out
    assert names_in(out) == ["report.html", "run.mcap", "summary.json"]
    summary = open_run(out).summary
    assert summary["remaining_m"] < 0.015
    assert summary["feedback"] == "sensors"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "mujoco"])
def test_too_far_is_said(say: Say, engine: str) -> None:
    """Status 1; the robot has not fallen, and says how far it got and why."""
    said = say("reach", "humanoid", "--to", "1.5,-0.3,0.9", "--engine", engine)
    assert said.status == 1
    assert "did not reach (1.5, -0.3, 0.9) m" in said.out
    assert "m remain, limited by balance" in said.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--to", "0.4,0.2"], "X,Y,Z is needed"),
        (["--to", "0.4,0.2,nan"], "three finite numbers"),
        (["--to", "0.4,0.2,-1"], "below the ground"),
        (["--to", "0.4,0.2,1", "--hand", "third"], "left, right"),
    ],
)
def test_bad_goals(say: Say, words: list[str], complaint: str) -> None:
    """One line, status 2."""
    said = say("reach", "humanoid", *words)
    assert said.status == 2
    assert complaint in said.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--torque", "--to-box", "1.5"], "needs a force to push with"),
        (["--to-box", "1.5", "--push-force", "40"], "told torques: give --torque"),
        (["--push-force", "40"], "are for --to-box"),
        (
            ["--torque", "--to-box", "1.5", "--push-force", "40", "--steps", "4"],
            "--steps cannot be chosen with --to-box",
        ),
        (["--torque", "--to-box", "0.1", "--push-force", "40"], "nearer than"),
        (["--torque", "--to-box", "1.5", "--push-force", "900"], "at most"),
    ],
)
def test_bad_boxes(say: Say, words: list[str], complaint: str) -> None:
    """One line, status 2."""
    said = say("walk", "humanoid", *words)
    assert said.status == 2
    assert complaint in said.err
