"""How much friction a walk needs, by its plan."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.gait.motion import Motion
from equipoise.gait.parameters import SUPPORTS
from equipoise.kinematics.com import centroidal_momentum
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.simulation.world import World

UP = np.array([0.0, 0.0, 1.0])


def needed_friction(motion: Motion) -> float:
    """Return the largest ratio of tangential to normal force that a plan needs.

    By the force of the ground on the whole robot, m (c̈ + g), along and across the sole
    that carries. In single support the yaw moment, the rate of the angular momentum
    about the CoM, takes its part as well: M / r, with the mean distance r of the sole's
    corners from its middle. In double support feet that are apart turn the robot
    easily, and the normal is the mean of both soles'.

    Args:
        motion: The walk.
    """
    table = motion.gait.at(motion.time)
    momentum = centroidal_momentum(motion.robot, motion.q, motion.v)
    turning = np.abs(np.gradient(momentum[:, 5], motion.dt)) / motion.robot.mass
    force = table.com_acceleration + STANDARD_GRAVITY * UP
    needed = 0.0
    for support, name in enumerate(SUPPORTS):
        rows = table.support == support
        if not rows.any():
            continue
        sides = [side for side in SIDES if name in ("both", side)]
        normal = sum(table.soles[side][rows, :3, 2] for side in sides)
        normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        along = (force[rows] * normal).sum(axis=1)
        across = np.linalg.norm(force[rows] - along[:, None] * normal, axis=1)
        if len(sides) == 1:
            corners = motion.gait.polygons[sides[0]]
            arm = _mean_distance(corners)
            if arm > 0.0:
                across = across + turning[rows] / arm
        ratio = across / np.maximum(along, 1e-9)
        needed = max(needed, float(ratio.max()))
    return needed


def friction_warning(world: World, motion: Motion) -> str | None:
    """Return that the ground is too slippery for a walk, in words, or None if not."""
    needed, given = needed_friction(motion), world.material.static_friction
    if needed <= given:
        return None
    return (
        f"the walk needs a coefficient of friction of {needed:.2f}, and the ground has "
        f"{given:.2f}: feet will slip; slower or shorter steps need less"
    )


def _mean_distance(corners: Array) -> float:
    return float(np.linalg.norm(corners - corners.mean(axis=0), axis=1).mean())
