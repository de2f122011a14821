"""Every number of a gait, and where each came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

from equipoise.control.signals import Support
from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import Footsteps, other
from equipoise.robot.parts import Side

PhaseKind = Literal["hold", "start", "swing", "double", "stop"]
SUPPORTS: tuple[Support, ...] = ("both", "left", "right")


class Phase(NamedTuple):
    """A time in which the same feet stand on the ground.

    Attributes:
        kind: ``hold`` (at rest), ``start`` (weight goes onto the first supporting
            foot), ``swing``, ``double`` (weight goes from foot to foot) or ``stop``
            (weight goes onto both feet).
        support: What stands on the ground.
        start: When it begins [s].
        end: When it ends [s].
        step: Number of the step that swings, or that swung last; 0 before the first.
    """

    kind: PhaseKind
    support: Support
    start: float
    end: float
    step: int

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return self.end - self.start


@dataclass(frozen=True)
class Timing:
    """How long things take.

    Attributes:
        step_time: From one touch-down to the next [s].
        double_support: Fraction of a step with both feet on the ground; 0 or more,
            and less than 1. With 0 the ZMP jumps from foot to foot.
        start_time: Double support before the first step, in which the weight goes
            from both feet onto one [s].
        stop_time: Double support after the last step [s].
        hold: Time at rest before and after the walk [s].
    """

    step_time: float
    double_support: float
    start_time: float
    stop_time: float
    hold: float = 0.0

    def __post_init__(self) -> None:
        """Refuse times that do not pass."""
        for name in ("step_time", "start_time", "stop_time"):
            check_number(name, getattr(self, name), "s", above=0.0)
        check_number("hold", self.hold, "s", least=0.0)
        name = "double_support"
        check_number(name, self.double_support, "of a step", least=0.0, below=1.0)

    @property
    def swing_time(self) -> float:
        """From lift-off to touch-down [s]."""
        return (1.0 - self.double_support) * self.step_time

    def phases(self, footsteps: Footsteps) -> tuple[Phase, ...]:
        """Return the phases of a walk, without gaps, from time 0.

        Phases that take no time are left out.
        """
        kinds: list[tuple[PhaseKind, Support, float, int]] = [
            ("hold", "both", self.hold, 0),
            ("start", "both", self.start_time, 0),
        ]
        last = len(footsteps.steps)
        for number, step in enumerate(footsteps.steps, start=1):
            kinds.append(("swing", other(step.side), self.swing_time, number))
            if number < last:
                shift = self.step_time - self.swing_time
                kinds.append(("double", "both", shift, number))
        kinds.append(("stop", "both", self.stop_time, last))
        kinds.append(("hold", "both", self.hold, last))
        phases, now = [], 0.0
        for kind, support, duration, number in kinds:
            if duration > 0.0:
                phases.append(Phase(kind, support, now, now + duration, number))
                now += duration
        return tuple(phases)


def check_number(
    name: str,
    value: float,
    unit: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> float:
    """Return a number that a user gave, as a float.

    Args:
        name: What it is called in the message.
        value: The number.
        unit: Its unit, for the message.
        least: It must not be less.
        above: It must be greater.
        below: It must be less.

    Raises:
        EquipoiseError: If it is not a finite number, or not within its limits.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise EquipoiseError(f"{name} is {value!r}; it must be a number") from None
    if not math.isfinite(number):
        raise EquipoiseError(f"{name} is {number:g} {unit}; it must be finite")
    limits = [
        (least, number >= least, f"at least {least:g}"),
        (above, number > above, f"more than {above:g}"),
        (below, number < below, f"less than {below:g}"),
    ]
    if not all(within for _, within, _ in limits):
        needed = " and ".join(words for at, _, words in limits if math.isfinite(at))
        raise EquipoiseError(f"{name} is {number:g} {unit}; it must be {needed} {unit}")
    return number


Method = Literal["lipm", "preview"]
GIVEN = "given"


@dataclass(frozen=True)
class GaitParameters:
    """The numbers of a gait; ``print`` shows them with their origins.

    Attributes:
        steps: Number of steps.
        length: Length of a step, from foot to foot; negative goes backward [m]. None,
            like the three after it, if the footsteps were given.
        sideways: Lateral step of the leading foot, to the left [m].
        turn: Turn to the left with each step [rad].
        height: Height of each step above the one before [m].
        width: Distance of the sole frames side by side at the start [m].
        step_time: Time from one touch-down to the next [s].
        double_support: Fraction of a step with both feet on the ground.
        start_time: Double support before the first step [s].
        stop_time: Double support after the last step [s].
        hold: Time at rest before and after [s].
        clearance: Clearance of a swing foot above the ground at its highest [m].
        com_height: Height of the CoM above the ZMP at rest [m].
        zmp_inward: Shift of the ZMP from the sole's middle towards the other foot, in
            single support [m].
        gravity: Gravitational acceleration [m/s²].
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
