"""The versions of constraints.txt: exact, complete, and allowed by pyproject.toml."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pins() -> dict[str, Version]:
    """Versions by name."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.+]*)", line)
            assert match is not None, line
            found[canonicalize_name(match[1])] = Version(match[2])
    return found


@pytest.fixture(scope="module")
def required() -> list[Requirement]:
    """What pyproject.toml requires, extras included, Equipoise itself left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
    ]
    every = [Requirement(text) for texts in lists for text in texts]
    return [item for item in every if item.name != "equipoise"]


def test_pins_are_allowed(
    pins: dict[str, Version], required: list[Requirement]
) -> None:
    """Each requirement has a pin, within its bounds."""
    for item in required:
        assert pins[canonicalize_name(item.name)] in item.specifier, str(item)


def test_every_dependency_has_an_upper_bound() -> None:
    """The next major version of a library is not installed before it was tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for text in project["project"]["dependencies"]:
        operators = {bound.operator for bound in Requirement(text).specifier}
        assert operators & {"<", "<=", "==", "~="}, text


def test_nothing_is_left_to_chance(
    pins: dict[str, Version], required: list[Requirement]
) -> None:
    """What the requirements require in turn is pinned, too."""
    waiting = [(item.name, frozenset(item.extras)) for item in required]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        assert canonicalize_name(name) in pins, name
        try:
            further = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed here
        for text in further:
            item = Requirement(text)
            wanted = item.marker is None or any(
                item.marker.evaluate({"extra": extra}) for extra in (*extras, "")
            )
            if wanted:
                waiting.append((item.name, frozenset(item.extras)))
