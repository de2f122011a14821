"""A gait that the robot's joints can follow."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError, suggest
from equipoise.gait.gait import Gait
from equipoise.gait.motion import (
    DT,
    LONGEST_WALK,
    Motion,
    check_reached,
    solve,
    targets_of,
)
from equipoise.gait.parameters import GIVEN
from equipoise.gait.plan import LENGTH, leg_length, plan_walk
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.terrain import Stairs
from equipoise.robot.anatomy.leg_problems import leg_problems
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot

# What is not given is shortened to these fractions, one after the other, until joints
# can follow.
FRACTIONS: tuple[float, ...] = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3)
# A CoM whose height is free is tried at these fractions of it, where the first leaves
# steps shorter than they could be; one that was asked for, if it may be adapted, at
# those below one.
HEIGHTS = (1.0, 0.97, 1.02, 0.94, 0.9, 0.85, 0.8)
# Points of the path that are tried, roughly and in the end [s].
ROUGHLY, FINELY = 0.02, DT
MOST_STEPS = 300
# Steps whose time is free become slower by these factors where feed-forward torques of
# the legs would be above this fraction of their limits, if that helps by so much.
SLOWER = (1.0, 1.3, 1.7)
STRONG = 0.9
WORTH_IT = 0.9
# Where ankles bend too little for flat feet: heels that rise in swing; or slower steps
# from toe to toe, narrower and with the hips farther back. Step time and width are
# fractions of the usual ones.
STYLES: tuple[dict[str, float], ...] = (
    {},
    {"swing_pitch": 0.3},
    {
        "swing_pitch": 0.3,
        "heel_off": 0.45,
        "toe_first": 0.45,
        "torso_pitch": 0.2,
        "double_support": 0.35,
        "step_time": 1.3,
        "width": 0.85,
    },
)
OF_THE_USUAL = ("step_time", "width")
# A walk is tried with so many steps first.
FEW_STEPS, FEW_STAIRS = 4, 2
# The true ZMP is this fraction of a sole's smaller side off its plan at most in walks
# that were changed to fit, and on stairs.
ZMP_OFF = 0.15
SHORTENED = ("length", "clearance")


def fit_walk(
    robot: Robot, steps: int | None = None, *, adapt: bool = False, **asked: Any
) -> Gait:
    """Plan a walk within joint limits.

    As :func:`~equipoise.gait.plan.plan_walk`; where its step length and clearance are
    too much for a joint, and were not asked for, they are made smaller, and the height
    of the CoM is chosen that leaves them longest. Steps are slower where actuators are
    too weak or too slow for the usual ones. On stairs there are several steps on each
    tread where one would be too long.

    Args:
        robot: The robot; legs have six joints or more, or five and feet whose heading
            is free.
        steps: How many; six unless given, and on stairs as many as lead over them.
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
    problems = leg_problems(robot)
    if problems:
        raise EquipoiseError(f"{robot.name} cannot walk: {problems[0]}")
    if steps is not None and steps > MOST_STEPS:
        raise EquipoiseError(f"{steps} steps; at most {MOST_STEPS} are planned at once")
    best: tuple[float, Gait] | None = None
    problem: EquipoiseError | None = None
    for slower in SLOWER if asked.get("step_time") is None else SLOWER[:1]:
        slow = dict(asked)
        if slower > 1.0:
            usual = plan_walk(robot, 2).parameters.step_time
            slow["step_time"] = round(slower * usual, 2)
        gait = None
        try:
            gait = _followed(robot, steps, slow, adapt)
            few = _solved_few(robot, gait, slow)
            torque = _torque_fraction(robot, few)
        except EquipoiseError as error:
            problem = problem or error
            if gait is None and _on_stairs(asked):
                break  # slower steps were tried among the styles
            continue
        if slower > 1.0:
            why = f"{slower:g} of the default, as actuators are weak or slow"
            gait = _with_origins(gait, {"step_time": why})
        if best is None or torque < WORTH_IT * best[0]:
            best = torque, gait
        if torque <= STRONG:
            break
    if best is None:
        raise problem or EquipoiseError(f"{robot.name} cannot walk")
    return best[1]


def _followed(
    robot: Robot, steps: int | None, asked: dict[str, Any], adapt: bool
) -> Gait:
    """Return a walk that joints can follow, whatever torque and speed that takes."""
    problem: EquipoiseError | None = None
    for style in STYLES:
        if any(asked.get(name) for name in style if name not in OF_THE_USUAL):
            continue
        chosen = _numbers_of(robot, style, asked)
        for per_tread in _per_tread(robot, asked):
            try:
                gait = _fitted(robot, steps, {**asked, **chosen, **per_tread}, adapt)
            except EquipoiseError as error:
                problem = problem or error
                continue
            return _with_origins(gait, dict.fromkeys(chosen, "ankles bend too little"))
    raise problem or EquipoiseError(f"{robot.name} cannot walk")


def _numbers_of(
    robot: Robot, style: dict[str, float], asked: dict[str, Any]
) -> dict[str, float]:
    """Return the numbers of a style that were not asked for."""
    scale = {}
    if any(name in style for name in OF_THE_USUAL):
        usual = plan_walk(robot, 2).parameters
        scale = {name: getattr(usual, name) for name in OF_THE_USUAL}
    return {
        name: round(value * scale.get(name, 1.0), 3)
        for name, value in style.items()
        if asked.get(name) is None
    }


