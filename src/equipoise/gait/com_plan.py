"""The CoM of a walk: over its footsteps, and as high as the legs allow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import Footsteps
from equipoise.gait.gait import Gait, GaitTable
from equipoise.gait.lipm import ComMotion, at_rest_at_both_ends
from equipoise.gait.parameters import GaitParameters, Phase
from equipoise.gait.preview import preview_motion
from equipoise.gait.zmp import zmp_knots
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.anatomy.geometry import signed_distance
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Legs are never planned to be straighter than this fraction of their reach: knees stay
# bent by 28° or so, and singular postures stay away.
EXTENSION = 0.97
# Where no height is given, the CoM comes down to this fraction of standing at most.
LOWEST = 0.75
# A height that was found is cut to whole millimetres: the same on all machines.
HEIGHTS_PER_METRE = 1000.0
ATTEMPTS = 20
# Fractions of a phase where the ZMP is checked: all over, and just inside its ends.
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
        side: zmp_in_sole(side, polygon, parameters.zmp_inward)
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
    times = [phase.start + phase.duration * WITHIN for phase in gait.phases]
    margins = gait.zmp_margin(np.concatenate(times)).reshape(len(times), -1)
    for phase, margin in zip(gait.phases, margins.min(axis=1), strict=True):
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
        before, com_height=height, origins={**before.origins, "com_height": origin}
    )
    motion = plan_com(gait.footsteps, gait.phases, parameters, gait.polygons)
    return replace(gait, parameters=parameters, motion=motion)


def zmp_in_sole(side: Side, polygon: Array, inward: float) -> Array:
    """Return where the ZMP is under a foot that carries alone [m], shape (2,).

    Args:
        side: Which foot.
        polygon: Corners of its sole in its frame [m], shape (k, 2).
        inward: Shift from the middle towards the other foot [m].

    Raises:
        EquipoiseError: If that is outside of the sole.
    """
    middle = (polygon.min(axis=0) + polygon.max(axis=0)) / 2.0
    point = middle + np.array([0.0, -inward if side == "left" else inward])
    outside = -float(signed_distance(polygon, point))
    if outside > TOLERANCE:
        raise EquipoiseError(
            f"zmp_inward is {inward:g} m, which is {outside:.3f} m outside of the "
            f"{side} sole"
        )
    return np.asarray(point)


# Points of each phase at which the reach of the legs is checked.
SAMPLES = 9


def highest_com(
    table: GaitTable, reaches: Mapping[Side, LegReach], extension: float
) -> tuple[Array, Array]:
    """Return how high the CoM may be for legs not to be straighter than allowed.

    Args:
        table: A gait; its CoM's height does not count.
        reaches: Reaches of the legs.
        extension: Greatest distance of hip and ankle, as a fraction of the longest.

    Returns:
        Heights in the world [m], shape (n,), NaN where feet are too far away for any;
        and the distance seen from above of the leg that needs them most, as a fraction
        of what is allowed, shape (n,).
    """
    c, s = np.cos(table.heading), np.sin(table.heading)
    lowest = np.full(len(table.time), np.inf)
    spread = np.zeros(len(table.time))
    for side, reach in reaches.items():
        x, y, z = reach.hip_from_com
        hip = table.com[:, :2] + np.column_stack([c * x - s * y, s * x + c * y])
        pose = table.soles[side]
        ankle = pose[:, :3, :3] @ reach.ankle_in_sole + pose[:, :3, 3]
        allowed = extension * reach.longest
        away = np.linalg.norm(hip - ankle[:, :2], axis=1) / allowed
        up = allowed * np.sqrt(np.where(away < 1.0, 1.0 - away**2, np.nan))
        lowest = np.minimum(lowest, ankle[:, 2] + up - z)
        spread = np.maximum(spread, away)
    return lowest, spread


def headroom(
    gait: Gait, reaches: Mapping[Side, LegReach], extension: float
) -> tuple[float, str]:
    """Return by how much the CoM could be higher all along [m]; negative: lower.

    Args:
        gait: The gait.
        reaches: Reaches of the legs.
        extension: Greatest distance of hip and ankle, as a fraction of the longest.

    Returns:
        The height, and the step that leaves least, in words.

    Raises:
        EquipoiseError: If feet are too far apart for the legs at any height; names
            the step.
    """
    spans = [np.linspace(p.start, p.end, SAMPLES) for p in gait.phases]
    table = gait.at(np.unique(np.concatenate(spans)))
    highest, spread = highest_com(table, reaches, extension)
    if np.isnan(highest).any():
        at = int(np.argmax(spread))
        raise EquipoiseError(
            f"{describe_step(gait, float(table.time[at]))} is longer than the legs of "
            f"{gait.robot_name} allow: seen from above, hip and ankle come "
            f"{spread[at]:.2f} times as far apart as a leg is long"
        )
    room = highest - table.com[:, 2]
    at = int(np.argmin(room))
    return float(room[at]), describe_step(gait, float(table.time[at]))


def describe_step(gait: Gait, time: float) -> str:
    """Return the step at a time in words: its number, length and rise."""
    number = max(1, next((p.step for p in gait.phases if time <= p.end), 0))
    stride = gait.footsteps.strides[number - 1]
    dx, dy, dz = stride.end.position - stride.support.position
    rise = f" and {dz:+.3f} m high" if abs(dz) > 1e-6 else ""
    return (
        f"step {number} ({stride.end.side} foot, {math.hypot(dx, dy):.3f} m from the "
        f"other one{rise})"
    )


# Legs with fewer joints cannot lay the sole flat: then the sole is their end.
JOINTS_FOR_A_FLAT_SOLE = 5
# Unlimited joints are searched within a turn [rad or m].
FULL_TURN = math.pi
# A joint bends the leg if its axis has this much of y in standing.
LATERAL = 0.7
# A knee is tried at so many angles.
KNEE_POINTS = 91


@dataclass(frozen=True, eq=False)
class LegReach:
    """What a leg can span, and where it begins.

    Attributes:
        longest: Greatest distance from the hip to the ankle that the knee (the joint
            with a lateral axis that changes it most) allows within its limits [m].
        hip_from_com: From the CoM to the hip, standing, in axes that turn with the
            heading [m], shape (3,). That it is constant is an approximation, and
            good to a centimetre or so: legs have mass.
        ankle_in_sole: Place of the ankle in the sole's frame [m], shape (3,).
    """

    longest: float
    hip_from_com: Array
    ankle_in_sole: Array


@lru_cache(maxsize=8)
def leg_reaches(robot: Robot) -> dict[Side, LegReach]:
    """Return the reach of both legs.

    The hip is the first joint of the leg. The ankle is its last, or the sole frame if
    the leg has fewer than five joints.
    """
    q = robot.standing
    centre = com(robot, q)
    reaches: dict[Side, LegReach] = {}
    for side, leg in robot.legs.items():
        last = leg.joints[-1] if len(leg.joints) >= JOINTS_FOR_A_FLAT_SOLE else None
        hip, ankle = _ends(robot, q, side, leg.joints[0], last)
        pose = sole_pose(robot, q, side)
        reaches[side] = LegReach(
            _longest(robot, side, leg.joints, last),
            frozen_array(hip - centre),
            frozen_array(pose[:3, :3].T @ (ankle - pose[:3, 3])),
        )
    return reaches


def _ends(
    robot: Robot, q: Array, side: Side, first: str, last: str | None
) -> tuple[Array, Array]:
    """Return hip and ankle in the world [m], shape (3,) each."""
    pin.forwardKinematics(robot.model, robot.data, q)
    hip = np.array(robot.data.oMi[robot.joint_id(first)].translation)
    if last is not None:
        ankle = np.array(robot.data.oMi[robot.joint_id(last)].translation)
    else:
        ankle = sole_pose(robot, q, side)[:3, 3]
    return hip, ankle


def _longest(
    robot: Robot, side: Side, joints: tuple[str, ...], last: str | None
) -> float:
    """Return the greatest distance from hip to ankle that the knee allows [m].

    The other joints stay as in standing: where their axes are apart, moving them all
    would add up offsets that a leg cannot use while its foot is flat.
    """
    model = robot.model
    q = np.array(robot.standing)
    jacobians = pin.computeJointJacobians(model, robot.data, q)
    # neither the first joint nor the last changes the distance of their origins
    between = joints[1:-1] if last is not None else joints[1:]
    bending = [model.joints[robot.joint_id(name)] for name in between]
    lateral = [
        joint
        for joint in bending
        if joint.nv == 1 and abs(jacobians[4, joint.idx_v]) > LATERAL
    ]
    now = joint_positions(robot, q)

    def distances(joint: pin.JointModel) -> list[float]:
        lower, upper = -FULL_TURN, FULL_TURN
        if joint.nq == 1:
            lower = max(float(model.lowerPositionLimit[joint.idx_q]), lower)
            upper = min(float(model.upperPositionLimit[joint.idx_q]), upper)
        found = []
        for value in np.linspace(lower, upper, KNEE_POINTS):
            step = np.zeros(model.nv)
            step[joint.idx_v] = value - now[joint.idx_v - 6]
            moved = pin.integrate(model, q, step)
            hip, ankle = _ends(robot, moved, side, joints[0], last)
            found.append(float(np.linalg.norm(ankle - hip)))
        return found

    hip, ankle = _ends(robot, q, side, joints[0], last)
    standing = float(np.linalg.norm(ankle - hip))
    # the knee is the joint that changes the distance most
    spans = [distances(joint) for joint in lateral]
    knee = max(spans, key=lambda span: max(span) - min(span), default=[standing])
    return max(*knee, standing)
