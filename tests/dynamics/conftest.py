"""Random states of every robot."""

from __future__ import annotations

import pytest
from random_trees import random_states

import equipoise as eq
from equipoise.arrays import Array

COUNT = 3


@pytest.fixture(scope="session")
def states(robot: eq.Robot) -> list[tuple[Array, Array]]:
    """A few random configurations and velocities."""
    q, v = random_states(robot, COUNT)
    return list(zip(q, v, strict=True))
