"""``equipoise push --map`` as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from said import Say, names_in

import equipoise as eq
from equipoise.simulation.push_trial import (
    TRIAL_COLUMNS,
    PushOutcome,
    PushTrial,
    trial_row,
)
from equipoise.study.push_grid import PushGrid
from equipoise.study.push_map import identity, make_scene
from equipoise.study.store import ResultStore, store_beside

FILES = ["push_map.csv", "push_map.svg", "report.html", "summary.json", "trials.csv"]


@pytest.fixture
def push(say: Say) -> Say:
    """Run ``equipoise push`` in this process."""
    return lambda *words: say("push", *words)


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return a CSV file's rows by its head."""
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def kept_trials(out: Path, identity: dict[str, Any]) -> ResultStore:
    """Return the store of a map that was interrupted."""
    return ResultStore(store_beside(out), identity, TRIAL_COLUMNS)


def test_a_map_of_one_push(push: Say, tmp_path: Path) -> None:
    """A trial in a process of its own; folder, table and status."""
    out = tmp_path / "map"
    words = ("--phases", "0", "--directions", "1", "--impulse-most", "0.1")
    said = push("humanoid", "--map", *words, "--jobs", "1", "--out", out)
    assert said.status == 0, said.err
    assert "humanoid survives pushes of 0.1 N s/kg standing" in said.out
    assert "≥0.10" in said.out
    assert names_in(tmp_path) == ["map"]
    assert names_in(out) == FILES
    (trial,) = rows_of(out / "trials.csv")
    assert (trial["survived"], trial["within_limits"]) == ("True", "True")
    (cell,) = rows_of(out / "push_map.csv")
    assert float(cell["survived_nspkg"]) == 0.1
    again = push("humanoid", "--map", *words, "--out", out)
    assert again.status == 2
    assert "--force replaces it" in again.err


def test_a_map_goes_on_and_is_drawn(push: Say, tmp_path: Path) -> None:
    """Trials that were kept are not done again: here they are all there."""
    out, grid = tmp_path / "map", PushGrid(phases=8, impulse_most=0.4)
    scene = make_scene(eq.load("mahru-1"), grid)
    with kept_trials(out, identity(scene, grid)) as store:
        for cell in grid.cells:
            for impulse in grid.impulses:
                up = impulse < 0.25 or cell.direction_deg == 0.0
                trial = PushTrial(*cell, impulse, 0)
                outcome = PushOutcome(up, None if up else 4.0, within_limits=up)
                store.append(trial_row(trial, outcome))
    said = push("mahru-1", "--map", "--impulse-most", "0.4", "--out", out)
    assert said.status == 0, said.err
    assert "phase 0.875" in said.out
    assert names_in(tmp_path) == ["map"]
    results = json.loads((out / "summary.json").read_text())
    assert len(results["map"]) == 72
    assert results["trials"] == len(rows_of(out / "trials.csv")) == 288
    assert results["walk"]["supporting_foot"] == "left"
    cells = {(c["phase"], c["direction_deg"]): c for c in results["map"]}
    assert cells[None, 0.0]["survived_nspkg"] == 0.4
    assert cells[None, 0.0]["at_least"]
    assert cells[0.5, 90.0]["survived_nspkg"] == 0.2
    page = (out / "report.html").read_text()
    for part in ("which the left foot carries", "phase 0.125", "288 trials"):
        assert part in page
    assert (out / "push_map.svg").read_bytes().startswith(b"<?xml")


def test_trials_of_another_map_are_refused(push: Say, tmp_path: Path) -> None:
    """One line, status 2; they stay where they are."""
    out, grid = tmp_path / "map", PushGrid(phases=0)
    scene = make_scene(eq.load("humanoid"), grid)
    with kept_trials(out, identity(scene, grid)) as store:
        store.append(trial_row(PushTrial(None, 0.0, 0.1, 0), PushOutcome(True)))
    said = push("humanoid", "--map", "--phases", "0", "--seeds", "2", "--out", out)
    assert said.status == 2
    assert "holds results of something else: another seeds;" in said.err
    assert len(said.err.splitlines()) == 1
    assert names_in(tmp_path) == [store_beside(out).name]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--map",), "--map needs --out DIR"),
        (("--map", "--out", "out", "--impulse", "3"), "--impulse cannot be chosen"),
        (("--map", "--out", "out", "--find-limit"), "--find-limit cannot be chosen"),
        (("--map", "--out", "out", "--open-loop"), "--law whole-body or"),
        (("--map", "--out", "out", "--law", "paper"), "--law whole-body or"),
        (("--map", "--out", "out", "--kp", "1", "--kc", "2"), "for --law paper"),
        (("--map", "--out", "out", "--phases", "-1"), "-1 phases"),
        (("--map", "--out", "out", "--impulse-step", "nan"), "must be positive"),
        (("--map", "--out", "out", "--jobs", "0"), "1 or more"),
        (("--map", "--out", "out", "--seeds", "1000"), "--long does it"),
        (("--map", "--out", "out", "--at", "nose"), "no link 'nose'"),
        (("--map", "--out", "out", "--dt", "1"), "time step"),
        (("--impulse", "3", "--phases", "4"), "--phases is for --map"),
        (("--find-limit", "--bisect"), "--bisect is for --map"),
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
    said = push("humanoid", *words)
    assert said.status == 2
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert names_in(tmp_path) == []
