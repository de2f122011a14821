"""The balancing controller of [Choi2007]: its law, its gains, and pushes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.balancing import (
    BalancingController,
    balancing_gains,
    check_stable,
)
from equipoise.balance.estimator import Estimate
from equipoise.control.certificate import Gains, certify, nearest_stable
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.gait.standing import standing_reference
from equipoise.gait.standing_motion import bent_stance
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.simulation.feedback import DELAY, paper_feedback
from equipoise.simulation.push import push, theoretical_limit
from equipoise.simulation.simulate import EngineName
from equipoise.simulation.trials import trial_world

PERIOD = 2e-3


@pytest.fixture(scope="module")
def mahru() -> eq.Robot:
    """Return the paper's robot."""
    return eq.load("mahru-1")


def estimate(q: np.ndarray, where: np.ndarray, zmp: np.ndarray) -> Estimate:
    """Return what an estimator would say of CoM and ZMP."""
    return Estimate(0.0, q, q, com=where, com_offset=np.zeros(2), zmp=zmp)


def test_the_law_is_equation_24(mahru: eq.Robot) -> None:
    """Joints move the CoM as Eq. 24 says, once through the filter; soles stay."""
    q = bent_stance(mahru, mahru.standing)
    target = standing_reference(mahru, q).target
    assert target.com is not None
    assert target.zmp is not None
    gains = balancing_gains(mahru, 2.0 * PERIOD)
    controller = BalancingController(mahru, PERIOD, gains)
    controller.reset(eq.State(0.0, q, np.zeros(mahru.nv)))
    com_error, zmp_error = np.array([4e-3, -2e-3]), np.array([-10e-3, 6e-3])
    known = estimate(
        q,
        target.com - np.append(com_error, 0.0),
        target.zmp - np.append(zmp_error, 0.0),
    )
    u = gains.com_gain * com_error - gains.zmp_gain * zmp_error
    step = 1.0 - math.exp(-PERIOD / gains.lag)
    ticks = 150
    for _ in range(ticks):
        command = controller.control(known, target)
    np.testing.assert_allclose(
        controller.com_velocity[:2], (1.0 - (1.0 - step) ** ticks) * u, atol=1e-12
    )
    moved = np.asarray(com(mahru, controller.q)) - target.com
    filtered = ticks - (1.0 - step) * (1.0 - (1.0 - step) ** ticks) / step
    np.testing.assert_allclose(moved[:2], PERIOD * filtered * u, rtol=0.01)
    assert abs(moved[2]) < 1e-5
    for side, pose in (target.soles or {}).items():
        np.testing.assert_allclose(
            sole_pose(mahru, controller.q, side), pose, atol=2e-5
        )
    assert command.torque is target.torque


def test_drift_is_undone(mahru: eq.Robot) -> None:
    """Commanded soles, body and height come back from where integration left them."""
    q = bent_stance(mahru, mahru.standing)
    target = standing_reference(mahru, q).target
    assert target.com is not None
    assert target.zmp is not None
    off = q + np.append(np.zeros(7), np.full(mahru.nq - 7, 5e-3))
    controller = BalancingController(mahru, PERIOD)
    controller.reset(eq.State(0.0, off, np.zeros(mahru.nv)))
    for _ in range(300):
        controller.control(estimate(q, target.com, target.zmp), target)
    for side, pose in (target.soles or {}).items():
        np.testing.assert_allclose(
            sole_pose(mahru, controller.q, side), pose, atol=1e-5
        )
    assert com(mahru, controller.q)[2] == pytest.approx(target.com[2], abs=1e-5)


@pytest.mark.parametrize("name", ["mahru-1", "humanoid", "itu-biped"])
def test_gains_by_default_are_certified(name: str) -> None:
    """They are stable with the loop's delay, and with twenty times as much."""
    robot = eq.load(name)
    gains = balancing_gains(robot, DELAY + PERIOD)
    assert certify(gains).bound is not None
    assert gains.delay_margin > 20.0 * gains.delay
    assert gains.lag > gains.zmp_lag


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        (Gains(3.0, 2.0, 3.7), "k_c > k_p > 0 does not hold.*k_p = 1.8/s, k_c = 2/s"),
        (Gains(1.0, 2.0, 3.7, 4e-3), "lag > k_p/ω² = 73 ms.*k_c = 2/s, lag 0.081"),
        (Gains(1.0, 40.0, 3.7, 0.1, 0.15), "delay < .* ms does not hold; stable ones"),
    ],
)
def test_unstable_gains_are_refused(
    mahru: eq.Robot, gains: Gains, message: str
) -> None:
    """With the condition that fails and the nearest stable gains; unless forced."""
    with pytest.raises(EquipoiseError, match=message):
        BalancingController(mahru, PERIOD, gains)
    check_stable(nearest_stable(gains))
    BalancingController(mahru, PERIOD, nearest_stable(gains))
    assert BalancingController(mahru, PERIOD, gains, force=True).gains is gains


def test_a_push_refuses_unstable_gains(mahru: eq.Robot) -> None:
    """Before anything is simulated."""
    with pytest.raises(EquipoiseError, match="k_p = 3/s, k_c = 2/s are not stable"):
        push(mahru, 10.0, law="paper", gains=(3.0, 2.0))
    with pytest.raises(EquipoiseError, match="for law='paper'"):
        push(mahru, 10.0, gains=(1.0, 2.0))
    with pytest.raises(NameNotFoundError, match="stabiliser, paper"):
        push(mahru, 10.0, law="newton")  # type: ignore[arg-type]
    forced = paper_feedback(trial_world(mahru), gains=(3.0, 2.0), force=True)
    assert not forced.controller.gains.stable  # type: ignore[attr-defined]


def test_what_it_needs_is_said(mahru: eq.Robot) -> None:
    """An estimate, and a target on both feet."""
    controller = BalancingController(mahru, PERIOD)
    q = mahru.standing
    target = standing_reference(mahru, q).target
    with pytest.raises(EquipoiseError, match="needs an Estimate"):
        controller.control(eq.State(0.0, q, np.zeros(mahru.nv)), target)
    bare = eq.Hold(eq.joint_positions(mahru, q)).target
    with pytest.raises(EquipoiseError, match="needs a target with CoM"):
        controller.control(estimate(q, np.zeros(3), np.zeros(3)), bare)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "pull"), [("native", True), ("mujoco", False)])
def test_it_recovers_what_servos_do_not(
    mahru: eq.Robot, engine: EngineName, pull: bool
) -> None:
    """A push, and a pull, from the side on Mahru I, with sensors (Fig. 9)."""
    world = trial_world(mahru)
    impulse = 0.84 * theoretical_limit(world, math.pi / 2.0)
    how = {"direction": math.pi / 2.0, "pull": pull, "engine": engine}
    servos = push(world, impulse, feedback=False, **how).summary
    paper = push(world, impulse, law="paper", **how).summary
    assert not servos["achieved"]
    assert paper["achieved"], paper["sentence"]
    assert (paper["law"], paper["feedback"]) == ("paper", "sensors")
    assert servos["law"] == "servos"
