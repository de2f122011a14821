"""Commands that arrive late."""

from __future__ import annotations

import numpy as np

from equipoise.simulation.engine import Command


class Delay:
    """Hands commands on after a fixed number of steps.

    Until the first command arrives, the drives hold the command given to
    :meth:`reset`.
    """

    def __init__(self, delay: float, dt: float) -> None:
        """Round the delay [s] to whole steps of ``dt`` [s]."""
        self.steps = round(delay / dt)
        self._waiting: Command | None = None

    def reset(self, held: Command) -> None:
        """Forget all commands; drives hold one of shape (nv - 6,)."""
        self._waiting = Command(*(np.tile(values, (self.steps, 1)) for values in held))

    def push(self, commands: Command) -> Command:
        """Return what drives are told while these are given, (steps, nv - 6)."""
        if self.steps == 0 or self._waiting is None:
            return commands
        count = len(commands.position)
        joined = [
            np.concatenate([old, new])
            for old, new in zip(self._waiting, commands, strict=True)
        ]
        self._waiting = Command(*(values[count:] for values in joined))
        return Command(*(values[:count] for values in joined))
