"""The CoM of a walk: over its footsteps, and as high as the legs allow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.com_motion import ComMotion
from equipoise.gait.footsteps import Footsteps
from equipoise.gait.gait import Gait
from equipoise.gait.headroom import headroom
from equipoise.gait.leg_reach import leg_reaches
from equipoise.gait.lipm import at_rest_at_both_ends
from equipoise.gait.parameters import GaitParameters
from equipoise.gait.preview import preview_motion
from equipoise.gait.timing import Phase
from equipoise.gait.zmp import zmp_knots
from equipoise.robot.anatomy.polygon import signed_distance
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Legs are never planned to be straighter than this share of their reach: knees stay
# bent by 28° or so, and singular postures stay away.
EXTENSION = 0.97
# Where no height is given, the CoM comes down to no less than this share of standing.
LOWEST = 0.75
# A height that was found is cut to whole millimetres: the same on all machines.
HEIGHTS_PER_METRE = 1000.0
ATTEMPTS = 20
# Shares of a phase where the ZMP is checked: all over, and just inside its ends.
WITHIN = np.linspace(1e-6, 1.0 - 1e-6, 41)
TOLERANCE = 1e-9


def plan_com(
    footsteps: Footsteps,
    phases: tuple[Phase, ...],
    parameters: GaitParameters,
    polygons: Mapping[Side, Array],
) -> ComMotion:
    """Return the motion of the CoM over footsteps.

    Args:
        footsteps: Where the feet stand.
        phases: When.
        parameters: Height, gravity, method and where the ZMP is in a sole.
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.

    Raises:
        EquipoiseError: If the ZMP would be outside of a sole.
    """
    in_sole = {
        side: _zmp_in_sole(side, polygon, parameters.zmp_inward)
        for side, polygon in polygons.items()
    }
    times, zmp, shapes = zmp_knots(footsteps, phases, in_sole)
    planned = at_rest_at_both_ends(
        times, zmp, shapes, parameters.omega, parameters.com_height
    )
    return planned if parameters.method == "lipm" else preview_motion(planned)


def fit_com_height(robot: Robot, gait: Gait, *, given: bool) -> Gait:
    """Return a gait whose CoM is not higher than the legs allow.

    Args:
        robot: The robot.
        gait: A gait, with a height to begin with.
        given: Whether that height was asked for: then it is only checked, up to
            straight legs.

    Raises:
        EquipoiseError: If legs are too short for a step, or for the height; names
            the step and the limit.
    """
    reaches = leg_reaches(robot)
    asked = gait.parameters.com_height
    if given:
        room, step = headroom(gait, reaches, 1.0)
        if room < -TOLERANCE:
            raise EquipoiseError(
                f"com_height is {asked:g} m, above the reach of the legs of "
                f"{robot.name} in {step}: at most {asked + room:.3f} m"
            )
        return gait
    for _ in range(ATTEMPTS):
        room, step = headroom(gait, reaches, EXTENSION)
        if room >= -TOLERANCE:
            return gait
        height = gait.parameters.com_height + room
        if height < LOWEST * asked:
            raise EquipoiseError(
                f"{step} is longer than the legs of {robot.name} allow: the CoM would "
                f"have to come down to {height:.3f} m; {LOWEST * asked:.3f} m is the "
                "lowest"
            )
        gait = _with_com_height(
            gait, math.floor(height * HEIGHTS_PER_METRE) / HEIGHTS_PER_METRE
        )
    raise EquipoiseError(f"no height of the CoM fits {step} of {robot.name}")


def check_zmp(gait: Gait) -> None:
    """Refuse gaits whose ZMP leaves the soles; point feet have no inside to leave.

    Raises:
        EquipoiseError: Naming the phase.
    """
    if min(len(polygon) for polygon in gait.polygons.values()) < 3:
        return
    for phase in gait.phases:
        times = phase.start + phase.duration * WITHIN
        margin = float(gait.zmp_margin(times).min())
        if margin < 0.0:
            raise EquipoiseError(
                f"the ZMP would be {-margin:.3f} m outside of the soles between "
                f"{phase.start:.2f} and {phase.end:.2f} s ({phase.kind}, step "
                f"{phase.step}): start_time, stop_time or double_support is too short"
            )


def _with_com_height(gait: Gait, height: float) -> Gait:
    before = gait.parameters
    origin = f"legs at most {100 * EXTENSION:g} % of straight"
    parameters = replace(
        before,
        com_height=height,
        origins={**before.origins, "com_height": origin},
    )
    motion = plan_com(gait.footsteps, gait.phases, parameters, gait.polygons)
    return replace(gait, parameters=parameters, motion=motion)


def _zmp_in_sole(side: Side, polygon: Array, inward: float) -> Array:
    """Return where the ZMP is under a foot that carries alone [m], shape (2,)."""
    middle = (polygon.min(axis=0) + polygon.max(axis=0)) / 2.0
    point = middle + np.array([0.0, -inward if side == "left" else inward])
    outside = -float(signed_distance(polygon, point))
    if outside > TOLERANCE:
        raise EquipoiseError(
            f"zmp_inward is {inward:g} m, which is {outside:.3f} m outside of the "
            f"{side} sole"
        )
    return np.asarray(point)
