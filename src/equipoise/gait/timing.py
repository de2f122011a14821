"""When each foot carries the robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from equipoise.control.signals import Support
from equipoise.gait.checks import check_figure
from equipoise.gait.footsteps import Footsteps, other

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
        double_support: Share of a step with both feet on the ground; 0 or more, and
            less than 1. With 0 the ZMP jumps from foot to foot.
        start_time: Double support before the first step, in which the weight goes
            from both feet onto one [s].
        stop_time: Double support after the last step [s].
        hold: At rest before and after the walk [s].
    """

    step_time: float
    double_support: float
    start_time: float
    stop_time: float
    hold: float = 0.0

    def __post_init__(self) -> None:
        """Refuse times that do not pass."""
        for name in ("step_time", "start_time", "stop_time"):
            check_figure(name, getattr(self, name), "s", above=0.0)
        check_figure("hold", self.hold, "s", least=0.0)
        name = "double_support"
        check_figure(name, self.double_support, "of a step", least=0.0, below=1.0)

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
