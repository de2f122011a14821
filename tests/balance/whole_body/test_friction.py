from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.whole_body.friction import FrictionCompensation
from equipoise.balance.whole_body.limits import JointRange, Joints
from equipoise.balance.whole_body.swing import degrees_of

VISCOUS, COULOMB, RATE = 0.5, 2.0, 9.0


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """Return a robot with arms."""
    return eq.load("humanoid")


def compensation(robot: eq.Robot, viscous: float, dry: float) -> FrictionCompensation:
    """Return what makes up for friction of joints that are all alike."""
    one = np.ones(robot.nv - 6)
    motion = JointRange(-one, one, one, one)
    joints = Joints(one, one, motion, viscous * one, dry * one)
    return FrictionCompensation(robot, joints, 0.1, RATE)


def test_friction_on_the_plan_is_that_of_planned_speeds(humanoid: eq.Robot) -> None:
    """Measured speeds do not count, and joints at rest get nothing."""
    friction = compensation(humanoid, VISCOUS, COULOMB)
    planned = np.zeros(humanoid.nv - 6)
    planned[0] = 1.0
    taken = friction.torque(0.0, planned, 5.0 + planned, None)
    assert taken == pytest.approx((VISCOUS + COULOMB) * planned, rel=1e-6)


def test_friction_off_the_plan_is_viscous(humanoid: eq.Robot) -> None:
    """When a push has been recovered from for long, it is b v of measured speeds."""
    friction = compensation(humanoid, VISCOUS, COULOMB)
    speed = np.linspace(-1.0, 1.0, humanoid.nv - 6)
    for _ in range(20):
        taken = friction.torque(1.0, np.ones_like(speed), speed, None)
    assert taken == pytest.approx(VISCOUS * speed)


def test_arms_that_come_back_overcome_dry_friction(humanoid: eq.Robot) -> None:
    """Arms that are away get all of it towards their plan, other joints nothing."""
    friction = compensation(humanoid, VISCOUS, COULOMB)
    rest = np.zeros(humanoid.nv - 6)
    away = np.where(np.arange(len(rest)) % 2, 0.1, -0.1)
    taken = np.asarray(friction.torque(0.0, rest, rest, away))
    arms = degrees_of(humanoid, "arm")
    assert taken[arms] == pytest.approx(COULOMB * np.sign(away[arms]), rel=1e-3)
    assert not np.delete(taken, arms).any()
    assert not rest.any()


def test_joints_without_friction_need_nothing(humanoid: eq.Robot) -> None:
    """Nothing is added, wherever arms are."""
    rest = np.zeros(humanoid.nv - 6)
    assert compensation(humanoid, 0.0, 0.0).torque(1.0, rest, rest, 1.0 + rest) == 0.0
