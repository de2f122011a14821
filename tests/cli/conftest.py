"""Commands in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from said import Said, Say

from equipoise.cli.main import run

COMPILING = "compiling kernels"


@pytest.fixture
def say(capfd: pytest.CaptureFixture[str]) -> Say:
    """Run words of the command line in this process.

    That kernels are being compiled is left out of what it said: only the first test
    to need them sees it.
    """

    def do(*words: str | Path) -> Said:
        capfd.readouterr()
        status = run([str(word) for word in words])
        out, err = capfd.readouterr()
        lines = err.splitlines(keepends=True)
        return Said(
            status,
            out,
            "".join(line for line in lines if not line.startswith(COMPILING)),
        )

    return do
