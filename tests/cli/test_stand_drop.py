"""``equipoise stand`` and ``equipoise drop`` as a user meets them.

Most tests run the command line in this process, which saves two seconds each.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from example_robots import example_robot
from said import COMMON_KEYS, FILES, Say, names_in, repeatable, summary_of

import equipoise as eq
from equipoise.simulation.contacts import default_material

COMMAND = [sys.executable, "-m", "equipoise"]
GRAVITY = 9.80665
ENGINES = ["native", "mujoco"]
VERBS = ["stand", "drop"]
OPTIONS = (
    "--engine",
    "--terrain",
    "--dt",
    "--seconds",
    "--seed",
    "--payload",
    "--out",
    "--force",
)


@pytest.mark.parametrize("verb", VERBS)
def test_help_explains_every_option(verb: str, say: Say) -> None:
    """The help names what can be asked for, with units and choices."""
    said = say(verb, "--help")
    assert said.status == 0
    for word in (*OPTIONS, "ROBOT", "LINK=KG", "native", "mujoco", "slope", "stairs"):
        assert word in said.out
    assert ("--height" in said.out) == (verb == "drop")


@pytest.mark.parametrize("engine", ENGINES)
def test_stand_reports_forces_com_and_zmp(
    engine: str, say: Say, tmp_path: Path
) -> None:
    """The ground carries the weight, the ZMP lies below the CoM, inside the soles."""
    out = tmp_path / "out"
    said = say("stand", "itu-biped", "--engine", engine, "--out", out)
    assert said.status == 0, said.err
    assert said.out.startswith("itu-biped stood on flat ground for 3 s.\n")
    assert str(out) in said.out.splitlines()[-1]
    assert names_in(out) == FILES
    figures = summary_of(out)
    assert set(figures) >= COMMON_KEYS
    assert figures["verb"] == "stand"
    assert figures["robot"] == "itu-biped"
    assert figures["engine"] == engine
    assert figures["achieved"] is True
    assert figures["fell_at_s"] is None
    assert figures["duration_s"] == pytest.approx(3.0)
    assert figures["dt_s"] == 1e-3
    assert figures["seed"] == 0
    assert set(figures["com_error_m"]) == {"mean", "max"}
    assert set(figures["zmp_margin_m"]) == {"min", "mean"}
    assert "equipoise" in figures["versions"]

    facts = json.loads(say("info", "itu-biped", "--json").out)
    weight = GRAVITY * facts["mass_kg"]
    assert figures["weight_n"] == pytest.approx(weight)
    assert figures["force_n"]["z"] == pytest.approx(weight, rel=1e-5)
    assert figures["force_n"]["x"] == pytest.approx(0.0, abs=1e-3)
    assert sum(figures["foot_force_n"].values()) == pytest.approx(weight, rel=1e-5)
    assert list(figures["com_m"].values()) == pytest.approx(facts["com_m"], abs=2e-3)
    for axis in "xy":
        assert figures["zmp_m"][axis] == pytest.approx(figures["com_m"][axis], abs=1e-4)
    assert figures["zmp_margin_m"]["min"] > 0.05
    # eight corners share the weight
    sinkage = weight / (8.0 * default_material(eq.load("itu-biped")).stiffness)
    assert figures["sinkage_m"]["mean"] == pytest.approx(sinkage, rel=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_drop_reports_the_impact(engine: str, say: Say, tmp_path: Path) -> None:
    """It lands when a falling body would, hits harder than its weight, and stands."""
    out = tmp_path / "out"
    words = ("--height", "0.05", "--engine", engine, "--out", out)
    said = say("drop", "itu-biped", *words)
    assert said.status == 0, said.err
    assert said.out.startswith("itu-biped landed and stood")
    assert names_in(out) == FILES
    figures = summary_of(out)
    assert set(figures) >= COMMON_KEYS
    assert figures["verb"] == "drop"
    assert figures["engine"] == engine
    assert figures["achieved"] is True
    assert figures["fell_at_s"] is None
    assert figures["height_m"] == 0.05
    assert figures["landed_at_s"] == pytest.approx((0.1 / GRAVITY) ** 0.5, abs=0.015)
    assert figures["peak_force_n"] > 2.0 * figures["weight_n"]
    assert figures["com_m"]["z"] == pytest.approx(0.573, abs=2e-3)


@pytest.mark.parametrize("robot", ["humanoid", "mahru-1", "muscolo-biped"])
def test_robots_of_the_catalogue_stand_and_land(
    robot: str, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the name is needed; without --out nothing is kept."""
    monkeypatch.chdir(tmp_path)
    for verb in VERBS:
        said = say(verb, robot)
        assert said.status == 0, said.out + said.err
        assert said.out.startswith(f"{robot} ")
    assert names_in(tmp_path) == []


