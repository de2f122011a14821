"""Joints and foot wrenches of a recording, as those of a robot."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, suggest
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import BASE_V, degree_names
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# With a lower fraction of the leg joints the log is another robot's.
LEAST_MATCHED = 0.5
# Angles so far beyond a limit are not radians [rad], in this fraction of the joints.
FAR_BEYOND, BEYOND_FRACTION = 1.0, 0.25
LONGEST_LIST = 8
# Vertical force as a fraction of the weight below which its sign is reversed.
REVERSED = -0.25
# Range of the feet's median load, as a fraction of the weight.
PLAUSIBLE_LOAD = (0.7, 1.3)
# Wrenches that start later or end earlier than joints by more get a notice [s].
LATE = 0.1
# A frame of this name that the log itself fixes to a foot is that of a sensor between
# shank and foot.
ABOVE_FOOT = re.compile(r"ankle")
SIDE_WORDS: dict[Side, str] = {
    "left": r"(?<![a-z])(?:l|left|lf|lfoot)(?![a-z])|left",
    "right": r"(?<![a-z])(?:r|right|rf|rfoot)(?![a-z])|right",
}


def matched_positions(recording: Recording, robot: Robot, notices: list[str]) -> Array:
    """Return joint positions in the order of v[6:], shape (n, nv - 6).

    Joints that the log lacks stay at zero, or at the limit nearest to it.

    Args:
        recording: What was measured.
        robot: The robot.
        notices: Receives which joints the log or the robot lacks.

    Raises:
        EquipoiseError: If the log is of another robot, or in degrees.
    """
    names = degree_names(robot)
    _check_robot(recording, robot)
    rest = _rest(robot)
    positions = np.tile(rest, (len(recording.time), 1))
    for at, name in enumerate(names):
        if name in recording.joints:
            positions[:, at] = recording.joints[name]
    reason = degrees_reason(recording, robot)
    if reason:
        raise EquipoiseError(
            f"{recording.source}: joint positions look like degrees: {reason}; radians "
            "are needed"
        )
    missing = [name for name in names if name not in recording.joints]
    if missing:
        notices.append(
            "not in the log, so kept at zero or the limit nearest to it: "
            f"{_listed(missing)}"
        )
    foreign = [name for name in recording.joints if name not in names]
    if foreign:
        notices.append(f"not joints of {robot.name}, so left out: {_listed(foreign)}")
    return positions


def matched_torques(recording: Recording, robot: Robot, notices: list[str]) -> Array:
    """Return joint torques in the order of v[6:], zero where not given, (n, nv - 6)."""
    names = degree_names(robot)
    torques = np.zeros((len(recording.time), robot.nv - BASE_V))
    known = [name for name in names if name in recording.effort]
    for name in known:
        torques[:, names.index(name)] = recording.effort[name]
    if len(known) < len(names):
        who = "any joint" if not known else f"{len(names) - len(known)} joints"
        notices.append(f"the log has no torque (effort) of {who}; zero is shown")
    return torques


def _check_robot(recording: Recording, robot: Robot) -> None:
    names = degree_names(robot)
    legs = {
        joint
        for limb in robot.limbs.values()
        if limb.kind == "leg"
        for joint in limb.joints
    }
    needed = [name for name in names if name in legs] or list(names)
    lacking = [name for name in needed if name not in recording.joints]
    matched = len(needed) - len(lacking)
    if lacking and matched < LEAST_MATCHED * len(needed):
        raise EquipoiseError(
            f"{recording.source}: is a log of another robot: of {len(needed)} leg "
            f"joints of {robot.name} it has {matched}; it has no '{lacking[0]}'"
            f"{suggest(lacking[0], recording.joints)}; its joints are: "
            f"{_listed(recording.joints)}"
        )


def degrees_reason(recording: Recording, robot: Robot) -> str | None:
    """Return why angles look like degrees, or None if they do not.

    They do if they are far beyond the limits in many joints.
    """
    beyond, checked = [], 0
    sliding = slides(robot)
    for actuator in robot.actuators:
        limits = np.array([actuator.lower, actuator.upper])
        turns = actuator.joint not in sliding
        if actuator.joint in recording.joints and turns and np.isfinite(limits).all():
            checked += 1
            values = recording.joints[actuator.joint]
            middle = float(np.median(values))
            if not limits[0] - FAR_BEYOND < middle < limits[1] + FAR_BEYOND:
                beyond.append((actuator.joint, middle, limits))
    if not checked or len(beyond) < max(2.0, BEYOND_FRACTION * checked):
        return None
    name, value, (lower, upper) = beyond[0]
    return (
        f"'{name}' is at {value:.1f}, its limits are {lower:.2f} and {upper:.2f} rad, "
        f"and {len(beyond)} of {checked} joints are as far beyond"
    )


def slides(robot: Robot) -> set[str]:
    """Return the names of the joints that slide: their positions are lengths."""
    model = robot.model
    return {
        name
        for name, joint in zip(model.names, model.joints, strict=True)
        if joint.shortname().removeprefix("JointModel").startswith("P")
    }


def _rest(robot: Robot) -> Array:
    """Return zero for each degree of freedom, or the limit nearest to it."""
    rest = dict.fromkeys(degree_names(robot), 0.0)
    for actuator in robot.actuators:
        if actuator.joint in rest:
            rest[actuator.joint] = min(max(0.0, actuator.lower), actuator.upper)
    return np.array(list(rest.values()))


def _listed(names: Iterable[str]) -> str:
    words = [f"'{name}'" for name in names]
    more = len(words) - LONGEST_LIST
    shown = ", ".join(words[:LONGEST_LIST])
    return f"{shown} and {more} more" if more > 0 else shown


class _Placed(NamedTuple):
    """A frame of the robot: the link or frame it hangs on, and its pose there."""

    frame: str
    pose: Array
    body: int


def foot_wrenches(
    recording: Recording, robot: Robot, q: Array, notices: list[str]
) -> dict[Side, Array]:
    """Return force and torque of the ground on each foot, as a run has them.

    They are about and in the sole's frame [N, Nm], shape (n, 6) each. A foot whose
    wrench is not known is left out. A sensor between shank and foot does not measure
    the foot's weight: that of the model is added, as of a level foot.

    Args:
        recording: What was measured.
        robot: The robot.
        q: Configurations at the recording's times, at any pose of the base, (n, nq).
        notices: Receives what was left out, reversed or added.
    """
    chosen: dict[Side, tuple[int, str, MeasuredWrench, _Placed]] = {}
    for name, wrench in recording.wrenches.items():
        placed = _placed(recording, robot, wrench.frame)
        if placed is None:
            side = _side_by_name(f"{name} {wrench.frame}")
            if side is not None:
                notices.append(
                    f"wrench '{name}' is left out: {robot.name} has no frame "
                    f"'{wrench.frame}' that it could be in"
                )
            continue
        side = _side_by_leg(robot, placed.body)
        if side is None:
            continue
        rank = _rank(robot, side, placed, wrench.frame)
        if side not in chosen or rank < chosen[side][0]:
            chosen[side] = (rank, name, wrench, placed)
    found: dict[Side, Array] = {}
    for side, (_, name, wrench, placed) in chosen.items():
        values = _at_times(recording.time, wrench, name, notices)
        found[side] = _in_sole(robot, q, side, placed, values)
    found = _signs_corrected(robot, found, notices)
    for side, (_, name, wrench, placed) in chosen.items():
        foot, _ = placement_in_body(robot.model, robot.soles[side])
        own_frame = wrench.frame in recording.static_frames and placed.body == foot
        if own_frame and ABOVE_FOOT.search(wrench.frame.lower()):
            weight = _foot_weight(robot, q, side)
            found[side] = found[side] + weight
            notices.append(
                f"wrench '{name}' is of a sensor above the foot ('{wrench.frame}'): "
                f"the foot's weight, {weight[0, 2]:.1f} N in the model, is added"
            )
    return found


def _foot_weight(robot: Robot, q: Array, side: Side) -> Array:
    """Return the wrench that carries all beyond a leg's last joint, on a level sole.

    It is about and in the sole's frame [N, Nm], shape (n, 6).
    """
    model = robot.model
    foot, _ = placement_in_body(model, robot.soles[side])
    world_to_sole = np.linalg.inv(sole_pose(robot, q, side))
    wrench = np.zeros((len(q), 6))
    for body in model.subtrees[foot]:
        inertia = model.inertias[int(body)]
        lever = np.append(inertia.lever, 1.0)
        pose = np.asarray(frame_pose(robot, q, model.names[int(body)]))
        centre = np.einsum("nij,njk,k->ni", world_to_sole, pose, lever)[:, :3]
        force = np.array([0.0, 0.0, inertia.mass * STANDARD_GRAVITY])
        wrench[:, :3] += force
        wrench[:, 3:] += np.cross(centre, force)
    return wrench


def _placed(recording: Recording, robot: Robot, frame: str) -> _Placed | None:
    """Find a frame: as the log places it, else as the robot's file does."""
    own = recording.static_frames.get(frame)
    name, pose = (own.parent, own.transform_to_parent) if own else (frame, np.eye(4))
    try:
        index = robot.frame_id(name)
    except NameNotFoundError:
        if own is None:
            return None
        # the log hangs it on a frame of its own
        parent = _placed(recording, robot, name) if name != frame else None
        if parent is None:
            return None
        return parent._replace(pose=parent.pose @ pose)
    return _Placed(name, np.asarray(pose), int(robot.model.frames[index].parentJoint))


