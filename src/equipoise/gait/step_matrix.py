"""Footsteps as a matrix of positions, Eq. (14) of [Sanliturk2024]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.gait.footsteps import Footstep, Footsteps, check_side, other
from equipoise.robot.parts import Side


def step_matrix(footsteps: Footsteps) -> Array:
    """Return the step matrix of a walk, shape (3, n + 1).

    Column 0 is the foot that supports the first step, column k is where step k puts
    its foot; rows are x, y and z [m]. The matrix has no row for yaw and tilt.
    """
    columns = [footsteps.strides[0].support, *footsteps.steps]
    return np.column_stack([step.position for step in columns])


def from_step_matrix(
    matrix: ArrayLike, feet: Mapping[Side, Footstep], first: str = "right"
) -> Footsteps:
    """Return the footsteps of a step matrix, Eq. (14) of [Sanliturk2024].

    Args:
        matrix: Columns are positions: of the foot that supports the first step, then
            of each foot put down, alternately; rows are x, y, z [m] and, as a fourth
            row if given, yaw [rad]. Shape (3, n + 1) or (4, n + 1).
        feet: Where the feet stand at the start; that of the supporting foot is
            replaced by column 0.
        first: The foot that swings first.

    Raises:
        EquipoiseError: If the matrix has another shape or holds no finite numbers.
    """
    swing = check_side(first)
    columns = np.asarray(matrix, dtype=np.float64)
    if columns.ndim != 2 or columns.shape[0] not in (3, 4) or columns.shape[1] < 2:
        raise ShapeError(
            f"step matrix has shape {columns.shape}; (3, n + 1) or (4, n + 1) with "
            "n ≥ 1 is needed"
        )
    bad = np.flatnonzero(~np.isfinite(columns).all(axis=0))
    if bad.size:
        raise ShapeError(f"column {bad[0]} of the step matrix is not finite")
    placed = []
    side = other(swing)
    for x, y, z, *yaw in columns.T:
        placed.append(Footstep(side, x, y, z, *yaw))
        side = other(side)
    start = dict(feet) | {placed[0].side: placed[0]}
    return Footsteps(start["left"], start["right"], tuple(placed[1:]))
