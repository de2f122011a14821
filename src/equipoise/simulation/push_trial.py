"""One push of a map: against a robot that stands, or at some phase of a step.

The robot walks straight ahead with feedback. The push falls into a steady step, the
second one in which the left foot carries: from the touch-down of the right foot, over
double support and the swing of the right foot, to its next touch-down. The other step
of a stride is its mirror image where the robot is one. The phase of a push is the part
of that step that is over when it begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.gait import Gait
from equipoise.gait.motion import Motion, solve
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.feedback import Law
from equipoise.simulation.push import PUSH_START, push
from equipoise.simulation.simulate import EngineName
from equipoise.simulation.walk import walk
from equipoise.simulation.world import PUSH_DURATION, World, horizontal_push

# The step that is pushed, counted from 1: the second that the left foot carries.
PUSHED_STEP = 3
# How long a robot must stay up after a push [s].
AFTER = 3.5


@dataclass(frozen=True)
class PushTrial:
    """A push that is tried.

    Attributes:
        phase: Part of the step that is over when the push begins, from 0 to less than
            1; None for a robot that stands.
        direction_deg: Where it is pushed, about the world's z [degrees]: 0 forward, 90
            to the left.
        impulse_nspkg: Impulse over the robot's mass [N s/kg].
        seed: Seed of the sensors' noise.
    """

    phase: float | None
    direction_deg: float
    impulse_nspkg: float
    seed: int


@dataclass(frozen=True)
class PushOutcome:
    """What came of it.

    Attributes:
        survived: Whether the robot has not fallen.
        fell_at_s: When it had fallen, or None [s].
        within_limits: Whether torques and speeds were within the actuators' limits;
            None if that is not known.
        error: Why there is no result, which counts as not survived; or None.
    """

    survived: bool
    fell_at_s: float | None = None
    within_limits: bool | None = None
    error: str | None = None


TRIAL_COLUMNS = (*PushTrial.__annotations__, *PushOutcome.__annotations__)


def trial_row(trial: PushTrial, outcome: PushOutcome) -> dict[str, Any]:
    """Return a trial and its outcome as plain data."""
    return {**asdict(trial), **asdict(outcome)}


def read_row(row: Mapping[str, Any]) -> tuple[PushTrial, PushOutcome]:
    """Return what :func:`trial_row` was made of.

    Raises:
        EquipoiseError: If it is the row of something else.
    """
    trial = {name: row[name] for name in PushTrial.__annotations__ if name in row}
    rest = {name: value for name, value in row.items() if name not in trial}
    try:
        return PushTrial(**trial), PushOutcome(**rest)
    except TypeError as error:
        raise EquipoiseError(f"not the row of a push: {dict(row)}") from error


@dataclass(frozen=True, eq=False)
class PushedWalk:
    """A walk, and when its steady step begins and ends.

    Attributes:
        motion: Joints that follow it.
        start: Touch-down before the pushed step [s].
        end: Touch-down that ends it [s].
    """

    motion: Motion
    start: float
    end: float

    def time_of(self, phase: float) -> float:
        """Return when a phase of the step is [s]."""
        return self.start + phase * (self.end - self.start)


def pushed_walk(robot: Robot, **asked: Any) -> PushedWalk:
    """Return a walk that goes on for 3.5 s after the step that is pushed, then stops.

    Args:
        robot: The robot, as the planner knows it.
        asked: Options of :func:`~equipoise.gait.fit.fit_walk` but the number of steps.

    Raises:
        EquipoiseError: If the robot cannot walk so.
    """
    asked = {**asked, "first": "right"}
    gait = fit_walk(robot, PUSHED_STEP, **asked)
    steps = PUSHED_STEP + math.ceil(AFTER / gait.parameters.step_time)
    gait = fit_walk(robot, steps, **asked)
    start, end = _pushed_step(gait)
    return PushedWalk(solve(robot, gait), start, end)


def _pushed_step(gait: Gait) -> tuple[float, float]:
    """Return the touch-downs before and after the pushed step [s]."""
    swings = {phase.step: phase for phase in gait.phases if phase.kind == "swing"}
    before, pushed = swings[PUSHED_STEP - 1], swings[PUSHED_STEP]
    assert pushed.support == "left"
    return before.end, pushed.end


@dataclass(frozen=True, eq=False)
class PushScene:
    """All that pushes of a map have in common; called with one, it simulates that.

    Attributes:
        world: The robot in its world.
        model: The robot as planner and feedback know it.
        walk: The walk; None if the robot only stands.
        law: Law of the feedback: ``"whole-body"`` or ``"stabiliser"``.
        true_state: Whether feedback is shown the true state, not sensors.
        link: Link whose centre of mass is pushed; the torso if None.
        engine: Which engine.
        dt: Time step [s].
    """

    world: World
    model: Robot
    walk: PushedWalk | None
    law: Law = "whole-body"
    true_state: bool = False
    link: str | None = None
    engine: EngineName = "native"
    dt: float = 1e-3

    def __call__(self, trial: PushTrial) -> PushOutcome:
        """Push; a simulation that fails is an outcome, too."""
        try:
            results = self.simulate(trial).summary
        except EquipoiseError as error:
            return PushOutcome(False, error=" ".join(str(error).split()))
        use = results["actuators"]
        peaks = use["peak_torque_fraction"], use["peak_speed_fraction"]
        return PushOutcome(
            results["fell_at_s"] is None,
            results["fell_at_s"],
            max(peaks) <= 1.0,
        )

    def simulate(self, trial: PushTrial) -> Run:
        """Return the run of a trial.

        Raises:
            EquipoiseError: If it cannot be simulated.
        """
        impulse = trial.impulse_nspkg * self.world.robot.mass
        direction = math.radians(trial.direction_deg)
        how: dict[str, Any] = {
            "model": self.model,
            "true_state": self.true_state,
            "seed": trial.seed,
            "engine": self.engine,
            "dt": self.dt,
        }
        if trial.phase is None:
            lasts = self.whole_steps(PUSH_START + PUSH_DURATION + AFTER)
            return push(
                self.world,
                impulse,
                direction,
                link=self.link,
                law=self.law,
                steps=self.law == "whole-body",
                seconds=lasts,
                **how,
            )
        if self.walk is None:
            raise EquipoiseError("there is no walk in which to push at a phase")
        start = self.whole_steps(self.walk.time_of(trial.phase))
        pushed = horizontal_push(
            self.world.robot, impulse, direction, start, link=self.link
        )
        world = replace(self.world, pushes=(*self.world.pushes, pushed))
        return walk(world, self.walk.motion, **how)

    def whole_steps(self, seconds: float) -> float:
        """Return a whole number of time steps near a time [s]."""
        return self.dt * round(seconds / self.dt)
