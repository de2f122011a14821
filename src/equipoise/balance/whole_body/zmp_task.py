"""A task that keeps the ZMP where it is wanted, whatever the CoM then does.

About a point p of the ground the forces of the ground have the moment

    m (c - p) x (c̈ + g) + L̇,

with g upwards. Where its horizontal part is zero, p is the ZMP: two rows that are
linear in accelerations.
"""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.tasks import Task
from equipoise.robot.description import STANDARD_GRAVITY


class ZmpTask(Task):
    """Keeps the ZMP at a point: the ground's moment about it has no horizontal part.

    Attributes:
        point: Where it is wanted [m], shape (3,).
        com_offset: What the CoM is off that of the model [m], shape (2,).
    """

    name = "ZMP"

    def __init__(self, weight: float) -> None:
        super().__init__(weight, 0.0, 0.0)
        self.point, self.com_offset = np.zeros(3), np.zeros(2)

    def error(self, dynamics: Dynamics) -> Array:
        """Return zero: what is asked for is an acceleration."""
        return np.zeros(2)

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return rows of m (c - p) x c̈ + L̇, over the weight."""
        lever, mass = self._lever(dynamics), dynamics.robot.mass
        rows = dynamics.momentum_matrix()[:2]
        rows += mass * lever @ dynamics.com_jacobian
        return np.asarray(rows / (mass * STANDARD_GRAVITY))

    def drift(self, dynamics: Dynamics) -> Array:
        """Return the same while a = 0, and the moment that bears gravity."""
        lever, mass = self._lever(dynamics), dynamics.robot.mass
        rate = dynamics.momentum_drift()[:2] + mass * lever @ dynamics.com_drift
        rate += mass * STANDARD_GRAVITY * lever[:, 2]
        return np.asarray(rate / (mass * STANDARD_GRAVITY))

    def _lever(self, dynamics: Dynamics) -> Array:
        """Return the first rows of (c - p) x, shape (2, 3)."""
        x, y, z = dynamics.com - self.point
        x, y = x + self.com_offset[0], y + self.com_offset[1]
        return np.array([[0.0, -z, y], [z, 0.0, -x]])
