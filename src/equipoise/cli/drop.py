"""``equipoise drop``: does it land on its feet, and how hard?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.trial import TrialOptions, run_trial

if TYPE_CHECKING:
    from equipoise.log.run import Run
    from equipoise.simulation.world import World


@dataclass(frozen=True)
class Drop(TrialOptions):
    """Drop a robot onto its feet; report the impact and whether it stays up."""

    height: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Height of the soles above the ground [m]; default: a tenth of the legs."""

    def run(self) -> int:
        """Simulate, print, write."""
        from equipoise.simulation.trials import drop

        def simulate(world: World, progress: Callable[[float], None]) -> Run:
            return drop(
                world,
                height=self.height,
                seconds=self.seconds,
                engine=self.engine,
                dt=self.dt,
                progress=progress,
            )

        return run_trial(self, "drop", simulate, seconds=self.seconds)
