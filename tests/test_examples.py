"""The examples and the README's snippet run, and print what they promise."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(
        r"```python\n(.*?)```\s+prints\s+```text\n(.*?)```", text, re.DOTALL
    )
    assert found is not None
    script = tmp_path / "readme.py"
    script.write_text(found[1], encoding="utf-8")
    assert output_of(script, tmp_path) == found[2]
