"""``equipoise stand``: does it stand, and how do the forces spread?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.cli.trial import TrialOptions, run_trial

if TYPE_CHECKING:
    from equipoise.log.run import Run
    from equipoise.simulation.world import World


@dataclass(frozen=True)
class Stand(TrialOptions):
    """Let a robot settle on its feet; report forces, centre of mass and ZMP."""

    def run(self) -> int:
        """Simulate, print, write."""
        from equipoise.simulation.trials import stand

        def simulate(world: World, progress: Callable[[float], None]) -> Run:
            return stand(
                world,
                seconds=self.seconds,
                engine=self.engine,
                dt=self.dt,
                progress=progress,
            )

        return run_trial(self, "stand", simulate, seconds=self.seconds)
