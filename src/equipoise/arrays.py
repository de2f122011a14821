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
