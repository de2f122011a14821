"""A gait that the robot's joints can follow."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError, suggest
from equipoise.gait.gait import Gait
from equipoise.gait.motion import LONGEST_WALK, check_reached, targets_of
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.com_legs import solve_com
from equipoise.robot.model import Robot

# What is not given is shortened to these fractions, one after the other, until joints
# can follow.
FRACTIONS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3)
# A CoM that may be lower is tried at these fractions of its height.
LOWER = (1.0, 0.98, 0.96, 0.94, 0.92, 0.9, 0.85, 0.8)
# Points of the path that are tried [s].
TRIED = 0.02
MOST_STEPS = 300
SHORTENED = ("length", "clearance")


def fit_walk(
    robot: Robot, steps: int = 6, *, adapt: bool = False, **asked: Any
) -> Gait:
    """Plan a walk within joint limits.

    As :func:`~equipoise.gait.plan.plan_walk`; where its step length and clearance are
    too much for a joint, and were not asked for, they are made smaller.

    Args:
        robot: The robot; each leg has six joints or more.
        steps: How many.
        adapt: Whether the CoM may be lower than asked for, down to the nearest height
            that can be followed.
        asked: Options of ``plan_walk``.

    Raises:
        EquipoiseError: If no walk can be followed: when and how far off.
    """
    options = inspect.signature(plan_walk).parameters
    for name in asked:
        if name not in options:
            raise EquipoiseError(
                f"fit_walk has no option '{name}'{suggest(name, options)}; its options "
                f"are: adapt, {', '.join(list(options)[1:])}"
            )
    if steps > MOST_STEPS:
        raise EquipoiseError(f"{steps} steps; at most {MOST_STEPS} are planned at once")
    problem: EquipoiseError | None = None
    for lower in LOWER if adapt else LOWER[:1]:
        try:
            height = asked.get("com_height")
            if lower < 1.0:
                height = lower * (height or plan_walk(robot, 2).parameters.com_height)
            gait = _shortened(robot, steps, {**asked, "com_height": height})
        except EquipoiseError as error:
            problem = problem or error
            continue
        if lower == 1.0:
            return gait
        why = f"{lower:g} of what was asked for: the nearest that can be followed"
        return _explained(gait, {"com_height": why})
    raise problem or EquipoiseError(f"{robot.name} cannot walk")


def _shortened(robot: Robot, steps: int, asked: dict[str, Any]) -> Gait:
    """Plan a walk, with what was not asked for smaller if need be."""
    first = plan_walk(robot, steps, **asked)
    if first.duration > LONGEST_WALK:
        raise EquipoiseError(
            f"a walk of {first.duration:.0f} s; at most {LONGEST_WALK:g} s are planned "
            "at once: fewer or faster steps"
        )
    free = [name for name in SHORTENED if asked.get(name) is None]
    if asked.get("footsteps") is not None:
        free = [name for name in free if name != "length"]
    problem: EquipoiseError | None = None
    for fraction in FRACTIONS if free else FRACTIONS[:1]:
        gait = first
        if fraction < 1.0:
            smaller = {
                name: fraction * getattr(first.parameters, name)
                for name in free
                if getattr(first.parameters, name) is not None
            }
            gait = plan_walk(robot, steps, **{**asked, **smaller})
        time = np.arange(0.0, gait.duration, TRIED)
        targets = targets_of(gait, time)
        try:
            check_reached(robot, solve_com(robot, targets), time, targets)
        except EquipoiseError as error:
            problem = problem or error
            continue
        if fraction == 1.0:
            return gait
        whys = {
            name: f"{fraction:g} of the default "
            f"({first.parameters.origins.get(name, '')}): joint limits"
            for name in free
        }
        return _explained(gait, whys)
    raise problem or EquipoiseError(f"{robot.name} cannot walk")


def _explained(gait: Gait, whys: dict[str, str]) -> Gait:
    """Return a gait that says where its changed numbers came from."""
    origins = {**gait.parameters.origins, **whys}
    return replace(gait, parameters=replace(gait.parameters, origins=origins))
