"""Numbers of a gait that fit the robot, from its legs, soles and height.

Each default is a share of a length of the robot, or a multiple of the time constant of
its pendulum √(z/g), so that robots of any size walk alike (equal Froude numbers).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equipoise.gait.figures import check_figure
from equipoise.gait.footsteps import SIDES, Footsteps
from equipoise.gait.parameters import GIVEN, GaitParameters
from equipoise.gait.walks import standing_feet
from equipoise.kinematics.com import com
from equipoise.robot.model import Robot

# Of the leg length. A step of 0.15 m for legs of 0.73 m (Unitree G1), short enough for
# knees that stay bent.
LENGTH = 0.2
CLEARANCE = 0.05
# Times √(z/g). 0.8 s a step for a CoM 0.70 m up (Unitree G1).
STEP_TIME = 3.0
# The CoM comes to rest over one foot after several time constants. With four, the ZMP
# first has to move the other way by about a sixth of the way.
START_TIME = 4.0
HOLD = 1.5
# Of a step: time for the ZMP to go from foot to foot, and for the foot to swing.
DOUBLE_SUPPORT = 0.25
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
        EquipoiseError: For figures that are not possible; names them.
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
        "double_support": (DOUBLE_SUPPORT, "a share of the step"),
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
    for name in ("length", "height", "turn", "sideways", "zmp_inward"):
        values[name] = check_figure(name, values[name], "m or rad")
    for name in ("clearance", "com_height"):
        values[name] = check_figure(name, values[name], "m", above=0.0)
    values["width"] = check_figure("width", values["width"], "m", least=0.0)
    for name in ("step_time", "double_support", "start_time", "stop_time", "hold"):
        values[name] = check_figure(name, values[name], "s")
    if footsteps is not None:
        values |= {"length": None, "height": None, "turn": None, "sideways": None}
        values["first"] = footsteps.steps[0].side
        origins |= {"first": "footsteps", "steps": "footsteps"}
    parameters = GaitParameters(**values, origins=origins)
    parameters.timing  # noqa: B018 (checks the times)
    return parameters


def leg_length(robot: Robot) -> float:
    """Return the mean length of the legs [m]."""
    return float(np.mean([robot.legs[side].length for side in SIDES]))
