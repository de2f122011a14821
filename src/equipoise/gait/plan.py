"""From a robot to a gait: numbers that fit the robot, then steps, feet and CoM."""

from __future__ import annotations

from equipoise.errors import EquipoiseError, NameNotFoundError, suggest
from equipoise.gait.collisions import check_feet_apart
from equipoise.gait.com_plan import check_zmp, fit_com_height, plan_com
from equipoise.gait.defaults import complete, leg_length
from equipoise.gait.feet import plan_feet
from equipoise.gait.footsteps import SIDES, Footsteps, check_side
from equipoise.gait.gait import Gait
from equipoise.gait.ground import Height, height_function, lay
from equipoise.gait.parameters import GaitParameters, Method
from equipoise.gait.walks import standing_feet, walk
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.model import Robot

METHODS: tuple[Method, ...] = ("lipm", "preview")


def plan_walk(
    robot: Robot,
    steps: int = 6,
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
    com_height: float | None = None,
    zmp_inward: float = 0.0,
    first: str = "right",
    method: str = "lipm",
    ground: Terrain | Height | None = None,
    footsteps: Footsteps | None = None,
) -> Gait:
    """Plan a walk; what is not given is chosen to fit the robot.

    ``print(gait.parameters)`` shows every number with its origin. Whether joints can
    follow within their limits is not checked here, only that legs are long enough.

    Args:
        robot: The robot; it needs two legs with soles.
        steps: How many; the last of two or more brings the feet together.
        length: Step length, from foot to foot [m]; negative goes backward.
        width: Distance of the sole frames, side by side [m].
        height: Height of each step above the one before [m].
        turn: Turn to the left with each step [rad].
        sideways: Lateral step of the leading foot, to the left [m].
        step_time: Time from one touch-down to the next [s].
        double_support: Fraction of a step with both feet on the ground, in [0, 1).
        start_time: Double support before the first step [s].
        stop_time: Double support after the last step [s].
        hold: At rest before and after [s].
        clearance: Of a swing foot above the ground at its highest [m].
        com_height: Of the CoM above the ground at rest [m].
        zmp_inward: Of the ZMP from the sole's middle towards the other foot, in single
            support [m].
        first: The foot that swings first.
        method: ``"lipm"`` (closed form) or ``"preview"`` (preview control).
        ground: Height of the ground at x and y, a function or an object with a method
            ``height``; footsteps are laid onto it. Level unless given.
        footsteps: Where to step, in place of steps, length, width, height, turn,
            sideways and first.

    Raises:
        EquipoiseError: For bad figures, steps that legs or ground do not allow, feet
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
    parameters = complete(
        robot,
        steps=steps if footsteps is None else len(footsteps.steps),
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
        com_height=com_height,
        zmp_inward=zmp_inward,
        first=check_side(first),
        method="lipm" if method == "lipm" else "preview",
        footsteps=footsteps,
    )
    polygons = {side: robot.soles[side].polygon_in_sole for side in SIDES}
    planned = footsteps or _steady_walk(robot, parameters)
    surface = None if ground is None else height_function(ground)
    if surface is not None:
        planned = lay(planned, surface, polygons, leg_length(robot))
    phases = parameters.timing.phases(planned)
    feet = plan_feet(planned, phases, parameters.clearance, polygons, surface)
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