def _side_by_leg(robot: Robot, body: int) -> Side | None:
    joint = robot.model.names[body]
    for limb in robot.limbs.values():
        on_leg = limb.kind == "leg" and joint in limb.subtree_joints
        if on_leg and limb.side in robot.soles:
            return limb.side
    return None


def _side_by_name(text: str) -> Side | None:
    for side, words in SIDE_WORDS.items():
        if re.search(words, text.lower()):
            return side
    return None


def _rank(robot: Robot, side: Side, placed: _Placed, frame: str) -> int:
    """Return how far a frame is from the sole: 0 the sole, 1 the foot, else more."""
    body, _ = placement_in_body(robot.model, robot.soles[side])
    if placed.body != body:
        chain = list(robot.model.supports[body])
        above = chain.index(placed.body) if placed.body in chain else 0
        return 2 + len(chain) - above
    return 0 if "sole" in frame.lower() else 1


def _at_times(
    time: Array, wrench: MeasuredWrench, name: str, notices: list[str]
) -> Array:
    late = max(wrench.time[0] - time[0], time[-1] - wrench.time[-1])
    if late > LATE:
        notices.append(
            f"wrench '{name}' lacks up to {late:.2f} s at an end; its nearest is held"
        )
    columns = [np.interp(time, wrench.time, column) for column in wrench.values.T]
    return np.stack(columns, axis=1)


