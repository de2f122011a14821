"""From a robot to a gait: numbers that fit the robot, then steps, feet and CoM."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError, NameNotFoundError, suggest
from equipoise.gait.com_plan import check_zmp, fit_com_height, plan_com
from equipoise.gait.feet import (
    Height,
    check_feet_apart,
    height_function,
    lay,
    plan_feet,
)
from equipoise.gait.footholds import onto_blocks
from equipoise.gait.footsteps import SIDES, Footsteps, check_side
from equipoise.gait.gait import Gait
from equipoise.gait.parameters import (
    GIVEN,
    GaitParameters,
    Method,
    check_number,
    walk_phases,
)
from equipoise.gait.walks import stairs, standing_feet, walk
from equipoise.kinematics.blocks import Blocks
from equipoise.kinematics.com import com
from equipoise.kinematics.terrain import Stairs, Terrain
from equipoise.robot.model import Robot

# Fractions of the leg length. A step of 0.15 m for legs of 0.73 m (Unitree G1), short
# enough for knees that stay bent.
LENGTH = 0.2
CLEARANCE = 0.05
# Multiples of √(z/g). 0.8 s a step for a CoM 0.70 m up (Unitree G1).
STEP_TIME = 3.0
# The CoM comes to rest over one foot after several time constants. With four, the ZMP
# first has to move the other way by about a sixth of the way.
START_TIME = 4.0
HOLD = 1.5
# Fraction of a step: time for the ZMP to go from foot to foot, and for a foot to swing.
DOUBLE_SUPPORT = 0.25
STEPS = 6
# No robot walks below this fraction of its CoM's height in standing.
LOWEST_COM = 0.01
UP = 2


def complete(robot: Robot, footsteps: Footsteps | None, **given: Any) -> GaitParameters:
    """Return all numbers of a gait: those given, checked, and defaults for the rest.

    The height of the CoM is that of standing unless given: whether legs allow it is
    for the caller to see.

    Args:
        robot: The robot.
        footsteps: If given, there is no length, turn and so on of the steps.
        **given: Fields of :class:`~equipoise.gait.parameters.GaitParameters`, None
            where a default is wanted.

    Raises:
        EquipoiseError: For numbers that are not possible; names them.
    """
    leg = leg_length(robot)
    gravity = abs(float(robot.model.gravity.linear[UP]))
    standing = float(com(robot, robot.standing)[UP])
    beat = math.sqrt(standing / gravity)
    feet = footsteps.feet if footsteps else standing_feet(robot)
    across = feet["left"].position - feet["right"].position
    apart = math.hypot(across[0], across[1])
    of_leg = f"of the leg length, {leg:.3f} m"
    of_beat = f"√(z/g) = {beat:.3f} s, z the height of the CoM in standing"
    defaults: dict[str, tuple[float, str]] = {
        "length": ((round(LENGTH * leg, 3) or LENGTH * leg), f"{LENGTH:g} {of_leg}"),
        "height": (0.0, "level walk"),
        "width": (apart, "feet at the start" if footsteps else "standing posture"),
        "step_time": (round(STEP_TIME * beat, 2), f"{STEP_TIME:g} {of_beat}"),
        "double_support": (DOUBLE_SUPPORT, "a fraction of the step"),
        "start_time": (round(START_TIME * beat, 2), f"{START_TIME:g} {of_beat}"),
        "stop_time": (round(START_TIME * beat, 2), f"{START_TIME:g} {of_beat}"),
        "hold": (round(HOLD * beat, 2), f"{HOLD:g} {of_beat}"),
        "clearance": (
            (round(CLEARANCE * leg, 3) or CLEARANCE * leg),
            f"{CLEARANCE:g} {of_leg}",
        ),
        "com_height": (round(standing, 3), "standing posture"),
        "gravity": (gravity, "the robot's model"),
    }
    values = dict(given)
    origins: dict[str, str] = {name: GIVEN for name in given}
    for name, (value, origin) in defaults.items():
        if values.get(name) is None:
            values[name], origins[name] = value, origin
    for name in ("length", "height", "sideways", "zmp_inward"):
        values[name] = check_number(name, values[name], "m")
    for name in ("turn", "swing_pitch", "torso_pitch"):
        values[name] = check_number(name, values[name], "rad")
    values["clearance"] = check_number("clearance", values["clearance"], "m", above=0.0)
    values["com_height"] = check_number(
        "com_height", values["com_height"], "m", above=LOWEST_COM * standing
    )
    values["width"] = check_number("width", values["width"], "m", least=0.0)
    for name in ("step_time", "start_time", "stop_time"):
        values[name] = check_number(name, values[name], "s", above=0.0)
    values["hold"] = check_number("hold", values["hold"], "s", least=0.0)
    values["double_support"] = check_number(
        "double_support", values["double_support"], "of a step", least=0.0, below=1.0
    )
    for name in ("heel_off", "toe_first"):
        values[name] = check_number(
            name, values[name], "of a double support", least=0.0, below=0.5
        )
    if footsteps is not None:
        values |= {"length": None, "height": None, "turn": None, "sideways": None}
        values["first"] = footsteps.steps[0].side
        origins |= {"first": "footsteps", "steps": "footsteps"}
    return GaitParameters(**values, origins=origins)


def leg_length(robot: Robot) -> float:
    """Return the mean length of the legs [m]."""
    return float(np.mean([robot.legs[side].length for side in SIDES]))


METHODS: tuple[Method, ...] = ("lipm", "preview")


def plan_walk(
    robot: Robot,
    steps: int | None = None,
    *,
    length: float | None = None,
    width: float | None = None,
    height: float | None = None,
    turn: float = 0.0,
    sideways: float = 0.0,
    step_time: float | None = None,
    double_support: float | None = None,
    start_time: float | None = None,
    stop_time: float | None = None,
    hold: float | None = None,
    clearance: float | None = None,
    swing_pitch: float = 0.0,
    heel_off: float = 0.0,
    toe_first: float = 0.0,
    torso_pitch: float = 0.0,
    com_height: float | None = None,
    zmp_inward: float = 0.0,
    first: str = "right",
    method: str = "lipm",
    ground: Terrain | Height | None = None,
    per_tread: int = 1,
    footsteps: Footsteps | None = None,
) -> Gait:
    """Plan a walk; what is not given is chosen to fit the robot.

    ``print(gait.parameters)`` shows every number with its origin. Whether joints can
    follow within their limits is not checked here, only that legs are long enough.

    Args:
        robot: The robot; it needs two legs with soles.
        steps: How many; the last of two or more brings the feet together. Six unless
            given; on stairs, as many as lead over them.
        length: Step length, from foot to foot [m]; negative goes backward.
        width: Distance of the sole frames, side by side [m].
        height: Height of each step above the one before [m].
        turn: Turn to the left with each step [rad].
        sideways: Lateral step of the leading foot, to the left [m].
        step_time: Time from one touch-down to the next [s].
        double_support: Fraction of a step with both feet on the ground, in [0, 1).
        start_time: Double support before the first step [s].
        stop_time: Double support after the last step [s].
        hold: Time at rest before and after [s].
        clearance: Clearance of a swing foot above the ground at its highest [m].
        swing_pitch: How far swing feet turn about their toes, heel up, at most [rad].
        heel_off: Fraction of a double support in which the heel of the foot that will
            swing already rises, in [0, 0.5).
        toe_first: Fraction of a double support in which the heel of a foot that landed
            on lower ground comes down, in [0, 0.5).
        torso_pitch: How far the torso leans forward [rad].
        com_height: Height of the CoM above the ground at rest [m].
        zmp_inward: Shift of the ZMP from the sole's middle towards the other foot, in
            single support [m].
        first: The foot that swings first.
        method: ``"lipm"`` (closed form) or ``"preview"`` (preview control).
        ground: Height of the ground at x and y, a function or an object with a method
            ``height``; footsteps are laid onto it. Level unless given. On ``Stairs``
            they lead over all of them, on ``Blocks`` they keep off the edges.
        per_tread: How many steps are made on each tread of stairs.
        footsteps: Where to step, in place of steps, length, width, height, turn,
            sideways and first.

    Raises:
        EquipoiseError: For bad numbers, steps that legs or ground do not allow, feet
            that cross; names the step and the limit.
    """
    for side in SIDES:
        if side not in robot.soles:
            raise NameNotFoundError("sole", side, robot.soles, robot.name)
    if method not in METHODS:
        raise EquipoiseError(
            f"unknown method '{method}'{suggest(str(method), METHODS)}; "
            f"methods are: {', '.join(METHODS)}"
        )
    polygons = {side: robot.soles[side].polygon_in_sole for side in SIDES}
    if isinstance(ground, Stairs) and footsteps is None:
        asked = {"height": height, "turn": turn, "sideways": sideways}
        for name, value in asked.items():
            if value:
                raise EquipoiseError(
                    f"{name} cannot be chosen on stairs: footsteps lead straight over "
                    "all of them"
                )
        footsteps = stairs(
            standing_feet(robot, width),
            ground,
            longest=abs(length or LENGTH * leg_length(robot)),
            heel=min(float(polygon[:, 0].min()) for polygon in polygons.values()),
            toe=max(float(polygon[:, 0].max()) for polygon in polygons.values()),
            per_tread=per_tread,
            first=first,
            steps=steps,
        )
    count = STEPS if steps is None else steps
    parameters = complete(
        robot,
        steps=count if footsteps is None else len(footsteps.steps),
        length=length,
        sideways=sideways,
        turn=turn,
        height=height,
        width=width,
        step_time=step_time,
        double_support=double_support,
        start_time=start_time,
        stop_time=stop_time,
        hold=hold,
        clearance=clearance,
        swing_pitch=swing_pitch,
        heel_off=heel_off,
        toe_first=toe_first,
        torso_pitch=torso_pitch,
        com_height=com_height,
        zmp_inward=zmp_inward,
        first=check_side(first),
        method="lipm" if method == "lipm" else "preview",
        footsteps=footsteps,
    )
    planned = footsteps or _steady_walk(robot, parameters)
    if isinstance(ground, Blocks):
        planned = onto_blocks(planned, ground, polygons)
    surface = None if ground is None else height_function(ground)
    if surface is not None:
        planned = lay(planned, surface, polygons, leg_length(robot))
    phases = walk_phases(
        planned,
        parameters.step_time,
        parameters.double_support,
        parameters.start_time,
        parameters.stop_time,
        parameters.hold,
    )
    feet = plan_feet(
        planned,
        phases,
        parameters.clearance,
        polygons,
        surface,
        parameters.swing_pitch,
        parameters.heel_off,
        parameters.toe_first,
    )
    check_feet_apart(planned, feet, polygons)
    motion = plan_com(planned, phases, parameters, polygons)
    draft = Gait(robot.name, planned, phases, parameters, motion, feet, polygons)
    gait = fit_com_height(robot, draft, given=com_height is not None)
    check_zmp(gait)
    return gait


def _steady_walk(robot: Robot, parameters: GaitParameters) -> Footsteps:
    return walk(
        standing_feet(robot, parameters.width),
        parameters.steps,
        length=parameters.length or 0.0,
        sideways=parameters.sideways or 0.0,
        turn=parameters.turn or 0.0,
        rise=parameters.height or 0.0,
        first=parameters.first,
    )
