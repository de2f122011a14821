"""Hands and how far they reach: geometry, limits, and what is refused."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.hands import add_hands, hand_of, hands_of
from equipoise.balance.whole_body.reach_motion import reach_motion
from equipoise.balance.whole_body.reaching import ReachPath, plan_reach
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin, support_polygon
from equipoise.simulation.feedback import known_joints
from equipoise.simulation.push import pushed_stance
from equipoise.simulation.trials import trial_world


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """Return the robot of the catalogue."""
    return eq.load("humanoid")


def path_to(robot: eq.Robot, goal: tuple[float, float, float]) -> ReachPath:
    """Return how a standing robot reaches with its right hand."""
    world = trial_world(robot, mode="torque")
    goals = {"right": np.array(goal)}
    return plan_reach(robot, pushed_stance(world), goals, known_joints(world))


def test_a_hand_ends_where_its_shapes_end(humanoid: eq.Robot) -> None:
    """Its point is the end of the capsule that the file has for the hand."""
    hand = hands_of(humanoid)["left"]
    np.testing.assert_allclose(hand.point_in_link, [0.0, 0.0, -0.1736], atol=1e-9)
    assert hand.length == pytest.approx(0.738, abs=1e-3)


def test_other_hands_are_refused(humanoid: eq.Robot) -> None:
    """The message names the hands that there are, or says that there are none."""
    with pytest.raises(NameNotFoundError, match=r"no hand 'third'.*left, right"):
        hand_of(humanoid, "third")
    with pytest.raises(EquipoiseError, match="itu-biped has no arms"):
        hand_of(eq.load("itu-biped"), "left")


def test_the_frame_of_a_hand_moves_as_its_jacobian_says(humanoid: eq.Robot) -> None:
    """A small step of the configuration moves it by J dq."""
    dynamics = Dynamics(humanoid)
    frame = dynamics.frame(add_hands(dynamics)["right"].frame)
    step = 1e-6 * np.random.default_rng(0).normal(size=humanoid.nv)
    before = np.array(dynamics.pose(frame).translation)
    moved = dynamics.jacobian(frame)[:3] @ step
    later = pin.integrate(humanoid.model, dynamics.q, step)
    after = dynamics.update(later, dynamics.v).pose(frame).translation
    np.testing.assert_allclose(after - before, moved, atol=1e-10)


def test_a_reach_keeps_feet_balance_and_stops(humanoid: eq.Robot) -> None:
    """The hand gets there; soles stay, the CoM stays above them, joints in range."""
    path = path_to(humanoid, (0.5, -0.2, 0.9))
    assert path.remaining < 1e-3
    assert path.limited_by == ()
    np.testing.assert_allclose(path.hands["right"][-1], [0.5, -0.2, 0.9], atol=1e-3)
    for side in ("left", "right"):
        soles = sole_pose(humanoid, path.q, side)
        np.testing.assert_allclose(
            soles, np.broadcast_to(soles[0], soles.shape), atol=1e-3
        )
    corners = np.asarray(support_polygon(humanoid, path.q[0]))
    assert polygon_margin(corners, path.com[:, :2]).min() > 0.03
    lower, upper = humanoid.model.lowerPositionLimit, humanoid.model.upperPositionLimit
    assert (path.q[:, 7:] >= lower[7:]).all()
    assert (path.q[:, 7:] <= upper[7:]).all()


def test_a_reach_says_what_limits_it(humanoid: eq.Robot) -> None:
    """Too far ahead it is balance; the CoM is then as far out as it may be."""
    path = path_to(humanoid, (3.0, 0.0, 1.0))
    assert path.remaining > 1.0
    assert path.limited_by[0].startswith("balance")
    assert path.com[-1, 0] > path.com[0, 0] + 0.03


def test_a_motion_is_smooth_and_ends_on_the_path(humanoid: eq.Robot) -> None:
    """It begins and ends at rest, and its velocities are differences of positions."""
    motion = reach_motion(path_to(humanoid, (0.4, -0.2, 1.0)), 0.3, 0.5)
    end = motion.sample(motion.duration)
    assert end.com is not None
    np.testing.assert_allclose(end.com, motion.path.com[-1], atol=1e-9)
    np.testing.assert_array_equal(end.velocity, 0.0)
    middle, step = motion.start + 0.37 * motion.lasts, 1e-6
    where, velocity, _ = motion.hand("right", middle)
    later, _, _ = motion.hand("right", middle + step)
    np.testing.assert_allclose((later - where) / step, velocity, atol=1e-4)
