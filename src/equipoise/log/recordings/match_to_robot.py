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
from equipoise.robot.parts import Side, Sole

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
# Fixed joints of a robot's file of this name are sensors.
SENSOR_JOINT = re.compile(
    r"(?<![a-z])(?:ft|fts|f_t|sensor|loadcell|load_cell)(?![a-z])"
)
# Wrenches of this name, or in a frame of this name, are those of force plates.
PLATE = re.compile(r"plate|platform|treadmill|(?<![a-z])(?:fp|grf)_?\d*(?![a-z])")
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
    needed = [name for name in names if name in robot.leg_joints] or list(names)
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
    for actuator in robot.actuators:
        limits = np.array([actuator.lower, actuator.upper])
        turns = actuator.joint not in robot.sliding_joints
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


class FootSensor(NamedTuple):
    """What measures the ground's wrench on a foot.

    Attributes:
        name: Topic, or beginning of the columns.
        values: Wrenches about and in the sole's frame [N, Nm], shape (n, 6).
        measured: Which of the six are measured.
    """

    name: str
    values: Array
    measured: tuple[bool, ...]


class PlacedFrame(NamedTuple):
    """A frame of the robot: the link or frame it hangs on, and its pose there."""

    frame: str
    pose: Array
    body: int


def foot_wrenches(
    recording: Recording, robot: Robot, q: Array, notices: list[str]
) -> dict[Side, Array]:
    """Return force and torque of the ground on each foot, as a run has them.

    They are about and in the sole's frame [N, Nm], shape (n, 6) each. A foot whose
    wrench or centre of pressure is not known is left out.

    Args:
        recording: What was measured.
        robot: The robot.
        q: Configurations at the recording's times, at any pose of the base, (n, nq).
        notices: Receives what was left out, reversed or added.
    """
    found = foot_sensors(recording, robot, q, notices)
    for side, own in found.items():
        if not all(own.measured[2:5]):
            notices.append(
                f"'{own.name}' does not give the {side} foot's centre of pressure: it "
                "is not shown"
            )
    return {side: own.values for side, own in found.items() if all(own.measured[2:5])}


def foot_sensors(
    recording: Recording, robot: Robot, q: Array, notices: list[str]
) -> dict[Side, FootSensor]:
    """Return what measures each foot, complete or not.

    Sensors that give F_z or a centre of pressure only may be named after a foot
    instead of a frame: they are taken to be at its sole. A sensor between shank and
    foot does not measure what is below it: that weight of the model is added, as of a
    level foot. Arguments are those of :func:`foot_wrenches`.
    """
    chosen: dict[Side, tuple[int, str, MeasuredWrench, PlacedFrame]] = {}
    for name, wrench in recording.wrenches.items():
        placed = placed_frame(recording, robot, wrench.frame)
        if placed is None:
            side = _side_by_name(f"{name} {wrench.frame}")
            partial = not (all(wrench.measured) or is_plate(recording, name))
            if side is not None and side in robot.soles and partial:
                placed = _at_sole(robot, robot.soles[side])
                notices.append(
                    f"'{name}' is taken to be in the frame of the {side} sole"
                )
        if placed is None:
            if side is not None and not is_plate(recording, name):
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
        values = at_times(recording.time, wrench, name, notices)
        found[side] = _in_sole(robot, q, side, placed, values)
    found = _signs_corrected(robot, found, notices)
    for side, (_, name, wrench, placed) in chosen.items():
        below = _links_below(recording, robot, side, wrench.frame, placed)
        weight = _weight_of(robot, q, side, below)
        if np.any(weight):
            found[side] = found[side] + weight
            notices.append(
                f"wrench '{name}' is of a sensor above the foot ('{wrench.frame}'): "
                f"the foot's weight, {weight[0, 2]:.1f} N in the model, is added"
            )
    return {
        side: FootSensor(chosen[side][1], values, chosen[side][2].measured)
        for side, values in found.items()
    }


