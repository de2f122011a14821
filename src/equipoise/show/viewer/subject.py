"""What is looked at: a run or a robot, from its name or path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from equipoise.log.run import Run
from equipoise.robot.load import FILE_ENDINGS, load
from equipoise.robot.model import Robot

What = Run | Robot | str | os.PathLike[str]
# Larger logs take more than a second to read.
LARGE_BYTES = 10_000_000


def open_subject(
    what: What,
    robot: Robot | None = None,
    settings: Path | None = None,
) -> Run | Robot:
    """Return the run or robot that is meant.

    Args:
        what: Itself; or a path to the folder or log of a run; or what
            :func:`~equipoise.robot.load.load` loads.
        robot: Whose run it is; without it the log must describe its robot.
        settings: For a robot file.

    Raises:
        EquipoiseError: If it is neither.
    """
    if isinstance(what, Run | Robot):
        return what
    text = os.fspath(what)
    if robot is not None or _is_log(text):
        from equipoise.log.open_run import open_run

        return open_run(text, robot)
    return load(text, settings)


def distinct_names(whats: Sequence[What]) -> list[str]:
    """Return short names, with a number where one is there twice."""
    names = [_name(what) for what in whats]
    return [
        f"{name} ({names[: at + 1].count(name)})" if names.count(name) > 1 else name
        for at, name in enumerate(names)
    ]


def is_large(what: What) -> bool:
    """Whether reading it takes so long that the page should be there before."""
    if isinstance(what, Run | Robot) or not _is_log(os.fspath(what)):
        return False
    path = Path(what)
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files) > LARGE_BYTES


def _name(what: What) -> str:
    """Return the name of a folder or file, or of a robot."""
    if isinstance(what, Run):
        return what.robot.name
    if isinstance(what, Robot):
        return what.name
    path = Path(what)
    return path.stem if path.stem != "run" else path.resolve().parent.name


def _is_log(text: str) -> bool:
    """Whether a path is there and no robot file."""
    if text.lower().endswith(FILE_ENDINGS):
        return False
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # longer than any name can be
        return False
