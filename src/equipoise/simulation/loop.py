"""The control loop: reference, sensors, estimator, controller, plant, at their rates.

All periods are whole numbers of the plant's time steps and otherwise independent. In
time step i the loop asks the reference (what is wanted at the end of its period), the
sensors, the estimator and the controller, each if its period begins; what they said
holds until they are asked again. Then the plant runs until somebody is due.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.control.blocks import Controller, Estimator, OpenLoop, Plant, Reference
from equipoise.control.signals import (
    CheckedCommand,
    Command,
    Measurement,
    State,
    Target,
)
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.simulation.engine import Engine, Trace, check_commands
from equipoise.simulation.sensors import SensorSuite

# Open-loop commands are handed to the engine in pieces of this many steps.
STEPS_A_PIECE = 500
# Periods that are this close to a whole number of steps are meant to be [steps].
WHOLE = 1e-6
# A day [s].
LONGEST_TIME = 86_400.0


@dataclass(frozen=True)
class Periods:
    """How often each block is asked, in time steps of the plant.

    Attributes:
        control: For which a command holds.
        reference: Between two targets.
        sensors: Between two measurements, and two estimates.
        record: Between two records.
    """

    control: int = 1
    reference: int = 1
    sensors: int = 1
    record: int = 1


def whole_steps(time: float, step: float, name: str) -> int:
    """Return how many steps a time takes.

    Raises:
        EquipoiseError: If that is not a positive whole number; says which are near.
    """
    if not (np.isfinite(time) and 0.0 < time <= LONGEST_TIME):
        raise EquipoiseError(
            f"a {name} of {time:g} s; it must be above 0 and at most {LONGEST_TIME:g} s"
        )
    count = round(time / step)
    if count < 1 or abs(time / step - count) > WHOLE * max(count, 1):
        below = int(time / step)
        near = [f"{n * step:.9g}" for n in (below, below + 1) if n > 0]
        raise EquipoiseError(
            f"a {name} of {time:g} s is not a whole number of time steps of "
            f"{step:g} s; the nearest that {'are' if len(near) > 1 else 'is'}: "
            f"{' and '.join(near)} s"
        )
    return count


@dataclass
class Records:
    """What went round the loop, at the times that are recorded.

    Attributes:
        trace: True states.
        targets: What was wanted, one for each state.
        commands: Commands to the actuators in the step that led to each state; at
            the start, to stay where they are. Arrays of shape (n, nv - 6).
        measurements: What the sensors measured last; empty without sensors.
        estimates: What the estimator made of it; empty without an estimator.
    """

    trace: Trace
    targets: list[Target]
    commands: Command
    measurements: list[Measurement]
    estimates: list[State]


class ControlLoop:
    """One run of the loop, from a plant that was reset.

    What went round it until now can be had at any time (:meth:`records`), also after an
    error of a block.
    """

    def __init__(
        self,
        reference: Reference,
        controller: Controller[Any],
        plant: Plant,
        periods: Periods,
        *,
        sensors: SensorSuite | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        """Reset all blocks but the plant.

        Args:
            reference: What is wanted.
            controller: What is done about it.
            plant: The robot; an engine, or anything that is a plant.
            periods: How often each is asked.
            sensors: What the controller is shown instead of the state.
            estimator: Makes a state of what the sensors measure.
        """
        if estimator is not None and sensors is None:
            raise EquipoiseError(
                "an estimator needs sensors: give a SensorSuite with it"
            )
        self.plant, self.periods = plant, periods
        self._reference, self._controller = reference, controller
        self._sensors, self._estimator = sensors, estimator
        asked = [periods.control, periods.reference, periods.record]
        self._every = tuple(asked if sensors is None else [*asked, periods.sensors])
        self._shortest = min(self._every)
        self._names = degree_names(plant.robot)
        self._buffer = np.zeros((3, len(self._names)))
        self._finite = np.zeros(self._buffer.shape, dtype=np.bool_)
        self._shape = (len(self._names),)
        self._done = 0
        start = plant.state
        still = np.zeros(len(self._names))
        self._command = Command(joint_positions(plant.robot, start.q), still, still)
        self._known: Any = start
        self._measurement: Measurement | None = None
        self._target: Any = None
        self._traces: list[Trace] = []
        self._states: list[State] = []
        self._targets: list[Target] = []
        self._commands: list[Command] = []
        self._measurements: list[Measurement] = []
        self._estimates: list[State] = []
        _reset(reference)
        _reset(controller, start)
        if sensors is not None:
            sensors.reset()
        if estimator is not None:
            _reset(estimator, start)

    def run(self, steps: int, watch: Callable[[State], bool] | None = None) -> None:
        """Go on for some time steps of the plant.

        Args:
            steps: How many.
            watch: Is shown the state whenever somebody is asked; stops by True.

        Raises:
            ShapeError: If the controller returns NaN, a wrong shape or nothing; says
                when and which joint.
        """
        last = self._done + steps
        open_loop = (
            type(self._controller) is OpenLoop  # not one that is made of it
            and self._sensors is None
            and self.periods.control == self.periods.reference
            and hasattr(self.plant, "advance")
        )
        ahead = self._ahead if open_loop else self._once
        while self._done < last:
            state = ahead(last)
            if watch is not None and watch(state):
                break

    def _once(self, last: int) -> State:
        """Ask whoever is due, and let the plant run until somebody is again."""
        at, plant, periods = self._done, self.plant, self.periods
        if at % periods.reference == 0:
            self._target = self._reference.sample((at + periods.reference) * plant.dt)
        if self._sensors is None:
            self._known = plant.state
        elif at % periods.sensors == 0:
            self._known = self._measurement = self._sensors.measure(plant.state)
            if self._estimator is not None:
                self._known = self._estimator.estimate(self._known, self._command)
        if at % periods.control == 0:
            answer = self._controller.control(self._known, self._target)
            self._command = self._checked(answer)
        until = at + 1
        if self._shortest > 1:
            until = min(last, *(at - at % every + every for every in self._every))
        state = plant.step(self._command, until - at)
        self._done = until
        if until % periods.record == 0:
            self._keep(state)
        return state

    def _ahead(self, last: int) -> State:
        """Hand on what is wanted, many steps at once."""
        engine: Engine = self.plant  # type: ignore[assignment]
        at, every, dt = self._done, self.periods.record, engine.dt
        hold = self.periods.control
        count = min(max(STEPS_A_PIECE // hold, 1), -(-(last - at) // hold))
        targets = [
            self._reference.sample((at + n * hold) * dt) for n in range(1, count + 1)
        ]
        steps = min(count * hold, last - at)
        rows = [
            np.repeat([getattr(t, part) for t in targets], hold, axis=0)[:steps]
            for part in Command._fields
        ]
        source = f"{type(self._reference).__name__} from {at * dt:g} s"
        commands = check_commands(Command(*rows), len(self._names), source, self._names)
        done = 0
        while done < steps:
            # up to the next record, or as many whole intervals as there are
            since = (at + done) % every
            left = steps - done
            span = min(every - since, left) if since else left - left % every or left
            part = Command(*(rows[done : done + span] for rows in commands))
            kept = (since + span) % every == 0
            stride = every if kept and not since else span
            trace = engine.advance(part, stride)
            if kept:
                self._traces.append(trace)
                for step in range(done + stride, done + span + 1, stride):
                    target = targets[-(-step // hold) - 1]
                    if step % hold:
                        target = self._reference.sample((at + step) * dt)
                    self._targets.append(target)
                    # copies: a view would keep the rows of all steps in memory
                    self._commands.append(
                        Command(*(rows[step - 1].copy() for rows in commands))
                    )
            done += span
        self._done = at + steps
        self._command = Command(*(rows[-1] for rows in commands))
        return engine.state

    def _keep(self, state: State) -> None:
        self._states.append(state)
        self._commands.append(self._command)
        wanted = self._target
        if wanted is None or self._done % self.periods.reference:
            wanted = self._reference.sample(self._done * self.plant.dt)
        self._targets.append(wanted)
        if self._measurement is not None:
            self._measurements.append(self._measurement)
        if self._estimator is not None:
            self._estimates.append(self._known)

    def _checked(self, answer: Any) -> CheckedCommand:
        """Return a command that is one, in memory of its own."""
        buffer = self._buffer
        try:
            position, velocity, torque = answer
            buffer[0], buffer[1], buffer[2] = position, velocity, torque
            finite = np.count_nonzero(np.isfinite(buffer, self._finite))
            fine = finite == self._finite.size and (
                position.shape == velocity.shape == torque.shape == self._shape
            )
        except (AttributeError, TypeError, ValueError):
            fine = False
        if not fine:
            return self._mended(answer)
        position, velocity, torque = buffer.copy()
        return CheckedCommand(position, velocity, torque)

    def _mended(self, answer: Any) -> CheckedCommand:
        """Return an answer of lists, say, as a command; say what is wrong with others.

        Raises:
            ShapeError: With the controller, the time and the joint.
        """
        time = self._done * self.plant.dt
        source = f"{type(self._controller).__name__} at {time:g} s"
        if answer is None:
            raise ShapeError(
                f"{source}: control() returned nothing; a Command of position, "
                f"velocity and torque is needed"
            )
        commands = check_commands(answer, len(self._names), source, self._names)
        if all(np.ndim(part) == 1 for part in answer):
            return CheckedCommand(*(part[0] for part in commands))
        raise ShapeError(
            f"{source}: position, velocity and torque have "
            f"{len(commands.position)} rows; one is needed"
        )

    def records(self) -> Records:
        """Return what went round the loop until now; at least the state now."""
        if not (self._traces or self._states) or self._done % self.periods.record:
            self._keep(self.plant.state)
        names = [item.name for item in fields(Trace)]
        parts = {name: [getattr(t, name) for t in self._traces] for name in names}
        if self._states:
            for name in names:
                parts[name].append(
                    np.array([getattr(state, name) for state in self._states])
                )
        trace = Trace(**{name: np.concatenate(parts[name]) for name in names})
        rows: list[Array] = [
            np.array([getattr(command, part) for command in self._commands])
            for part in Command._fields
        ]
        return Records(
            trace, self._targets, Command(*rows), self._measurements, self._estimates
        )


def _reset(block: Any, *given: Any) -> None:
    """Reset a block; one without ``reset`` has no memory."""
    reset = getattr(block, "reset", None)
    if reset is not None:
        reset(*given)
