from __future__ import annotations

import math

import equipoise as eq
from equipoise.gait.motion import solve
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.terrain import Slope
from equipoise.simulation.needed_friction import friction_warning, needed_friction
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import with_friction


def test_a_slope_needs_its_tangent_at_least() -> None:
    """So much does standing need; walking needs more, and on the level much less."""
    robot = eq.load("mahru-1")
    level = needed_friction(solve(robot, plan_walk(robot, 2)))
    angle = math.radians(8.0)
    slope = needed_friction(solve(robot, plan_walk(robot, 2, ground=Slope(angle))))
    assert 0.02 < level < math.tan(angle) < slope < math.tan(angle) + 2.0 * level


def test_slippery_ground_is_warned_of() -> None:
    """The warning has both numbers; ground with enough friction has none."""
    robot = eq.load("mahru-1")
    motion, world = solve(robot, plan_walk(robot, 2)), trial_world(robot)
    assert friction_warning(world, motion) is None
    warning = friction_warning(with_friction(world, 0.01), motion)
    assert warning is not None
    assert f"{needed_friction(motion):.2f}, and the ground has 0.01" in warning
