"""Wrong words on the command line, and progress on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from runs import swaying
from said import Say

from equipoise.cli.complaints import option_names, plain_complaint
from equipoise.cli.main import VERBS


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("wlak humanoid", "there is no verb 'wlak' (did you mean 'walk'?); the verbs"),
        ("juggle", "there is no verb 'juggle'; the verbs are: robots, info"),
        ("--nope", "'--nope' is not an option; a verb comes first: robots, info"),
        ("info", "info: ROBOT is missing: catalogue name, path to a URDF"),
        ("compare one", "compare: RUN is missing: the run to compare with it;"),
        ("export mahru-1", "export: --out FILE is missing: file to write"),
        ("walk humanoid --steps", "walk: --steps needs a value;"),
        ("film run --size 3", "film: --size needs 2 values;"),
        ("walk humanoid --steps x", "walk: --steps 'x': a whole number is needed;"),
        ("stand humanoid --dt x", "stand: --dt 'x': a number is needed;"),
        ("walk humanoid --length x", "walk: --length 'x': a number is needed;"),
        ("pose mahru-1 a.csv x", "pose: N 'x': a whole number is needed;"),
        (
            "walk humanoid --engine bullet",
            "walk: --engine 'bullet': the choices are native, mujoco;",
        ),
        (
            "walk humanoid --stepz 3",
            "walk: there is no option '--stepz' (did you mean '--steps'?);",
        ),
        (
            "plot run --form 3",
            "plot: there is no option '--form' (did you mean '--from",
        ),
        ("walk humanoid more words", "walk: 'more' is one word too many;"),
    ],
)
@pytest.mark.parametrize("columns", ["200", "40"])
def test_wrong_words_are_a_plain_line(
    words: str, line: str, columns: str, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong and what would be right, however narrow the terminal is."""
    monkeypatch.setenv("COLUMNS", columns)
    said = say(*words.split())
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"equipoise: {line}")
    assert said.err.count("\n") == 1


def test_a_long_option_is_named_whole(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A narrow terminal does not cut it."""
    monkeypatch.setenv("COLUMNS", "40")
    word = "--no-such-option-with-a-very-long-name-indeed"
    assert f"'{word}'" in say("walk", "humanoid", word).err


def test_what_is_not_understood_is_passed_on() -> None:
    """Complaints of another kind come through, without their box."""
    said = plain_complaint("╭─ Odd ─╮\n│ something else │\n╰─╯", ["info"], VERBS)
    assert said == "Odd something else"


def test_every_verb_has_its_options() -> None:
    """Names are as one types them."""
    assert set(VERBS) >= {"walk", "pose", "compare", "trajectory"}
    assert {"--from", "--to", "--see-through"} <= set(option_names(VERBS["film"]))
    assert "--unknown-payload" in option_names(VERBS["walk"])


def on_a_terminal(*words: str | Path) -> tuple[int, str]:
    """Return status and all that a command writes to stderr, which is a terminal."""
    mine, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-m", "equipoise", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(mine, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
    os.close(mine)
    return process.returncode, written.decode(errors="replace")


def test_a_film_shows_its_progress(tmp_path: Path) -> None:
    """A bar on a terminal, gone when it is done."""
    run = swaying(seconds=0.5).save(tmp_path / "run")
    out = tmp_path / "film.gif"
    status, shown = on_a_terminal("film", run, "--out", out, "--size", "64", "48")
    assert status == 0, shown
    assert "film.gif" in shown
    assert "100%" in shown


def test_poses_show_their_progress() -> None:
    """First those that are found, then those that are chosen."""
    few = ("--count", "6", "--candidates", "60")
    status, shown = on_a_terminal("poses", "mahru-1", *few)
    assert status == 0, shown
    assert "finding poses of mahru-1" in shown
    assert "choosing 6 poses" in shown
    assert "%" in shown
