"""Force plates: where they are under the robot, and which way their axes point.

A plate is fixed in the world that the log gives the base's pose in. Makers of plates
disagree on signs: some give the force on the plate, some have z down. What the model's
centre of mass says about both is found out, corrected and said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.identification.measuring.log_checks import FAR_LIMBS
from equipoise.identification.statics import centre_of_pressure, total_wrench
from equipoise.kinematics.com import com
from equipoise.log.recordings.leg_odometry import to_transforms
from equipoise.log.recordings.match_to_robot import at_times, is_plate
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.log.recordings.recording_of_bag import FIXED_FRAMES
from equipoise.log.recordings.replay import root_poses
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

# A plate is loaded while it shows more than this fraction of the weight.
LOADED = 0.05
# Axes are turned where that brings the centre of pressure nearer to the CoM by this
# factor, from farther away than this fraction of the longest limb.
CLEARLY_BETTER, FAR_AWAY = 0.5, 0.05
# As many rows are enough to see it.
MOST_ROWS = 2000
# Turns of a plate's axes: none, half a turn about x, half a turn about y.
TURNS = {
    "": np.eye(3),
    "x": np.diag([1.0, -1.0, -1.0]),
    "y": np.diag([-1.0, 1.0, -1.0]),
}
POSE_NEEDED = (
    "the pose of the base in the plate's world is needed (columns base.x, .y, .z, "
    ".roll, .pitch, .yaw; or /odom, /tf, a PoseStamped of motion capture), and "
    "plate_at=(x, y, z, yaw) if the plate is not at that world's origin"
)


class PlacedPlates(NamedTuple):
    """Wrenches of plates and where these are.

    Attributes:
        wrenches: Of the ground on the robot, about and in the plates' frames [N, Nm],
            by name, shape (n, 6).
        plate_in_world: Their transforms to the world of the base's pose, (4, 4).
        base_in_world: Transforms of the base there, shape (n, 4, 4).
        measured: Which of the six components a plate measures, by name.
    """

    wrenches: dict[str, Array]
    plate_in_world: dict[str, Array]
    base_in_world: Array
    measured: dict[str, tuple[bool, ...]]


def plate_names(
    recording: Recording, robot: Robot, plate_at: Mapping[str, Sequence[float]]
) -> tuple[str, ...]:
    """Return the wrenches of a log that are those of force plates.

    Their names or frames say so, or ``plate_at`` does; or they are in a frame of the
    world, or one that the log fixes to it, and the log has poses of the base.

    Raises:
        EquipoiseError: If ``plate_at`` names what is not a wrench of the log.
    """
    for name in plate_at:
        if name and name not in recording.wrenches:
            raise NameNotFoundError(
                "wrench", name, recording.wrenches, str(recording.source)
            )
    found = []
    for name, wrench in recording.wrenches.items():
        if robot.model.existFrame(wrench.frame) and name not in plate_at:
            continue
        fixed = _fixed_in_world(recording, wrench.frame) is not None
        in_world = fixed and recording.base_pose is not None
        if name in plate_at or is_plate(recording, name) or in_world:
            found.append(name)
    return tuple(found)


def placed_plates(
    recording: Recording,
    robot: Robot,
    q_at_origin: Array,
    names: Sequence[str],
    plate_at: Mapping[str, Sequence[float]],
    notices: list[str],
) -> PlacedPlates:
    """Return the wrenches of plates, signs and axes corrected, and where these are.

    Args:
        recording: The log, in SI units.
        robot: The robot.
        q_at_origin: Configurations with the root at the origin, shape (n, nq).
        names: The plates' wrenches.
        plate_at: Their positions in the world [m] and yaw [rad], by name, or by ``""``
            for a single plate.
        notices: Receives what was assumed and corrected.

    Raises:
        EquipoiseError: If the log does not say where the robot is, or its centre of
            mass is nowhere near the centre of pressure.
    """
    poses = root_poses(recording, robot, q_at_origin, notices)
    if poses is None:
        raise EquipoiseError(
            f"{recording.source}: '{names[0]}' is a force plate, but where the robot "
            f"is on it is not known: {POSE_NEEDED}"
        )
    _check_metres(recording, robot, poses)
    places = {}
    for name in names:
        frame = recording.wrenches[name].frame
        given = plate_at.get(name, plate_at.get(""))
        if given is not None:
            places[name] = _pose(given)
            continue
        fixed = _fixed_in_world(recording, frame)
        places[name] = np.eye(4) if fixed is None else fixed
        if fixed is None:
            notices.append(
                f"plate '{name}' is taken to be at the origin of the world that "
                f"'{recording.base_source}' is in; else give plate_at=(x, y, z, yaw)"
            )
    wrenches = {
        name: at_times(recording.time, recording.wrenches[name], name, notices)
        for name in names
    }
    _check_pressure_given(recording, recording.wrenches, names)
    base = to_transforms(poses)
    wrenches = _oriented(robot, q_at_origin, base, places, wrenches, notices)
    measured = {name: recording.wrenches[name].measured for name in names}
    return PlacedPlates(wrenches, places, base, measured)


def plates_in_base(placed: PlacedPlates, up_in_base: Array | None) -> dict[str, Array]:
    """Return the transforms from plates to the base, by name, shape (n, 4, 4).

    Args:
        placed: The plates.
        up_in_base: Direction in the base's axes that is the plates' up, shape (n, 3):
            the base's attitude is corrected by the smallest rotation that makes it so;
            None: the attitude is right.
    """
    base = np.array(placed.base_in_world)
    if up_in_base is not None:
        up = np.einsum("nij,nj->ni", base[:, :3, :3], up_in_base)
        base[:, :3, :3] = _upright(up) @ base[:, :3, :3]
    to_base = np.linalg.inv(base)
    return {name: to_base @ place for name, place in placed.plate_in_world.items()}


def _upright(up: Array) -> Array:
    """Return the smallest rotations that bring unit vectors to z, shape (n, 3, 3)."""
    axis = np.cross(up, [0.0, 0.0, 1.0])
    skew = np.swapaxes(np.cross(axis[:, None, :], np.eye(3)), -1, -2)
    return np.asarray(np.eye(3) + skew + skew @ skew / (1.0 + up[:, 2])[:, None, None])


def _pose(given: Sequence[float]) -> Array:
    if len(given) != 4 or not np.isfinite(given).all():
        raise EquipoiseError(
            "a plate's place is four numbers: x, y, z in the world [m] and yaw [rad]"
        )
    x, y, z, yaw = given
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    pose[:3, 3] = x, y, z
    return pose


def _fixed_in_world(recording: Recording, frame: str) -> Array | None:
    """Return the pose of a frame that the log fixes to the world; None if it is not."""
    pose = np.eye(4)
    for _ in range(len(recording.static_frames) + 1):
        if frame in FIXED_FRAMES:
            return pose
        own = recording.static_frames.get(frame)
        if own is None:
            return None
        pose, frame = own.transform_to_parent @ pose, own.parent
    return None


def _check_metres(recording: Recording, robot: Robot, poses: Array) -> None:
    height = abs(float(np.median(poses[:, 2])))
    if height > FAR_LIMBS * robot.longest_limb:
        raise EquipoiseError(
            f"{recording.source}: the base is {height:.0f} m up by "
            f"'{recording.base_source}', which looks like millimetres; if so, give the "
            "unit: units={'length': 'mm'}"
        )


def _check_pressure_given(
    recording: Recording, wrenches: Mapping[str, MeasuredWrench], names: Sequence[str]
) -> None:
    for name in names:
        if not all(wrenches[name].measured[2:5]):
            raise EquipoiseError(
                f"{recording.source}: plate '{name}' gives no centre of pressure: "
                "fx, fy, fz, mx, my, mz or fz, copx, copy are needed"
            )


def _oriented(
    robot: Robot,
    q_at_origin: Array,
    base: Array,
    places: Mapping[str, Array],
    wrenches: Mapping[str, Array],
    notices: list[str],
) -> dict[str, Array]:
    """Return wrenches of the ground on the robot in axes that have z up."""
    weight = robot.mass * STANDARD_GRAVITY
    reversed_ = []
    for name, own in wrenches.items():
        loaded = own[np.abs(own[:, 2]) > LOADED * weight, 2]
        if len(loaded) and np.median(loaded) < 0.0:
            reversed_.append(name)
    signed = {
        name: -own if name in reversed_ else own for name, own in wrenches.items()
    }
    rows = np.unique(np.linspace(0, len(base) - 1, MOST_ROWS).astype(int))
    centre = np.asarray(com(robot, q_at_origin[rows]), np.float64)
    centre = np.einsum("nij,nj->ni", base[rows, :3, :3], centre) + base[rows, :3, 3]
    at = {name: np.tile(own, (len(rows), 1, 1)) for name, own in places.items()}

    def turned(turn: Array, own: Array) -> Array:
        # half a turn reverses z: the force is then that of the robot on the plate
        return own if turn[2, 2] > 0.0 else -own @ np.kron(np.eye(2), turn)

    def away(turn: Array) -> float:
        own = {name: turned(turn, values[rows]) for name, values in signed.items()}
        point = centre_of_pressure(total_wrench(at, own))
        return float(np.sqrt(np.median(np.sum((point - centre[:, :2]) ** 2, axis=1))))

    errors = {axis: away(turn) for axis, turn in TURNS.items()}
    best = min(errors, key=lambda axis: errors[axis])
    far = errors[""] > FAR_AWAY * robot.longest_limb
    axis = best if far and errors[best] < CLEARLY_BETTER * errors[""] else ""
    if axis:
        notices.append(
            f"the plates' axes are turned by half a turn about {axis}: so their centre "
            f"of pressure is {1e3 * errors[axis]:.0f} mm from the model's centre of "
            f"mass, else {1e3 * errors['']:.0f} mm"
        )
    if reversed_ and not axis:
        listed = ", ".join(f"'{name}'" for name in reversed_)
        notices.append(
            f"plate {listed} has its force downward: taken for the force on the plate, "
            "its signs are reversed"
        )
    return {name: turned(TURNS[axis], own) for name, own in signed.items()}
