"""The command line as a user meets it: in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "equipoise"]


def run(
    *words: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line and return what it said."""
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        timeout=120,
        check=False,
    )


def test_help_names_the_verbs() -> None:
    """The help lists every verb, and no verb at all gives the help."""
    for words in ([], ["--help"]):
        result = run(*words)
        assert result.returncode == 0
        for verb in ("robots", "info", "export"):
            assert verb in result.stdout


def test_help_loads_nothing_heavy() -> None:
    """Neither NumPy nor Pinocchio nor Warp is imported to print the help."""
    code = (
        "import sys; from equipoise.cli.main import run\n"
        "try: run(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pinocchio', 'warp', 'mujoco', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_info_does_not_load_warp_or_mujoco(g1_urdf: Path) -> None:
    """A URDF is shown without the simulation libraries."""
    code = (
        "import sys; from equipoise.cli.main import run\n"
        f"status = run(['info', {str(g1_urdf)!r}])\n"
        "heavy = {'warp', 'mujoco'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else status)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_version() -> None:
    """--version prints name and number."""
    assert re.fullmatch(r"equipoise \d+\.\d+\.\d+\n", run("--version").stdout)


def test_robots_lists_the_catalogue() -> None:
    """Every robot of the catalogue has a row."""
    result = run("robots")
    assert result.returncode == 0
    for name in ("mahru-1", "itu-biped", "muscolo-biped", "three-link", "humanoid"):
        assert name in result.stdout


def test_info_as_json(humanoid_urdf: Path) -> None:
    """The promised keys are there for a robot nobody prepared."""
    result = run("info", humanoid_urdf, "--json")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["mass_kg"] == pytest.approx(sum(r["mass_kg"] for r in facts["links"]))
    assert len(facts["com_m"]) == 3
    assert facts["dof"] == facts["joints"] + 6
    assert isinstance(facts["warnings"], list)
    for side in ("left", "right"):
        leg = facts["legs"][side]
        assert len(leg["joints"]) == 6
        assert 0.3 < leg["length_m"] < 1.2
        assert leg["sole"]["from"] == "collision geometry"
        assert len(leg["sole"]["size_m"]) == 2
        assert leg["sole"]["link"]
        assert len(facts["arms"][side]["joints"]) == 7


def test_keys_are_the_same_without_arms() -> None:
    """A robot without arms has null for them, so that readers need not ask."""
    facts = json.loads(run("info", "itu-biped", "--json").stdout)
    assert facts["arms"] == {"left": None, "right": None}


def test_info_for_people() -> None:
    """The text shows mass, centre of mass, limbs, soles and assumptions."""
    result = run("info", "mahru-1", "--links")
    assert result.returncode == 0, result.stderr
    for word in ("mass", "centre of mass", "left leg", "sole", "assumed", "left_arm"):
        assert word in result.stdout


def test_export_is_read_back(tmp_path: Path) -> None:
    """An exported robot is the same robot: mass, CoM, limbs, soles."""
    for name in ("mahru.urdf", "mahru.xml"):
        out = tmp_path / name
        assert run("export", "mahru-1", "--out", out).returncode == 0
        facts = [
            json.loads(run("info", source, "--json").stdout)
            for source in ("mahru-1", out)
        ]
        assert facts[0]["com_m"] == pytest.approx(facts[1]["com_m"], abs=1e-9)
        assert facts[0]["mass_kg"] == pytest.approx(facts[1]["mass_kg"])
        for side in ("left", "right"):
            legs = [f["legs"][side] for f in facts]
            assert legs[0]["joints"] == legs[1]["joints"]
            assert legs[0]["sole"]["size_m"] == pytest.approx(legs[1]["sole"]["size_m"])
        out.with_suffix(".toml").unlink()


def test_exported_mjcf_has_the_actuators_asked_for(tmp_path: Path) -> None:
    """Servos unless motors are asked for; for a URDF that is bad input."""
    out = tmp_path / "r.xml"
    assert run("export", "itu-biped", "--out", out).returncode == 0
    assert "<position " in out.read_text(encoding="utf-8")
    words = ("--actuators", "motor")
    assert run("export", "itu-biped", "--out", out, "--force", *words).returncode == 0
    assert "<motor " in out.read_text(encoding="utf-8")
    result = run("export", "itu-biped", "--out", tmp_path / "r.urdf", *words)
    assert result.returncode == 2
    assert "--actuators is for MJCF" in result.stderr
    assert not (tmp_path / "r.urdf").exists()


def test_export_does_not_replace_files(tmp_path: Path) -> None:
    """An existing file is kept unless --force is given."""
    out = tmp_path / "robot.urdf"
    out.write_text("mine", encoding="utf-8")
    result = run("export", "itu-biped", "--out", out)
    assert result.returncode == 2
    assert "robot.urdf" in result.stderr
    assert out.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [out]
    assert run("export", "itu-biped", "--out", out, "--force").returncode == 0
    assert out.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "mahru"], "did you mean 'mahru-1'"),
        (["info", "no/such/robot.urdf"], "no such file"),
        (["info", "."], "is a folder"),
        (["info", ""], "neither a catalogue robot nor a file"),
        (["export", "mahru-1", "--out", "robot.obj"], "robot.obj"),
        (["export", "mahru-1", "--out", "no/such/folder/r.urdf"], "no/such/folder"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    words: list[str], message: str, tmp_path: Path
) -> None:
    """Bad input gives one line on stderr, nothing on stdout, no file."""
    result = run(*words, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [["juggle"], ["info"], ["info", "mahru-1", "--nope"], ["export", "mahru-1"]],
)
def test_wrong_words_are_one_line_and_status_2(words: list[str]) -> None:
    """Wrong words on the command line are bad input as well."""
    result = run(*words)
    assert result.returncode == 2
    assert result.stderr.startswith("equipoise: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["info", "mahru-1"], ["robots"], ["--help"]])
def test_a_reader_that_goes_away_is_no_error(words: list[str]) -> None:
    """``equipoise … | head -1`` ends quietly with status 0."""
    command = " ".join([*COMMAND, *words])
    script = f"({command}; echo $? >&2) | head -1"
    result = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False
    )
    assert result.stderr in ("0\n", ""), result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", ["info mahru-1", "info mahru-1 --json", "robots"])
def test_a_full_disk_is_said(words: str) -> None:
    """Output that cannot be written is one line, not a traceback."""
    script = f"{' '.join(COMMAND)} {words} > /dev/full"
    result = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "cannot be written" in result.stderr
    assert result.stderr.count("\n") == 1


def test_complaints_are_printable() -> None:
    """Escape sequences in names do not reach the terminal."""
    result = run("info", "a\x1b[31mb\u202e.urdf")
    assert result.returncode == 2
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr


def test_quadruped_is_refused(tmp_path: Path) -> None:
    """A robot that is no biped is bad input where two legs are needed."""
    from example_robots import example_robot

    result = run("info", example_robot("a1_description", "urdf", "a1.urdf"))
    assert result.returncode == 2
    assert "needs a left and a right leg" in result.stderr
