"""``equipoise poses`` as a user meets it: what it prints, writes and refuses."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from said import Say

import equipoise as eq

FEW = ("--count", "6", "--candidates", "60")


@pytest.fixture
def say(say: Say) -> Say:
    """Run ``equipoise poses`` in this process."""
    return lambda *words: say("poses", *words)


def test_table_sentence_and_file(say: Say, tmp_path: Path) -> None:
    """A row for each pose, the sentence, and joints by name."""
    out = tmp_path / "poses.csv"
    said = say("mahru-1", *FEW, "--out", out)
    assert (said.status, said.err) == (0, "")
    assert "6 chosen poses determine the CoM to ±" in said.out
    assert "random poses need" in said.out
    assert f"written: {out}" in said.out
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    robot = eq.load("mahru-1")
    assert list(rows[0]) == ["pose", *list(robot.model.names)[2:]]
    assert sorted(int(row["pose"]) for row in rows) == [1, 2, 3, 4, 5, 6]
    assert np.isfinite([float(value) for row in rows for value in row.values()]).all()


def test_same_seed_same_file(say: Say, tmp_path: Path) -> None:
    """The seed decides; another gives other poses."""
    texts = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        out = tmp_path / f"{name}.csv"
        assert say("itu-biped", *FEW, "--seed", seed, "--out", out).status == 0
        texts.append(out.read_text())
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_stances_and_notices(say: Say) -> None:
    """Placements are numbered; what has no shapes is said."""
    said = say("mahru-1", *FEW, "--stances", "2")
    assert said.status == 0, said.err
    assert "placement" in said.out
    assert "have no shapes" in said.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("three-link",), "points or a line"),
        (("mahru-1", "--count", "0"), "--count 0"),
        (("mahru-1", "--count", "9", "--candidates", "8"), "--count 9"),
        (("mahru-1", "--seed", "-1"), "--seed -1"),
        (("mahru-1", "--stances", "0", *FEW), "0 stances"),
        (("mahru-1", "--margin", "2", *FEW), "not possible"),
        (("mahru-1", "--measured", "nowhere.csv"), "nowhere.csv"),
        (("no-such-robot",), "no-such-robot"),
    ],
)
def test_bad_input_is_one_line(
    words: tuple[str, ...], complaint: str, say: Say
) -> None:
    """Exit status 2, a line that says what is wrong, nothing printed."""
    said = say(*words)
    assert (said.status, said.out) == (2, "")
    assert complaint in said.err
    assert said.err.count("\n") == 1


def test_a_file_is_not_replaced_unasked(say: Say, tmp_path: Path) -> None:
    """Only --force does."""
    out = tmp_path / "poses.csv"
    out.write_text("mine")
    said = say("itu-biped", *FEW, "--out", out)
    assert said.status == 2
    assert "--force" in said.err
    assert out.read_text() == "mine"
    assert say("itu-biped", *FEW, "--out", out, "--force").status == 0
    assert out.read_text().startswith("pose,")
