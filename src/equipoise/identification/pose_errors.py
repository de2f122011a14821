"""Errors of poses beside the sensors' noise, and what they add to the equations.

Ground and soles give way, and no floor is quite level. Where up is tilted by δ, the
ground carries W (z + δ), and its torque is the CoM's arm c × W (z + δ): lateral forces
and tipping torques are wrong together. Lateral sensor errors look similar at first, but
do not tip. Poses of one stretch share such errors, wholly or in part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.statics import (
    FEET,
    PER_SENSOR,
    WRENCH,
    Equations,
    StandingFrames,
    cross_matrix,
    link_parameters,
    offset_columns,
    total_com,
)
from equipoise.robot.description import STANDARD_GRAVITY


class Level(NamedTuple):
    """Standard deviations of errors of poses beside the sensors' noise.

    Attributes:
        tilt: Tilt of up against the soles' mean normal, in x and in y [rad].
        lateral_force: Each foot's lateral forces beyond a tilt [N].
        vertical_force: The vertical force of all sensors together [N].
        pressure: The centre of pressure, in x and in y [m].
        own: Fraction of these variances that the poses of a stretch do not share.
    """

    tilt: float
    lateral_force: float
    vertical_force: float = 0.0
    pressure: float = 0.0
    own: float = 1.0

    def covariances(self, frames: StandingFrames, values: Array) -> Array:
        """Return what this adds to the equations' covariances, shape (n, 6, 6).

        ``values`` are masses and first moments as far as they are known, (nx,).
        """
        alone = turned(np.arange(len(frames.tilt)))
        return self.added(Levers.of(frames, values, alone))

    def added(self, levers: Levers) -> Array:
        """Return what this adds to covariances of turned equations, (n, 6, 6)."""
        own, shared = self.own, 1.0 - self.own
        by_tilt = own * levers.tilt + shared * levers.shared_tilt
        by_side = own * levers.side + shared * levers.shared_side
        added: Array = self.tilt**2 * by_tilt + self.lateral_force**2 * by_side
        times = own + shared * levers.shared
        added[:, 2, 2] += self.vertical_force**2 * times
        for tipping in (3, 4):
            added[:, tipping, tipping] += (self.pressure * levers.weight) ** 2 * times
        return added

    def expected_tilt(self, total: Array) -> Array:
        """Return the expected tilt of up in x and y [rad], shape (n, 2).

        ``total`` are wrenches of the ground without offsets [N, Nm], shape (n, 6).
        """
        tilted = (self.tilt * total[:, 2:3]) ** 2
        believed = tilted / np.maximum(tilted + 2.0 * self.lateral_force**2, 1e-300)
        return np.asarray(believed * total[:, :2] / total[:, 2:3])


LEVEL_SOLES = Level(0.0, 0.0)


def tilt_lever(frames: StandingFrames, values: Array) -> Array:
    """Return the derivative of the ground's wrench by the tilt of up, (n, 6, 2)."""
    masses = link_parameters(values, len(frames.link_names))[:, 0]
    weight = STANDARD_GRAVITY * float(masses.sum())
    lever = np.zeros((len(frames.tilt), WRENCH, 2))
    lever[:, :3] = np.eye(3)[:, :2]
    lever[:, 3:] = cross_matrix(total_com(frames, values))[..., :2]
    return weight * lever


def lateral_lever(frames: StandingFrames) -> Array:
    """Return the derivative of the total wrench by both lateral errors, (n, 6, 6).

    Sensors with lateral errors are wrong in the torque about the vertical, too: by the
    force times half the distance of the feet.
    """
    sensors = len(frames.sensor_in_level)
    columns = offset_columns(frames).reshape(-1, WRENCH, sensors, PER_SENSOR)
    columns = columns[..., [0, 1, 5]]
    left, right = (frames.sole_in_level[side][:, :3, 3] for side in FEET)
    half = 0.5 * np.linalg.norm(left - right, axis=1)
    columns[..., 2] *= half[:, None, None]
    return columns.reshape(-1, WRENCH, 3 * sensors)


def squared(lever: Array) -> Array:
    """Return L Lᵀ of levers (n, 6, k), shape (n, 6, 6)."""
    return np.asarray(lever @ np.swapaxes(lever, 1, 2))


class Turned(NamedTuple):
    """Equations of poses, turned within each stretch so that errors are independent.

    The first of a stretch is the sum of its n poses over √n, in which the errors that
    they share count n times; in the others, differences of poses, they do not count.

    Attributes:
        turn: Orthogonal matrix by which poses were combined, shape (n, n).
        shared: How many times shared errors count, shape (n,).
    """

    turn: Array
    shared: Array

    def equations(self, system: Equations) -> Equations:
        """Return the turned equations."""
        matrix = np.tensordot(self.turn, system.matrix, axes=1)
        return Equations(matrix, self.turn @ system.right)

    def covariances(self, covariance: Array) -> Array:
        """Return covariances of the turned equations, of those of poses (n, 6, 6)."""
        return np.tensordot(self.turn**2, covariance, axes=1)


def turned(stretch: NDArray[np.int64]) -> Turned:
    """Return how poses of stretches, shape (n,), are combined (Helmert's matrices)."""
    count = len(stretch)
    turn, shared = np.zeros((count, count)), np.zeros(count)
    for label in np.unique(stretch):
        rows = np.flatnonzero(stretch == label)
        block = np.eye(len(rows))
        for at in range(1, len(rows)):
            block[at, :at], block[at, at] = 1.0, -at
            block[at] /= np.sqrt(at * (at + 1.0))
        block[0] = 1.0 / np.sqrt(len(rows))
        turn[np.ix_(rows, rows)] = block
        shared[rows[0]] = len(rows)
    return Turned(turn, shared)


class Levers(NamedTuple):
    """What errors of poses add to the covariances of turned equations.

    A tilt that poses of a stretch share adds a different wrench in each, as the CoM is
    elsewhere; so do lateral forces. What turned equations of a stretch have in common
    is neglected.

    Attributes:
        tilt: Of tilts of one radian, other ones in each pose, shape (n, 6, 6).
        shared_tilt: Of the same, if poses of a stretch share them.
        side: Of lateral forces of one newton, other ones in each pose.
        shared_side: Of the same, if poses of a stretch share them.
        shared: How many times other shared errors count, shape (n,).
        weight: The robot's weight [N].
    """

    tilt: Array
    shared_tilt: Array
    side: Array
    shared_side: Array
    shared: Array
    weight: float

    @classmethod
    def of(cls, frames: StandingFrames, values: Array, stretches: Turned) -> Levers:
        """Return those of poses, with masses and first moments ``values``, (nx,)."""
        tilting, pushing = tilt_lever(frames, values), lateral_lever(frames)
        return cls(
            stretches.covariances(squared(tilting)),
            squared(np.tensordot(stretches.turn, tilting, axes=1)),
            stretches.covariances(squared(pushing)),
            squared(np.tensordot(stretches.turn, pushing, axes=1)),
            stretches.shared,
            float(tilting[0, 0, 0]),
        )

    def take(self, rows: NDArray[np.int64]) -> Levers:
        """Return those of some equations."""
        return Levers(
            self.tilt[rows],
            self.shared_tilt[rows],
            self.side[rows],
            self.shared_side[rows],
            self.shared[rows],
            self.weight,
        )
