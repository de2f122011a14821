from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.identification.paper.foot_wrenches import (
    FootWrench,
    coefficients,
    total_wrench,
)
from equipoise.identification.paper.validation import StandingStatics, standing_statics
from equipoise.robot.description import STANDARD_GRAVITY

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """A robot with arms and a waist."""
    return eq.load("humanoid")


def random_pose(robot: eq.Robot, rng: np.random.Generator) -> np.ndarray:
    """Joints and base anywhere near standing; feet apart, tilted, at two heights."""
    return pin.integrate(robot.model, robot.standing, rng.uniform(-0.4, 0.4, robot.nv))


def still(robot: eq.Robot, seed: int) -> tuple[StandingStatics, np.ndarray]:
    """Statics of a random pose with random internal forces, and its true CoM."""
    rng = np.random.default_rng(seed)
    q = random_pose(robot, rng)
    statics = standing_statics(robot, q, rng.uniform(-100.0, 100.0, 12))
    return statics, np.array(pin.centerOfMass(robot.model, robot.data, q))


def test_papers_feet_give_the_printed_formulas() -> None:
    """With p = (0, ∓l, 0), α to δ are Eq. (10)–(13) as printed, M₂ being zero."""
    rng = np.random.default_rng(3)
    f0, f1, m0, m1 = rng.uniform(1.0, 9.0, (4, 3))
    wide = 0.2
    found = coefficients(
        FootWrench(np.array([0.0, -wide, 0.0]), f0, m0),
        FootWrench(np.array([0.0, wide, 0.0]), f1, m1),
    )

    weight = f0[2] + f1[2]
    assert found.alpha == pytest.approx(-(m0[1] + m1[1]) / weight, rel=1e-14)
    assert found.beta == pytest.approx((f0[0] + f1[0]) / weight, rel=1e-14)
    spread = wide * (f1[2] - f0[2])
    assert found.gamma == pytest.approx((m0[0] + m1[0] + spread) / weight, rel=1e-13)
    assert found.delta == pytest.approx((f0[1] + f1[1]) / weight, rel=1e-14)


@given(seed=seeds)
def test_level_ground_gives_x_and_y(humanoid: eq.Robot, seed: int) -> None:
    """X = α and Y = γ are Pinocchio's CoM whatever feet do to each other; β = δ = 0."""
    statics, com = still(humanoid, seed)

    found = coefficients(statics.foot_0, statics.foot_1)

    np.testing.assert_allclose([found.alpha, found.gamma], com[:2], atol=1e-11)
    assert max(abs(found.beta), abs(found.delta)) < 1e-12
    np.testing.assert_allclose(
        found._replace(beta=0.0, delta=0.0).com(com[2]), com, atol=1e-11
    )


@given(seed=seeds)
def test_slope_tilts_the_line_through_the_com(humanoid: eq.Robot, seed: int) -> None:
    """Axes of P turned and moved: the CoM is on X = α + βZ, Y = γ + δZ."""
    statics, com = still(humanoid, seed)
    rng = np.random.default_rng(seed)
    turn = pin.exp3(rng.uniform(-0.4, 0.4, 3))
    shift = rng.uniform(-1.0, 1.0, 3)
    feet = [
        FootWrench(turn @ foot.position + shift, turn @ foot.force, turn @ foot.torque)
        for foot in (statics.foot_0, statics.foot_1)
    ]
    place = turn @ com + shift

    found = coefficients(*feet)

    np.testing.assert_allclose(found.com(place[2]), place, atol=1e-11)
    assert np.hypot(found.beta, found.delta) == pytest.approx(
        np.hypot(*turn[:2, 2]) / turn[2, 2], rel=1e-9
    )


@given(seed=seeds)
def test_five_of_six_equations_are_independent(humanoid: eq.Robot, seed: int) -> None:
    """At rest, M = p × F: the moment along the force is zero by itself."""
    statics, com = still(humanoid, seed)

    force, moment = total_wrench(statics.foot_0, statics.foot_1)

    np.testing.assert_allclose(
        force, [0, 0, humanoid.mass * STANDARD_GRAVITY], atol=1e-9
    )
    np.testing.assert_allclose(moment, np.cross(com, force), atol=1e-9)
    assert abs(moment @ force) < 1e-7 * np.linalg.norm(force)


