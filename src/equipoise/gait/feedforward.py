"""Torques that a motion takes: inverse dynamics on soles that share the ground's force.

The equations of motion with the wrenches of the ground on the soles,

    M(q) v̇ + h(q, v) = (0, τ) + Σ Jᵢᵀ wᵢ,

have six rows without actuators. They give the sum of the wrenches; how the soles share
it in double support is free. Here the force goes to them by where the ZMP lies between
the points at which each sole is pressed in single support, so that it passes from one
foot to the other without a jump; what moment then remains is shared likewise.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.frames import frame_jacobian
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Dry friction is fully there at this speed [rad/s or m/s].
DRY_FRICTION_SPEED = 0.05


def feedforward_torques(
    robot: Robot,
    q: Array,
    v: Array,
    acceleration: Array,
    support: NDArray[np.int8],
    pressed_in_sole: Mapping[Side, Array] | None = None,
) -> Array:
    """Return the torques of all joints in a motion [Nm or N], shape (n, nv - 6).

    Rotor inertia and friction of the actuators, where the robot has them, are included.

    Args:
        robot: The robot.
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        acceleration: Derivatives of v, shape (n, nv).
        support: Which soles may carry, index into
            :data:`~equipoise.gait.parameters.SUPPORTS`, shape (n,).
        pressed_in_sole: Where each sole is pressed while it carries, in its frame [m],
            shape (2,) or (n, 2) each; the middle of its corners unless given.
    """
    model, data = robot.model, robot.model.createData()
    needed = np.array(
        [pin.rnea(model, data, *row) for row in zip(q, v, acceleration, strict=True)]
    )
    torques = needed[:, 6:].copy()
    turn = np.array([pin.Quaternion(row).toRotationMatrix() for row in q[:, 3:7]])
    force = np.einsum("nij,nj->ni", turn, needed[:, :3])
    moment = np.einsum("nij,nj->ni", turn, needed[:, 3:6]) + np.cross(q[:, :3], force)
    points = {}
    for side, sole in robot.soles.items():
        local = sole.polygon_in_sole.mean(axis=0)
        if pressed_in_sole is not None and side in pressed_in_sole:
            local = pressed_in_sole[side]
        pose = sole_pose(robot, q, side)
        rows = np.broadcast_to(local, (len(q), 2))
        points[side] = np.einsum("nij,nj->ni", pose[:, :3, :2], rows) + pose[:, :3, 3]
    fractions = _shared_load(points, support, force, moment)
    rest = moment - sum(
        np.cross(points[side], fraction[:, None] * force)
        for side, fraction in fractions.items()
    )
    for side, fraction in fractions.items():
        # world reference: wrenches about the world's origin
        jacobian = frame_jacobian(robot, q, robot.soles[side].link, "world")[:, :, 6:]
        own = fraction[:, None] * force
        wrench = np.concatenate(
            [own, np.cross(points[side], own) + fraction[:, None] * rest], axis=1
        )
        torques -= np.einsum("nij,ni->nj", jacobian, wrench)
    torques += _losses(robot, v[:, 6:], acceleration[:, 6:])
    return np.asarray(torques)


def standing_torques(robot: Robot, q: Array) -> Array:
    """Return the torques that hold a posture on both soles, shape (nv - 6,)."""
    still = np.zeros((1, robot.nv))
    support = np.zeros(1, np.int8)
    torques = feedforward_torques(robot, q[None], still, still, support)
    return np.asarray(torques[0])


def _shared_load(
    points: Mapping[Side, Array],
    support: NDArray[np.int8],
    force: Array,
    moment: Array,
) -> dict[Side, Array]:
    """Return the fraction of the ground's force that each sole carries, (n,) each."""
    if set(points) != {"left", "right"}:
        return {side: np.ones(len(support)) for side in points}
    left, right = points["left"], points["right"]
    height = 0.5 * (left + right)[:, 2]
    # the ZMP at that height, times the load; where nothing is pressed down, midway
    load = force[:, 2]
    x = height * force[:, 0] - moment[:, 1] - load * right[:, 0]
    y = height * force[:, 1] + moment[:, 0] - load * right[:, 1]
    between = (left - right)[:, :2]
    pressed = load * (between**2).sum(axis=1)
    along = x * between[:, 0] + y * between[:, 1]
    fraction = np.divide(along, pressed, out=np.full(len(x), 0.5), where=pressed > 1e-9)
    fraction = np.clip(fraction, 0.0, 1.0)
    fraction = np.where(support == SUPPORTS.index("left"), 1.0, fraction)
    fraction = np.where(support == SUPPORTS.index("right"), 0.0, fraction)
    return {"left": fraction, "right": 1.0 - fraction}


def _losses(robot: Robot, velocity: Array, acceleration: Array) -> Array:
    """Return what friction takes, and rotors that are not in the model's armature."""
    of_joint = {actuator.joint: actuator for actuator in robot.actuators}
    losses = np.zeros_like(velocity)
    for at, name in enumerate(degree_names(robot)):
        actuator = of_joint.get(name)
        if actuator is not None:
            dry = np.tanh(2.0 * velocity[:, at] / DRY_FRICTION_SPEED)
            rotor = actuator.rotor_inertia - float(robot.model.armature[6 + at])
            losses[:, at] = (
                rotor * acceleration[:, at]
                + actuator.viscous_friction * velocity[:, at]
                + actuator.coulomb_friction * dry
            )
    return losses
