from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_states, random_tree
from simulation.blocks import G, in_the_air, midway

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Command
from equipoise.simulation.fleet import Fleet

KINDS = ["revolute", "continuous", "prismatic", "helical", "fixed"]
DT = 1e-6


def accelerations(
    robot: eq.Robot, q: Array, v: Array, effort: Array, gravity: float = G, **figures
) -> tuple[Array, Array, Array]:
    """Return where, how fast and how accelerated an engine's first step has robots."""
    fleet = Fleet(in_the_air(robot, gravity=gravity, **figures), len(q), DT)
    fleet.reset(q, v)
    told = np.zeros((1, *effort.shape))
    trace = fleet.advance(Command(told, told, effort[None]))
    return midway(robot, q, v, trace.q[:, 0], trace.a[:, 0], DT)


def expected(robot: eq.Robot, q: Array, v: Array, effort: Array, rotor: Array) -> Array:
    """Return Pinocchio's accelerations for the same rotors."""
    model = pin.Model(robot.model)
    model.gravity.linear = np.array([0.0, 0.0, -G])  # Pinocchio's own is 9.81
    model.armature = np.concatenate([np.zeros(6), rotor])
    data = model.createData()
    zeros = np.zeros(6)
    return np.array(
        [
            pin.aba(model, data, *row, np.concatenate([zeros, tau]))
            for *row, tau in zip(q, v, effort, strict=True)
        ]
    )


def worst(found: Array, wanted: Array) -> float:
    """Return the largest error relative to the largest of each row."""
    return float((np.abs(found - wanted).max(1) / np.abs(wanted).max(1)).max())


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_is_pinocchio_s(robot: eq.Robot, count: int) -> None:
    """Accelerations are those of Pinocchio's ABA, rotors included."""
    q, v = random_states(robot, count)
    effort = np.random.default_rng(1).normal(size=(count, robot.nv - 6)) * 20.0
    rotor = np.full(robot.nv - 6, 0.03)
    q, v, found = accelerations(robot, q, v, effort, rotor_inertia=rotor)
    error = worst(found, expected(robot, q, v, effort, rotor))
    print(f"{robot.name}: {error:.1e}")
    assert error < 1e-9


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(KINDS), min_size=0, max_size=14),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 5]),
)
def test_is_pinocchio_s_for_any_tree(kinds: list, seed: int, count: int) -> None:
    """The same for trees of any shape and joints of any kind of one freedom."""
    robot = random_tree(kinds, seed)
    standing = {"standing": pin.neutral(robot.model)}
    robot = replace(robot, limbs={}, postures=standing)
    q, v = random_states(robot, count, seed)
    effort = np.random.default_rng(seed).normal(size=(count, robot.nv - 6))
    rotor = np.full(robot.nv - 6, 0.1)  # links without mass need one
    q, v, found = accelerations(robot, q, v, effort, rotor_inertia=rotor)
    assert worst(found, expected(robot, q, v, effort, rotor)) < 1e-9


def test_gravity_is_the_world_s(robot: eq.Robot) -> None:
    """Gravity may be anything; without it and at rest nothing moves."""
    q, v = random_states(robot, 2)
    effort = np.zeros((2, robot.nv - 6))
    rotor = {"rotor_inertia": 0.03}
    *_, moon = accelerations(robot, q, 0.0 * v, effort, gravity=1.62, **rotor)
    *_, earth = accelerations(robot, q, 0.0 * v, effort, **rotor)
    *_, none = accelerations(robot, q, 0.0 * v, effort, gravity=0.0, **rotor)
    assert np.allclose(moon, earth * (1.62 / G), rtol=0.0, atol=1e-9)
    assert np.abs(none).max() == 0.0
