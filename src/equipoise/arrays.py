"""Arrays as they are handed around: float64, read-only where an object owns them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def frozen_array(values: ArrayLike) -> Array:
    """Return a read-only copy as float64."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


# Larger numbers are no measurement of anything, and their squares overflow.
LARGEST_NUMBER = 1e30


def plausible(values: Array) -> Array:
    """Return numbers, NaN for those that are not finite or beyond any measurement."""
    with np.errstate(invalid="ignore"):
        kept = np.abs(values) <= LARGEST_NUMBER
    return values if kept.all() else np.where(kept, values, np.nan)
