"""The examples and the README's snippet run, and print what they promise."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from equipoise.cli.main import AnyVerb

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def output_of(script: Path, folder: Path) -> str:
    """Run a script in an empty folder and return what it printed."""
    result = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    """Every example runs from start to end and has something to show."""
    assert output_of(example, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_sum_over_limbs_is_the_whole(tmp_path: Path) -> None:
    """Example 3 prints the same velocity twice, by limbs and overall."""
    lines = output_of(ROOT / "examples" / "03_limbs_of_mahru.py", tmp_path).splitlines()
    assert lines[-1].removeprefix("overall") == lines[-2].removeprefix("sum    ")


def test_readme_prints_what_it_says(tmp_path: Path) -> None:
    """The README's Python runs as printed, and prints the block below it."""
    assert README.count("```python\n") == 1
    found = re.search(
        r"```python\n(.*?)```\s+prints\s+```text\n(.*?)```", README, re.DOTALL
    )
    assert found is not None
    script = tmp_path / "readme.py"
    script.write_text(found[1], encoding="utf-8")
    printed, walked = without_errors(output_of(script, tmp_path))
    promised, said = without_errors(found[2])
    assert printed == promised
    np.testing.assert_allclose(walked, said, atol=MOST_OFF)


# What noise and rounding of another machine may change an error of the CoM by [mm].
MOST_OFF = 0.5


def without_errors(text: str) -> tuple[str, list[float]]:
    """Return a text without the errors of walks that it tells, and these [mm]."""
    pattern = r"([0-9.]+) mm from its plan"
    errors = [float(error) for error in re.findall(pattern, text)]
    return re.sub(pattern, "… mm from its plan", text), errors


# Commands that are not run here, and why.
NOT_RUN = {"equipoise view walk": "serves a page until Ctrl-C; see tests/cli/test_view"}


def commands_in_readme() -> dict[str, str]:
    """Return the commands that the README shows after a prompt, and what they print."""
    blocks = re.findall(r"```text\n(\$ .*?)```", README, re.DOTALL)
    shown = (part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M))
    return dict(part.split("\n", 1) for part in shown if part)


def test_readme_shows_what_commands_print(g1_urdf: Path, tmp_path: Path) -> None:
    """All that the README prints below a command is printed by it, in that order.

    A line of dots stands for lines left out.
    """
    commands = commands_in_readme()
    assert set(NOT_RUN) < set(commands)
    for command, shown in commands.items():
        if command in NOT_RUN:
            continue
        words = shlex.split(command)
        assert words[0] == "equipoise"
        given = [str(g1_urdf) if word == g1_urdf.name else word for word in words[1:]]
        done = subprocess.run(
            [sys.executable, "-m", "equipoise", *given],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed, walked = without_errors(
            words_of(done.stdout.replace(str(g1_urdf), g1_urdf.name))
        )
        shown, said = without_errors(shown)
        np.testing.assert_allclose(walked[: len(said)], said, atol=MOST_OFF)
        for part in filter(None, map(words_of, re.split(r"^ …$", shown, flags=re.M))):
            before, found, printed = printed.partition(part)
            assert found, f"{command} prints {before}, not {part}"


def words_of(text: str) -> str:
    """Return a text on one line, however it was wrapped."""
    return " ".join(text.split())


def test_readme_lists_every_verb() -> None:
    """The table of verbs has all that the command line knows, and no other."""
    listed = re.findall(r"^\| `equipoise ([\w-]+)", README, re.MULTILINE)
    named = {name.replace("-", "") for name in listed}
    assert named == {verb.__name__.lower() for verb in get_args(AnyVerb)}
