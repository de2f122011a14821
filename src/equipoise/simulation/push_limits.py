"""The largest push that a robot survives, by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.kinematics.com import com
from equipoise.kinematics.support import support_polygon
from equipoise.kinematics.terrain import Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode
from equipoise.simulation.falling import com_height
from equipoise.simulation.feedback import feedback_by, mode_for
from equipoise.simulation.push import (
    CONDITIONS,
    STEPPING_CONDITIONS,
    degrees,
    push,
    pushed_stance,
    theoretical_limit,
)
from equipoise.simulation.summary import versions
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import PUSH_DURATION, World

# A limit is found to this fraction of the theoretical one.
RESOLUTION = 0.01
# What survives the theoretical limit is pushed harder by this factor, at most so often.
HARDER, MOST_HARDER = 1.5, 4
DIRECTIONS = 8
# Arguments of a push that say what its feedback is.
OF_FEEDBACK = ("law", "gains", "force_gains", "steps", "true_state", "seed")
# The curve of the theoretical limit has so many points, beside its corners.
CURVE_POINTS = 180


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
        """Impulse over J*."""
        return self.impulse / self.theoretical

    @property
    def per_kilogram(self) -> float:
        """Impulse over the robot's mass [N s/kg]."""
        return self.impulse / self.mass

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, by names of ``summary.json``."""
        return {
            "direction_deg": degrees(self.direction),
            "impulse_ns": self.impulse,
            "impulse_nspkg": self.per_kilogram,
            "theoretical_limit_ns": self.theoretical,
            "limit_fraction": self.fraction,
            "stands": self.impulse > 0.0,
            "not_survived_ns": self.refused,
            "sentence": self.reason,
        }


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
    world = trial_world(robot, terrain, _mode(how))
    q = pushed_stance(world)
    wanted = equal_directions(DIRECTIONS) if directions is None else tuple(directions)
    how = _with_feedback(world, how)
    limits: list[PushLimit] = []

    def told(_: float) -> None:
        if progress is not None:
            progress(len(limits))

    for direction in wanted:
        towards = direction + math.pi if pull else direction
        best = theoretical_limit(world, towards, q=q)
        if best <= 0.0:
            raise EquipoiseError(
                f"{world.robot.name} does not stand inside its soles: there is no "
                f"push towards {degrees(towards):.0f}° that it could survive"
            )
        limits.append(_bisected(world, towards, best, {**how, "progress": told}))
    return tuple(limits)


def _mode(how: dict[str, Any]) -> Mode:
    """Return the mode of joints for the feedback that is asked for."""
    return mode_for(how.get("law", "stabiliser"), how.get("feedback", True))


def _with_feedback(world: World, how: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a push with feedback that is made once for all."""
    rest = dict(how)
    asked = {name: rest.pop(name) for name in OF_FEEDBACK if name in rest}
    made = feedback_by(world, rest.get("feedback", True), rest.get("model"), **asked)
    return {**rest, "feedback": False if made is None else made}


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


def push_around(
    robot: Robot | World,
    impulse: float,
    directions: Sequence[float] | None = None,
    terrain: Terrain | None = None,
    *,
    progress: Callable[[float], None] | None = None,
    **how: Any,
) -> tuple[Run, ...]:
    """Push a robot in several directions, one after the other, from rest each time.

    Args:
        robot: The robot, or the robot in its world.
        impulse: Force times duration [N s].
        directions: Where it is pushed, about the world's z [rad]; eight unless given.
        terrain: What it stands on; flat ground unless given.
        progress: Is told how many directions are done.
        how: Other arguments of :func:`~equipoise.simulation.push.push`.

    Raises:
        EquipoiseError: As :func:`~equipoise.simulation.push.push`.
    """
    world = trial_world(robot, terrain, _mode(how))
    wanted = equal_directions(DIRECTIONS) if directions is None else tuple(directions)
    how = _with_feedback(world, how)
    runs: list[Run] = []

    def told(_: float) -> None:
        if progress is not None:
            progress(len(runs))

    for direction in wanted:
        runs.append(push(world, impulse, direction, progress=told, **how))
    return tuple(runs)