def test_a_urdf_of_others_stands(g1_urdf: Path, say: Say, tmp_path: Path) -> None:
    """A real humanoid stands on its feet alone."""
    said = say("stand", g1_urdf, "--seconds", "1", "--out", tmp_path / "out")
    assert said.status == 0, said.err
    figures = summary_of(tmp_path / "out")
    feet = sum(figures["foot_force_n"].values())
    assert feet == pytest.approx(figures["weight_n"], rel=1e-4)


def test_mjcf_and_urdf_are_one_robot(say: Say, tmp_path: Path) -> None:
    """The same robot in another format carries the same forces."""
    forces = []
    for ending in ("urdf", "xml"):
        robot, out = tmp_path / f"robot.{ending}", tmp_path / f"out-{ending}"
        assert say("export", "itu-biped", "--out", robot).status == 0
        said = say("stand", robot, "--seconds", "1", "--out", out)
        robot.with_suffix(".toml").unlink()
        assert said.status == 0, said.err
        forces.append(summary_of(out)["foot_force_n"])
    assert forces[0] == pytest.approx(forces[1], rel=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_payload_raises_the_force_by_its_weight(
    engine: str, say: Say, tmp_path: Path
) -> None:
    """A payload of m kg adds m g; given twice it adds up."""
    folders = {0.0: "without", 2.0: "once", 5.0: "twice"}
    words = {
        0.0: [],
        2.0: ["--payload", "torso=2"],
        5.0: ["--payload", "torso=2", "--payload", "torso=3"],
    }
    forces = {}
    for mass, name in folders.items():
        out = tmp_path / name
        asked = [*words[mass], "--engine", engine, "--out", out]
        assert say("stand", "itu-biped", *asked).status == 0
        figures = summary_of(out)
        assert figures["payload_kg"] == ({"torso": mass} if mass else {})
        forces[mass] = figures["force_n"]["z"]
    for mass in (2.0, 5.0):
        assert forces[mass] - forces[0.0] == pytest.approx(mass * GRAVITY, rel=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "words",
    [
        ["stand", "itu-biped", "--payload", "torso=1000"],
        ["drop", "itu-biped", "--height", "5"],
    ],
    ids=["more than its motors hold", "from the first floor"],
)
def test_a_robot_that_cannot_is_status_1(
    words: list[str], engine: str, say: Say, tmp_path: Path
) -> None:
    """It ran and the robot did not: status 1, and all of it is written."""
    said = say(*words, "--engine", engine, "--out", tmp_path / "out")
    assert said.status == 1, said.err
    assert said.err == ""
    assert names_in(tmp_path / "out") == FILES
    figures = summary_of(tmp_path / "out")
    assert figures["achieved"] is False
    assert set(figures) >= COMMON_KEYS
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Not achieved" in report


def test_a_fall_has_a_time(say: Say, tmp_path: Path) -> None:
    """The time of the fall is in the figures and the sentence."""
    out = tmp_path / "out"
    said = say("stand", "itu-biped", "--payload", "torso=1000", "--out", out)
    fell_at = summary_of(out)["fell_at_s"]
    assert 0.0 < fell_at < summary_of(out)["duration_s"] <= 3.0
    assert f"fell at {fell_at:.2f} s" in said.out


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("verb", VERBS)
def test_the_same_words_give_the_same_bytes(
    verb: str, engine: str, say: Say, tmp_path: Path
) -> None:
    """Only computing time differs between two runs."""
    folders = [tmp_path / "first", tmp_path / "second"]
    asked = [verb, "itu-biped", "--seconds", "0.8", "--engine", engine]
    asked += ["--terrain", "rough", "--seed", "7", "--payload", "torso=1"]
    for out in folders:
        assert say(*asked, "--out", out).status in (0, 1)
    assert repeatable(summary_of(folders[0])) == repeatable(summary_of(folders[1]))
    logs = [(out / "run.mcap").read_bytes() for out in folders]
    assert logs[0] == logs[1]


def test_a_process_of_its_own_gives_the_same_bytes(say: Say, tmp_path: Path) -> None:
    """What ran before does not matter, nor does Python's hash seed."""
    asked = ["stand", "itu-biped", "--seconds", "0.5", "--terrain", "rough"]
    assert say(*asked, "--out", tmp_path / "here").status == 0
    result = subprocess.run(
        [*COMMAND, *asked, "--out", "there"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONHASHSEED": "3", "TERM": "dumb"},
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].strip() == "written: there"
    here, there = tmp_path / "here", tmp_path / "there"
    assert repeatable(summary_of(here)) == repeatable(summary_of(there))
    assert (here / "run.mcap").read_bytes() == (there / "run.mcap").read_bytes()
    # the words that do it again are kept
    command = f"equipoise {' '.join(asked)} --out there"
    assert summary_of(there)["command"] == command
    assert command in (there / "report.html").read_text(encoding="utf-8")


def test_the_seed_is_that_of_rough_ground(say: Say, tmp_path: Path) -> None:
    """Another seed is other ground; both are in the figures."""
    grounds = []
    for seed in (1, 2):
        out = tmp_path / str(seed)
        asked = ["--terrain", "rough", "--seed", str(seed), "--out", out]
        assert say("stand", "itu-biped", "--seconds", "0.5", *asked).status == 0
        figures = summary_of(out)
        assert figures["seed"] == seed
        grounds.append(figures["terrain"])
    assert grounds[0] != grounds[1]


@pytest.mark.parametrize(
    ("terrain", "words"),
    [
        ("slope:3,2", "slope of 3° along x, 2° along y"),
        ("stairs:0.1,0.3,5", "5 stairs up"),
        ("rough:0.01", "rough ground"),
        ("field:{folder}/ground.npy,0.1", "height field"),
        ("field:{folder}/ground.csv,0.1", "height field"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_terrain_of_all_kinds(
    terrain: str, words: str, engine: str, say: Say, tmp_path: Path
) -> None:
    """The ground carries the weight whatever its shape, and is named."""
    heights = np.full((30, 40), 0.3)
    np.save(tmp_path / "ground.npy", heights)
    np.savetxt(tmp_path / "ground.csv", heights, delimiter=",")
    out = tmp_path / "out"
    asked = ["--terrain", terrain.format(folder=tmp_path), "--engine", engine]
    said = say("stand", "itu-biped", "--seconds", "1", *asked, "--out", out)
    assert said.status == 0, said.out + said.err
    figures = summary_of(out)
    assert words in figures["terrain"]
    assert figures["force_n"]["z"] == pytest.approx(figures["weight_n"], rel=1e-2)


@pytest.mark.parametrize("dt", ["0.0005", "0.002"])
def test_the_time_step_changes_little(dt: str, say: Say, tmp_path: Path) -> None:
    """Half and twice the time step give the same stance to a tenth of a millimetre."""
    centres = []
    for name, step in (("usual", "0.001"), ("other", dt)):
        out = tmp_path / name
        assert say("stand", "itu-biped", "--dt", step, "--out", out).status == 0
        figures = summary_of(out)
        assert figures["dt_s"] == float(step)
        assert figures["duration_s"] == pytest.approx(3.0)
        centres.append(list(figures["com_m"].values()))
    assert centres[0] == pytest.approx(centres[1], abs=1e-4)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["nosuch"], "'nosuch'"),
        (["no/such/robot.urdf"], "no/such/robot.urdf"),
        ([""], "neither a catalogue robot nor a file"),
        (["--terrain", "moon"], "'moon'"),
        (["--terrain", "slop:3"], "did you mean 'slope'"),
        (["--terrain", ""], "the choices are"),
        (["--terrain", "flat:1"], "flat:1"),
        (["--terrain", "slope:"], "slope:"),
        (["--terrain", "slope:steep"], "steep"),
        (["--terrain", "slope:90"], "90°"),
        (["--terrain", "slope:nan"], "slope:nan"),
        (["--terrain", "slope:1,2,3"], "slope:1,2,3"),
        (["--terrain", "stairs:0,0.3,5"], "rise"),
        (["--terrain", "stairs:0.1,-0.3,5"], "tread"),
        (["--terrain", "stairs:0.1,0.3,2.5"], "2.5"),
        (["--terrain", "rough:-1"], "-1 m"),
        (["--terrain", "rough:0.1,0"], "wavelength"),
        (["--terrain", "rough", "--seed", "-1"], "seed -1"),
        (["--terrain", "field:nosuch.npy,0.05"], "nosuch.npy"),
        (["--terrain", "field:ground.txt,0.05"], "ground.txt"),
        (["--terrain", "field"], "field:FILE"),
        (["--dt", "0"], "time step of 0 s"),
        (["--dt", "-0.001"], "-0.001"),
        (["--dt", "1e-7"], "1e-07"),
        (["--dt", "0.5"], "0.005"),
        (["--dt", "nan"], "nan"),
        (["--dt", "fast"], "fast"),
        (["--seconds", "0"], "--seconds"),
        (["--seconds", "-1"], "-1 s"),
        (["--seconds", "nan"], "nan"),
        (["--seconds", "inf"], "inf"),
        (["--seconds", "0.0015"], "0.0015"),
        (["--seconds", "soon"], "soon"),
        (["--seed", "1.5"], "1.5"),
        (["--payload", "hat=1"], "'hat'"),
        (["--payload", "torsoo=1"], "did you mean 'torso'"),
        (["--payload", "torso"], "LINK=KG"),
        (["--payload", "torso="], "LINK=KG"),
        (["--payload", "=3"], "LINK=KG"),
        (["--payload", "torso=heavy"], "heavy"),
        (["--payload", "torso=nan"], "nan"),
        (["--payload", "torso=-1"], "'torso' is -1 kg"),
        (["--payload", "torso=0"], "'torso' is 0 kg"),
        (["--payload", "torso=inf"], "inf"),
        (["--engine", "bullet"], "bullet"),
        (["--settings", "nosuch.toml"], "nosuch.toml"),
        (["--nope"], "--nope"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_named_and_nothing_is_written(
    words: list[str],
    named: str,
    say: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line on stderr naming the thing, status 2, no folder, no table."""
    monkeypatch.chdir(tmp_path)
    robot = [] if not words[0].startswith("--") else ["itu-biped"]
    said = say("stand", *robot, *words, "--out", "out")
    assert said.status == 2
    assert said.err.startswith("equipoise: ")
    assert said.err.count("\n") == 1
    assert named in said.err
    assert said.out == ""
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("height", ["-0.1", "nan", "inf", "high"])
def test_bad_heights_are_named(height: str, say: Say, tmp_path: Path) -> None:
    """A drop from nowhere is bad input."""
    said = say("drop", "itu-biped", "--height", height, "--out", tmp_path / "out")
    assert said.status == 2
    assert height in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "robot",
    [
        ("a1_description", "urdf", "a1.urdf"),
        ("panda_description", "urdf", "panda.urdf"),
        ("double_pendulum_description", "urdf", "double_pendulum.urdf"),
    ],
    ids=["quadruped", "arm", "pendulum"],
)
def test_robots_without_feet_are_refused(
    verb: str, robot: tuple[str, ...], say: Say, tmp_path: Path
) -> None:
    """Who has no soles cannot stand: bad input, in one line."""
    said = say(verb, example_robot(*robot), "--out", tmp_path / "out")
    assert said.status == 2
    assert "sole" in said.err or "leg" in said.err
    assert said.err.count("\n") == 1
    assert names_in(tmp_path) == []


def test_soles_in_the_ground_are_refused(say: Say, tmp_path: Path) -> None:
    """Ground that no sole can lie on is bad input, and how deep is said."""
    bumps = np.zeros((41, 41))
    bumps[::2, ::2] = 0.3
    np.save(tmp_path / "bumps.npy", bumps)
    asked = ["--terrain", f"field:{tmp_path}/bumps.npy,0.05"]
    said = say("stand", "itu-biped", *asked, "--out", tmp_path / "out")
    assert said.status == 2
    assert "bumps.npy" in said.err
    assert said.err.count("\n") == 1
    assert names_in(tmp_path) == ["bumps.npy"]


def test_a_run_is_replaced_only_by_force(say: Say, tmp_path: Path) -> None:
    """What lies in the folder is kept unless --force is given."""
    out = tmp_path / "my run"
    asked = ["stand", "three-link", "--seconds", "0.5", "--out", out]
    assert say(*asked).status == 0
    before = (out / "summary.json").read_bytes()
    said = say(*asked, "--seed", "5")
    assert said.status == 2
    assert "my run" in said.err
    assert "exists" in said.err
    assert (out / "summary.json").read_bytes() == before
    assert say(*asked, "--seed", "5", "--force").status == 0
    assert summary_of(out)["seed"] == 5
    assert names_in(tmp_path) == ["my run"]
    assert names_in(out) == FILES


def test_folders_of_others_are_never_replaced(say: Say, tmp_path: Path) -> None:
    """Not even by force: files that are no run's, files instead of folders."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("mine", encoding="utf-8")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    kept = tmp_path / "kept" / "report.html" / "notes.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine", encoding="utf-8")
    for name, message in (
        ("thesis", "chapter.tex"),
        ("kept", "'report.html', which is not a plain file"),
        ("file", "is a file"),
        ("no/such/folder", "does not exist"),
        ("x" * 300, "cannot be written"),
    ):
        said = say("stand", "three-link", "--out", tmp_path / name, "--force")
        assert said.status == 2
        assert message in said.err
        assert said.err.count("\n") == 1
        assert said.out == ""
    assert names_in(tmp_path) == ["file", "kept", "thesis"]
    for file in (tmp_path / "thesis" / "chapter.tex", kept):
        assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_that_cannot_be_written_are_named(say: Say, tmp_path: Path) -> None:
    """A folder without permission is found before anything is simulated."""
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    said = say("stand", "three-link", "--out", locked / "out")
    assert said.status == 2
    assert "locked" in said.err
    assert said.out == ""


@pytest.mark.parametrize("moment", ["simulating", "writing"])
def test_ctrl_c_leaves_what_was_there(
    moment: str, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt leaves no half a folder, and the old run as it was."""
    out = tmp_path / "out"
    asked = ["stand", "three-link", "--seconds", "0.5", "--out", out, "--force"]
    assert say(*asked).status == 0
    before = {name: (out / name).read_bytes() for name in FILES}

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if moment == "simulating":
        monkeypatch.setattr("equipoise.simulation.trials.simulate", interrupt)
    else:
        monkeypatch.setattr("equipoise.log.folder.write_mcap", interrupt)
    said = say(*asked)
    assert said.status == 130
    assert said.err == "equipoise: interrupted\n"
    assert names_in(tmp_path) == ["out"]
    assert {name: (out / name).read_bytes() for name in FILES} == before


def test_a_real_ctrl_c_ends_a_long_run(tmp_path: Path) -> None:
    """A run of an hour that is under way ends at the signal, without a trace."""
    terminal, other_end = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, "stand", "itu-biped", "--seconds", "3600", "--out", "out"],
        stdout=subprocess.PIPE,
        stderr=other_end,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(other_end)
    try:
        # the bar is at zero before the first step
        read_until(terminal, re.compile(rb"\b[1-9]\d*%"))
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        err = read_until(terminal, None)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(terminal)
    assert process.returncode == 130
    assert err.splitlines()[-1].endswith("equipoise: interrupted")
    assert "Traceback" not in err
    assert out == ""
    assert names_in(tmp_path) == []


def read_until(terminal: int, wanted: re.Pattern[bytes] | None) -> str:
    """Return what a terminal shows, until it shows something or its process ends."""
    shown = b""
    while wanted is None or not wanted.search(shown):
        try:
            more = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            more = b""
        if not more:
            assert wanted is None, shown.decode()
            break
        shown += more
    return shown.decode()


def test_a_ctrl_c_that_a_library_swallows_ends_a_run(tmp_path: Path) -> None:
    """Ctrl-C within a finaliser, where Python forgets it, ends the run all the same."""
    script = """
import gc, os, signal, sys
import equipoise.simulation.loop as loop
class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
whole = loop.ControlLoop.run
def run(*args, **kwargs):
    Swallows()
    return whole(*args, **kwargs)
loop.ControlLoop.run = run
from equipoise.cli.main import main
main(["stand", "itu-biped", "--seconds", "30", "--out", "out"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "equipoise: interrupted"
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--dt", "0.003"],
        ["--dt", "0.0007", "--seconds", "0.7"],
        ["--seconds", "0.513"],
        ["--seconds", "0.511", "--engine", "mujoco"],
    ],
)
def test_any_whole_number_of_steps_will_do(options: list[str], say: Say) -> None:
    """Records need not fit into the time; the end is recorded anyway."""
    assert say("stand", "itu-biped", *options).status == 0


def test_a_broken_pipe_keeps_run_and_status(tmp_path: Path) -> None:
    """Whoever reads the table may go early: the folder is there, the status true."""
    words = "drop itu-biped --height 5 --seconds 2 --out kept"
    program = " ".join(COMMAND)
    script = f"set -o pipefail; {program} {words} | head -0; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["1"], done.stderr
    assert (tmp_path / "kept" / "summary.json").is_file()


def test_closed_error_output_is_no_error(tmp_path: Path) -> None:
    """The verb works where nobody can see its progress."""
    program = " ".join(COMMAND)
    done = subprocess.run(
        ["bash", "-c", f"{program} stand itu-biped --seconds 0.5 --out kept 2>&-"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "kept" / "report.html").is_file()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["stand", "itu-biped", "--seconds", "0.1"], "too short to settle"),
        (["drop", "itu-biped", "--height", "20", "--seconds", "1"], "too short"),
        (["drop", "itu-biped", "--height", "1e300"], "from 0 to 100 m"),
        (["stand", "itu-biped", "--payload", "torso=1e300"], "at most 100000 kg"),
        (["stand", "itu-biped", "--seconds", "1e300"], "at most 86400 s"),
        (["stand", "itu-biped", "--terrain", "stairs:0.1,0.3,5,0"], "cannot stand on"),
        (["stand", "itu-biped", "--terrain", "field"], "numbers are missing"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], named: str, say: Say) -> None:
    """Figures that make no trial are bad input, named in one line."""
    said = say(*words)
    assert said.status == 2
    assert named in said.err
