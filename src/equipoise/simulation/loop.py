"""Reference → Controller → Robot: three blocks, each of which a user can replace.

A reference says what is wanted, a controller turns that and the state into a command,
a plant (the robot, simulated or real) does it. Each has its own rate: the reference
and the controller are asked once in their periods, and what they said holds until
they are asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.robot.description import Array
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot
from equipoise.simulation.engine import Command, Engine, State, Trace, check_commands
from equipoise.simulation.sensors import SensorSuite

# Open-loop commands are handed to the engine in pieces of this many steps.
STEPS_A_PIECE = 500
# Periods that are this close to a whole number of steps are meant to be [steps].
WHOLE = 1e-6
# A day [s].
LONGEST_TIME = 86_400.0


class Target(NamedTuple):
    """What is wanted at one time, or at n times with a first axis of n.

    Attributes:
        position: Of joints, in the order of v[6:] [rad or m], shape (nv - 6,).
        velocity: Of joints [rad/s or m/s], shape (nv - 6,).
        effort: Of joints, beside what feedback adds [Nm or N], shape (nv - 6,).
        com: Centre of mass in the world [m], shape (3,), or None.
    """

    position: Array
    velocity: Array
    effort: Array
    com: Array | None = None


class Wanted(Protocol):
    """What a reference returns: a :class:`Target`, or anything that has the same."""

    @property
    def position(self) -> Array:
        """Of joints, in the order of v[6:] [rad or m], shape (nv - 6,)."""
        ...

    @property
    def velocity(self) -> Array:
        """Of joints [rad/s or m/s], shape (nv - 6,)."""
        ...

    @property
    def effort(self) -> Array:
        """Of joints, beside what feedback adds [Nm or N], shape (nv - 6,)."""
        ...

    @property
    def com(self) -> Array | None:
        """Centre of mass in the world [m], shape (3,), or None."""
        ...


class Reference(Protocol):
    """What is wanted over time."""

    def sample(self, time: float) -> Wanted:
        """Return what is wanted at a time [s]."""
        ...


class Controller(Protocol):
    """Turns what is wanted and what is known into commands."""

    def control(self, state: Any, reference: Wanted) -> Command:
        """Return a command.

        Args:
            state: A :class:`~equipoise.simulation.engine.State`, or, where the robot
                has sensors, a :class:`~equipoise.simulation.sensors.Measurement`.
            reference: What is wanted now.
        """
        ...


class Plant(Protocol):
    """The robot: does what it is told for one control period.

    Attributes:
        robot: Which robot.
        period: The control period [s].
    """

    robot: Robot
    period: float

    @property
    def state(self) -> State:
        """The state now."""
        ...

    def step(self, command: Command) -> State:
        """Hold a command for one control period, and return the state after it."""
        ...


class OpenLoop:
    """A controller that hands on what is wanted; servos do the rest."""

    def control(self, state: Any, reference: Wanted) -> Command:
        """Return position, velocity and effort as they are wanted."""
        return Command(reference.position, reference.velocity, reference.effort)


class EnginePlant:
    """A robot in an engine, whose states are kept.

    Attributes:
        engine: The engine.
        robot: The robot.
        steps: Time steps of the engine in a control period.
        period: The control period [s].
    """

    def __init__(
        self, engine: Engine, period: float | None = None, every: int = 1
    ) -> None:
        """Wrap an engine that was reset.

        Args:
            engine: The engine.
            period: For which a command holds, a whole number of time steps [s]; one
                time step if not given.
            every: Keep a state after so many time steps.
        """
        self.engine = engine
        self.robot = engine.world.robot
        self.steps = whole_steps(period or engine.dt, engine.dt, "control period")
        self.period = self.steps * engine.dt
        self._every = every
        self._since = 0
        self._kept: list[Trace] = []

    @property
    def state(self) -> State:
        """The state now."""
        return self.engine.state

    def step(self, command: Command) -> State:
        """Hold a command for one control period, and return the state after it."""
        repeated = Command(*(np.tile(part, (self.steps, 1)) for part in command))
        return self.advance(repeated)

    def advance(self, commands: Command) -> State:
        """Do one time step for each row of commands, shape (steps, nv - 6)."""
        steps, done = len(commands.position), 0
        while done < steps:
            # up to the next state to keep, or as many whole intervals as there are
            left = self._every - self._since
            whole = (steps - done) // self._every
            count = min(left, steps - done)
            if self._since == 0 and whole > 0:
                count = whole * self._every
            part = Command(*(rows[done : done + count] for rows in commands))
            every = self._every if count >= self._every else count
            trace = self.engine.advance(part, every)
            done += count
            self._since = (self._since + count) % self._every
            if self._since == 0:
                self._kept.append(trace)
        return self.engine.state

    @property
    def trace(self) -> Trace:
        """The states that were kept, and the last one."""
        kept = list(self._kept)
        last = {
            item.name: np.array([getattr(self.engine.state, item.name)])
            for item in fields(Trace)
        }
        if self._since or not kept:
            kept.append(Trace(**last))
        return Trace(
            **{
                item.name: np.concatenate([getattr(part, item.name) for part in kept])
                for item in fields(Trace)
            }
        )


def run_loop(
    reference: Reference,
    controller: Controller,
    plant: Plant,
    duration: float,
    *,
    reference_period: float | None = None,
    sensors: SensorSuite | None = None,
    watch: Callable[[State], bool] | None = None,
) -> None:
    """Let the three blocks run.

    Args:
        reference: What is wanted.
        controller: What to do about it, asked once in a control period.
        plant: The robot, its engine reset.
        duration: [s].
        reference_period: How often the reference is asked [s], a whole number of
            control periods; in each if not given.
        sensors: What the controller is shown instead of the state.
        watch: Is shown the state now and then; stops the loop by returning True.

    Raises:
        ShapeError: If the controller returns NaN or a wrong shape; says when.
    """
    period = plant.period
    periods = whole_steps(duration, period, "duration")
    asked_every = whole_steps(reference_period or period, period, "reference period")
    names = degree_names(plant.robot)
    simple = isinstance(controller, OpenLoop) and sensors is None and asked_every == 1
    done = 0
    target: Wanted | None = None
    while done < periods:
        start = plant.state.time
        if simple and isinstance(plant, EnginePlant):
            count = min(max(STEPS_A_PIECE // plant.steps, 1), periods - done)
            targets = [
                reference.sample(start + n * period) for n in range(1, count + 1)
            ]
            rows = [
                np.repeat([getattr(t, part) for t in targets], plant.steps, axis=0)
                for part in Command._fields
            ]
            command = check_commands(
                Command(*rows), len(names), f"reference from {start:g} s", names
            )
            plant.advance(command)
        else:
            count = 1
            if target is None or done % asked_every == 0:
                target = reference.sample(start + asked_every * period)
            known = plant.state if sensors is None else sensors.measure(plant.state)
            command = check_commands(
                controller.control(known, target),
                len(names),
                f"{type(controller).__name__} at {start:g} s",
                names,
            )
            plant.step(Command(*(part[0] for part in command)))
        done += count
        if watch is not None and watch(plant.state):
            break


def whole_steps(time: float, step: float, name: str) -> int:
    """Return how many steps a time takes.

    Raises:
        EquipoiseError: If that is no whole positive number.
    """
    if not (np.isfinite(time) and 0.0 < time <= LONGEST_TIME):
        raise EquipoiseError(
            f"a {name} of {time:g} s; it must be above 0 and at most {LONGEST_TIME:g} s"
        )
    count = round(time / step)
    if count < 1 or abs(time / step - count) > WHOLE * max(count, 1):
        raise EquipoiseError(
            f"a {name} of {time:g} s: it must be a whole number of times {step:g} s"
        )
    return count


@dataclass(frozen=True, eq=False)
class Hold:
    """A reference that never changes.

    Attributes:
        position: Of joints, in the order of v[6:] [rad or m], shape (nv - 6,).
        com: Where that puts the centre of mass [m], shape (3,), or None.
    """

    position: Array
    com: Array | None = None

    def sample(self, time: float) -> Target:
        """Return the same at all times."""
        still = np.zeros_like(self.position)
        return Target(self.position, still, still, self.com)
