"""States and bipeds at which the identities are checked."""

import numpy as np
import pytest

from equipoise.planar.gait import PlanarGait
from equipoise.planar.gait_search import find_gaits
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


@pytest.fixture(scope="session")
def gaits() -> dict[float, PlanarGait]:
    """Gaits of the seed's walker by speed [m/s], found in one sweep."""
    speeds = (0.4, 0.6, 0.8, 1.0, 1.2)
    return dict(
        zip(speeds, find_gaits(ThreeLinkParameters.named("seed"), speeds), strict=True)
    )


@pytest.fixture(scope="session")
def gait(gaits: dict[float, PlanarGait]) -> PlanarGait:
    """The gait of 0.8 m/s."""
    return gaits[0.8]
