"""``equipoise walk``: from a robot file to a walk that was proven in simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from equipoise.cli.trial import RunOptions, run_trial

if TYPE_CHECKING:
    from equipoise.log.run import Run
    from equipoise.simulation.actuation import Mode
    from equipoise.simulation.world import World


@dataclass(frozen=True)
class Walk(RunOptions):
    """Plan a walk, solve the joints for an exact centre of mass, and prove it."""

    steps: Annotated[int, tyro.conf.arg(metavar="N")] = 6
    """How many; the last brings the feet together."""

    length: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Of a step, from foot to foot [m]; negative walks backward. A share of the legs,
    and what joints allow, if not given."""

    sideways: Annotated[float, tyro.conf.arg(metavar="M")] = 0.0
    """By which the leading foot steps out to the left [m]."""

    turn: Annotated[float, tyro.conf.arg(metavar="DEG")] = 0.0
    """To the left with each step [degrees]."""

    step_time: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """From one touch-down to the next [s]."""

    double_support: Annotated[float | None, tyro.conf.arg(metavar="SHARE")] = None
    """Share of a step with both feet on the ground."""

    clearance: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Of the swing foot above the ground [m]."""

    com_height: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Of the centre of mass above the ground [m]."""

    first: Literal["left", "right"] = "right"
    """The foot that swings first."""

    method: Literal["lipm", "preview"] = "lipm"
    """How the centre of mass is planned: in closed form, or by preview control."""

    footsteps: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """CSV or TOML file of footsteps, instead of a steady walk."""

    unfiltered: bool = False
    """Do not correct the centre of mass for what the pendulum leaves out."""

    servo: bool = False
    """Joints are servos with the limits of the drives, not ideal."""

    def run(self) -> int:
        """Plan, solve, simulate, print, write."""
        from equipoise.gait.fit import fit_walk
        from equipoise.gait.motion import solve
        from equipoise.simulation.walk import walk

        def simulate(world: World, progress: Callable[[float], None]) -> Run:
            robot = world.robot
            gait = fit_walk(robot, self.steps, **self._asked(world))
            return walk(
                robot,
                solve(robot, gait, dynamics_filter=not self.unfiltered),
                world.terrain,
                engine=self.engine,
                dt=self.dt,
                world=world,
                progress=progress,
            )

        mode: Mode = "servo" if self.servo else "position"
        return run_trial(self, "walk", simulate, mode=mode)

    def _asked(self, world: World) -> dict[str, Any]:
        """Return the options of the plan."""
        asked: dict[str, Any] = {
            "length": self.length,
            "sideways": self.sideways,
            "turn": math.radians(self.turn),
            "step_time": self.step_time,
            "double_support": self.double_support,
            "clearance": self.clearance,
            "com_height": self.com_height,
            "first": self.first,
            "method": self.method,
            "ground": world.terrain,
        }
        if self.footsteps is not None:
            from equipoise.gait.step_file import read_footsteps
            from equipoise.gait.walks import standing_feet

            feet = standing_feet(world.robot)
            asked["footsteps"] = read_footsteps(self.footsteps, feet)
        return asked