def is_plate(recording: Recording, name: str) -> bool:
    """Whether a wrench is that of a force plate, by its name or frame."""
    return bool(PLATE.search(f"{name} {recording.wrenches[name].frame}".lower()))


def _at_sole(robot: Robot, sole: Sole) -> PlacedFrame:
    body, _ = placement_in_body(robot.model, sole)
    return PlacedFrame(sole.link, sole.transform_sole_to_link, body)


def _links_below(
    recording: Recording, robot: Robot, side: Side, frame: str, placed: PlacedFrame
) -> set[str]:
    """Return the links between a sensor and the ground.

    A sensor is a frame of the log that is called ankle and fixed to the foot, or a
    fixed joint of the robot's file that is called a sensor.
    """
    joints = robot.description.joints
    foot, _ = placement_in_body(robot.model, robot.soles[side])
    begins: set[str] = set()
    if frame in recording.static_frames:
        if placed.body == foot and ABOVE_FOOT.search(frame.lower()):
            begins = {j.child for j in joints if j.name == robot.model.names[foot]}
    elif SENSOR_JOINT.search(frame.lower()):
        begins = {j.child for j in joints if j.name == frame and j.kind == "fixed"}
    below: set[str] = set()
    while begins - below:
        below |= begins
        begins = {joint.child for joint in joints if joint.parent in below}
    return below


def _weight_of(robot: Robot, q: Array, side: Side, links: set[str]) -> Array:
    """Return the wrench that carries links, as on a level sole.

    It is about and in the sole's frame [N, Nm], shape (n, 6).
    """
    world_to_sole = np.linalg.inv(sole_pose(robot, q, side))
    wrench = np.zeros((len(q), 6))
    for link in robot.description.links:
        if link.name not in links or link.inertial is None:
            continue
        lever = np.append(link.inertial.com_in_link, 1.0)
        pose = np.asarray(frame_pose(robot, q, link.name))
        centre = np.einsum("nij,njk,k->ni", world_to_sole, pose, lever)[:, :3]
        force = np.array([0.0, 0.0, link.inertial.mass * STANDARD_GRAVITY])
        wrench[:, :3] += force
        wrench[:, 3:] += np.cross(centre, force)
    return wrench


def placed_frame(recording: Recording, robot: Robot, frame: str) -> PlacedFrame | None:
    """Find a frame: as the log places it, else as the robot's file does."""
    own = recording.static_frames.get(frame)
    name, pose = (own.parent, own.transform_to_parent) if own else (frame, np.eye(4))
    try:
        index = robot.frame_id(name)
    except NameNotFoundError:
        if own is None:
            return None
        # the log hangs it on a frame of its own
        parent = placed_frame(recording, robot, name) if name != frame else None
        if parent is None:
            return None
        return parent._replace(pose=parent.pose @ pose)
    return PlacedFrame(
        name, np.asarray(pose), int(robot.model.frames[index].parentJoint)
    )


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


def _rank(robot: Robot, side: Side, placed: PlacedFrame, frame: str) -> int:
    """Return how far a frame is from the sole: 0 the sole, 1 the foot, else more."""
    body, _ = placement_in_body(robot.model, robot.soles[side])
    if placed.body != body:
        chain = list(robot.model.supports[body])
        above = chain.index(placed.body) if placed.body in chain else 0
        return 2 + len(chain) - above
    return 0 if "sole" in frame.lower() else 1


def at_times(
    time: Array, wrench: MeasuredWrench, name: str, notices: list[str]
) -> Array:
    """Return a wrench at other times [s], interpolated, shape (n, 6).

    A notice says where its first or last values are held.
    """
    late = max(wrench.time[0] - time[0], time[-1] - wrench.time[-1])
    if late > LATE:
        notices.append(
            f"wrench '{name}' lacks up to {late:.2f} s at an end; its nearest is held"
        )
    columns = [np.interp(time, wrench.time, column) for column in wrench.values.T]
    return np.stack(columns, axis=1)


def _in_sole(
    robot: Robot, q: Array, side: Side, placed: PlacedFrame, values: Array
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
