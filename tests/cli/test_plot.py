"""``equipoise plot`` as a user meets it: what it draws, refuses, says and leaves."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import parse

import pytest
from runs import swaying
from said import Say

from equipoise.robot.load import load
from equipoise.show.charts.quantities import WHAT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def say(say: Say) -> Say:
    """Run ``equipoise plot`` in this process."""
    return lambda *words: say("plot", *words)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs."""
    folder = tmp_path_factory.mktemp("runs")
    swaying().save(folder / "one")
    swaying(seconds=0.6).save(folder / "two")
    return folder


def words_in(path: Path) -> set[str]:
    """Return the texts of a figure."""
    return {element.text or "" for element in parse(path).iter(f"{SVG}text")}


def test_help_and_list_name_all(say: Say) -> None:
    """The help names every chart; the list says what they are."""
    said = say("--help")
    assert said.status == 0
    for word in (*WHAT, "--out", "--from", "--to", "--joints", "--dpi", "RUN", "MM"):
        assert word in said.out
    said = say("any", "--what", "list")
    assert said.status == 0
    assert all(name in said.out and WHAT[name] in said.out for name in WHAT)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_figure_is_written(kind: str, say: Say, kept: Path, tmp_path: Path) -> None:
    """From a folder, and from its log alone; the name is printed."""
    for source in (kept / "one", kept / "one" / "run.mcap"):
        out = tmp_path / f"{source.name}.{kind}"
        said = say(source, "--out", out)
        assert (said.status, said.err) == (0, "")
        assert said.out == f"written: {out}\n"
        assert out.stat().st_size > 5000


def test_what_is_asked_for_is_drawn(say: Say, kept: Path, tmp_path: Path) -> None:
    """Charts by name, joints by name, a part of the time."""
    out = tmp_path / "a.svg"
    said = say(
        *(kept / "one", "--what", "joints,ground", "--joints", "left_knee"),
        *("--from", "0.2", "--to", "0.4", "--out", out),
    )
    assert said.status == 0, said.err
    words = words_in(out)
    assert {"left_knee", "From above (dots: start)", "time [s]"} <= words
    assert "right_knee" not in words
    assert "left the ground" not in words


def test_runs_are_compared(say: Say, kept: Path, tmp_path: Path) -> None:
    """A line for each run, called like its folder; all that both have."""
    out = tmp_path / "a.svg"
    said = say(kept / "one", kept / "two", "--what", "all", "--out", out)
    assert said.status == 0, said.err
    words = words_in(out)
    assert {"one", "two", "Forces of the ground: left foot, normal"} <= words


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--out", "a.gif"], ".png, .svg, .pdf"),
        ([], "--out FILE is needed"),
        (["--out", "a.png", "--what", "cmo"], "did you mean 'com'?"),
        (["--out", "a.png", "--what", ","], "--what list"),
        (["--out", "a.png", "--from", "7"], "the run is from 0 to 1 s"),
        (["--out", "a.png", "--from", "2", "--to", "1"], "nothing lies between"),
        (["--out", "a.png", "--to", "nan"], "nothing lies between"),
        (["--out", "a.png", "--what", "joints", "--joints", "left_kne"], "left_knee"),
        (["--out", "a.png", "--width", "0"], "30 to 2000 mm"),
        (["--out", "a.png", "--height", "nan"], "30 to 2000 mm"),
        (["--out", "a.png", "--dpi", "1"], "20 to 1200"),
        (["--out", "no/a.png"], "does not exist"),
    ],
)
def test_bad_words_are_one_line(
    words: list[str],
    named: str,
    say: Say,
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Status 2, one line that says what is possible, nothing written."""
    monkeypatch.chdir(tmp_path)
    said = say(kept / "one", *words)
    assert said.status == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert list(tmp_path.iterdir()) == []


def test_runs_that_cannot_be_compared(say: Say, kept: Path, tmp_path: Path) -> None:
    """No run, none there, too many, the same twice, the ground of two."""
    out, one, two = tmp_path / "a.png", kept / "one", kept / "two"
    for words, named in (
        ([], "0 runs"),
        ([kept / "none"], "none"),
        ([one] * 5, "from 1 to 4"),
        ([one, one], "twice"),
        ([one, two, "--what", "ground"], "shows one run"),
    ):
        said = say(*words, "--out", out)
        assert said.status == 2, words
        assert named in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_only_by_force(say: Say, kept: Path, tmp_path: Path) -> None:
    """What is there stays, unless one says so."""
    out = tmp_path / "a.svg"
    out.write_text("mine")
    said = say(kept / "one", "--out", out)
    assert said.status == 2
    assert "--force replaces it" in said.err
    assert out.read_text() == "mine"
    assert say(kept / "one", "--out", out, "--force").status == 0
    assert "CoM x, forward" in words_in(out)


def test_a_log_with_a_robot_is_drawn(say: Say, tmp_path: Path) -> None:
    """Logs that do not describe their robot can be drawn, too, with a note."""
    file, out = tmp_path / "a.csv", tmp_path / "a.svg"
    names = [joint for leg in load("humanoid").legs.values() for joint in leg.joints]
    rows = [",".join(["t", *names])]
    rows += [",".join([f"{0.1 * at:.1f}", *["0.1"] * len(names)]) for at in range(5)]
    file.write_text("\n".join(rows), encoding="utf-8")
    assert "name the robot: --robot URDF" in say(file, "--out", out).err
    said = say(file, "--robot", "humanoid", "--out", out, "--what", "com,joints")
    assert said.status == 0
    assert "note: the log has no pose of the base" in said.err
    assert "CoM" in words_in(out)


def test_what_a_log_lost_is_told(say: Say, kept: Path, tmp_path: Path) -> None:
    """A figure of a part of a run does not pass for one of the whole."""
    whole = (kept / "one" / "run.mcap").read_bytes()
    cut = tmp_path / "run.mcap"
    cut.write_bytes(whole[:-500])
    said = say(cut, "--out", tmp_path / "a.png")
    assert said.status == 0
    assert said.err.startswith("note: run.mcap is")


def test_no_joint_is_no_choice(say: Say, kept: Path, tmp_path: Path) -> None:
    """An empty list of joints is a slip, and the message says so."""
    words = ("--what", "joints", "--joints", ",")
    said = say(kept / "one", "--out", tmp_path / "a.png", *words)
    assert said.status == 2
    assert "--joints names none" in said.err