def theoretical_curve(world: World) -> list[list[float]]:
    """Return J* all around a robot: direction [degrees] and impulse [N s], in pairs."""
    q = pushed_stance(world)
    robot = world.robot
    corners = np.asarray(support_polygon(robot, q, tuple(robot.soles)))
    x, y = (corners - np.asarray(com(robot, q))[:2]).T
    corner_angles = np.degrees(np.arctan2(y, x)) % 360.0
    around = np.linspace(0.0, 360.0, CURVE_POINTS + 1)
    return [
        [angle, theoretical_limit(world, math.radians(angle), q=q)]
        for angle in np.sort([*around, *corner_angles]).tolist()
    ]


def pushes_summary(
    world: World,
    rows: Sequence[PushLimit] | Sequence[Run],
    open_loop: Sequence[PushLimit] | None = None,
    *,
    stepping: bool = False,
) -> dict[str, Any]:
    """Return results of pushes in several directions, for ``summary.json``.

    Args:
        world: The world in which the robot was pushed.
        rows: A limit for each direction, or the run of one push in each.
        open_loop: Limits without feedback, in the same directions.
        stepping: Whether the robot was allowed to step.
    """
    q = pushed_stance(world)
    limits = [row for row in rows if isinstance(row, PushLimit)]
    directions = [
        row.as_dict() if isinstance(row, PushLimit) else _run_row(row) for row in rows
    ]
    for row, beside in zip(directions, open_loop or (), strict=False):
        row["open_loop_ns"] = beside.impulse
        row["open_loop_fraction"] = beside.fraction
    height = float(com_height(world, q))
    return {
        "verb": "push",
        "robot": world.robot.name,
        "terrain": world.terrain.describe(),
        "find_limit": bool(limits),
        "achieved": all(row["stands"] for row in directions),
        "sentence": _sentence(
            world.robot.name, directions, find_limit=bool(limits), stepping=stepping
        ),
        "stepping": stepping,
        "mass_kg": world.robot.mass,
        "com_height_m": height,
        "omega_radps": math.sqrt(world.gravity / height),
        "push_duration_s": PUSH_DURATION,
        "conditions": STEPPING_CONDITIONS if stepping else CONDITIONS,
        "directions": directions,
        "theoretical": theoretical_curve(world),
        "versions": versions(),
    }


def _run_row(run: Run) -> dict[str, Any]:
    results = run.summary
    pushed = results["pushes"][-1]
    return {
        "direction_deg": pushed["direction_deg"],
        "impulse_ns": pushed["impulse_ns"],
        "impulse_nspkg": results["impulse_nspkg"],
        "theoretical_limit_ns": results["theoretical_limit_ns"],
        "limit_fraction": results["limit_fraction"],
        "stands": results["achieved"],
        "com_excursion_m": results["com_excursion_m"],
        "sole_slip_m": results["sole_slip_m"],
        "sole_lift_m": results["sole_lift_m"]["max"],
        "sentence": results["sentence"],
    }


def _sentence(
    name: str,
    directions: Sequence[Mapping[str, Any]],
    *,
    find_limit: bool,
    stepping: bool,
) -> str:
    count = len(directions)
    where = "one direction" if count == 1 else f"{count} directions"
    if not find_limit:
        stood = sum(row["stands"] for row in directions)
        impulse = directions[0]["impulse_ns"]
        return f"{name} stood after {stood} of {count} pushes of {impulse:.3g} N s."
    worst = min(directions, key=lambda row: row["limit_fraction"])
    steps = "" if stepping else " without a step"
    words = (
        f"{name} survives at least {100 * worst['limit_fraction']:.0f} % of J* in "
        f"{where}{steps}, least towards {worst['direction_deg']:.0f}° "
        f"({worst['impulse_ns']:.3g} N s)"
    )
    if "open_loop_fraction" in worst:
        least = min(row["open_loop_fraction"] for row in directions)
        words += f"; without feedback at least {100 * least:.0f} %"
    return f"{words}. Limits were bisected: not all weaker pushes were tried."