def test_motor_torques_are_not_part_of_the_balance() -> None:
    """In configuration b, M₂ of Eq. (3) puts X 35.3 mm off; without it X is right."""
    robot = eq.load("muscolo-biped")
    q = robot.posture("configuration_b")
    x = float(pin.centerOfMass(robot.model, robot.data, q)[0])
    found = standing_statics(robot, q)
    added = np.array([0.0, sum(found.torques.values()), 0.0])

    right = coefficients(found.foot_0, found.foot_1)
    printed = coefficients(found.foot_0, found.foot_1, added)

    assert right.alpha == pytest.approx(x, abs=1e-12)
    weight = robot.mass * STANDARD_GRAVITY
    assert printed.alpha - x == pytest.approx(-added[1] / weight, rel=1e-9)
    assert abs(printed.alpha - x) == pytest.approx(0.03533, abs=1e-5)


def test_feet_that_push_each_other_change_m2_only() -> None:
    """One foot ahead: M₂ depends on how hard they push, the CoM does not."""
    robot = eq.load("muscolo-biped")
    q = np.array(robot.standing)
    q[7:] = [-0.8, 0.3, 0.6, -0.2]  # pitch axes stay parallel to y, as Eq. (3) asks
    x = float(pin.centerOfMass(robot.model, robot.data, q)[0])
    sums = []
    for push in (0.0, 30.0):
        found = standing_statics(robot, q, [push, *[0.0] * 5, -push, *[0.0] * 5])
        sums.append(sum(found.torques.values()))
        alpha = coefficients(found.foot_0, found.foot_1).alpha
        assert alpha == pytest.approx(x, abs=1e-12)

    assert abs(sums[1] - sums[0]) > 1.0


def test_ankle_torques_stand_for_foot_torques_without_feet() -> None:
    """Cut at the ankles, their motors' torques alone are M₀ and M₁ of the rest.

    The one reading in which currents belong in Eq. (10): points 0 and 1 are the ankles,
    torques below the feet are not added, and X₂ is the CoM of the robot without feet.
    """
    robot = eq.load("muscolo-biped")
    q = robot.posture("configuration_c")
    statics = standing_statics(robot, q)
    cut, moment, mass = [], np.zeros(3), robot.mass
    for side, foot in (("right", statics.foot_0), ("left", statics.foot_1)):
        inertial = robot.description.link_by_name[f"{side}_foot"].inertial
        weight = np.array([0.0, 0.0, -STANDARD_GRAVITY * inertial.mass])
        mass -= inertial.mass
        ankle = foot.position + np.array([0.0, 0.0, 0.1])
        moment += inertial.mass * (ankle + inertial.com_in_link)
        torque = np.array([0.0, -statics.torques[f"{side}_ankle"], 0.0])
        cut.append(FootWrench(ankle, foot.force + weight, torque))
    com = pin.centerOfMass(robot.model, robot.data, q)

    found = coefficients(*cut)

    x_without_feet = (robot.mass * com - moment)[0] / mass
    assert found.alpha == pytest.approx(x_without_feet, abs=1e-12)


def test_bad_wrenches_are_refused() -> None:
    """No weight, and numbers that are none, are named."""
    foot = FootWrench(np.zeros(3), np.array([0.0, 0.0, 1.0]), np.zeros(3))

    with pytest.raises(EquipoiseError, match="carry no weight"):
        coefficients(foot, foot._replace(force=np.array([0.0, 0.0, -1.0])))
    with pytest.raises(ShapeError, match="torque of foot 1"):
        coefficients(foot, foot._replace(torque=np.array([0.0, np.nan, 0.0])))
    with pytest.raises(ShapeError, match="couple"):
        coefficients(foot, foot, [1.0])
    with pytest.raises(ShapeError, match="internal"):
        standing_statics(eq.load("three-link"), eq.load("three-link").standing, [1.0])
