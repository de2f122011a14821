"""Equations of motion by link Jacobians, after Eq. (27)–(45) of [Sariyildiz2015].

Link i has mass m, inertia I about its centre of mass (world axes), and the Jacobians
J_v and J_w of that centre's velocity and of its rate ω = J_w v. Newton and Euler say of
it, with p̈ = J_v a + J̇_v v and ω̇ = J_w a + J̇_w v,

    force = m (p̈ − gravity),   moment = I ω̇ + ω × I ω,

and d'Alembert that J_vᵀ force + J_wᵀ moment, summed over the links, are the generalised
forces. Sorted by a, v and gravity:

    M = Σ m J_vᵀ J_v + J_wᵀ I J_w
    c = Σ m J_vᵀ J̇_v v + J_wᵀ (I J̇_w v + ω × I ω)
    g = −Σ m J_vᵀ gravity

The paper's Eq. (28), (30), (33), (36) and (37) are the base's rows of M, written out
with the base's columns of the Jacobians, Eq. (41) and (43); the tests compare them with
M. The paper leaves c to its numerical method. Where it prints M wrongly (no mass in
Eq. (30), a sign in Eq. (33)), ``docs/errata.md`` says what is right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.dynamics.bodies import WORLD, Body, bodies_at, check_state, sole_point
from equipoise.dynamics.equations import EquationsOfMotion
from equipoise.robot.model import Robot
from equipoise.robot.parts import Sole


class PointJacobian(NamedTuple):
    """Jacobians of a point fixed to a body, in world axes, and their rates of change.

    Attributes:
        linear: J_v, ṗ = J_v v, shape (3, nv).
        angular: J_w, ω = J_w v, shape (3, nv).
        linear_rate: J̇_v, shape (3, nv).
        angular_rate: J̇_w, shape (3, nv).
    """

    linear: Array
    angular: Array
    linear_rate: Array
    angular_rate: Array


def analytic(robot: Robot, q: ArrayLike, v: ArrayLike) -> EquationsOfMotion:
    """Return the equations of motion as sums over the links.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).

    Raises:
        ShapeError: If ``q`` and ``v`` are not one state of this robot.
    """
    q, v = check_state(robot, q, v)
    bodies = bodies_at(robot, q)
    gravity = np.array(robot.model.gravity.linear)
    mass_matrix = np.zeros((robot.nv, robot.nv))
    coriolis, weight = np.zeros(robot.nv), np.zeros(robot.nv)
    for body in bodies:
        mass, inertia = body.mass, body.inertia
        j_v, j_w, j_v_rate, j_w_rate = point_jacobian(bodies, body, body.com, v)
        # Eq. (31), and with the base's columns Eq. (28), (30), (33), (36), (37)
        mass_matrix += mass * j_v.T @ j_v + j_w.T @ inertia @ j_w
        rate = j_w @ v
        gyroscopic = np.cross(rate, inertia @ rate)
        coriolis += mass * j_v.T @ (j_v_rate @ v)
        coriolis += j_w.T @ (inertia @ (j_w_rate @ v) + gyroscopic)
        weight -= mass * j_v.T @ gravity  # Eq. (38)–(40)
    return EquationsOfMotion.label(
        robot,
        mass_matrix=mass_matrix,
        coriolis=coriolis,
        gravity=weight,
        contact_jacobians={
            side: _contact_jacobian(robot, bodies, sole, v)
            for side, sole in robot.soles.items()
        },
    )


def point_jacobian(
    bodies: list[Body], body: Body, point: Array, v: Array
) -> PointJacobian:
    """Return the Jacobians of a point of a body, Eq. (41)–(44), and their rates.

    Column by column: a joint whose axes (slide s, turn w) pass through p_j moves the
    point at s + w × (p − p_j) and turns it at w. Axes and p_j move with the joint's
    body, which gives the rates.

    Args:
        bodies: All bodies, as :func:`~equipoise.dynamics.bodies.bodies_at` gives them.
        body: The body that carries the point.
        point: The point in the world [m], shape (3,).
        v: Velocity, shape (nv,).
    """
    chain = [body]
    while chain[-1].parent != WORLD:
        chain.append(bodies[chain[-1].parent - 1])
    chain.reverse()  # from the base outwards: joints that do not carry it stay zero

    motions = []  # of each body in the chain: velocity of its origin, and its rate
    velocity, rate = np.zeros(3), np.zeros(3)
    origin = chain[0].position
    for link in chain:
        joint_motion = link.subspace @ v[link.columns]
        velocity = velocity + np.cross(rate, link.position - origin)
        velocity = velocity + link.rotation @ joint_motion[:3]
        rate = rate + link.rotation @ joint_motion[3:]
        origin = link.position
        motions.append((velocity, rate))
    point_velocity = velocity + np.cross(rate, point - origin)

    result = PointJacobian(*(np.zeros((3, len(v))) for _ in range(4)))
    for link, (velocity, rate) in zip(chain, motions, strict=True):
        # Rows are the joint's axes: np.cross works on rows.
        slide = (link.rotation @ link.subspace[:3]).T
        turn = (link.rotation @ link.subspace[3:]).T
        slide_rate, turn_rate = np.cross(rate, slide), np.cross(rate, turn)
        lever, lever_rate = point - link.position, point_velocity - velocity
        columns = link.columns
        result.linear[:, columns] = (slide + np.cross(turn, lever)).T  # Eq. (41), (42)
        result.angular[:, columns] = turn.T  # Eq. (43), (44)
        result.linear_rate[:, columns] = (
            slide_rate + np.cross(turn_rate, lever) + np.cross(turn, lever_rate)
        ).T
        result.angular_rate[:, columns] = turn_rate.T
    return result


def _contact_jacobian(robot: Robot, bodies: list[Body], sole: Sole, v: Array) -> Array:
    """Return the Jacobian of the sole frame in world axes, Eq. (45)."""
    foot, point = sole_point(robot, bodies, sole)
    point_in_world = foot.position + foot.rotation @ point
    jacobian = point_jacobian(bodies, foot, point_in_world, v)
    return np.vstack([jacobian.linear, jacobian.angular])
