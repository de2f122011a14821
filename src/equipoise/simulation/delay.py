"""Commands that arrive late."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array


class Delay:
    """Hands rows on after a fixed number of steps.

    Until the first row arrives, what was given to :meth:`reset` holds.
    """

    def __init__(self, delay: float, dt: float) -> None:
        """Round the delay [s] to whole steps of ``dt`` [s]."""
        self.steps = round(delay / dt)
        self._waiting: Array = np.zeros(0)

    def reset(self, held: Array) -> None:
        """Forget all rows; one row holds, of any shape."""
        self._waiting = np.repeat(held[None], self.steps, axis=0)

    def push(self, rows: Array) -> Array:
        """Return what arrives while rows are given, as many, shape (steps, …)."""
        if self.steps == 0:
            return rows
        waiting = self._waiting
        if waiting.shape[1:] != rows.shape[1:]:
            shape = np.broadcast_shapes(rows.shape[1:], waiting.shape[1:])
            waiting, rows = (
                np.broadcast_to(part, (len(part), *shape)) for part in (waiting, rows)
            )
        joined = np.concatenate([waiting, rows])
        self._waiting = joined[len(rows) :]
        return joined[: len(rows)]
