"""Real humanoids for the tests, and the settings of Hypothesis."""

from __future__ import annotations

import signal
from pathlib import Path

import icub_models
import pytest
from example_robots import example_robot
from hypothesis import HealthCheck, settings

import equipoise as eq

CATALOGUE = ["humanoid", "itu-biped", "mahru-1", "muscolo-biped", "three-link"]
REAL = ["g1", "icub", "romeo", "talos"]

# Shells start what runs in the background deaf to Ctrl-C, and children inherit it:
# tests that send it to one would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start slow tests first, so that no worker is left alone with one."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def g1_urdf() -> Path:
    """Unitree G1, 29 joints."""
    return example_robot("g1_description", "urdf", "g1_29dof_rev_1_0.urdf")


@pytest.fixture(scope="session")
def talos_urdf() -> Path:
    """PAL Robotics TALOS."""
    return example_robot("talos_data", "robots", "talos_reduced.urdf")


@pytest.fixture(scope="session")
def romeo_urdf() -> Path:
    """Aldebaran Romeo with fingers."""
    return example_robot("romeo_description", "urdf", "romeo.urdf")


@pytest.fixture(scope="session")
def icub_urdf() -> Path:
    """IIT iCub; its root link looks backward."""
    return Path(icub_models.get_model_file("iCubGazeboV2_5"))


@pytest.fixture(scope="session", params=REAL)
def humanoid_urdf(request: pytest.FixtureRequest) -> Path:
    """Each of the four humanoids in turn."""
    path: Path = request.getfixturevalue(f"{request.param}_urdf")
    return path


@pytest.fixture(scope="session", params=CATALOGUE + REAL)
def robot(request: pytest.FixtureRequest) -> eq.Robot:
    """Every robot of the catalogue and four real humanoids in turn."""
    if request.param in CATALOGUE:
        return eq.load(request.param)
    return eq.load(request.getfixturevalue(f"{request.param}_urdf"))
