"""Every number of a gait, and where each came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from equipoise.gait.timing import Timing
from equipoise.robot.parts import Side

Method = Literal["lipm", "preview"]
GIVEN = "as asked"


@dataclass(frozen=True)
class GaitParameters:
    """The numbers of a gait; ``print`` shows them with their origins.

    Attributes:
        steps: How many.
        length: Length of a step, from foot to foot; negative goes backward [m]. None,
            like the three after it, if the footsteps were given.
        sideways: By which the leading foot steps out, to the left [m].
        turn: To the left with each step [rad].
        height: By which a step is higher than the one before [m].
        width: Distance of the sole frames side by side at the start [m].
        step_time: From one touch-down to the next [s].
        double_support: Share of a step with both feet on the ground.
        start_time: Double support before the first step [s].
        stop_time: Double support after the last step [s].
        hold: At rest before and after [s].
        clearance: Clearance of a swing foot above the ground at its highest [m].
        com_height: Height of the CoM above the ZMP at rest [m].
        zmp_inward: Shift of the ZMP from the sole's middle towards the other foot, in
            single support [m].
        gravity: [m/s²].
        first: The foot that swings first.
        method: What planned the CoM: ``lipm`` or ``preview``.
        origins: Where each number came from, by its name.
    """

    steps: int
    length: float | None
    sideways: float | None
    turn: float | None
    height: float | None
    width: float
    step_time: float
    double_support: float
    start_time: float
    stop_time: float
    hold: float
    clearance: float
    com_height: float
    zmp_inward: float
    gravity: float
    first: Side
    method: Method
    origins: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the origins read-only."""
        object.__setattr__(self, "origins", MappingProxyType(dict(self.origins)))

    @property
    def omega(self) -> float:
        """Natural frequency of the pendulum, √(g / height of the CoM) [1/s]."""
        return math.sqrt(self.gravity / self.com_height)

    @property
    def timing(self) -> Timing:
        """How long things take."""
        return Timing(
            self.step_time,
            self.double_support,
            self.start_time,
            self.stop_time,
            self.hold,
        )

    def __reduce__(self) -> tuple[type[GaitParameters], tuple[object, ...]]:
        """Pickle and copy with plain origins."""
        values = [getattr(self, name) for name in self.__dataclass_fields__]
        return GaitParameters, (*values[:-1], dict(self.origins))

    def __str__(self) -> str:
        """Return a line for each number: name, value, unit and origin."""
        lines = []
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name == "origins" or value is None:
                continue
            unit = UNITS.get(name, "")
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            origin = self.origins.get(name, GIVEN)
            lines.append(f"{name:<15} {shown:>9} {unit:<5} {origin}".rstrip())
        return "\n".join(lines)


UNITS = {
    "length": "m",
    "sideways": "m",
    "turn": "rad",
    "height": "m",
    "width": "m",
    "step_time": "s",
    "start_time": "s",
    "stop_time": "s",
    "hold": "s",
    "clearance": "m",
    "com_height": "m",
    "zmp_inward": "m",
    "gravity": "m/s²",
}
