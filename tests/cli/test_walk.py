"""``equipoise walk`` as a user meets it: what it does, refuses, says and leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from said import COMMON_KEYS, FILES, Say, names_in, repeatable, summary_of

OPTIONS = (
    "--engine",
    "--terrain",
    "--dt",
    "--seed",
    "--payload",
    "--out",
    "--force",
    "--steps",
    "--length",
    "--sideways",
    "--turn",
    "--step-time",
    "--double-support",
    "--clearance",
    "--com-height",
    "--first",
    "--method",
    "--footsteps",
    "--unfiltered",
    "--actuators",
    "--bandwidth",
    "--unknown-payload",
    "--velocity",
    "--seconds",
    "--open-loop",
    "--true-state",
    "--unknown-terrain",
    "--torque",
    "--wave",
    "--arms",
)


@pytest.fixture
def say(say: Say) -> Say:
    """Run ``equipoise walk`` in this process."""
    return lambda *words: say("walk", *words)


def test_help_explains_every_option(say: Say) -> None:
    """The help names what can be asked for, with units and choices."""
    said = say("--help")
    assert said.status == 0
    for word in (*OPTIONS, "ROBOT", "native", "mujoco", "lipm", "preview", "degrees"):
        assert word in said.out


def test_a_walk_is_told_and_written(say: Say, tmp_path: Path) -> None:
    """Six steps by default: sentence, table, figures, log and report."""
    out = tmp_path / "out"
    said = say("itu-biped", "--out", out)
    assert said.status == 0, said.err
    assert said.err == ""
    assert said.out.startswith("itu-biped walked 6 of 6 steps on flat ground")
    assert str(out) in said.out.splitlines()[-1]
    assert names_in(out) == FILES
    figures = summary_of(out)
    assert set(figures) >= COMMON_KEYS
    assert figures["verb"] == "walk"
    assert figures["achieved"] is True
    assert figures["steps_done"] == figures["steps_wanted"] == 6
    assert figures["feedback"] == "sensors"
    assert figures["com_error_from_stance_m"]["mean"] <= 4e-3
    assert figures["zmp_inside_feet_fraction"] >= 0.95
    gait = figures["gait"]
    assert gait["steps"] == 6
    assert gait["length_m"] > 0.0
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "walk itu-biped" in report


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--length", "0.1"], {"length_m": 0.1}),
        (["--length", "-0.1"], {"length_m": -0.1}),
        (["--length", "0", "--sideways", "0.06"], {"length_m": 0.0}),
        (["--length", "0.1", "--turn", "10"], {"length_m": 0.1}),
        (["--step-time", "1"], {"step_time_s": 1.0}),
        (["--double-support", "0.4"], {"double_support_fraction": 0.4}),
        (["--clearance", "0.03"], {"clearance_m": 0.03}),
        (["--com-height", "0.55"], {"com_height_m": 0.55}),
        (["--first", "left"], {"first": "left"}),
        (["--method", "preview"], {"method": "preview"}),
        (["--terrain", "slope:3"], {}),
        (["--terrain", "rough:0.003,0.5"], {}),
        (
            ["--terrain", "stairs:0.03,0.26,8,0.15", "--length", "0.26"],
            {"length_m": None},
        ),
        (["--actuators", "ideal"], {}),
        (["--bandwidth", "4"], {}),
        (["--unknown-payload", "torso=0.2"], {}),
        (["--engine", "mujoco"], {}),
        (["--payload", "torso=2"], {}),
        (["--open-loop"], {}),
        (["--true-state"], {}),
        (["--unknown-terrain", "rough:0.01", "--seed", "1"], {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_reach_the_gait(
    words: list[str], expected: dict[str, object], say: Say, tmp_path: Path
) -> None:
    """What is asked for is walked, and told as it was asked."""
    out = tmp_path / "out"
    said = say("itu-biped", "--steps", "2", *words, "--out", out)
    assert said.status == 0, said.out + said.err
    figures = summary_of(out)
    assert figures["steps_done"] == 2
    gait = figures["gait"]
    assert {name: gait[name] for name in expected} == expected


def test_one_step_is_a_walk(say: Say) -> None:
    """A single step is done, and said."""
    said = say("itu-biped", "--steps", "1")
    assert said.status == 0
    assert said.out.startswith("itu-biped walked 1 of 1 steps")


def test_slippery_ground_is_warned_of_before_the_walk(say: Say) -> None:
    """What friction is needed is on stderr, and why it fell in the sentence."""
    said = say("itu-biped", "--torque", "--steps", "2", "--friction", "0.02")
    assert said.status == 1
    assert said.err.startswith(
        "warning: the walk needs a coefficient of friction of 0."
    )
    assert "the ground has 0.02" in said.err
    assert "its feet began to slip at" in said.out.splitlines()[0]


def test_footsteps_of_a_file(say: Say, tmp_path: Path) -> None:
    """As many steps as the file has, and no length of a steady walk."""
    steps = tmp_path / "steps.csv"
    steps.write_text("side,x,y\nright,0.1,-0.13\nleft,0.1,0.13\n")
    said = say("itu-biped", "--footsteps", steps, "--out", tmp_path / "out")
    assert said.status == 0, said.err
    figures = summary_of(tmp_path / "out")
    assert figures["steps_wanted"] == 2
    assert figures["gait"]["length_m"] is None


def test_a_fall_is_status_1(say: Say, tmp_path: Path) -> None:
    """The robot ran and fell: status 1, when and after which step; all is written."""
    out = tmp_path / "out"
    fast = ("--unfiltered", "--step-time", "0.65", "--open-loop")
    said = say("itu-biped", *fast, "--out", out)
    assert said.status == 1
    assert said.err == ""
    figures = summary_of(out)
    assert figures["achieved"] is False
    assert 0 < figures["steps_done"] < 6
    told = f"fell at {figures['fell_at_s']:.2f} s, after {figures['steps_done']} of 6"
    assert told in said.out
    assert names_in(out) == FILES
    assert "Not achieved" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--length", "2"], "longer than the legs of itu-biped allow"),
        (["--length", "0.5", "--step-time", "0.73"], "its limit is 7.00 rad/s"),
        (["--length", "nan"], "length is nan"),
        (["--sideways", "1"], "step 4 (left foot"),
        (["--sideways", "inf"], "sideways is inf"),
        (["--turn", "90"], "step 1: the right foot"),
        (["--turn", "nan"], "turn is nan"),
        (["--step-time", "0"], "is 0 s; it must be more than 0 s"),
        (["--step-time", "-1"], "is -1 s; it must be more than 0 s"),
        (["--step-time", "nan"], "is nan s"),
        (["--step-time", "0.2"], "its limit is 7.00 rad/s"),
        (["--double-support", "1"], "less than 1"),
        (["--double-support", "-0.1"], "at least 0"),
        (["--clearance", "0"], "clearance is 0 m"),
        (["--clearance", "0.4"], "'left_knee' is at its upper limit, 2.200"),
        (["--com-height", "2"], "at most 0.6"),
        (["--com-height", "0"], "more than 0.0057"),
        (["--steps", "0"], "a walk of 0 steps"),
        (["--steps", "-1"], "a walk of -1 steps"),
        (["--steps", "1.5"], "--steps"),
        (["--first", "up"], "left, right"),
        (["--method", "guess"], "lipm, preview"),
        (["--footsteps", "absent.csv"], "absent.csv: no such file"),
        (["--footsteps", "absent.txt"], ".csv or .toml"),
        (["--terrain", "stairs:0.5,0.3,3"], "step 2 (left foot"),
        (["--terrain", "slope:30"], "30.0° steep"),
        (["--terrain", "moon"], "moon"),
        (["--payload", "wing=1"], "wing"),
        (["--unknown-terrain", "moon"], "there is no terrain 'moon'"),
        (["--unknown-terrain", "slope:5"], "is in the ground"),
        (["--open-loop", "--true-state"], "--true-state is for feedback"),
        (["--arms", "yaw"], "--arms yaw is for --torque"),
        (["--wave", "right"], "no right arm to wave with"),
        (["--actuators", "ideal", "--true-state"], "not with --actuators ideal"),
        (["--dt", "0"], "time step of 0 s"),
        (["--engine", "ode"], "native, mujoco"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_status_2(
    words: list[str],
    named: str,
    say: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is written, and the line says what is wrong and what is possible."""
    monkeypatch.chdir(tmp_path)
    said = say("itu-biped", *words, "--out", "out")
    assert said.status == 2
    assert said.out == ""
    assert said.err.startswith("equipoise: ")
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert "Traceback" not in said.err
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("side,x,y\nright,nan,-0.1\n", "line 2 (step 1): x is 'nan'"),
        ("side,x,y\nright,0.1,-0.13\nleft,inf,0.1\n", "line 3 (step 2): x is 'inf'"),
        ("side,x,y\nright,5,-0.13\n", "step 1 (right foot"),
        ("side,x,y\nright,0.0,0.13\n", "step 1"),
        ("side,x,y\nright,0.1,-0.13,1\n", "has 4 columns"),
        ("side,x,y\n", "holds no steps"),
        ("", "the first line must name"),
    ],
    ids=["nan", "inf", "far", "onto the other", "columns", "none", "empty"],
)
def test_bad_footsteps_name_file_and_step(
    text: str, named: str, say: Say, tmp_path: Path
) -> None:
    """A line that cannot be, or a step that legs cannot do, is named."""
    steps = tmp_path / "steps.csv"
    steps.write_text(text)
    said = say("itu-biped", "--footsteps", steps, "--out", tmp_path / "out")
    assert said.status == 2
    assert len(said.err.splitlines()) == 1
    assert named in said.err
    assert names_in(tmp_path) == ["steps.csv"]


