from __future__ import annotations

import pytest

import equipoise as eq
from benchmarks.engines import gap, outcome
from benchmarks.motions import MOTIONS
from equipoise.simulation.actuation import Mode, actuation_of
from equipoise.simulation.world import make_world

COM_TOLERANCE = 5e-3
FORCE_TOLERANCE = 0.03
# Short enough for both to have resolved how a foot meets the default ground.
DT = 1e-4


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("mode", ["servo", "position"])
@pytest.mark.parametrize("source", ["humanoid", "g1"])
def test_engines_agree(
    source: str, mode: Mode, motion: str, request: pytest.FixtureRequest
) -> None:
    """The same motion in both engines moves the CoM alike and needs the same force."""
    path = request.getfixturevalue("g1_urdf") if source == "g1" else source
    robot = eq.load(path)
    world = make_world(robot, actuation=actuation_of(robot, mode))
    ours, theirs = (
        outcome(world, engine, MOTIONS[motion], DT) for engine in ("native", "mujoco")
    )
    found = gap(ours, theirs)
    assert found.com < COM_TOLERANCE
    assert found.force < FORCE_TOLERANCE
