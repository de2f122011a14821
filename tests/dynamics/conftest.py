"""Every robot of the catalogue and four real humanoids, in random states."""

from __future__ import annotations

import pytest
from random_trees import random_states

import equipoise as eq
from equipoise.robot.description import Array

COUNT = 3
CATALOGUE = ["humanoid", "itu-biped", "mahru-1", "muscolo-biped", "three-link"]
REAL = ["g1", "icub", "romeo", "talos"]


@pytest.fixture(scope="session", params=CATALOGUE + REAL)
def robot(request: pytest.FixtureRequest) -> eq.Robot:
    """Each robot in turn."""
    if request.param in CATALOGUE:
        return eq.load(request.param)
    return eq.load(request.getfixturevalue(f"{request.param}_urdf"))


@pytest.fixture(scope="session")
def states(robot: eq.Robot) -> list[tuple[Array, Array]]:
    """A few random configurations and velocities."""
    q, v = random_states(robot, COUNT)
    return list(zip(q, v, strict=True))
