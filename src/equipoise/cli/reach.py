"""``equipoise reach``: stand and reach for a point, as far as balance allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from equipoise.cli.long_work import refuse_long_run
from equipoise.cli.trial import run_trial
from equipoise.cli.world_options import WorldOptions
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.log.run import Run
    from equipoise.robot.model import Robot
    from equipoise.simulation.world import World

# Simulated time of a reach, about [s].
SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Reach(WorldOptions):
    """Stand and reach for a point with a hand, as far as balance allows."""

    to: Annotated[str, tyro.conf.arg(metavar="X,Y,Z")]
    """Where the hand is wanted [m], in the frame of the standing robot: midway between
    the feet, on the ground, x forward, y left, z up. Written --to=X,Y,Z where X is
    negative."""

    hand: Annotated[str, tyro.conf.arg(metavar="HAND")] = "right"
    """Which hand: left or right."""

    def run(self) -> int:
        """Plan, simulate, print, write."""
        from equipoise.simulation.reach import reach

        goal = asked_point(self.to)

        def simulate(world: World, model: Robot, **how: Any) -> Run:
            refuse_long_run(self, SECONDS, model.model.nv)
            return reach(world, goal, self.hand, seed=self.seed, model=model, **how)

        return run_trial(self, "reach", simulate, mode="torque")


def asked_point(words: str) -> tuple[float, float, float]:
    """Read X,Y,Z in metres.

    Raises:
        EquipoiseError: If it is something else.
    """
    try:
        x, y, z = (float(part) for part in words.split(","))
    except ValueError:
        raise EquipoiseError(
            f"--to '{words}': X,Y,Z is needed in metres, for example 0.4,-0.2,1.0"
        ) from None
    return x, y, z
