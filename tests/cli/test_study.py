"""``equipoise study`` as a user meets it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from said import Say, names_in
from study.studies import STANDING, varying, written

from equipoise.study.run_study import FILES
from equipoise.study.store import ResultStore, store_beside


@pytest.fixture
def study(say: Say) -> Say:
    """Run ``equipoise study`` in this process."""
    return lambda *words: say("study", *words)


def test_a_study_of_two_walks(study: Say, tmp_path: Path) -> None:
    """Without a GPU a line says so; table, folder and status; not twice."""
    file = written(tmp_path, varying("friction = [0.5, 0.9]", "sensors.noise = 0.0"))
    out = tmp_path / "out"
    said = study(file, "--out", out, "--jobs", "1", "--on", "gpu")
    assert said.status == 0, said.err
    assert "2 runs of walk with itu-biped: 2 of 2 survived" in said.out
    assert names_in(tmp_path) == ["out", "study.toml"]
    assert names_in(out) == sorted(FILES)
    with (out / "table.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["friction"] for row in rows] == ["0.5", "0.9"]
    if "runs on cores" in said.err:
        assert said.err == "equipoise: no GPU was found: it runs on cores\n"
    again = study(file, "--out", out)
    assert again.status == 2
    assert "--force replaces it" in again.err


def test_a_dry_run_writes_nothing(study: Say, tmp_path: Path) -> None:
    """Runs, time and memory."""
    file = written(tmp_path)
    said = study(file, "--dry-run", "--jobs", "2")
    assert said.status == 0, said.err
    for words in ("24 (random)", "at a time", "memory", "GB"):
        assert words in said.out
    assert names_in(tmp_path) == ["study.toml"]


def test_an_example_is_written(study: Say, tmp_path: Path) -> None:
    """Once; --force replaces it."""
    file = tmp_path / "mine.toml"
    assert study("--write-example", file).status == 0
    assert file.read_text().startswith("# A study")
    assert "--force replaces it" in study("--write-example", file).err
    assert study("--write-example", file, "--force").status == 0


def test_results_of_another_study_are_refused(study: Say, tmp_path: Path) -> None:
    """One line, status 2; they stay where they are."""
    out = tmp_path / "out"
    with ResultStore(store_beside(out), {"verb": "walk"}, ["x"]) as store:
        store.write([(0, [1])])
    said = study(written(tmp_path), "--out", out)
    assert said.status == 2
    assert "holds results of something else" in said.err
    assert len(said.err.splitlines()) == 1
    assert names_in(tmp_path) == [store_beside(out).name, "study.toml"]


@pytest.mark.parametrize(
    ("words", "text", "named"),
    [
        (("--out", "out"), STANDING.replace("torso.com.x", "torso.cmo.x"), "torso.com"),
        (("--out", "out"), STANDING.replace("0.05 }", "-0.05 }"), "range is empty"),
        (("--out", "out"), "format = 2", "is not TOML"),
        (("--out", "out", "--on", "moon"), STANDING, "choose from cores, gpu, ray"),
        (("--out", "out", "--jobs", "0"), STANDING, "1 or more"),
        (("--out", "no/out"), STANDING, "does not exist"),
        ((), STANDING, "--out DIR is missing"),
    ],
)
def test_bad_input(
    words: tuple[Any, ...],
    text: str,
    named: str,
    study: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line, status 2, nothing written."""
    monkeypatch.chdir(tmp_path)
    said = study(written(tmp_path, text), *words)
    assert said.status == 2
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert names_in(tmp_path) == ["study.toml"]


def test_a_file_is_needed(study: Say) -> None:
    """And where to get one is said."""
    assert "--write-example" in study().err
