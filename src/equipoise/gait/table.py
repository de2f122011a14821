"""A gait at given times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.robot.parts import Side


@dataclass(frozen=True, eq=False)
class GaitTable:
    """A gait at n times; arrays are read-only.

    Attributes:
        time: [s], shape (n,).
        com: Centre of mass in the world [m], shape (n, 3).
        com_velocity: [m/s], shape (n, 3).
        com_acceleration: [m/s²], shape (n, 3).
        zmp: Where the zero-moment point is meant to be [m], shape (n, 3).
        soles: Transforms from sole to world by side, shape (n, 4, 4) each.
        sole_twists: Velocities of the sole frames' origins [m/s], then angular ones
            [rad/s], in world axes, by side, shape (n, 6) each.
        sole_accelerations: Time derivatives of these [m/s², rad/s²], shape (n, 6) each.
        heading: Of the body: mean yaw of the soles, not wrapped [rad], shape (n,).
        heading_rate: [rad/s], shape (n,).
        support: What stands on the ground, index into
            :data:`~equipoise.gait.timing.SUPPORTS`, shape (n,): 0 both, 1 left, 2
            right.
    """

    time: Array
    com: Array
    com_velocity: Array
    com_acceleration: Array
    zmp: Array
    soles: Mapping[Side, Array]
    sole_twists: Mapping[Side, Array]
    sole_accelerations: Mapping[Side, Array]
    heading: Array
    heading_rate: Array
    support: NDArray[np.int8]

    def __post_init__(self) -> None:
        """Make arrays and mappings read-only."""
        for name, value in list(vars(self).items()):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
                continue
            for array in value.values():
                array.flags.writeable = False
            object.__setattr__(self, name, MappingProxyType(dict(value)))

    @property
    def torso(self) -> Array:
        """Rotations of the torso, upright and along the heading, shape (n, 3, 3)."""
        turn = np.zeros((len(self.time), 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(self.heading)
        turn[:, 1, 0] = np.sin(self.heading)
        turn[:, 0, 1] = -turn[:, 1, 0]
        turn[:, 2, 2] = 1.0
        turn.flags.writeable = False
        return turn
