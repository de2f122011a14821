"""Equations of motion by unit accelerations and forces, Eq. (2)–(26).

Newton–Euler inverse dynamics NE gives the generalised forces that a motion needs,

    NE(q, v, a, gravity, f) = M a + c + g − Jᵀ f,

so that each part of the equations comes out when all other parts are put to zero: a
column of M from a unit acceleration, c from the velocity alone, g from gravity alone,
a column of −Jᵀ from a unit force on a sole [Sariyildiz2015]. The paper runs NE for each
limb and adds the base link by hand; here the base is a joint of the tree, so that its
own mass is in every part.

Vectors are spatial, (6,), linear part first, in the axes and about the origin of the
body that they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.dynamics.bodies import WORLD, Body, bodies_at, check_state, sole_point
from equipoise.dynamics.equations import EquationsOfMotion
from equipoise.robot.model import Robot
from equipoise.robot.parts import Sole

NO_GRAVITY = np.zeros(3)
NO_FORCE: Mapping[int, Array] = {}


def newton_euler(robot: Robot, q: ArrayLike, v: ArrayLike) -> EquationsOfMotion:
    """Return the equations of motion, derived column by column.

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).

    Raises:
        ShapeError: If ``q`` and ``v`` are not one state of this robot.
    """
    q, v = check_state(robot, q, v)
    bodies = bodies_at(robot, q)
    rest = np.zeros(robot.nv)
    mass_matrix = np.column_stack(  # Eq. (2)–(18)
        [inverse_dynamics(bodies, rest, unit, NO_GRAVITY) for unit in np.eye(robot.nv)]
    )
    return EquationsOfMotion.label(
        robot,
        mass_matrix=mass_matrix,
        coriolis=inverse_dynamics(bodies, v, rest, NO_GRAVITY),  # Eq. (19)–(21)
        gravity=inverse_dynamics(  # Eq. (22)
            bodies, rest, rest, np.array(robot.model.gravity.linear)
        ),
        contact_jacobians={
            side: _contact_jacobian(robot, bodies, sole)
            for side, sole in robot.soles.items()
        },
    )


def inverse_dynamics(
    bodies: list[Body],
    v: Array,
    a: Array,
    gravity: Array,
    forces: Mapping[int, Array] = NO_FORCE,
) -> Array:
    """Return the generalised forces of a motion: the paper's NE, for any tree.

    Args:
        bodies: The bodies in their configuration, parents before children.
        v: Velocity, shape (nv,).
        a: Acceleration v̇, shape (nv,).
        gravity: Acceleration of gravity in world axes [m/s²], shape (3,).
        forces: By body index, the force and moment that act on the body from outside,
            in body axes about the body's origin [N, Nm], shape (6,).

    Returns:
        M a + c + g − Jᵀ f, shape (nv,).
    """
    velocity = {WORLD: np.zeros(6)}
    # A world that accelerates upwards is felt as gravity.
    acceleration = {WORLD: np.concatenate([-gravity, np.zeros(3)])}
    force: dict[int, Array] = {}
    for body in bodies:  # outwards: motion
        joint_velocity = body.subspace @ v[body.columns]
        velocity[body.index] = (
            body.motion_from_parent @ velocity[body.parent] + joint_velocity
        )
        carried_along = _motion_cross(velocity[body.index])
        acceleration[body.index] = (
            body.motion_from_parent @ acceleration[body.parent]
            + body.subspace @ a[body.columns]
            + carried_along @ joint_velocity
        )
        momentum = body.spatial_inertia @ velocity[body.index]
        force[body.index] = (  # Newton and Euler: rate of change of the momentum
            body.spatial_inertia @ acceleration[body.index]
            - carried_along.T @ momentum
            - forces.get(body.index, np.zeros(6))
        )
    result = np.zeros_like(v)
    for body in reversed(bodies):  # inwards: forces
        result[body.columns] = body.subspace.T @ force[body.index]
        if body.parent != WORLD:
            force[body.parent] += body.motion_from_parent.T @ force[body.index]
    return result


def _contact_jacobian(robot: Robot, bodies: list[Body], sole: Sole) -> Array:
    """Return J, whose rows are answers to unit forces on the sole, Eq. (23)–(26)."""
    foot, point = sole_point(robot, bodies, sole)
    to_body = foot.rotation.T
    rest = np.zeros(robot.nv)
    rows = []
    for unit in np.eye(6):  # Eq. (24): force, then moment, along the world's axes
        push, twist = to_body @ unit[:3], to_body @ unit[3:]
        on_foot = np.concatenate([push, twist + np.cross(point, push)])
        # Eq. (26), with the sign that Eq. (1) asks for: NE gives −Jᵀ f.
        rows.append(
            -inverse_dynamics(bodies, rest, rest, NO_GRAVITY, {foot.index: on_foot})
        )
    return np.array(rows)


def _motion_cross(velocity: Array) -> Array:
    """Return the spatial cross product for motions; its negative transpose: forces."""
    linear, angular = pin.skew(velocity[:3]), pin.skew(velocity[3:])
    return np.block([[angular, linear], [np.zeros((3, 3)), angular]])
