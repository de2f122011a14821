"""The blocks of the control loop: reference, estimator, controller, plant.

::

    reference ── Target ──► controller ── Command ──► plant
                                ▲                       │
                      State or Measurement ◄── sensors, estimator

Each is a protocol: a class of your own needs no base class. One that inherits from the
protocol gets a ``reset`` that does nothing, which is right for a block without memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Command, Measurement, State, Target
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# What a controller is shown: a State, or a Measurement where there is no estimator.
Known_contra = TypeVar("Known_contra", contravariant=True)


class Reference(Protocol):
    """What is wanted over time."""

    def reset(self) -> None:
        """Begin anew, at time zero."""

    def sample(self, time: float) -> Target:
        """Return what is wanted at a time [s]."""
        ...


class Estimator(Protocol):
    """Turns measurements into a state."""

    def reset(self, start: State) -> None:
        """Begin anew from a state that is known."""

    def estimate(self, measurement: Measurement, command: Command) -> State:
        """Return the state now.

        Args:
            measurement: What the sensors measure now.
            command: What the actuators were told last.
        """
        ...


class Controller(Protocol[Known_contra]):
    """Turns what is wanted and what is known into commands."""

    def reset(self, start: State) -> None:
        """Begin anew from a state that is known."""

    def control(self, known: Known_contra, target: Target) -> Command:
        """Return a command.

        Args:
            known: A :class:`~equipoise.control.signals.State`, or a
                :class:`~equipoise.control.signals.Measurement` where there are sensors
                and no estimator.
            target: What is wanted at the end of the control period.
        """
        ...


class Plant(Protocol):
    """The robot, simulated or real: does what it is told for some time steps.

    Attributes:
        robot: Which robot.
        dt: The shortest time for which a command can hold [s].
    """

    robot: Robot
    dt: float

    @property
    def state(self) -> State:
        """The state now."""
        ...

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> State:
        """Put the robot somewhere at time zero, at rest unless ``v`` is given."""
        ...

    def step(self, command: Command, steps: int = 1) -> State:
        """Hold a command for some time steps, and return the state after them."""
        ...


class OpenLoop:
    """A controller that hands on what is wanted; servos do the rest."""

    def reset(self, start: State) -> None:
        """Do nothing: there is nothing to forget."""

    def control(self, known: Any, target: Target) -> Command:
        """Return position, velocity and torque as they are wanted."""
        return Command(target.position, target.velocity, target.torque)


@dataclass(frozen=True, eq=False)
class Hold:
    """A reference that never changes.

    Attributes:
        position: Joint positions [rad or m], shape (nv - 6,).
        com: Where that puts the centre of mass [m], shape (3,), or None.
        torque: Torques that hold it [Nm or N], shape (nv - 6,), or None for zero.
        zmp: Where the ZMP is at rest [m], shape (3,), or None.
        soles: Transforms from sole to world by side, shape (4, 4) each, or None; the
            robot stands on all of them.
        torso: Rotation of the torso's upright frame to the world, shape (3, 3), or
            None.
    """

    position: Array
    com: Array | None = None
    torque: Array | None = None
    zmp: Array | None = None
    soles: Mapping[Side, Array] | None = None
    torso: Array | None = None

    def reset(self) -> None:
        """Do nothing: it never changes."""

    @cached_property
    def target(self) -> Target:
        """What is wanted at all times; at rest, so that the DCM is the CoM."""
        still = frozen_array(np.zeros_like(self.position))
        rest = None if self.com is None else frozen_array(np.zeros(3))
        twist = frozen_array(np.zeros(6))
        twists = None if self.soles is None else dict.fromkeys(self.soles, twist)
        both = self.soles is not None and len(self.soles) > 1
        return Target(
            self.position,
            still,
            still if self.torque is None else self.torque,
            self.com,
            com_velocity=rest,
            com_acceleration=rest,
            dcm=self.com,
            zmp=self.zmp,
            soles=self.soles,
            sole_twists=twists,
            sole_accelerations=twists,
            support="both" if both else None,
            torso=self.torso,
        )

    def sample(self, time: float) -> Target:
        """Return the same at all times."""
        return self.target
