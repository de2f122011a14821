"""Limits of a pose to measure: joint ranges, holding torques, nothing touching.

A robot must touch neither itself nor, but for its feet, the ground. Primitives are
taken as they are and meshes as their convex hulls, which are larger: a pose that is
free here is free, one that is not may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.robot.collision import collision_geometry, link_of
from equipoise.robot.model import Robot

# Joints stay away from their limits by this fraction of their range.
LIMIT_FRACTION = 0.02
# A joint without limits turns so far to either side [rad].
UNLIMITED_TURN = 0.5 * np.pi
# Joints that move less than this fraction of the mass stay where they are.
LEAST_MASS_FRACTION = 1e-3
# Fraction of a joint's torque limit; the rest is for links heavier than modelled.
HELD_FRACTION = 0.7
# Links nearer than this count as touching [m].
CLEARANCE = 0.005
# Links that touch in more than this fraction of random postures do so by their shapes.
MOSTLY, POSTURES = 0.5, 200
GROUND = "the ground"


def joint_ranges(robot: Robot) -> Array:
    """Return lower and upper bounds of configurations to draw, shape (2, nq).

    Both are those of the standing posture for joints that are not to move.
    """
    model = robot.model
    ranges = np.tile(robot.standing, (2, 1))
    masses = pin.Data(model)
    pin.computeSubtreeMasses(model, masses)
    followers = {j.name for j in robot.description.joints if j.mimic is not None}
    on_legs = {j for leg in robot.legs.values() for j in leg.subtree_joints}
    on_legs -= {j for leg in robot.legs.values() for j in leg.joints}
    on_legs |= {str(model.names[body]) for body in bodies_above_legs(robot)}
    for body in range(2, model.njoints):
        joint, name = model.joints[body], str(model.names[body])
        light = masses.mass[body] < LEAST_MASS_FRACTION * robot.mass
        if joint.nq != 1 or light or name in followers | on_legs:
            continue
        at = joint.idx_q
        lower, upper = model.lowerPositionLimit[at], model.upperPositionLimit[at]
        if not np.isfinite([lower, upper]).all():
            turn = UNLIMITED_TURN if joint.shortname()[10] == "R" else 0.0
            lower = max(lower, robot.standing[at] - turn)
            upper = min(upper, robot.standing[at] + turn)
        distance = LIMIT_FRACTION * (upper - lower)
        ranges[:, at] = lower + distance, upper - distance
    return ranges


def within_ranges(q: Array, ranges: Array) -> NDArray[np.bool_]:
    """Return in which of n configurations all joints are in range, shape (n,)."""
    moved = ranges[1] > ranges[0]
    inside = (q >= ranges[0]) & (q <= ranges[1])
    return np.asarray(inside[:, moved].all(axis=1))


def bodies_above_legs(robot: Robot) -> set[int]:
    """Return the bodies between the base and the legs, such as a waist."""
    bodies = set()
    for leg in robot.legs.values():
        body = int(robot.model.parents[robot.joint_id(leg.joints[0])])
        while body > 1:
            bodies.add(body)
            body = int(robot.model.parents[body])
    return bodies


def torque_bounds(robot: Robot) -> Array:
    """Return the largest torques for holding a pose [Nm or N], shape (nv - 6,).

    Infinite for joints of legs, between which the load is not determined, for joints
    without known limits, and for those that standing already overloads.
    """
    model = robot.model
    legs = {name for leg in robot.legs.values() for name in leg.subtree_joints}
    bounds = np.full(robot.nv - 6, np.inf)
    for joint in robot.description.joints:
        if not model.existJointName(joint.name) or joint.name in legs:
            continue
        at = model.joints[model.getJointId(joint.name)].idx_v - 6
        if at >= 0 and joint.effort_limit > 0.0:
            bounds[at] = HELD_FRACTION * joint.effort_limit
    for body in bodies_above_legs(robot):  # they carry the legs, too
        first = model.joints[body].idx_v - 6
        bounds[first : first + model.joints[body].nv] = np.inf
    standing = np.abs(pin.computeGeneralizedGravity(model, robot.data, robot.standing))
    bounds[standing[6:] > bounds] = np.inf
    return bounds


def holdable(robot: Robot, q: Array, bounds: Array) -> NDArray[np.bool_]:
    """Return which of n configurations keep within the bounds, shape (n,)."""
    model, data = robot.model, robot.data
    torques = np.array(
        [pin.computeGeneralizedGravity(model, data, row)[6:] for row in q]
    ).reshape(len(q), robot.nv - 6)
    return np.asarray(np.all(np.abs(torques) <= bounds, axis=1))


@dataclass(frozen=True, eq=False)
class SelfCollision:
    """Pairs of links that must not touch.

    Pairs that are left out: links on the same body or on neighbours in the tree, and
    links that touch in the standing posture or in most postures.

    Attributes:
        robot: The robot.
        geometry: Shapes on the robot's bodies, and the pairs to check.
        notices: What could not be checked, a sentence each.
    """

    robot: Robot
    geometry: pin.GeometryModel
    notices: tuple[str, ...]
    _data: pin.GeometryData

    def free(self, q: ArrayLike) -> NDArray[np.bool_]:
        """Return in which of n configurations nothing touches; soles at z = 0, (n,)."""
        model, data, geometry = self.robot.model, self.robot.data, self.geometry
        touch = [
            pin.computeCollisions(model, data, geometry, self._data, row, True)
            for row in np.atleast_2d(self.robot.check_q(q))
        ]
        return ~np.array(touch, dtype=np.bool_)


def self_collision(robot: Robot, clearance: float = CLEARANCE) -> SelfCollision:
    """Return the links that must not touch, from a robot's shapes.

    Shapes nearer than the clearance [m] count as touching; where they are nearer in the
    standing posture, half of the distance there.
    """
    geometry, bare = collision_geometry(robot)
    notices = []
    if len(geometry.geometryObjects) == 0:
        notices = [
            f"{robot.name} has no shapes: whether it touches itself is not checked"
        ]
    elif bare:
        named = ", ".join(bare[:3]) + (", …" if len(bare) > 3 else "")
        notices = [
            f"{len(bare)} links have no shapes and are not checked for touching: "
            f"{named}"
        ]
    if len(geometry.geometryObjects) > 0:
        floor = coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
        geometry.addGeometryObject(
            pin.GeometryObject(f"{GROUND}:0", 0, pin.SE3.Identity(), floor)
        )
    gaps = _keep_pairs(robot, geometry)
    data = pin.GeometryData(geometry)
    for request, gap in zip(data.collisionRequests, gaps, strict=True):
        request.security_margin = min(clearance, 0.5 * gap)
    return SelfCollision(robot, geometry, tuple(notices), data)


def _keep_pairs(robot: Robot, geometry: pin.GeometryModel) -> list[float]:
    """Choose the pairs to check; return their distances in the standing posture [m]."""
    objects = list(geometry.geometryObjects)
    model, parents = robot.model, robot.model.parents
    feet = {
        int(model.frames[model.getBodyId(sole.link)].parentJoint)
        for sole in robot.soles.values()
    }
    for first, one in enumerate(objects):
        for second, other in enumerate(objects[:first]):
            bodies = one.parentJoint, other.parentJoint
            near = bodies[0] == bodies[1] or (
                max(bodies) in feet
                if min(bodies) == 0
                else parents[max(bodies)] == min(bodies)
            )
            if not near:
                geometry.addCollisionPair(pin.CollisionPair(second, first))
    data = pin.GeometryData(geometry)
    pin.computeDistances(robot.model, robot.data, geometry, data, robot.standing)
    gaps = np.array([result.min_distance for result in data.distanceResults])
    pairs = [(pair.first, pair.second) for pair in geometry.collisionPairs]
    named = [frozenset(link_of(objects[at].name) for at in pair) for pair in pairs]
    always = (gaps <= 0.0) | _usually_touch(robot, geometry, data)
    touch = {names for names, meet in zip(named, always, strict=True) if meet}
    geometry.removeAllCollisionPairs()
    kept = [at for at, names in enumerate(named) if names not in touch]
    for at in kept:
        geometry.addCollisionPair(pin.CollisionPair(*pairs[at]))
    return [float(gaps[at]) for at in kept]


def _usually_touch(
    robot: Robot, geometry: pin.GeometryModel, data: pin.GeometryData
) -> NDArray[np.bool_]:
    """Return which pairs touch in most postures: their shapes are drawn so."""
    lower, upper = joint_ranges(robot)
    drawn = np.random.default_rng(0).uniform(lower, upper, (POSTURES, robot.nq))
    count = np.zeros(len(geometry.collisionPairs))
    for q in drawn:
        pin.computeCollisions(robot.model, robot.data, geometry, data, q, False)
        count += [result.isCollision() for result in data.collisionResults]
    ground = len(geometry.geometryObjects) - 1
    on_ground = [pair.second == ground for pair in geometry.collisionPairs]
    return np.asarray((count > MOSTLY * POSTURES) & ~np.array(on_ground, dtype=bool))
