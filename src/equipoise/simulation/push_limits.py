"""The largest push that a robot survives without a step, by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.errors import EquipoiseError
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.model import Robot
from equipoise.simulation.push import push, theoretical_limit
from equipoise.simulation.start import stance_on
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World

# A limit is found to this fraction of the theoretical one.
RESOLUTION = 0.01
# What survives the theoretical limit is pushed harder by this factor, at most so often.
HARDER, MOST_HARDER = 1.5, 4
DIRECTIONS = 8


@dataclass(frozen=True)
class PushLimit:
    """The largest impulse survived in one direction.

    Attributes:
        direction: Where the robot is pushed, about the world's z [rad].
        impulse: The largest that was survived [N s]; zero if none was.
        refused: The smallest tried that was not survived [N s].
        theoretical: J* [N s].
        mass: Mass of the robot [kg].
        reason: Why the smallest was not survived, in a sentence.
    """

    direction: float
    impulse: float
    refused: float
    theoretical: float
    mass: float
    reason: str

    @property
    def fraction(self) -> float:
        """Impulse over J*; zero where J* is zero."""
        return self.impulse / self.theoretical if self.theoretical > 0.0 else 0.0

    @property
    def per_kilogram(self) -> float:
        """Impulse over the robot's mass [N s/kg]."""
        return self.impulse / self.mass


def equal_directions(count: int) -> tuple[float, ...]:
    """Return so many directions around the robot, from forward on [rad].

    Raises:
        EquipoiseError: If the number is not from 1 to 360.
    """
    if not 1 <= count <= 360:
        raise EquipoiseError(f"{count} directions; there must be 1 to 360")
    return tuple(2.0 * math.pi * at / count for at in range(count))


def find_push_limits(
    robot: Robot | World,
    directions: Sequence[float] | None = None,
    terrain: Terrain | None = None,
    *,
    pull: bool = False,
    progress: Callable[[float], None] | None = None,
    **how: Any,
) -> tuple[PushLimit, ...]:
    """Return the largest impulse that a robot survives in each direction.

    The bracket begins at J*, and is halved until it is a hundredth of J*. That a robot
    which survives a push survives all smaller ones is assumed.

    Args:
        robot: The robot, or the robot in its world.
        directions: Where it is pushed, about the world's z [rad]; eight unless given.
        terrain: What it stands on; flat ground unless given.
        pull: Whether it is pulled instead: the opposite directions.
        progress: Is told how many directions are done.
        how: Other arguments of :func:`~equipoise.simulation.push.push`.

    Raises:
        EquipoiseError: As :func:`~equipoise.simulation.push.push`.
    """
    world = trial_world(robot, terrain)
    q = stance_on(world.terrain, world.robot)
    wanted = equal_directions(DIRECTIONS) if directions is None else tuple(directions)
    limits = []
    for done, direction in enumerate(wanted):

        def told(time: float, done: int = done) -> None:
            if progress is not None:
                progress(done)

        towards = direction + math.pi if pull else direction
        best = theoretical_limit(world, towards, q=q)
        if best <= 0.0:
            raise EquipoiseError(
                f"{world.robot.name} stands at the edge of its soles: there is no push "
                f"towards {math.degrees(towards):.0f}° that it could survive"
            )
        how_now = {**how, "progress": told}
        limits.append(_bisected(world, towards, best, how_now))
    return tuple(limits)


def _bisected(
    world: World, towards: float, best: float, how: dict[str, Any]
) -> PushLimit:
    low, high, reason = 0.0, best, ""

    def survives(impulse: float) -> bool:
        nonlocal reason
        results = push(world, impulse, towards, **how).summary
        if not results["achieved"]:
            reason = str(results["sentence"])
        return bool(results["achieved"])

    for _ in range(MOST_HARDER):
        if not survives(high):
            break
        low, high = high, HARDER * high
    while high - low > RESOLUTION * best:
        middle = 0.5 * (low + high)
        if survives(middle):
            low = middle
        else:
            high = middle
    return PushLimit(towards, low, high, best, world.robot.mass, reason)
