"""States and bipeds at which the identities are checked."""

import numpy as np
import pytest

from equipoise.planar.parameters import ThreeLinkParameters
from equipoise.planar.three_link import ThreeLink


@pytest.fixture(scope="session")
def biped() -> ThreeLink:
    """A biped whose lengths and masses are all different."""
    return ThreeLink(ThreeLinkParameters(0.9, 0.4, 4.0, 13.0, 11.0, 9.81))


@pytest.fixture(scope="session")
def states() -> np.ndarray:
    """1,000 random states of the pinned model."""
    return np.random.default_rng(20).uniform(-2.0, 2.0, (1000, 6))
