"""What an engine is: the interface behind which ours and MuJoCo's stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.control.blocks import Plant
from equipoise.control.signals import Command, State
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.simulation.world import Push, World

SHORTEST_STEP = 1e-6
LONGEST_STEP = 0.005


class DivergedError(EquipoiseError):
    """A simulation that left all bounds; says when, where and why."""


@dataclass(frozen=True, eq=False)
class Trace:
    """States at n times.

    Attributes are those of :class:`~equipoise.control.signals.State`, with a first axis
    of n.
    """

    time: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    contact_position: Array
    contact_force: Array
    boxes: Array

    def __len__(self) -> int:
        """Return how many states there are."""
        return len(self.time)

    def at(self, index: int) -> State:
        """Return one state."""
        rows = {item.name: getattr(self, item.name)[index] for item in fields(self)}
        rows["time"] = float(rows["time"])
        return State(**rows)


class Engine(Plant, Protocol):
    """Moves one world through time; a plant that can also do many commands at once.

    Attributes:
        name: Its name.
        world: The robot and all that it meets.
        dt: Time step [s].
        notices: What it cannot express of this world, a sentence each.
    """

    name: str
    world: World
    notices: tuple[str, ...]

    def advance(self, commands: Command, every: int = 1) -> Trace:
        """Do one step for each row of commands, and return every n-th state.

        Args:
            commands: Arrays of shape (steps, nv - 6).
            every: How many steps lie between states; divides their number.
        """
        ...

    def mask_contacts(self, masked: ArrayLike) -> None:
        """Let contact points touch nothing, until this is called again or a reset.

        Args:
            masked: Whether each is masked, shape (nc,).
        """
        ...

    def set_push(self, push: Push, number: int = 0) -> None:
        """Put a push in the place of one of the world's, for this engine alone.

        Args:
            push: Another force, at another time, on the same point of the same link.
            number: Index of the push that it replaces.
        """
        ...


def check_mask(masked: ArrayLike, world: World) -> NDArray[np.bool_]:
    """Return which contact points are masked, shape (nc,).

    Raises:
        ShapeError: If there is not one truth value for each contact point.
    """
    mask = np.asarray(masked, dtype=bool)
    if mask.shape != (len(world.contacts),):
        raise ShapeError(
            f"a mask of contact points has the shape ({len(world.contacts)},), not "
            f"{mask.shape}"
        )
    return mask


def check_push(push: Push, number: int, world: World) -> None:
    """Refuse a push that cannot take the place of one of the world's.

    Raises:
        EquipoiseError: If the world has no such push, or it acts elsewhere.
    """
    if not 0 <= number < len(world.pushes):
        raise EquipoiseError(
            f"the world has {len(world.pushes)} pushes: there is none of index {number}"
        )
    old = world.pushes[number]
    if push.link != old.link or (push.point_in_link != old.point_in_link).any():
        raise EquipoiseError(
            f"push {number} acts at {old.point_in_link.tolist()} of '{old.link}': it "
            f"cannot be moved to {push.point_in_link.tolist()} of '{push.link}'"
        )


def check_dt(dt: float) -> float:
    """Return a time step [s].

    Raises:
        EquipoiseError: If it is out of range.
    """
    if not (np.isfinite(dt) and SHORTEST_STEP <= dt <= LONGEST_STEP):
        raise EquipoiseError(
            f"a time step of {dt:g} s; it must be from {SHORTEST_STEP:g} to "
            f"{LONGEST_STEP:g} s"
        )
    return float(dt)


def check_commands(
    commands: Command,
    joints: int,
    source: str = "command",
    names: Sequence[str] | None = None,
) -> Command:
    """Return commands as float64 arrays of shape (steps, joints).

    Args:
        commands: Three arrays of shape (joints,) or (steps, joints).
        joints: How many joint degrees of freedom there are.
        source: Where they came from, for messages.
        names: Names of the joint degrees of freedom, for messages.

    Raises:
        ShapeError: If a shape is wrong or a value is not finite, naming which.
    """
    checked = []
    try:
        parts = [getattr(commands, name) for name in Command._fields]
    except AttributeError as error:
        raise ShapeError(
            f"{source}: a Command of position, velocity and torque is needed, not "
            f"{type(commands).__name__}"
        ) from error
    for name, values in zip(Command._fields, parts, strict=True):
        try:
            array = np.atleast_2d(np.asarray(values, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ShapeError(f"{source}: {name} is not an array of numbers") from error
        if array.ndim != 2 or array.shape[1] != joints:
            raise ShapeError(
                f"{source}: {name} has shape {np.shape(values)}; "
                f"({joints},) or (steps, {joints}) is needed"
            )
        if not np.isfinite(array).all():
            step, joint = np.argwhere(~np.isfinite(array))[0]
            who = f"degree of freedom {joint}" if names is None else f"'{names[joint]}'"
            where = f" in row {step}" if len(array) > 1 else ""
            raise ShapeError(
                f"{source}: {name} of {who} is {array[step, joint]}{where}"
            )
        checked.append(array)
    steps = {len(array) for array in checked}
    if len(steps) != 1:
        raise ShapeError(f"{source}: position, velocity and torque differ in length")
    return Command(*checked)
