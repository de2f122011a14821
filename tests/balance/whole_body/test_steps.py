"""Recovery steps of a robot that is pushed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.whole_body.foothold import StepGains
from equipoise.balance.whole_body.step_plan import SteppingInPlace
from equipoise.balance.whole_body.step_targets import turned
from equipoise.gait.standing import standing_reference
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import horizontal_push


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """Return the catalogue's humanoid."""
    return eq.load("humanoid")


def test_a_robot_steps_where_it_would_fall(humanoid: eq.Robot) -> None:
    """A push beyond any limit of standing is survived with steps, not without."""
    impulse = 0.6 * humanoid.mass
    how = {"law": "whole-body", "seconds": 2.0}
    stood = eq.push(humanoid, impulse, 0.0, steps=False, **how).summary
    stepped = eq.push(humanoid, impulse, 0.0, steps=True, **how).summary
    assert stood["fell_at_s"] is not None
    assert stepped["fell_at_s"] is None
    assert stepped["limit_fraction"] > 1.0
    assert stepped["steps_taken"] >= 2


def test_a_robot_that_is_not_pushed_does_not_step(humanoid: eq.Robot) -> None:
    """A push that the soles take is taken without a step."""
    results = eq.push(
        humanoid, 0.1 * humanoid.mass, 0.0, law="whole-body", steps=True, seconds=1.6
    ).summary
    assert results["steps_taken"] == 0


def test_steps_are_for_whole_body_torques(humanoid: eq.Robot) -> None:
    """Servos cannot be asked for steps."""
    with pytest.raises(eq.EquipoiseError, match="steps are for law='whole-body'"):
        eq.push(humanoid, 10.0, 0.0, steps=True)


def test_targets_turn_with_the_robot(humanoid: eq.Robot) -> None:
    """Turned forth and back, a target is itself; turned, distances are kept."""
    target = standing_reference(humanoid, humanoid.standing).target
    plan = SteppingInPlace(humanoid, 2e-3, StepGains()).plans(target)[0]
    start = plan.sample(0.5 * plan.gait.phases[-1].end)
    there = turned(start, 0.7)
    back = turned(there, -0.7)
    for name in ("com", "com_velocity", "dcm", "zmp", "torso"):
        np.testing.assert_allclose(
            getattr(back, name), getattr(start, name), atol=1e-12
        )
    for side in ("left", "right"):
        np.testing.assert_allclose(back.soles[side], start.soles[side], atol=1e-12)
    apart = start.soles["left"][:3, 3] - start.soles["right"][:3, 3]
    turned_apart = there.soles["left"][:3, 3] - there.soles["right"][:3, 3]
    angle = math.atan2(turned_apart[1], turned_apart[0]) - math.atan2(
        apart[1], apart[0]
    )
    assert angle == pytest.approx(0.7)


def test_a_walk_goes_on_after_a_push(humanoid: eq.Robot) -> None:
    """A push that torques alone cannot take changes footsteps, and is said."""
    motion = eq.solve(humanoid, eq.fit_walk(humanoid, 4))
    second = [phase for phase in motion.gait.phases if phase.kind == "swing"][1]
    push = horizontal_push(humanoid, 0.4 * humanoid.mass, 0.0, second.start)
    world = trial_world(humanoid, None, "torque", pushes=(push,))
    results = eq.walk(world, motion).summary
    assert results["fell_at_s"] is None
    assert any("footsteps were changed" in text for text in results["notices"])