@pytest.mark.parametrize(
    ("robot", "named"),
    [("three-link", "at least five"), ("muscolo-biped", "no hip roll joint")],
)
def test_legs_that_cannot_walk_are_told(robot: str, named: str, say: Say) -> None:
    """Robots with too few joints are refused by what is missing, not simulated."""
    said = say(robot)
    assert said.status == 2
    assert named in said.err
    assert len(said.err.splitlines()) == 1


def test_a_length_that_joints_do_not_allow_is_refused(
    icub_urdf: Path, say: Say, tmp_path: Path
) -> None:
    """The default is shortened to what joints allow; what is asked for is not."""
    said = say(icub_urdf, "--steps", "2", "--length", "0.25", "--out", tmp_path / "o")
    assert said.status == 2
    assert "cannot follow the gait at " in said.err
    assert names_in(tmp_path) == []


def test_a_folder_with_a_run_is_not_overwritten(say: Say, tmp_path: Path) -> None:
    """Only --force replaces it; without, nothing is even computed."""
    out = tmp_path / "out"
    assert say("itu-biped", "--steps", "1", "--out", out).status == 0
    before = (out / "summary.json").read_bytes()
    said = say("itu-biped", "--steps", "2", "--out", out)
    assert said.status == 2
    assert (out / "summary.json").read_bytes() == before
    assert say("itu-biped", "--steps", "2", "--out", out, "--force").status == 0
    assert summary_of(out)["steps_done"] == 2


