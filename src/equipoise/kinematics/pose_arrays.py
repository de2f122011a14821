"""Checks of arrays that hold numbers, points, rotations or poses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError

# How far R Rᵀ may be from the unit matrix.
ROTATION_TOLERANCE = 1e-6


def check_points(values: ArrayLike, name: str) -> Array:
    """Return points as float64, shape (3,) or (n, 3).

    Args:
        values: What was given.
        name: What the caller calls it.

    Raises:
        ShapeError: For another shape, or values that are not finite.
    """
    return _check(values, name, (3,))


def check_rotations(values: ArrayLike, name: str) -> Array:
    """Return rotations as float64, shape (3, 3) or (n, 3, 3).

    Arguments and errors are those of :func:`check_points`; besides, rows must be unit
    vectors at right angles.
    """
    rotations = _check(values, name, (3, 3))
    _check_rigid(rotations, name)
    return rotations


def check_poses(values: ArrayLike, name: str) -> Array:
    """Return poses as float64, shape (4, 4) or (n, 4, 4).

    Arguments and errors are those of :func:`check_rotations`.
    """
    poses = _check(values, name, (4, 4))
    _check_rigid(poses[..., :3, :3], name)
    return poses


def _check(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    array = finite_numbers(values, name)
    many = array.ndim - len(shape)
    if many not in (0, 1) or array.shape[many:] != shape:
        inner = ", ".join(map(str, shape))
        one = f"({inner})" if len(shape) > 1 else f"({inner},)"
        raise ShapeError(
            f"{name} has shape {array.shape}; {one} or (n, {inner}) is needed"
        )
    return array


def finite_numbers(values: ArrayLike, name: str) -> Array:
    """Return values as float64; errors are those of :func:`check_points`."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers ({error})") from error
    if not np.isfinite(array).all():
        raise ShapeError(f"{name} holds values that are not finite")
    return array


def _check_rigid(rotation: Array, name: str) -> None:
    excess = rotation @ np.swapaxes(rotation, -1, -2) - np.eye(3)
    mirrored = np.linalg.det(rotation) < 0.0
    if np.abs(excess).max(initial=0.0) > ROTATION_TOLERANCE or np.any(mirrored):
        raise ShapeError(f"{name} holds a matrix that is not a rotation")
