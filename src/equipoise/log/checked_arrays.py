"""Arrays of a run: copied, float64, of the right shape, read-only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError


def checked(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a read-only copy of finite numbers.

    Raises:
        ShapeError: If the shape is another, or a number is not finite.
    """
    array = numbers(name, values, shape)
    check_finite(name, array)
    array.flags.writeable = False
    return array


def numbers(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a copy of numbers, finite or not.

    Raises:
        ShapeError: If the shape is another, or there are other things than numbers.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers ({error})") from error
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape}; {shape} is needed")
    return array


def check_finite(name: str, values: Array) -> None:
    """Refuse NaN and infinity; the message names the first row that holds one."""
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise ShapeError(f"{name} holds values that are not finite, first in row {row}")
