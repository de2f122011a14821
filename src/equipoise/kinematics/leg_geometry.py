"""What closed-form inverse kinematics needs to know of a leg.

Axes and points are those of the leg with all its joints at zero, in coordinates of the
base. The foot is then moved by six turns, one after the other, and neither the order
of the axes nor their signs matter any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.robot.joint_coordinates import degree_of, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.robot.pinocchio_model import workspace

Knee = Literal["forward", "backward"]
Number: TypeAlias = Any  # a float, or an array of them
Vector: TypeAlias = tuple[Number, Number, Number]

# How near axes must come to one point [m] and to right angles [rad].
TOLERANCE = 1e-9
HIP, KNEE, ANKLE = slice(0, 3), 3, slice(4, 6)
ROOT_JOINT = 1


class NoClosedFormError(EquipoiseError):
    """A leg is built so that its joint angles have no closed form."""


@dataclass(frozen=True, eq=False)
class LegGeometry:
    """A leg of six turning joints: three through the hip, a knee, two at the ankle.

    Attributes:
        side: Which leg.
        joints: Names, from hip to foot.
        axes: Unit vectors in base coordinates with the leg's joints at zero, (6, 3).
        hip: Point that the first three axes share, in the base [m], shape (3,).
        knee: Point on the knee's axis, in the base, joints at zero [m], shape (3,).
        ankle: Point that the last two axes share, likewise [m], shape (3,).
        transform_sole_to_base: With the leg's joints at zero, shape (4, 4).
        standing: Joint angles in the posture standing [rad], shape (6,). It chooses
            among the solutions: hip and ankle are bent to the same side of their
            singularities, and angles are those nearest to it of all 2π apart.
        forward_sense: 1 if the knee comes forward as its angle grows, else -1.
    """

    side: Side
    joints: tuple[str, ...]
    axes: Array
    hip: Array
    knee: Array
    ankle: Array
    transform_sole_to_base: Array
    standing: Array
    forward_sense: float

    @cached_property
    def axis_tuples(self) -> tuple[Vector, ...]:
        """The axes as plain numbers."""
        return tuple(_numbers(axis) for axis in self.axes)

    @cached_property
    def standing_tuple(self) -> tuple[float, ...]:
        """Angles in the posture standing, as plain numbers [rad]."""
        return tuple(self.standing.tolist())

    @cached_property
    def knee_to_hip(self) -> Vector:
        """From knee to hip, as plain numbers [m]."""
        return _numbers(self.hip - self.knee)

    @cached_property
    def ankle_to_knee(self) -> Vector:
        """From ankle to knee, as plain numbers [m]."""
        return _numbers(self.knee - self.ankle)

    @cached_property
    def across_knee(self) -> tuple[Array, Array]:
        """Hip and ankle from the knee, less their parts along its axis [m], (3,)."""
        across = np.eye(3) - np.outer(self.axes[KNEE], self.axes[KNEE])
        return across @ (self.hip - self.knee), across @ (self.ankle - self.knee)

    @cached_property
    def thigh(self) -> float:
        """Distance from the hip to the knee's axis [m]."""
        return float(np.linalg.norm(self.across_knee[0]))

    @cached_property
    def shank(self) -> float:
        """Distance from the ankle to the knee's axis [m]."""
        return float(np.linalg.norm(self.across_knee[1]))

    @cached_property
    def lateral(self) -> float:
        """Lateral distance from hip to ankle, along the knee's axis [m]."""
        return float((self.ankle - self.hip) @ self.axes[KNEE])

    @cached_property
    def reach(self) -> tuple[float, float]:
        """Least and largest distance between hip and ankle [m]."""
        least = np.hypot(self.thigh - self.shank, self.lateral)
        return float(least), float(np.hypot(self.thigh + self.shank, self.lateral))

    @cached_property
    def straight(self) -> float:
        """Angle of the knee at which the leg is straight [rad]."""
        to_hip, to_ankle = self.across_knee
        sine = float(self.axes[KNEE] @ np.cross(to_ankle, -to_hip))
        return float(np.arctan2(sine, -to_hip @ to_ankle))

    @cached_property
    def hip_branch(self) -> float:
        """Side of the hip's singularity that the posture standing is on, 1 or -1."""
        between = self._rotation(1) @ self.axes[2]
        return _sign(between @ np.cross(self.axes[0], self.axes[1]))

    @cached_property
    def ankle_branch(self) -> float:
        """Side of the ankle's singularity that the posture standing is on, 1 or -1."""
        hip = (self.hip - self.knee) @ self._rotation(KNEE) + self.knee - self.ankle
        between = hip @ self._rotation(4)
        return _sign(between @ np.cross(self.axes[5], self.axes[4]))

    def _rotation(self, joint: int) -> Array:
        """Return the turn of a joint in the posture standing, shape (3, 3)."""
        return np.asarray(pin.exp3(self.standing[joint] * self.axes[joint]))


