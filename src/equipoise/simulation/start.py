"""How a robot is put on the ground, and whether it is."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.stance import find_stance, sole_pose
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.simulation.contacts import ContactPoint, sole_points
from equipoise.simulation.world import World

# Largest error of a stance that counts as reached [m or rad].
STANCE_TOLERANCE = 1e-6
# By how much the CoM may come down where legs are too short, as a fraction of a leg.
BENT = (0.0, 0.01, 0.03, 0.1)
# Points of the body nearer to each other than this fraction of a leg are one.
APART = 0.1
# Soles float if they are this fraction of a leg above the ground, and are deep in it if
# they press with this many times the robot's weight.
FLOATING = 0.01
DEEP = 10.0
# A sole lies on the ground if its corners are within this fraction of a leg from it.
UNEVEN = 0.02


def stance_on(terrain: Terrain, robot: Robot, start: Array | None = None) -> Array:
    """Return a posture with both soles flat on the ground and the CoM above them.

    Args:
        terrain: What to stand on.
        robot: The robot.
        start: Posture to begin with, shape (nq,); standing unless given.

    Raises:
        EquipoiseError: If there is none near, or it is beyond joint limits.
    """
    q = np.array(robot.standing if start is None else start)
    if not robot.soles:
        _ = robot.legs  # says why there are none
        raise EquipoiseError(f"{robot.name} has no soles to stand on")
    poses = {side: sole_pose(robot, q, side) for side in robot.soles}
    wanted: dict[Side, Array] = {
        side: _laid_on(terrain, pose) for side, pose in poses.items()
    }
    lift = np.mean([wanted[side][2, 3] - poses[side][2, 3] for side in poses])
    target = com(robot, q) + np.array([0.0, 0.0, lift])
    size = max(limb.length for limb in robot.legs.values())
    if all(np.allclose(wanted[side], poses[side], atol=1e-9) for side in poses):
        _refuse_edges(terrain, robot, q, size)
        return q
    q[2] += lift
    middle = np.mean([pose[:2, 3] for pose in wanted.values()], axis=0)
    before = np.mean([pose[:2, 3] for pose in poses.values()], axis=0)
    target[:2] += middle - before
    legs = [name for limb in robot.legs.values() for name in limb.joints]
    for bent in BENT:  # legs that are straight on flat ground must bend on another
        lower = target - np.array([0.0, 0.0, bent * size])
        found = find_stance(robot, q, wanted, lower, legs)
        if found.error < STANCE_TOLERANCE:
            _refuse_edges(terrain, robot, found.q, size)
            return found.q
    raise EquipoiseError(
        f"{robot.name} cannot stand on {terrain.describe()}: soles and centre of mass "
        f"stay {1e3 * found.error:.1f} mm or mrad from where they should be"
    )


def _refuse_edges(terrain: Terrain, robot: Robot, q: Array, leg: float) -> None:
    """Refuse soles of which a part is off the ground, or in it: on the edge of a stair.

    Raises:
        EquipoiseError: If there is one; says which and how far.
    """
    points = sole_points(robot)
    depth = _depths(terrain, robot, q, points)
    worst = int(np.abs(depth).argmax())
    if abs(depth[worst]) > UNEVEN * leg:
        side = "above" if depth[worst] < 0.0 else "below"
        raise EquipoiseError(
            f"{robot.name} cannot stand on {terrain.describe()}: {points[worst].name} "
            f"would be {abs(depth[worst]):.4f} m {side} the ground"
        )


def _laid_on(terrain: Terrain, pose: Array) -> Array:
    """Return a sole's pose, moved and turned onto the ground below it."""
    x, y = pose[:2, 3]
    height = float(terrain.height(x, y))
    normal = terrain.surface(np.array([x, y, height])).normal
    turn = pin.Quaternion.FromTwoVectors(pose[:3, 2], normal).toRotationMatrix()
    laid = np.array(pose)
    laid[:3, :3] = turn @ pose[:3, :3]
    laid[2, 3] = height
    return laid


def check_soles(world: World, q: Array) -> None:
    """Refuse postures whose soles float, or with points deep in the ground.

    Args:
        world: The robot and what it stands on.
        q: Configuration, shape (nq,).

    Raises:
        EquipoiseError: If no sole touches, or a contact point is deep in the ground;
            says how far.
    """
    robot = world.robot
    leg = robot.longest_limb
    ground = world.terrain.describe()
    deepest = DEEP * robot.mass * world.gravity / world.material.stiffness
    soles = sole_points(robot)
    depth, name = _deepest(world.terrain, robot, q, (*soles, *world.contacts))
    if depth > max(deepest, FLOATING * leg):
        raise EquipoiseError(
            f"{robot.name} is in the ground: {name} is {depth:.4f} m below {ground}"
        )
    if soles:
        depth, name = _deepest(world.terrain, robot, q, soles)
        if depth < -FLOATING * leg:
            raise EquipoiseError(
                f"the soles of {robot.name} float: the lowest, {name}, is "
                f"{-depth:.4f} m above {ground}"
            )


def _deepest(
    terrain: Terrain, robot: Robot, q: Array, points: tuple[ContactPoint, ...]
) -> tuple[float, str]:
    """Return how deep in the ground the deepest point is [m], and its name."""
    if not points:
        return -np.inf, "nothing"
    depth = _depths(terrain, robot, q, points)
    return float(depth.max()), points[int(depth.argmax())].name


def _depths(
    terrain: Terrain, robot: Robot, q: Array, points: tuple[ContactPoint, ...]
) -> Array:
    """Return how deep in the ground points are [m], shape (npoints,)."""
    places = [
        np.asarray(frame_pose(robot, q, point.link))[:3]
        @ np.append(point.position_in_link, 1.0)
        for point in points
    ]
    return np.asarray(terrain.surface(np.array(places)).depth)


def body_points(robot: Robot) -> tuple[ContactPoint, ...]:
    """Return points of hips, knees, torso, hands and head, for falls.

    The origins of all joints but those of feet, and the centres of mass of the last
    links of limbs; points close to each other are one.
    """
    model, data = robot.model, robot.data
    pin.forwardKinematics(model, data, robot.standing)
    leg = robot.longest_limb
    in_feet = {sole.link for sole in robot.soles.values()}
    feet = {int(frame.parentJoint) for frame in model.frames if frame.name in in_feet}
    link_of = {
        int(frame.parentJoint): frame
        for frame in reversed(list(model.frames))
        if frame.type == pin.FrameType.BODY
    }
    leaves = set(range(1, model.njoints)) - {int(p) for p in model.parents}
    kept: list[Array] = []
    points: list[ContactPoint] = []
    for body in range(1, model.njoints):
        lever = np.array(model.inertias[body].lever)
        # the root's frame may be anywhere, and what has no mass may be nothing
        offsets = [lever] if body == 1 else [np.zeros(3)]
        if body in leaves and body != 1:
            offsets.append(lever)
        if body in feet or body not in link_of or model.inertias[body].mass <= 0.0:
            continue
        for offset in offsets:
            place = data.oMi[body].act(offset)
            if any(np.linalg.norm(place - other) < APART * leg for other in kept):
                continue
            kept.append(place)
            frame = link_of[body]
            in_link = frame.placement.actInv(offset)
            points.append(
                ContactPoint(
                    f"{frame.name}_{len(points)}", frame.name, frozen_array(in_link)
                )
            )
    return tuple(points)
