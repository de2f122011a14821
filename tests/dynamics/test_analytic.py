"""The closed forms of [Sariyildiz2015] and the rates of the link Jacobians."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_states, random_trees

import equipoise as eq
from equipoise.arrays import Array
from equipoise.dynamics.analytic import analytic, point_jacobian
from equipoise.dynamics.bodies import Body, bodies_at

States = list[tuple[Array, Array]]


def equal(found: Array, expected: Array, robot: eq.Robot) -> None:
    """Assert equality to 1e-9 of the robot's mass."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * robot.mass)


def test_base_block_is_the_composite_inertia(robot: eq.Robot, states: States) -> None:
    """Eq. (28), (30), (33) as corrected: mass in Eq. (30), minus sign in Eq. (33).

    Base axes; the base link is one of the links, its centre of mass need not be at
    the base's origin.
    """
    for q, v in states:
        block = analytic(robot, q, v).block("base", "base")
        bodies = bodies_at(robot, q)
        inertia = np.zeros((3, 3))
        for body in bodies:
            p = body.com - bodies[0].position
            inertia += body.inertia  # Eq. (30)
            inertia += body.mass * (np.dot(p, p) * np.eye(3) - np.outer(p, p))
        to_base = bodies[0].rotation.T
        com = to_base @ (eq.com(robot, q) - bodies[0].position)
        equal(block[:3, :3], robot.mass * np.eye(3), robot)  # Eq. (28)
        equal(block[3:, 3:], to_base @ inertia @ to_base.T, robot)
        equal(block[:3, 3:], -robot.mass * pin.skew(com), robot)  # Eq. (33)


def test_cross_terms_of_base_and_limbs(robot: eq.Robot, states: States) -> None:
    """Eq. (36) and (37): what a limb's acceleration asks of the base."""
    for q, v in states:
        found = analytic(robot, q, v)
        bodies = bodies_at(robot, q)
        to_base = bodies[0].rotation.T
        force, moment = np.zeros((3, robot.nv)), np.zeros((3, robot.nv))
        for body in bodies:
            j_v, j_w, *_ = point_jacobian(bodies, body, body.com, v)
            p = body.com - bodies[0].position
            force += body.mass * j_v  # Eq. (36)
            moment += body.inertia @ j_w + body.mass * pin.skew(p) @ j_v  # Eq. (37)
        for limb, rows in found.limb_rows.items():
            block = found.block("base", limb)
            equal(block[:3], to_base @ force[:, rows], robot)
            equal(block[3:], to_base @ moment[:, rows], robot)


@settings(max_examples=25)
@given(random_trees(), st.integers(0, 2**32 - 1))
def test_jacobian_rates_equal_finite_differences(robot: eq.Robot, seed: int) -> None:
    """J̇_v and J̇_w are how J_v and J_w change along v, for all joint kinds."""
    q, v = (rows[0] for rows in random_states(robot, 1, seed))
    step = 1e-6

    def last_link(q: Array) -> tuple[list[Body], Body]:
        bodies = bodies_at(robot, q)
        return bodies, bodies[-1]

    here, before, after = (
        point_jacobian(bodies, body, body.com, v)
        for bodies, body in (
            last_link(pin.integrate(robot.model, q, s * v)) for s in (0.0, -step, step)
        )
    )
    for rate, start, end in (
        (here.linear_rate, before.linear, after.linear),
        (here.angular_rate, before.angular, after.angular),
    ):
        difference = (end - start) / (2.0 * step)
        scale = 1.0 + np.abs(rate).max()
        np.testing.assert_allclose(rate, difference, rtol=0.0, atol=1e-7 * scale)
