"""The equations of standing still: linear in masses, first moments and offsets.

In the level frame, gravity (0, 0, -g) and the wrenches of the ground balance::

    Σ_s X_s (w_s - b_s) = Σ_l [ 0, 0, g m_l,  g h_ly, -g h_lx, 0 ]

with h_l = m_l p_l + R_l (m_l c_l) the first moment of link l, w_s what the sensor of
foot s shows, b_s its offset in its own axes, and X_s the transform of wrenches from
sole to level frame. Unknown are x = (m_l, m_l c_l) of all links, then b_left, b_right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.measuring.measured_poses import FEET, MeasuredPoses
from equipoise.identification.standing_frames import StandingFrames
from equipoise.robot.description import STANDARD_GRAVITY

# Unknowns of a link: mass, and first moment about its origin in its axes.
PER_LINK = 4
# Unknowns of a foot's sensor: force and torque.
PER_FOOT = 6
WRENCH = 6


class Equations(NamedTuple):
    """A x = y, six rows for each of n poses.

    Attributes:
        matrix: Shape (n, 6, nx): force [N], then torque [Nm] about the level frame's
            origin, for each unknown.
        right: What the sensors show together [N, Nm], shape (n, 6).
    """

    matrix: Array
    right: Array

    def take(self, rows: NDArray[np.int64]) -> Equations:
        """Return those of some poses."""
        return Equations(self.matrix[rows], self.right[rows])


def equations(
    frames: StandingFrames, poses: MeasuredPoses, gravity: float = STANDARD_GRAVITY
) -> Equations:
    """Return the equations of measured poses.

    Args:
        frames: Of these poses.
        poses: What was measured.
        gravity: [m/s²].
    """
    matrix = np.concatenate(
        [link_columns(frames, gravity), offset_columns(frames)], axis=2
    )
    return Equations(matrix, total_wrench(frames, poses))


def total_wrench(frames: StandingFrames, poses: MeasuredPoses) -> Array:
    """Return what both sensors show together, in the level frame [N, Nm], (n, 6)."""
    total = np.zeros((len(poses), WRENCH))
    for side in FEET:
        transform = wrench_transform(
            frames.sole_rotation[side], frames.sole_position[side]
        )
        total += np.einsum("nij,nj->ni", transform, poses.wrenches[side])
    return total


def total_com(frames: StandingFrames, mean: Array) -> Array:
    """Return the centre of mass in the level frame [m], shape (n, 3)."""
    links = mean[: PER_LINK * len(frames.link_names)].reshape(-1, PER_LINK)
    moment = np.einsum("nli,l->ni", frames.link_position, links[:, 0])
    moment += np.einsum("nlij,lj->ni", frames.link_rotation, links[:, 1:])
    centre: Array = moment / links[:, 0].sum()
    return centre


def link_columns(frames: StandingFrames, gravity: float = STANDARD_GRAVITY) -> Array:
    """Return what masses and first moments ask of the ground, shape (n, 6, 4 nl)."""
    n, links = frames.link_position.shape[:2]
    columns = np.zeros((n, WRENCH, links, PER_LINK))
    columns[:, 2, :, 0] = gravity
    # h = p m + R (m c): its x and y turn the robot over
    arms = np.concatenate(
        [frames.link_position[..., None], frames.link_rotation], axis=3
    )
    columns[:, 3] = gravity * arms[:, :, 1]
    columns[:, 4] = -gravity * arms[:, :, 0]
    return columns.reshape(n, WRENCH, links * PER_LINK)


def offset_columns(frames: StandingFrames) -> Array:
    """Return what the sensors' offsets add to the sum of wrenches, (n, 6, 12)."""
    return np.concatenate(
        [
            wrench_transform(frames.sole_rotation[side], frames.sole_position[side])
            for side in FEET
        ],
        axis=2,
    )


def wrench_transform(rotation: Array, position: Array) -> Array:
    """Return transforms of wrenches, force first, from a frame into another.

    Args:
        rotation: From its axes into the other's, shape (n, 3, 3).
        position: Of its origin in the other [m], shape (n, 3).

    Returns:
        Shape (n, 6, 6).
    """
    transform = np.zeros((len(rotation), WRENCH, WRENCH))
    transform[:, :3, :3] = transform[:, 3:, 3:] = rotation
    transform[:, 3:, :3] = cross_matrix(position) @ rotation
    return transform


def cross_matrix(vectors: Array) -> Array:
    """Return [v]×, with [v]× u = v × u, shape (…, 3, 3)."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
