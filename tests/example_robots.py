"""Robot files of the example-robot-data package."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path


def example_robots_folder() -> Path:
    """Return the folder of the example-robot-data package's robots."""
    package = importlib.metadata.distribution("example-robot-data")
    return Path(
        str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))
    )


def example_robot(*parts: str) -> Path:
    """Return a robot file of the example-robot-data package."""
    path = example_robots_folder().joinpath(*parts)
    assert path.is_file(), path
    return path
