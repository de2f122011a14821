"""How well two balance poses tell the height of the centre of mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.chain import Feet
from equipoise.identification.paper.coefficients import (
    FootWrench,
    coefficients,
    total_wrench,
)
from equipoise.identification.paper.two_poses import height_gradient

Pair = tuple[FootWrench, FootWrench]


class WrenchNoise(NamedTuple):
    """Standard deviations of a foot's sensor, each axis by itself.

    Attributes:
        force: [N].
        torque: [Nm].
    """

    force: float
    torque: float


class HeightDeviation(NamedTuple):
    """Standard deviations of the heights found.

    Attributes:
        a: Of Z in pose A [m].
        b: Of Z in pose B [m].
    """

    a: float
    b: float


def height_deviation(
    pose_a: Pair,
    pose_b: Pair,
    turn: float,
    feet: Feet,
    mass: float,
    noise: WrenchNoise,
    *,
    level: bool = False,
) -> HeightDeviation:
    """Return the standard deviations of Z_A and Z_B, to first order in the noise.

    Means over n samples have a noise smaller by √n. Errors of angles, masses and feet
    are not counted.

    Args:
        pose_a: Wrenches of both feet in pose A.
        pose_b: Wrenches of both feet in pose B.
        turn: θ_t [rad].
        feet: The feet.
        mass: m₂ [kg].
        noise: Of the sensors.
        level: Whether the ground is known to be level, so that β is zero and not taken
            from the measured horizontal forces.

    Raises:
        EquipoiseError: If noise is negative, or as for
            :func:`~equipoise.identification.paper.two_poses.two_pose_com`.
    """
    if not (noise.force >= 0.0 and noise.torque >= 0.0):
        raise EquipoiseError("standard deviations of the sensors must not be negative")
    found = [coefficients(*pose) for pose in (pose_a, pose_b)]
    if level:
        found = [pose.level() for pose in found]
    by_coefficients = height_gradient(found[0], found[1], turn, feet, mass)
    if level:
        by_coefficients[:, 1::2] = 0.0
    variance = np.zeros(2)
    for pose, columns in zip(
        (pose_a, pose_b), (by_coefficients[:, :2], by_coefficients[:, 2:]), strict=True
    ):
        by_wrench = columns @ _coefficient_gradient(pose)  # (2, 12)
        spread = np.tile(np.repeat([noise.force, noise.torque], 3), 2)
        variance += np.sum((by_wrench * spread) ** 2, axis=1)
    a, b = np.sqrt(variance)
    return HeightDeviation(float(a), float(b))


def _coefficient_gradient(pose: Pair) -> Array:
    """Return derivatives of (α, β) by force and torque of foot 0, then 1, (2, 12)."""
    force, _ = total_wrench(*pose)
    line = coefficients(*pose)
    gradient = np.zeros((2, 2, 6))
    for number, foot in enumerate(pose):
        x, _, z = foot.position
        gradient[0, number] = [-z, 0.0, x - line.alpha, 0.0, -1.0, 0.0]  # of Eq. (10)
        gradient[1, number] = [1.0, 0.0, -line.beta, 0.0, 0.0, 0.0]  # of Eq. (11)
    return np.asarray(gradient.reshape(2, 12) / force[2])
