"""Joints never pass their stops nor their speeds, whatever is asked of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.balance.whole_body.limits import JointRange

PERIOD, STEPS, JOINTS = 2e-3, 600, 200


def random_joints(chance: np.random.Generator) -> JointRange:
    """Return joints of all sorts."""
    return JointRange(
        chance.uniform(-2.0, -0.05, JOINTS),
        chance.uniform(0.05, 2.0, JOINTS),
        chance.uniform(0.5, 30.0, JOINTS),
        chance.uniform(20.0, 400.0, JOINTS),
    )


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), periods=st.sampled_from([2, 5, 10]))
def test_bounds_keep_joints_off_their_stops(seed: int, periods: int) -> None:
    """Double integrators pushed at random never pass, and brake no harder than d."""
    chance = np.random.default_rng(seed)
    joints = random_joints(chance)
    q, v = np.zeros(JOINTS), np.zeros(JOINTS)
    for step in range(STEPS):
        if step % 60 == 0:
            push = 3000.0 * chance.normal(size=JOINTS)
        least, most = joints.acceleration_bounds(q, v, periods * PERIOD)
        assert (least <= most).all()
        assert (most >= -joints.braking * (1.0 + 1e-9)).all()
        assert (least <= joints.braking * (1.0 + 1e-9)).all()
        a = np.clip(push + 100.0 * chance.normal(size=JOINTS), least, most)
        q, v = q + PERIOD * v + 0.5 * PERIOD**2 * a, v + PERIOD * a
        assert (q <= joints.upper + 1e-12).all()
        assert (q >= joints.lower - 1e-12).all()
        assert (np.abs(v) <= joints.speed * (1.0 + 1e-9)).all()


def test_joints_come_back_from_beyond() -> None:
    """Beyond a stop or a speed, bounds lead back, at most twice as hard as braking."""
    chance = np.random.default_rng(1)
    joints = random_joints(chance)
    q, v = joints.upper + 0.05, np.full(JOINTS, 0.8)  # some faster than they may
    for _ in range(STEPS):
        least, most = joints.acceleration_bounds(q, v, 5 * PERIOD)
        assert (most >= -2.0 * joints.braking - 1e-9).all()
        q, v = q + PERIOD * v + 0.5 * PERIOD**2 * most, v + PERIOD * most
    assert (q <= joints.upper + 1e-3).all()
    assert (v <= joints.speed + 1e-6).all()
    assert (least <= most).all()
