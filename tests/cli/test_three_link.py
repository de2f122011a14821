"""``equipoise three-link`` as a user meets it."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from said import Say, names_in, summary_of

from equipoise.cli.main import run
from equipoise.planar import gait_search
from equipoise.planar.classic import ClassicGait, GaitResults
from equipoise.planar.gait import PlanarGait

STEPS = 3


class Walked(NamedTuple):
    """A walk by the command line: its gait, status, words and folder."""

    gait: PlanarGait
    status: int
    out: str
    folder: Path


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    """A gait of 0.8 m/s, found and walked from a start that is 10 % off."""
    folder = tmp_path_factory.mktemp("three_link") / "walk"
    kept = []
    find = gait_search.find_gait

    def finds(*given: Any) -> PlanarGait:
        kept.append(find(*given))
        return kept[0]

    said = io.StringIO()
    words = f"three-link --gait --speed 0.8 --perturb -0.1 --steps {STEPS} --out"
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        patch.setattr(gait_search, "find_gait", finds)
        status = run([*words.split(), str(folder)])
    return Walked(kept[0], status, said.getvalue(), folder)


@pytest.fixture
def three_link(say: Say) -> Say:
    """Run ``equipoise three-link`` in this process."""
    return lambda *words: say("three-link", *words)


def test_a_gait_is_found_and_walked(walked: Walked) -> None:
    """The table says what the gait needs, and status 0 that it walked."""
    assert walked.status == 0
    assert f"walked {STEPS} of {STEPS} steps" in walked.out
    assert "largest eigenvalue of its Poincaré map is 0.75" in walked.out
    for words in ("step length", "friction needed", "cost of transport", "slope, zero"):
        assert words in walked.out


def test_the_folder_of_a_walk(walked: Walked) -> None:
    """It holds results, report, film, figure and table, and they agree."""
    folder = walked.folder
    assert names_in(folder) == [
        "report.html",
        "summary.json",
        "walk.csv",
        "walk.gif",
        "walk.png",
    ]
    results = summary_of(folder)
    assert results["verb"] == "three-link"
    assert results["achieved"] is True
    assert results["gait"]["speed_mps"] == pytest.approx(0.8, abs=0.004)
    assert results["full_model"]["largest_eigenvalue"] == pytest.approx(
        results["zero_dynamics"]["slope"], abs=1e-4
    )
    with (folder / "walk.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    end = float(rows[-1]["time_s"])
    assert end == pytest.approx(results["duration_s"], rel=1e-12)
    last = results["distance_m"] - float(rows[-1]["stance_foot_x_m"])
    assert last == pytest.approx(results["gait"]["step_length_m"], rel=0.02)
    assert (folder / "walk.gif").read_bytes().startswith(b"GIF89a")
    assert (folder / "walk.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert results["sentence"] in page


def test_a_fall_is_status_1(
    walked: Walked, three_link: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A start that is far off falls in its first step; a report says so."""
    monkeypatch.setattr(gait_search, "find_gait", lambda *given: walked.gait)
    said = three_link("--perturb", "-0.95", "--out", tmp_path / "fell")
    assert said.status == 1
    assert "walked 0 of 20 steps" in said.out
    assert "falls backwards" in said.out
    assert names_in(tmp_path / "fell") == ["report.html", "summary.json"]
    assert summary_of(tmp_path / "fell")["achieved"] is False