def test_the_same_words_give_the_same_bytes(say: Say, tmp_path: Path) -> None:
    """Only computing time differs between two runs."""
    folders = [tmp_path / "first", tmp_path / "second"]
    asked = ["itu-biped", "--steps", "1", "--turn", "5", "--terrain", "slope:2"]
    for out in folders:
        assert say(*asked, "--out", out).status == 0
    assert repeatable(summary_of(folders[0])) == repeatable(summary_of(folders[1]))
    logs = [(out / "run.mcap").read_bytes() for out in folders]
    assert logs[0] == logs[1]


def test_without_a_folder_nothing_is_kept(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the table remains."""
    monkeypatch.chdir(tmp_path)
    assert say("itu-biped", "--steps", "1").status == 0
    assert names_in(tmp_path) == []


def test_a_walk_by_velocity_is_told_and_written(say: Say, tmp_path: Path) -> None:
    """Distance, velocities and steps, in a folder as of any walk."""
    out = tmp_path / "out"
    said = say("itu-biped", "--velocity", "-0.1,0,5", "--seconds", "6", "--out", out)
    assert said.status == 0, said.out + said.err
    assert said.out.startswith("itu-biped walked 0.")
    assert "by commanded velocity" in said.out
    figures = summary_of(out)
    assert set(figures) >= COMMON_KEYS
    assert names_in(out) == FILES
    assert figures["duration_s"] == pytest.approx(6.0)
    assert figures["velocity_mps"]["forward_commanded"] == pytest.approx(-0.1)
    assert figures["yaw_rate_degps"]["commanded"] == pytest.approx(5.0)
    assert figures["steps_done"] == figures["steps_wanted"] > 2


def test_a_file_of_velocities_says_how_long(say: Say, tmp_path: Path) -> None:
    """It lasts as long as the file; too fast a velocity is scaled, with a note."""
    file = tmp_path / "command.csv"
    file.write_text("time,vx,vy,yaw_rate\n0,3,0,0\n5,3,0,0\n")
    said = say("itu-biped", "--velocity", file, "--out", tmp_path / "out")
    assert said.status == 0, said.out + said.err
    assert "beyond what the legs of itu-biped can" in " ".join(said.out.split())
    assert summary_of(tmp_path / "out")["duration_s"] == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--velocity", "fast"], "VX,VY,YAW is needed"),
        (["--velocity", "0.1,0"], "VX,VY,YAW is needed"),
        (["--velocity", "inf,0,0"], "must be finite"),
        (["--velocity", "nowhere.csv"], "no such file"),
        (["--velocity", "0.1,0,0", "--steps", "3"], "--steps cannot be chosen"),
        (["--velocity", "0.1,0,0", "--terrain", "stairs"], "--terrain cannot be"),
        (["--velocity", "0.1,0,0", "--seconds", "0"], "a duration (--seconds) of 0 s"),
        (["--velocity", "0.1,0,0", "--com-height", "3"], "above the reach"),
        (["--seconds", "3"], "--seconds is for --velocity"),
    ],
)
def test_bad_velocities_are_status_2(words: list[str], named: str, say: Say) -> None:
    """One line that names what is wrong; nothing is simulated."""
    said = say("itu-biped", *words)
    assert said.status == 2
    assert said.out == ""
    assert named in said.err
    assert len(said.err.splitlines()) == 1
