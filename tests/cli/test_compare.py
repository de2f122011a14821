"""``equipoise compare`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from runs import swaying
from said import Say, names_in

SHIFT = np.array([0.01, 0.0, 0.0])


@pytest.fixture
def say(say: Say) -> Say:
    """Run ``equipoise compare`` in this process."""
    return lambda *words: say("compare", *words)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs."""
    folder = tmp_path_factory.mktemp("runs")
    run = swaying()
    run.with_summary({"height_m": 1.0, "engine": "native"}).save(folder / "one")
    other = swaying(seconds=0.8, com=swaying(seconds=0.8).com + SHIFT)
    other.with_summary({"height_m": 1.25, "engine": "native"}).save(folder / "two")
    return folder


def test_tables_in_numbers(say: Say, kept: Path) -> None:
    """Curves over common time, results that differ, how many do not."""
    said = say(kept / "one", kept / "two")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("one and two, 0.00 to 0.80 s\n")
    lines = {line.split("  ")[0].strip(): line for line in said.out.splitlines()}
    assert "0.01" in lines["CoM [m]"]
    assert "1.25" in lines["height_m"]
    assert "+0.25" in lines["height_m"]
    assert "engine" not in lines
    assert "engine" in say(kept / "one", kept / "two", "--all").out
    assert "results are the same" in said.out


def test_json_is_for_machines(say: Say, kept: Path) -> None:
    """Everything, in full precision."""
    said = say(kept / "one", kept / "two", "--json")
    assert said.status == 0
    found = json.loads(said.out)
    assert found["end_s"] == pytest.approx(0.8)
    assert found["curves"][0]["name"] == "CoM"
    assert found["curves"][0]["largest"] == pytest.approx(0.01, abs=1e-4)
    row = next(row for row in found["results"] if row["key"] == "height_m")
    assert row["difference"] == 0.25


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_curves_are_drawn(kind: str, say: Say, kept: Path, tmp_path: Path) -> None:
    """Both runs over each other."""
    out = tmp_path / f"compared.{kind}"
    said = say(kept / "one", kept / "two", "--out", out)
    assert (said.status, said.err) == (0, "")
    assert f"written: {out}" in said.out
    assert out.stat().st_size > 5000
    if kind == "svg":
        text = out.read_text(encoding="utf-8")
        for word in ("CoM x, forward", "ZMP y, left", "Joint angles", "one", "two"):
            assert word in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("one",), "RUN"),
        (("one", "nowhere"), "nowhere"),
        (("one", "one"), "given twice"),
        (("one", "two", "--out", "a.gif"), ".png"),
        (("one", "two", "--out", "no/folder/a.png"), "no/folder"),
        (("one", "two", "--robot", "nobody"), "nobody"),
    ],
)
def test_bad_input_is_one_line(
    words: tuple[str, ...],
    complaint: str,
    say: Say,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Status 2, a line that says what is wrong, nothing written."""
    monkeypatch.chdir(kept)
    said = say(*words)
    assert (said.status, said.out) == (2, "")
    assert complaint in said.err
    assert said.err.count("\n") == 1
    assert names_in(kept) == ["one", "two"]


def test_a_figure_is_not_replaced_unasked(say: Say, kept: Path, tmp_path: Path) -> None:
    """Only --force does."""
    out = tmp_path / "a.svg"
    out.write_text("mine")
    said = say(kept / "one", kept / "two", "--out", out)
    assert said.status == 2
    assert "--force" in said.err
    assert out.read_text() == "mine"
    assert say(kept / "one", kept / "two", "--out", out, "--force").status == 0