def test_a_sweep(
    walked: Walked, three_link: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A row for each speed, as a table, as CSV and as JSON."""
    asked = []

    def finds(parameters: Any, speeds: Any, limits: Any) -> list[PlanarGait]:
        asked.append((parameters.leg_mass, list(speeds), limits.friction))
        return [walked.gait for _ in speeds]

    monkeypatch.setattr(gait_search, "find_gaits", finds)
    words = "--sweep 0.4 1.2 --speeds 3 --leg-mass 4 --friction 0.5 --json --out"
    said = three_link(*words.split(), tmp_path / "sweep")
    assert said.status == 0
    assert asked == [(4.0, [0.4, pytest.approx(0.8), 1.2], 0.5)]
    assert len(json.loads(said.out)["gaits"]) == 3
    table = (tmp_path / "sweep" / "sweep.csv").read_text(encoding="utf-8")
    assert len(table.splitlines()) == 4
    assert table.startswith("speed_mps,step_length_m")


def test_the_classic_gaits(
    walked: Walked, three_link: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways side by side, their difference, and where it comes from."""
    full = GaitResults(1.6, 56.0, 0.8, 0.7, 0.9, 0.55, 1499.0, 0.1, 148.0, 0.5)
    zero = GaitResults(1.6, 56.0, 0.8, 0.7, 0.9, 0.55, 749.5, 0.1, 148.0, 0.5)
    errors = np.zeros(2), np.zeros(2)
    found = [ClassicGait("constant-torso", walked.gait, full, zero, *errors)]
    monkeypatch.setattr("equipoise.planar.classic.classic", lambda: found)
    said = three_link("--classic")
    assert said.status == 0
    assert "constant torso" in said.out
    assert "100.0 %" in said.out
    assert "invariant under impact" in said.out


def test_equations_are_latex(three_link: Say, tmp_path: Path) -> None:
    """Eq. 1 to 20 of both models, printed or as a document."""
    said = three_link("--equations")
    assert said.status == 0
    for number in range(1, 21):
        assert said.out.count(f"\\tag{{{number}}}") == 2
    assert said.out.count("z_{e}") > 2
    out = tmp_path / "equations.tex"
    assert three_link("--equations", "--out", out).status == 0
    text = out.read_text(encoding="utf-8")
    assert text.startswith("\\documentclass")
    for opening in ("align", "matrix", "bmatrix", "document"):
        begins, ends = (
            text.count(f"\\{word}{{{opening}}}") for word in ("begin", "end")
        )
        assert begins == ends > 0
    assert three_link("--equations", "--out", out).status == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--leg-mass 0", "the leg mass must be positive, not 0"),
        ("--torso-mass -2", "the torso mass must be positive, not -2"),
        ("--torso-length 1e-9", "the lengths degenerate"),
        ("--gravity nan", "the gravity must be finite"),
        ("--speed -1", "a walking speed is positive"),
        ("--eigenvalue 1.5", "eigenvalue lies between 0 and 1"),
        ("nobody", "there is no walker 'nobody'; the walkers are: seed, classic"),
        ("nofile.toml", "nofile.toml: no such file"),
        ("bad.toml", "bad.toml: unknown key 'leg_mas' (did you mean 'leg_mass'?)"),
        ("heavy.toml", "heavy.toml: the leg mass must be positive, not -1"),
        ("--equations --classic", "--equations and --classic cannot be given together"),
        ("--classic --speed 1", "--speed goes with --gait, not with --classic"),
        ("classic --classic", "another robot goes with --gait or --sweep"),
        ("--basin --sweep 0.4 1", "--basin goes with --gait, not with --sweep"),
        ("--steps 0", "there must be 1 or more"),
        ("--steps 100000", "--long does it all the same"),
        ("--perturb nan", "--perturb must be finite"),
        ("--sweep 0.4", "--sweep needs 2 values"),
        ("--sweep 0.4 x", "--sweep '0.4' 'x': numbers are needed"),
        ("--sweep 1 1", "--sweep needs two speeds"),
        ("--sweep 0.4 1 --speeds 1", "--speeds 1; there must be 2 or more"),
        ("--equations --out here.txt", "equations are written to FILE.tex"),
        ("--out no/where", "does not exist"),
    ],
)
def test_bad_input(
    words: str,
    named: str,
    three_link: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line, status 2, nothing written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("leg_mas = 5\n", encoding="utf-8")
    lengths = "leg_length = 1\ntorso_length = 0.5\nhip_mass = 15\ntorso_mass = 10\n"
    (tmp_path / "heavy.toml").write_text(f"{lengths}leg_mass = -1\n", encoding="utf-8")
    said = three_link(*words.split())
    assert (said.status, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert names_in(tmp_path) == ["bad.toml", "heavy.toml"]


def test_a_walker_of_ones_own(
    walked: Walked, three_link: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file gives masses and lengths, options change them, the speed fits the leg."""
    asked = []

    def finds(parameters: Any, speed: float, limits: Any) -> PlanarGait:
        asked.append((parameters, speed))
        return walked.gait

    monkeypatch.setattr(gait_search, "find_gait", finds)
    file = tmp_path / "mine.toml"
    file.write_text(
        "leg_length = 0.8\ntorso_length = 0.4\nleg_mass = 3\nhip_mass = 9\n"
        "torso_mass = 8\n",
        encoding="utf-8",
    )
    assert three_link(file, "--hip-mass", "10", "--steps", "1").status == 0
    parameters, speed = asked[0]
    assert parameters.values() == (0.8, 0.4, 3.0, 10.0, 8.0, 9.80665)
    assert speed == pytest.approx(0.7)
