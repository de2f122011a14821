from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.cli.main import run
from equipoise.errors import EquipoiseError
from equipoise.simulation.paper_walk import PaperSetup, PaperWalk, Printed, paper_walk


@pytest.fixture(scope="module")
def done() -> PaperWalk:
    """The experiment, once."""
    return paper_walk(eq.load("itu-biped"))


def test_every_method_has_a_row_of_finite_figures(done: PaperWalk) -> None:
    """Each method's errors are finite, ordered, and its time is positive."""
    assert [row.key for row in done.rows] == ["ccg", "constant", "exact", "filtered"]
    for row in done.rows:
        assert np.isfinite([row.mean, row.largest, row.smallest]).all()
        assert 0.0 <= row.smallest <= row.mean <= row.largest
        assert row.time_a_point > 0.0
        assert 0 <= row.steps <= done.setup.steps


def test_algorithm_1_walks_with_half_the_printed_error(done: PaperWalk) -> None:
    """It walks six steps, its ZMP inside, its mean error half the paper's or less."""
    ccg = done.rows[0]

    assert done.walks
    assert ccg.mean <= 0.5 * Printed().mean
    assert ccg.largest <= Printed().largest
    assert ccg.zmp_inside >= 0.95


def test_solved_errors_keep_their_tolerances(done: PaperWalk) -> None:
    """Before simulation: Algorithm 1 within 1 mm, ours within 1 nm, constant not."""
    solved = {row.key: row.solver_error for row in done.rows}

    assert solved["ccg"] < 1e-3
    assert solved["exact"] <= 1e-9
    assert solved["filtered"] <= 1e-9
    assert solved["constant"] > 1e-2


def test_constant_vector_does_much_worse(done: PaperWalk) -> None:
    """Fallen or not, its CoM is ten times as far off, its ZMP outside its plan."""
    rows = {row.key: row for row in done.rows}

    assert rows["constant"].mean > 10.0 * rows["ccg"].mean
    assert rows["constant"].zmp_inside < 0.6
    assert not rows["constant"].in_place
    assert rows["exact"].mean < rows["ccg"].mean
    assert rows["filtered"].mean < rows["exact"].mean


def test_fast_steps_need_the_dynamics_filter() -> None:
    """At 0.8 s a step exact and published CoM both fall; the filtered one walks."""
    fast = paper_walk(eq.load("itu-biped"), PaperSetup(step_time=0.8))
    fell = {row.key: row.fell_at is not None for row in fast.rows}

    assert not fast.walks
    assert fell["ccg"]
    assert fell["exact"]
    assert not fell["filtered"]


def test_a_walk_beside_its_plan_is_none() -> None:
    """With points every 5 ms CCG stays up, but ends far from where it was to go."""
    dense = paper_walk(eq.load("itu-biped"), PaperSetup(period=0.005))
    ccg = dense.rows[0]

    assert ccg.fell_at is None
    assert ccg.end_error > 0.1
    assert not dense.walks
    assert dense.run.summary["achieved"] is False


def test_other_robots_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, status 2: from Python and from the command line."""
    with pytest.raises(EquipoiseError, match=r"itu-biped, not of mahru-1"):
        paper_walk(eq.load("mahru-1"))

    assert run(["walk", "mahru-1", "--paper"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--length", "0.2"],
        ["--terrain", "rough"],
        ["--servo"],
        ["--payload", "torso=1"],
    ],
)
def test_the_papers_gait_is_not_changed(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Options that would make it another experiment are refused by name."""
    assert run(["walk", "itu-biped", "--paper", *words]) == 2
    assert words[0] in capsys.readouterr().err


def test_folder_holds_the_table(
    tmp_path: Path, done: PaperWalk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints the table and writes it with Algorithm 1's run."""
    out = tmp_path / "run"

    status = run(["walk", "itu-biped", "--paper", "--out", str(out)])

    text = capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert status == 0
    assert "0.0238" in text
    assert text.count("assumed: ") == len(done.assumptions)
    assert summary["paper"]["printed"]["com_error_m"]["max"] == 0.0559
    for row in done.rows:
        error = summary["paper"][row.key]["com_error_m"]
        assert error["mean"] == pytest.approx(row.mean, rel=1e-6)