def leg_geometry(robot: Robot, side: Side, tolerance: float = TOLERANCE) -> LegGeometry:
    """Read a leg's geometry off the model.

    Args:
        robot: The robot.
        side: Which leg.
        tolerance: How far axes may miss a common point [m] and right angles [rad].
            The sole will be off by as much.

    Raises:
        LegsNotFoundError: If the robot has not two legs.
        NameNotFoundError: If the leg has no sole.
        NoClosedFormError: If the leg does not qualify; the message says why.
    """
    limb = robot.legs[side]
    if side not in robot.soles:
        raise NameNotFoundError("sole", side, robot.soles, robot.name)
    model, data = robot.model, workspace(robot.model)
    ids = [robot.joint_id(name) for name in limb.joints]
    foot = robot.frame_id(robot.soles[side].link)

    def refuse(why: str) -> NoClosedFormError:
        return NoClosedFormError(
            f"{robot.name}: the {side} leg has no closed-form inverse kinematics: {why}"
        )

    if len(ids) != 6:
        raise refuse(f"it has {len(ids)} joints, not 6")
    if model.parents[ids[0]] != ROOT_JOINT:
        above = model.names[model.parents[ids[0]]]
        raise refuse(f"it hangs on joint '{above}', not on the base")
    if model.frames[foot].parentJoint != ids[-1]:
        raise refuse(f"its sole does not move with joint '{limb.joints[-1]}'")

    zero = pin.neutral(model)
    columns = pin.computeJointJacobians(model, data, zero)
    points = np.array([data.oMi[i].translation for i in ids])
    axes = np.empty((6, 3))
    for at, (name, i) in enumerate(zip(limb.joints, ids, strict=True)):
        column = columns[:, model.joints[i].idx_v : model.joints[i].idx_v + 1].T
        slides = column[0, :3] + np.cross(column[0, 3:], points[at])
        if model.joints[i].nv != 1 or np.abs(slides).max() > tolerance:
            raise refuse(f"joint '{name}' does more than turn")
        axes[at] = column[0, 3:]
    for one, other in ((0, 1), (1, 2), (4, 5)):
        off = abs(float(np.arcsin(np.clip(axes[one] @ axes[other], -1.0, 1.0))))
        if off > tolerance:
            raise refuse(
                f"the axes of '{limb.joints[one]}' and '{limb.joints[other]}' are "
                f"{np.degrees(off):.3g}° off right angles"
            )
    shared = []
    for name, part in (("hip", HIP), ("ankle", ANKLE)):
        point, miss = _common_point(points[part], axes[part])
        if miss > tolerance:
            raise refuse(f"its {name} axes miss a common point by {1e3 * miss:.3g} mm")
        shared.append(frozen_array(point))

    sole = data.oMi[ids[-1]] * model.frames[foot].placement
    degrees = [degree_of(robot, name) for name in limb.joints]
    leg = LegGeometry(
        side=side,
        joints=limb.joints,
        axes=frozen_array(axes),
        hip=shared[0],
        knee=frozen_array(points[KNEE]),
        ankle=shared[1],
        transform_sole_to_base=frozen_array(
            sole.homogeneous @ robot.soles[side].transform_sole_to_link
        ),
        standing=frozen_array(joint_positions(robot, robot.standing)[degrees]),
        forward_sense=_forward_sense(robot, ids[KNEE]),
    )
    if min(leg.thigh, leg.shank) < tolerance:
        raise refuse("the knee's axis runs through hip or ankle")
    return leg


def _forward_sense(robot: Robot, knee: int) -> float:
    """Return 1 if the knee's axis points to the left in the posture standing."""
    model = robot.model
    columns = pin.computeJointJacobians(model, robot.data, robot.standing)
    return _sign(columns[4, model.joints[knee].idx_v])


def _numbers(vector: Array) -> Vector:
    x, y, z = vector.tolist()
    return x, y, z


def _sign(value: Any) -> float:
    return 1.0 if value >= 0.0 else -1.0


def _common_point(points: Array, axes: Array) -> tuple[Array, float]:
    """Return the point nearest to lines, and its largest distance to one [m]."""
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    along = (across @ points[:, :, None]).sum(axis=0)[:, 0]
    point = np.linalg.solve(across.sum(axis=0), along)
    miss = np.linalg.norm(across @ (point - points)[:, :, None], axis=1)
    return point, float(miss.max())
