"""``equipoise view`` as one types it."""

from __future__ import annotations

import signal
import subprocess
import sys

from runs import swaying

from equipoise.cli.main import run as run_cli


def test_run_is_told_and_served(tmp_path, capsys):
    """Its sentence and the address are printed; the status is 0."""
    folder = swaying(summary={"sentence": "it sways"}).save(tmp_path / "run")
    status = run_cli(["view", str(folder), "--seconds", "0", "--port", "8680"])
    said = capsys.readouterr().out.splitlines()
    assert status == 0
    assert said[0] == "it sways"
    assert said[-1].startswith("http://127.0.0.1:86")


def test_ctrl_c_ends_it_well():
    """The address is the one line that is printed, and Ctrl-C leaves with 0."""
    command = [sys.executable, "-m", "equipoise", "view", "humanoid", "--port", "8690"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:86")
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (0, "", "")


def test_serving_others_is_warned_of(capsys):
    """An address that others can reach is not taken in silence."""
    words = [
        "view",
        "humanoid",
        "--host",
        "0.0.0.0",
        "--port",
        "8695",
        "--seconds",
        "0",
    ]
    assert run_cli(words) == 0
    assert "warning: whoever reaches 0.0.0.0" in capsys.readouterr().out


def test_nonsense_is_refused_in_a_line(tmp_path, capsys):
    """Status 2 and one line for what is not a run, and for impossible ports."""
    for words in (
        ["view"],
        ["view", str(tmp_path)],
        ["view", "humanoid", "--port", "0"],
        ["view", "--robot", "humanoid", str(tmp_path / "missing.mcap")],
        ["view", "humanoid", "--seconds", "nan"],
        ["view", "humanoid", "--seconds", "-1"],
        ["view", *["any"] * 5],
        ["view", "humanoid", "itu-biped"],
    ):
        assert run_cli(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
