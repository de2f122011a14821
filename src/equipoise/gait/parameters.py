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


def walk_phases(
    footsteps: Footsteps,
    step_time: float,
    double_support: float,
    start_time: float,
    stop_time: float,
    hold: float = 0.0,
) -> tuple[Phase, ...]:
    """Return the phases of a walk, without gaps, from time 0.

    Phases that take no time are left out. Without double support the ZMP jumps from
    foot to foot.

    Args:
        footsteps: Which feet step.
        step_time: Time from one touch-down to the next [s].
        double_support: Fraction of a step with both feet on the ground, in [0, 1).
        start_time: Double support before the first step, in which the weight goes
            from both feet onto one [s].
        stop_time: Double support after the last step [s].
        hold: Time at rest before and after the walk [s].
    """
    swing_time = (1.0 - double_support) * step_time
    kinds: list[tuple[PhaseKind, Support, float, int]] = [
        ("hold", "both", hold, 0),
        ("start", "both", start_time, 0),
    ]
    last = len(footsteps.steps)
    for number, step in enumerate(footsteps.steps, start=1):
        kinds.append(("swing", other(step.side), swing_time, number))
        if number < last:
            kinds.append(("double", "both", step_time - swing_time, number))
    kinds += [("stop", "both", stop_time, last), ("hold", "both", hold, last)]
    phases, now = [], 0.0
    for kind, support, duration, number in kinds:
        if duration > 0.0:
            phases.append(Phase(kind, support, now, now + duration, number))
            now += duration
    return tuple(phases)


# No length, time or angle of a gait is larger [m, s, rad].
LARGEST = 1e6


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
    if abs(number) > LARGEST:
        raise EquipoiseError(
            f"{name} is {number:g} {unit}; at most {LARGEST:g} is possible"
        )
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

    They are the arguments of :func:`~equipoise.gait.plan.plan_walk`, given or chosen.

    Attributes:
        length: None, like ``sideways``, ``turn`` and ``height``, if the footsteps were
            given.
        com_height: Height of the CoM above the ZMP at rest [m].
        gravity: Gravitational acceleration [m/s²].
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
    swing_pitch: float
    heel_off: float
    toe_first: float
    torso_pitch: float
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
    "swing_pitch": "rad",
    "torso_pitch": "rad",
    "com_height": "m",
    "zmp_inward": "m",
    "gravity": "m/s²",
}
