"""Which joints of a leg place its sole, and what the leg leaves free.

Six joints put a sole at any pose. A leg of seven or more holds the surplus as in
standing. A leg without a joint that turns the foot about the vertical, often one of
five joints, leaves that turn of the sole free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.stance import sole_errors, sole_pose
from equipoise.robot.anatomy.leg_problems import is_locked
from equipoise.robot.joint_coordinates import degree_of
from equipoise.robot.model import Robot
from equipoise.robot.parts import Limb, Side

SIDES: tuple[Side, Side] = ("left", "right")
# Joints are judged at postures this far around standing [rad].
AROUND, POSTURES = 0.6, 8
# A sole can be turned about its normal if so much of that turn is left at most.
TURN_LEFT = 0.5
# A leg needs so many joints about x, y and z: roll, pitch and yaw.
NEEDED = (2, 3, 1)
# Joints without which the others move the sole so much worse than without the best one
# to hold are not held; of the rest the one farthest from the hip is: a toe rather than
# an ankle.
AS_GOOD = 0.4
POSE, POSE_BUT_YAW = 6, 5
YAW_ROW = 5


@dataclass(frozen=True)
class LegFreedom:
    """How a leg places its sole.

    Attributes:
        side: Which leg.
        moved: Joints that do.
        held: Joints of the leg that stay as they are, with the reason.
        yaw_free: Whether the turn of the sole about its normal is left to the joints.
    """

    side: Side
    moved: tuple[str, ...]
    held: dict[str, str]
    yaw_free: bool

    def describe(self) -> tuple[str, ...]:
        """Return what is unusual, a sentence each."""
        said = [
            f"joint '{joint}' of the {self.side} leg is held: {why}"
            for joint, why in self.held.items()
        ]
        if self.yaw_free:
            said.append(
                f"the {self.side} leg cannot turn its foot about the vertical: the "
                "foot's heading is left free"
            )
        return tuple(said)


@lru_cache(maxsize=8)
def leg_freedom(robot: Robot) -> dict[Side, LegFreedom]:
    """Return how both legs place their soles.

    Raises:
        EquipoiseError: If a leg has too few joints that move, or one of its joints
            neither turns nor slides.
    """
    return {side: _freedom(robot, side, robot.legs[side]) for side in SIDES}


def _freedom(robot: Robot, side: Side, leg: Limb) -> LegFreedom:
    model = robot.model
    held = _coupled(robot, leg)
    for name in leg.joints:
        joint = model.joints[robot.joint_id(name)]
        if joint.nv != 1:
            raise EquipoiseError(
                f"{robot.name}: joint '{name}' of the {side} leg neither turns nor "
                "slides about one axis"
            )
        if is_locked(model, joint):
            held[name] = "its limits lock it"
    moved = [name for name in leg.joints if name not in held]
    jacobians = _jacobians(robot, side, moved)
    yaw_free = len(moved) < POSE or not _can_turn(jacobians)
    needed = POSE_BUT_YAW if yaw_free else POSE
    if len(moved) < needed:
        raise EquipoiseError(
            f"{robot.name}: the {side} leg has {len(moved)} moving joint"
            f"{'s' * (len(moved) != 1)}; at least five are needed to lay a sole flat "
            "on the ground"
        )
    if yaw_free:
        jacobians = np.delete(jacobians, YAW_ROW, axis=1)
    while len(moved) > needed:
        at = _surplus(robot, moved, jacobians)
        held[moved.pop(at)] = "more joints than it takes to place a sole"
        jacobians = np.delete(jacobians, at, axis=2)
    return LegFreedom(side, tuple(moved), held, yaw_free)


def _coupled(robot: Robot, leg: Limb) -> dict[str, str]:
    """Return joints of a leg that are coupled with one of the other leg."""
    found = {}
    legs = robot.leg_joints
    for joint in robot.description.joints:
        pair = (joint.name, joint.mimic)
        for one, other in (pair, pair[::-1]):
            if one in leg.joints and other in legs and other not in leg.joints:
                found[str(one)] = f"it is coupled with '{other}' of the other leg"
    return found


def _limits(robot: Robot, name: str) -> Array:
    at = robot.model.joints[robot.joint_id(name)].idx_q
    model = robot.model
    return np.array([model.lowerPositionLimit[at], model.upperPositionLimit[at]])


def _jacobians(robot: Robot, side: Side, moved: list[str]) -> Array:
    """Return what joints do to the sole at postures around standing, (k, 6, n).

    Lengths are in leg lengths; rows are in the axes of the sole, linear ones first.
    """
    rng = np.random.default_rng(0)
    columns = [6 + degree_of(robot, name) for name in moved]
    found = []
    for _ in range(POSTURES):
        v = np.zeros(robot.nv)
        v[columns] = rng.uniform(-AROUND, AROUND, len(columns))
        q = pin.integrate(robot.model, robot.standing, v)
        for name in moved:
            joint = robot.model.joints[robot.joint_id(name)]
            if joint.nq == 1:
                q[joint.idx_q] = np.clip(q[joint.idx_q], *_limits(robot, name))
        _, jacobian = sole_errors(robot, q, {side: sole_pose(robot, q, side)})
        own = np.array(jacobian[:, columns])
        own[:3] /= max(robot.legs[side].length, 1e-6)
        found.append(own)
    return np.array(found)


def _can_turn(jacobians: Array) -> bool:
    """Return whether joints can turn the sole about its normal and nothing else."""
    turn = np.zeros(POSE)
    turn[YAW_ROW] = 1.0
    left = [
        np.linalg.norm(turn - j @ np.linalg.lstsq(j, turn, rcond=1e-3)[0])
        for j in jacobians
    ]
    return bool(np.median(left) < TURN_LEFT)


def _surplus(robot: Robot, moved: list[str], jacobians: Array) -> int:
    """Return which joint of a leg with too many is better held, by its place."""
    columns = pin.computeJointJacobians(robot.model, robot.data, robot.standing)
    degrees = [6 + degree_of(robot, name) for name in moved]
    along = np.abs(columns[3:, degrees]).argmax(axis=0)
    count = np.bincount(along, minlength=3)
    plenty = [at for at, axis in enumerate(along) if count[axis] > NEEDED[axis]]
    choices = plenty or range(len(moved))
    worth = {
        at: float(np.median(_least_motion(np.delete(jacobians, at, axis=2))))
        for at in choices
    }
    return max(at for at in choices if worth[at] >= AS_GOOD * max(worth.values()))


def _least_motion(jacobians: Array) -> Array:
    """Return how far a sole goes for a unit of joints, in its worst direction."""
    rows = min(jacobians.shape[1:])
    return np.asarray(np.linalg.svd(jacobians, compute_uv=False)[:, rows - 1])
