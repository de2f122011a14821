from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from equipoise.gait.motion import solve
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.terrain import Flat
from equipoise.log.run import Run
from equipoise.robot.load import load
from equipoise.simulation.contacts import Material
from equipoise.simulation.falling import FallCause, fall_cause
from equipoise.simulation.start import stance_on
from equipoise.simulation.trials import stand, trial_world
from equipoise.simulation.walk import walk
from equipoise.simulation.world import Push, World, with_payload


def cause_of(world: World, run: Run) -> FallCause | None:
    """Return the cause of a fall from standing."""
    return fall_cause(
        world, run, run.summary["fell_at_s"], stance_on(world.terrain, world.robot)
    )


@pytest.mark.parametrize(
    ("force", "where"),
    [
        ((300.0, 0.0, 0.0), "front edges of both soles"),
        ((-300.0, 0.0, 0.0), "rear edges of both soles"),
        ((0.0, 700.0, 0.0), "outer edge of the left sole"),
        ((0.0, -700.0, 0.0), "outer edge of the right sole"),
    ],
)
def test_a_push_tips_it_over_the_edge_ahead(force, where):
    """Pushed to a side, the ZMP comes to that side's edge while the push lasts."""
    robot = load("humanoid")
    push = Push("torso", np.array(force), 0.5, 0.4)
    world = trial_world(robot, Flat(), pushes=(push,))
    run = stand(world, seconds=3.0)
    fell = run.summary["fell_at_s"]
    assert fell is not None
    cause = cause_of(world, run)
    assert cause is not None
    assert cause.kind == "tipped"
    assert where in cause.text
    assert 0.5 < cause.time < 0.9 < fell
    assert run.summary["sentence"] == (
        f"humanoid fell at {fell:.2f} s on flat ground: {cause.text}."
    )


def test_actuators_that_are_too_weak():
    """Too much to carry: an actuator of a leg gives all it can, which comes first."""
    robot = load("itu-biped")
    world = trial_world(robot, Flat())
    world = dataclasses.replace(world, robot=with_payload(robot, {"torso": 200.0}))
    run = stand(world)
    cause = cause_of(world, run)
    assert cause is not None
    assert cause.kind == "saturated"
    name = cause.text.split()[3]
    limits = {actuator.joint: actuator.effort_limit for actuator in robot.actuators}
    assert (
        f"the actuator of {name} was at its limit of {limits[name]:g} Nm" in cause.text
    )
    assert cause.text in run.summary["sentence"]


def test_feet_that_slip():
    """On ice a walk slides away: soles move while they carry, before it tips."""
    robot = load("humanoid")
    world = trial_world(robot, Flat(), "position")
    floor = world.material
    ice = Material(floor.stiffness, floor.damping, 0.02, 0.02)
    world = dataclasses.replace(world, material=ice)
    motion = solve(robot, plan_walk(robot, 4))
    run = walk(world, motion, feedback=False)
    fell = run.summary["fell_at_s"]
    assert fell is not None
    cause = fall_cause(world, run, run.summary["fell_at_s"], motion.q[0])
    assert cause is not None
    assert cause.kind == "slipped"
    assert cause.time < fell
    assert run.summary["sentence"].endswith(
        f": its feet began to slip at {cause.time:.2f} s."
    )


def test_a_walk_tells_its_cause():
    """Fast, heavy legs without the filter: it tips over the sole it stands on."""
    robot = load("itu-biped")
    motion = solve(robot, plan_walk(robot, 6, step_time=0.65), dynamics_filter=False)
    run = walk(robot, motion, feedback=False)
    fell = run.summary["fell_at_s"]
    assert fell is not None
    world = trial_world(robot)
    cause = fall_cause(world, run, run.summary["fell_at_s"], motion.q[0])
    assert cause is not None
    assert cause.kind == "tipped"
    assert cause.time < fell
    assert run.summary["sentence"].endswith(f"on flat ground: {cause.text}.")
    row = int(np.argmin(np.abs(run.time - cause.time)))
    assert run.zmp_margin[row] < 1e-3


def test_nothing_is_said_of_what_cannot_be_seen():
    """No fall, no cause; and none where ZMP, soles and actuators show nothing."""
    robot = load("humanoid")
    world = trial_world(robot, Flat())
    run = stand(world, seconds=0.6)
    assert cause_of(world, run) is None
    told = dataclasses.replace(run, summary={**run.summary, "fell_at_s": 0.5})
    assert cause_of(world, told) is None
