"""Commands that are killed, as ``python -m benchmarks.kills`` kills many of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_killed_commands_leave_whole_outputs_or_none() -> None:
    """walk, film, identify and plot, each killed once; the next run mends the rest."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.kills", "--count", "4", "--seed", "0"],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "4 kills, 0 faults"
