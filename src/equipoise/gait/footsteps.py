"""Where feet stand: one footstep, and a walk's footsteps in their order."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, suggest
from equipoise.gait.foot_attitude import sole_transforms
from equipoise.robot.parts import Side

SIDES: tuple[Side, ...] = get_args(Side)
COORDINATES = ("x", "y", "z", "yaw", "pitch", "roll")


@dataclass(frozen=True)
class Footstep:
    """A sole on the ground, in the world.

    Attributes:
        side: Which foot.
        x: Of the sole frame's origin, forward [m].
        y: To the left [m].
        z: Up [m].
        yaw: Heading of the sole; positive turns left [rad].
        pitch: Positive puts the toes down [rad].
        roll: Positive puts the right edge down [rad].
    """

    side: Side
    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0

    def __post_init__(self) -> None:
        """Refuse unknown feet and coordinates that are not finite."""
        check_side(self.side)
        for name in COORDINATES:
            value = getattr(self, name)
            if not math.isfinite(value):
                raise EquipoiseError(
                    f"{name} of a {self.side} footstep is {value}; it must be finite"
                )

    @property
    def coordinates(self) -> Array:
        """x, y, z [m], yaw, pitch, roll [rad], shape (6,)."""
        return np.array([getattr(self, name) for name in COORDINATES])

    @property
    def position(self) -> Array:
        """Of the sole frame's origin in the world [m], shape (3,)."""
        return self.coordinates[:3]

    @property
    def transform_sole_to_world(self) -> Array:
        """Maps sole coordinates to world coordinates, shape (4, 4)."""
        return sole_transforms(self.coordinates)


class Stride(NamedTuple):
    """One step of a walk.

    Attributes:
        number: 1 for the first step.
        start: Where the swing foot lifts off.
        end: Where it comes down.
        support: Where the other foot stands meanwhile.
    """

    number: int
    start: Footstep
    end: Footstep
    support: Footstep


@dataclass(frozen=True)
class Footsteps:
    """Where both feet stand at the start, and where they go, one after the other.

    Yaw angles are kept within half a turn of the footstep before, by whole turns.

    Attributes:
        left: Where the left foot stands at the start.
        right: Where the right foot stands at the start.
        steps: Where feet are put down, in order; a foot may step twice in a row.
    """

    left: Footstep
    right: Footstep
    steps: tuple[Footstep, ...]

    def __post_init__(self) -> None:
        """Refuse walks without steps, and take whole turns out of yaw angles."""
        if self.left.side != "left" or self.right.side != "right":
            raise EquipoiseError("left and right feet at the start are mixed up")
        if not self.steps:
            raise EquipoiseError("a walk needs at least one step")
        right = _near(self.right, self.left.yaw)
        steps, yaw = [], right.yaw
        for step in self.steps:
            steps.append(_near(step, yaw))
            yaw = steps[-1].yaw
        object.__setattr__(self, "right", right)
        object.__setattr__(self, "steps", tuple(steps))

    @property
    def feet(self) -> dict[Side, Footstep]:
        """Where the feet stand at the start, by side."""
        return {"left": self.left, "right": self.right}

    @property
    def feet_at_end(self) -> dict[Side, Footstep]:
        """Where the feet stand at the end, by side."""
        return self.feet | {step.side: step for step in self.steps}

    @property
    def strides(self) -> tuple[Stride, ...]:
        """Each step with where it starts from and what supports it."""
        feet = self.feet
        strides = []
        for number, step in enumerate(self.steps, start=1):
            support = feet[other(step.side)]
            strides.append(Stride(number, feet[step.side], step, support))
            feet[step.side] = step
        return tuple(strides)


def other(side: Side) -> Side:
    """Return the other side."""
    return "right" if side == "left" else "left"


def check_side(side: str) -> Side:
    """Return a side.

    Raises:
        EquipoiseError: If it is neither left nor right.
    """
    for valid in SIDES:
        if side == valid:
            return valid
    raise EquipoiseError(
        f"unknown foot '{side}'{suggest(str(side), SIDES)}; left or right is needed"
    )


def _near(step: Footstep, yaw: float) -> Footstep:
    """Return a footstep with its yaw within half a turn of another."""
    turns = round((step.yaw - yaw) / (2.0 * math.pi))
    return replace(step, yaw=step.yaw - 2.0 * math.pi * turns) if turns else step
