"""Input that is no regular file, or larger than it may be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import read_footsteps
from equipoise.gait.walks import standing_feet
from equipoise.input_file import LIMIT_VARIABLE, read_input, size_limit
from equipoise.log.folder import read_summary
from equipoise.log.open_run import log_contents, open_run, read_recording
from equipoise.simulation.terrain_names import terrain_named

ROBOT = eq.load("itu-biped")
READERS: dict[str, Callable[[Path], object]] = {
    "robot.urdf": eq.load,
    "robot.xml": eq.load,
    "robot.toml": eq.load,
    "settings.toml": lambda path: eq.load("itu-biped", path),
    "steps.csv": lambda path: read_footsteps(path, standing_feet(ROBOT)),
    "steps.toml": lambda path: read_footsteps(path, standing_feet(ROBOT)),
    "ground.csv": lambda path: terrain_named(str(path), ROBOT),
    "ground.npy": lambda path: terrain_named(str(path), ROBOT),
    "log.csv": read_recording,
    "log.mcap": read_recording,
    "log.db3": read_recording,
    "run.mcap": open_run,
    "contents.mcap": log_contents,
    "summary.json": lambda path: read_summary(path.parent),
}


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", list(READERS))
def test_only_regular_files_are_read(tmp_path: Path, name: str, kind: str) -> None:
    """Pipes and devices are refused at once, whatever they are given as."""
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(EquipoiseError, match="is not a regular file") as caught:
        READERS[name](path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    "name", [name for name in READERS if Path(name).suffix not in (".mcap", ".db3")]
)
def test_the_largest_size_can_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A file that is too large is refused before it is read, and how to raise it."""
    path = tmp_path / name
    path.write_bytes(b" " * 3_000)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.002")
    with pytest.raises(EquipoiseError, match=r"too large.*EQUIPOISE_MAX_INPUT_MB"):
        READERS[name](path)


def test_files_that_understate_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of /proc has the size 0 and is still read only up to the limit."""
    assert read_input(Path("/proc/self/maps"), 10_000_000)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.0001")
    with pytest.raises(EquipoiseError, match="too large"):
        read_input(Path("/proc/self/maps"), 10_000_000)


@pytest.mark.parametrize("text", ["word", "-1", "0", "nan", "inf"])
def test_limits_that_are_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The variable must be a positive number."""
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    with pytest.raises(EquipoiseError, match="positive number of megabytes"):
        size_limit(1)


def test_height_fields_that_promise_too_much(tmp_path: Path) -> None:
    """A header of terabytes before a few bytes is refused for what it promises."""
    path = tmp_path / "ground.npy"
    np.save(path, np.zeros((2, 2)))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"(2, 2)", b"(9999999, 99999)")[: len(content)])
    with pytest.raises(EquipoiseError, match="no heights can be read"):
        terrain_named(str(path), ROBOT)
