"""A robot stands as still, for its size, whatever it weighs: from 1 to 200 kg."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scaled_robots import scaled_robot

import equipoise as eq
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.simulation.actuation import actuation_of, stance_bandwidth
from equipoise.simulation.simulate import EngineName
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import horizontal_push

ENGINES: tuple[EngineName, ...] = ("native", "mujoco")
MASSES = (1.0, 3.0, 30.0, 200.0)


def of_mass(name: str, mass: float, folder: Path, *, grown: bool) -> eq.Robot:
    """Return a robot of a mass [kg], of that size if grown, of its own if not."""
    robot = eq.load(name)
    factor = mass / robot.mass
    length = math.cbrt(factor) if grown else 1.0
    return scaled_robot(robot, folder, length=length, mass=factor)


def drift(run: eq.Run, robot: eq.Robot) -> float:
    """Return how far the CoM is from where it should be, over its height."""
    wanted = eq.com(robot, robot.standing)
    late = run.time > run.time[-1] - 0.25
    off = np.linalg.norm(run.com[late] - wanted, axis=1)
    return float(off.max() / wanted[2])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("grown", [True, False], ids=["grown", "mass alone"])
def test_drift_is_a_small_fraction_of_the_height(
    engine: EngineName, grown: bool, tmp_path: Path
) -> None:
    """Less than 0.2 % of the CoM's height, and much the same for all masses."""
    drifts = []
    for mass in MASSES:
        robot = of_mass("itu-biped", mass, tmp_path, grown=grown)
        assert robot.mass == pytest.approx(mass)
        run = eq.stand(robot, seconds=2.0, engine=engine)
        assert run.summary["achieved"]
        drifts.append(drift(run, robot))
    assert max(drifts) < 0.002
    assert max(drifts) < 1.2 * min(drifts)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_push_moves_small_robots_no_farther_for_their_size(
    engine: EngineName, tmp_path: Path
) -> None:
    """A steady push of 3 % of the weight, during which the CoM is measured."""
    moved = []
    for mass in (1.0, 3.0, 25.0):
        robot = of_mass("itu-biped", mass, tmp_path, grown=True)
        impulse = 0.03 * mass * STANDARD_GRAVITY * 9.0
        push = horizontal_push(robot, impulse, 0.0, 0.2, duration=9.0)
        world = trial_world(robot, pushes=(push,))
        moved.append(drift(eq.stand(world, seconds=2.0, engine=engine), robot))
    assert max(moved) < 0.005
    assert moved[0] < 1.2 * moved[2]
    assert moved[1] < 1.2 * moved[2]


def test_bandwidth_goes_with_the_height(tmp_path: Path) -> None:
    """3 Hz from 0.55 m on; below, the square of it times the height is the same."""
    large = scaled_robot(eq.load("itu-biped"), tmp_path, length=2.0, mass=8.0)
    assert stance_bandwidth(large) == 3.0
    products = []
    for length in (0.5, 0.2):
        robot = scaled_robot(eq.load("itu-biped"), tmp_path, length=length, mass=0.1)
        bandwidth = stance_bandwidth(robot)
        assert bandwidth > 3.0
        products.append(bandwidth**2 * eq.com(robot, robot.standing)[2])
        asked = actuation_of(robot, bandwidth=bandwidth)
        np.testing.assert_array_equal(actuation_of(robot).stiffness, asked.stiffness)
    assert products[0] == pytest.approx(products[1])


def test_leg_joints_are_stiffer_than_gravity(tmp_path: Path) -> None:
    """A servo of an ankle of a small robot has at least 20 m g h."""
    robot = of_mass("itu-biped", 1.0, tmp_path, grown=True)
    weight = robot.mass * STANDARD_GRAVITY
    tilting = weight * eq.com(robot, robot.standing)[2]
    stiffness = actuation_of(robot).stiffness
    ankles = [at for at, n in enumerate(list(robot.model.names)[2:]) if "ankle" in n]
    assert ankles, list(robot.model.names)
    assert stiffness[ankles].min() > 0.9 * 20.0 * tilting
