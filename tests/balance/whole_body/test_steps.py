"""Recovery steps of a robot that is pushed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.estimator import Estimate
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.feet import Feet
from equipoise.balance.whole_body.foothold import StepGains
from equipoise.balance.whole_body.step_plan import RunningPlan, SteppingInPlace
from equipoise.balance.whole_body.step_state import (
    StepGeometry,
    Swing,
    sole_place,
    swing_foot,
)
from equipoise.balance.whole_body.step_targets import omega_of, turned
from equipoise.gait.standing import standing_reference
from equipoise.kernels.estimation import TOLD, TOLD_ROTATIONS, TOLD_SOLE
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.simulation.feedback import whole_body_feedback
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World, horizontal_push


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


@pytest.mark.parametrize("left", [0.05, 0.3])
def test_a_planned_step_captures_what_soles_can_take_back(
    humanoid: eq.Robot, left: float
) -> None:
    """On its plan a step captures; by how much not, both soles' sizes say."""
    period, gains = 2e-3, StepGains()
    stands = standing_reference(humanoid, humanoid.standing).target
    plan = RunningPlan(SteppingInPlace(humanoid, period, gains).plans(stands)[0])
    phase = plan.swings()[1]
    planned, end = plan.sample(phase.end - left), plan.end(phase)
    feet = Feet(Dynamics(humanoid, np.zeros(humanoid.nv - 6)), period)
    geometry = StepGeometry(humanoid, feet, gains)
    told, rotations = np.zeros((TOLD, 3)), np.tile(np.eye(3), (TOLD_ROTATIONS, 1, 1))
    for foot, side in enumerate(SIDES):
        told[TOLD_SOLE + foot] = sole_place(planned, side)
    omega = omega_of(planned)
    zmp, grow = planned.zmp[:2], math.exp(omega * left)
    on_plan = zmp + (end.dcm[:2] - zmp) / grow
    half = 0.5 * np.ptp(humanoid.soles["left"].polygon_in_sole[:, 0])
    later = gains.next_sole * (1.0 - math.exp(-omega * phase.duration))
    most = gains.sole * half * (1.0 - 1.0 / grow + later / grow)

    def captures(error: float) -> bool:
        known = Estimate(
            0.0,
            humanoid.standing,
            np.zeros(humanoid.nv),
            com=np.array([on_plan[0] + error, on_plan[1], 0.8]),
            com_velocity=np.zeros(3),
            com_offset=np.zeros(2),
            told=told,
            told_rotations=rotations,
        )
        return geometry.captures(Swing(known, planned, end, phase, left))

    stance = sole_place(planned, SIDES[1 - swing_foot(phase)])
    middle = humanoid.soles["left"].polygon_in_sole[:, 0]
    ahead = float(zmp[0] - stance[0] - 0.5 * (middle.min() + middle.max()))
    limit = most - ahead * (1.0 - 1.0 / grow)
    assert captures(0.0)
    assert captures(0.95 * limit)
    assert not captures(1.05 * limit)


def test_a_walk_goes_on_after_a_push(humanoid: eq.Robot) -> None:
    """A push that torques alone cannot take changes footsteps, and is said."""
    motion = eq.solve(humanoid, eq.fit_walk(humanoid, 4))
    second = [phase for phase in motion.gait.phases if phase.kind == "swing"][1]
    push = horizontal_push(humanoid, 0.4 * humanoid.mass, 0.0, second.start)
    world = trial_world(humanoid, None, "torque", pushes=(push,))
    results = eq.walk(world, motion).summary
    assert results["fell_at_s"] is None
    assert any("footsteps were changed" in text for text in results["notices"])


def pushed_to_the_stance_side(
    robot: eq.Robot, per_kilogram: float
) -> tuple[eq.Motion, World]:
    """Return a walk, and a world with a push [N s/kg] as its third swing begins."""
    motion = eq.solve(robot, eq.fit_walk(robot, 6))
    third = [phase for phase in motion.gait.phases if phase.kind == "swing"][2]
    outward = 0.5 * math.pi if third.support == "left" else -0.5 * math.pi
    push = horizontal_push(robot, per_kilogram * robot.mass, outward, third.start)
    return motion, trial_world(robot, None, "torque", pushes=(push,))


def test_a_push_to_the_side_of_the_stance_foot_is_survived(
    humanoid: eq.Robot,
) -> None:
    """The swing foot may not cross the stance foot: this takes two quick steps."""
    motion, world = pushed_to_the_stance_side(humanoid, 0.45)
    assert eq.walk(world, motion).summary["fell_at_s"] is None


def test_a_swing_is_cut_short_where_the_other_foot_must_step(
    humanoid: eq.Robot,
) -> None:
    """Pushed to the stance side as it leaves, a foot is down sooner than otherwise."""
    motion, world = pushed_to_the_stance_side(humanoid, 0.4)
    (push,) = world.pushes
    landings = []
    for gains in (StepGains(), StepGains(rising=0.0)):
        feedback = whole_body_feedback(world, plan=motion, steps=gains)
        run = eq.walk(world, motion, feedback=feedback)
        assert run.summary["fell_at_s"] is None
        assert feedback.steps is not None
        events = [event for event in feedback.steps.events if event.time > push.start]
        shortened = [event for event in events if event.what == "shortens"]
        assert bool(shortened) == (gains.rising > 0.0)
        landings.append(next(event.time for event in events if event.what == "lands"))
    with_it, without = landings
    assert with_it < without - 0.01