def _per_tread(robot: Robot, asked: dict[str, Any]) -> list[dict[str, int]]:
    """Return how many steps on each tread of stairs to try, one after the other."""
    if not _on_stairs(asked) or asked.get("per_tread") is not None:
        return [{}]
    usual = asked.get("length") or LENGTH * leg_length(robot)
    room = asked["ground"].tread - robot.soles["left"].size[0]
    many = 1 + math.ceil(max(0.0, room) / abs(usual))
    return [{"per_tread": number} for number in sorted({1, 2, 3, max(3, many)})]


def _on_stairs(asked: dict[str, Any]) -> bool:
    """Return whether footsteps are to be planned over stairs."""
    return isinstance(asked.get("ground"), Stairs) and asked.get("footsteps") is None


def _fitted(
    robot: Robot, steps: int | None, asked: dict[str, Any], adapt: bool
) -> Gait:
    """Return a walk with lengths and heights that joints can follow."""
    usual = plan_walk(robot, steps, **asked)
    if usual.duration > LONGEST_WALK:
        raise EquipoiseError(
            f"a walk of {usual.duration:.0f} s; at most {LONGEST_WALK:g} s are planned "
            "at once: fewer or faster steps"
        )
    problem: EquipoiseError | None = None
    for fraction, height in _choices(asked, adapt):
        changed = _changed(usual, asked, fraction, height)
        now = {**asked, **changed}
        try:
            few = _few(robot, steps, now)
            _check(robot, few, ROUGHLY)
            gait = plan_walk(robot, steps, **now) if changed else usual
            _check(robot, gait, FINELY)
            if "com_height" in changed or fraction < 1.0 or _on_stairs(asked):
                check_zmp_kept(robot, solve(robot, few))
        except EquipoiseError as error:
            problem = problem or error
            continue
        return _explained(usual, gait, changed, fraction, height)
    raise problem or EquipoiseError(f"{robot.name} cannot walk")


def _solved_few(robot: Robot, gait: Gait, asked: dict[str, Any]) -> Motion:
    """Return joints that follow a few steps of a gait.

    Raises:
        EquipoiseError: If a joint would be faster than it can be.
    """
    numbers = gait.parameters
    chosen = ("com_height", *SHORTENED, *STYLES[-1])
    same = {name: getattr(numbers, name) for name in chosen}
    if _on_stairs(asked):
        return solve(robot, gait)
    return solve(robot, _few(robot, numbers.steps, {**asked, **same}))


def _torque_fraction(robot: Robot, motion: Motion) -> float:
    """Return the largest feed-forward torque of the legs over its limit."""
    torque = np.abs(motion.joint_torque).max(axis=0)
    limits = {actuator.joint: actuator.effort_limit for actuator in robot.actuators}
    legs = robot.leg_joints
    names = degree_names(robot)
    fractions = [
        torque[at] / limits[name]
        for at, name in enumerate(names)
        if name in legs and 0.0 < limits.get(name, 0.0) < np.inf
    ]
    return float(max(fractions, default=0.0))


def _choices(asked: dict[str, Any], adapt: bool) -> list[tuple[float, float]]:
    """Return fractions of step length and clearance, and of the CoM's height, to try.

    Where the height is free the longest steps come first, else the nearest height.
    """
    fractions = FRACTIONS if any(asked.get(n) is None for n in SHORTENED) else (1.0,)
    if _on_stairs(asked):  # only the clearance
        fractions = fractions[::2]
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


def _few(robot: Robot, steps: int | None, asked: dict[str, Any]) -> Gait:
    """Return the same walk with few steps or stairs, which are tried first."""
    if _on_stairs(asked):
        ground = asked["ground"]
        few = replace(ground, count=min(ground.count, FEW_STAIRS))
        return plan_walk(robot, steps, **{**asked, "ground": few})
    if asked.get("footsteps") is not None:
        return plan_walk(robot, steps, **asked)
    return plan_walk(robot, min(steps or FEW_STEPS, FEW_STEPS), **asked)


def _check(robot: Robot, gait: Gait, period: float) -> None:
    """Refuse a gait that joints cannot follow at points of it."""
    time = np.arange(0.0, gait.duration, period)
    targets = targets_of(gait, time)
    check_reached(robot, solve_com(robot, targets), time, targets)


def check_zmp_kept(robot: Robot, motion: Motion) -> None:
    """Refuse a gait so near to joint limits that its CoM cannot be corrected.

    Args:
        robot: The robot.
        motion: Joints that follow the gait.

    Raises:
        EquipoiseError: How far the ZMP would stay off its plan.
    """
    off = float(np.linalg.norm(motion.zmp - motion.zmp_planned, axis=1).max())
    polygons = motion.gait.polygons.values()
    size = min(float(np.ptp(polygon, axis=0).min()) for polygon in polygons)
    if size > 0.0 and off > ZMP_OFF * size:
        raise EquipoiseError(
            f"{robot.name} cannot keep its ZMP: it would be up to {1e3 * off:.0f} mm "
            f"off its plan, on soles {1e3 * size:.0f} mm wide, and neither joints nor "
            "a slower walk leave room to correct that"
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
    return _with_origins(gait, whys)


def _with_origins(gait: Gait, whys: dict[str, str]) -> Gait:
    origins = {**gait.parameters.origins, **whys}
    return replace(gait, parameters=replace(gait.parameters, origins=origins))