def _in_sole(
    robot: Robot, q: Array, side: Side, placed: _Placed, values: Array
) -> Array:
    """Return wrenches about and in the sole's frame instead of another frame's."""
    body, sole = placement_in_body(robot.model, robot.soles[side])
    if placed.body == body:
        frame = robot.model.frames[robot.frame_id(placed.frame)].placement
        to_sole = (sole.inverse() * frame).homogeneous @ placed.pose
        transform = np.broadcast_to(to_sole, (len(q), 4, 4))
    else:
        pose = np.asarray(frame_pose(robot, q, placed.frame)) @ placed.pose
        transform = np.linalg.inv(sole_pose(robot, q, side)) @ pose
    if np.allclose(transform, np.eye(4), rtol=0.0, atol=1e-12):
        return values
    force = np.einsum("nij,nj->ni", transform[:, :3, :3], values[:, :3])
    torque = np.einsum("nij,nj->ni", transform[:, :3, :3], values[:, 3:])
    torque += np.cross(transform[:, :3, 3], force)
    return np.hstack([force, torque])


def _signs_corrected(
    robot: Robot, wrenches: dict[Side, Array], notices: list[str]
) -> dict[Side, Array]:
    """Reverse all signs if the ground seems to pull the feet down."""
    if not wrenches:
        return wrenches
    weight = robot.mass * STANDARD_GRAVITY
    load = float(np.median(sum(w[:, 2] for w in wrenches.values()))) / weight
    if load < REVERSED:
        notices.append(
            f"the feet's wrenches sum to {load:.2f} m g upwards: taken for forces on "
            "the ground, their signs are reversed"
        )
        load = -load
        wrenches = {side: -values for side, values in wrenches.items()}
    if len(wrenches) == 2 and not PLAUSIBLE_LOAD[0] < load < PLAUSIBLE_LOAD[1]:
        notices.append(
            f"the feet carry {load:.2f} m g in the middle of the log, not the robot's "
            "weight"
        )
    return wrenches
