"""A gait that the robot's joints can follow."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError, suggest
from equipoise.gait.gait import Gait
from equipoise.gait.motion import DT, LONGEST_WALK, check_reached, solve, targets_of
from equipoise.gait.parameters import GIVEN
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.com_legs import solve_com
from equipoise.robot.model import Robot

# What is not given is shortened to these fractions, one after the other, until joints
# can follow.
FRACTIONS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3)
# A CoM whose height is free is tried at these fractions of it, where the first leaves
# steps shorter than they could be; one that was asked for, if it may be adapted, at
# those below one.
HEIGHTS = (1.0, 0.98, 1.02, 0.96, 0.94, 0.92, 0.9, 0.85, 0.8)
# Points of the path that are tried, roughly and in the end [s].
ROUGHLY, FINELY = 0.02, DT
MOST_STEPS = 300
# A walk is tried with so many steps first.
FEW_STEPS = 4
# The true ZMP is this fraction of a sole's smaller side off its plan at most.
ZMP_OFF = 0.15
SHORTENED = ("length", "clearance")


def fit_walk(
    robot: Robot, steps: int = 6, *, adapt: bool = False, **asked: Any
) -> Gait:
    """Plan a walk within joint limits.

    As :func:`~equipoise.gait.plan.plan_walk`; where its step length and clearance are
    too much for a joint, and were not asked for, they are made smaller, and the height
    of the CoM is chosen that leaves them longest.

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
    usual = plan_walk(robot, steps, **asked)
    if usual.duration > LONGEST_WALK:
        raise EquipoiseError(
            f"a walk of {usual.duration:.0f} s; at most {LONGEST_WALK:g} s are planned "
            "at once: fewer or faster steps"
        )
    problem: EquipoiseError | None = None
    for fraction, height in _choices(asked, adapt):
        changed = _changed(usual, asked, fraction, height)
        try:
            gait = usual
            if changed:
                gait = plan_walk(robot, steps, **{**asked, **changed})
            _try(robot, gait, {**asked, **changed})
        except EquipoiseError as error:
            problem = problem or error
            continue
        return _explained(usual, gait, changed, fraction, height)
    raise problem or EquipoiseError(f"{robot.name} cannot walk")


def _choices(asked: dict[str, Any], adapt: bool) -> list[tuple[float, float]]:
    """Return fractions of step length and clearance, and of the CoM's height, to try.

    Where the height is free the longest steps come first, else the nearest height.
    """
    fractions = FRACTIONS if any(asked.get(n) is None for n in SHORTENED) else (1.0,)
    if asked.get("com_height") is None and asked.get("footsteps") is None:
        return [(fraction, height) for fraction in fractions for height in HEIGHTS]
    heights = [height for height in HEIGHTS if height <= 1.0] if adapt else [1.0]
    return [(fraction, height) for height in heights for fraction in fractions]


def _changed(
    usual: Gait, asked: dict[str, Any], fraction: float, height: float
) -> dict[str, float]:
    """Return the numbers of a gait that become others."""
    numbers = usual.parameters
    changed = {
        name: fraction * getattr(numbers, name)
        for name in SHORTENED
        if fraction < 1.0
        and asked.get(name) is None
        and getattr(numbers, name) is not None
    }
    if height != 1.0:
        changed["com_height"] = height * numbers.com_height
    return changed


def _try(robot: Robot, gait: Gait, asked: dict[str, Any]) -> None:
    """Refuse a gait that cannot be followed; a few steps are tried first."""
    few = gait
    if asked.get("footsteps") is None and gait.parameters.steps > FEW_STEPS:
        few = plan_walk(robot, FEW_STEPS, **asked)
    _check(robot, few, ROUGHLY)
    _check(robot, gait, FINELY)
    if asked.get("com_height") is not None:
        _check_zmp(robot, few)


def _check(robot: Robot, gait: Gait, period: float) -> None:
    """Refuse a gait that joints cannot follow at points of it."""
    time = np.arange(0.0, gait.duration, period)
    targets = targets_of(gait, time)
    check_reached(robot, solve_com(robot, targets), time, targets)


def _check_zmp(robot: Robot, gait: Gait) -> None:
    """Refuse a gait so near to joint limits that its CoM cannot be corrected.

    Raises:
        EquipoiseError: How far the ZMP would stay off its plan.
    """
    motion = solve(robot, gait)
    off = float(np.linalg.norm(motion.zmp - motion.zmp_planned, axis=1).max())
    sizes = [np.ptp(polygon, axis=0).min() for polygon in gait.polygons.values()]
    if min(sizes) > 0.0 and off > ZMP_OFF * min(sizes):
        raise EquipoiseError(
            f"{robot.name} cannot keep its ZMP: it would be up to {1e3 * off:.0f} mm "
            "off its plan, and joint limits leave no room to correct that"
        )


def _explained(
    usual: Gait, gait: Gait, changed: dict[str, float], fraction: float, height: float
) -> Gait:
    """Return a gait that says where its changed numbers came from."""
    before = usual.parameters.origins
    whys = {
        name: f"{fraction:g} of the default ({before.get(name, '')}): joint limits"
        for name in changed
    }
    if "com_height" in changed:
        why = "what was asked for: the nearest that can be followed"
        if before.get("com_height") != GIVEN:
            why = "the usual: longer steps can be followed there"
        whys["com_height"] = f"{height:g} of {why}"
    origins = {**gait.parameters.origins, **whys}
    return replace(gait, parameters=replace(gait.parameters, origins=origins))
