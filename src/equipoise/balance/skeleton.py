"""A robot as the kernels of a control tick know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

if TYPE_CHECKING:
    from equipoise.kernels.skeleton import SkeletonArrays

BASE_DOF = 6


def skeleton_arrays(robot: Robot) -> SkeletonArrays:
    """Return the bodies of a robot; joints that neither turn nor slide are held.

    They are held as in standing.
    """
    from equipoise.kernels.bodies import CONTINUOUS, PRISMATIC, REVOLUTE
    from equipoise.kernels.skeleton import SkeletonArrays
    from equipoise.kinematics.batch import tree_arrays

    tree = tree_arrays(robot)
    simple = np.isin(tree.kind, (REVOLUTE, CONTINUOUS, PRISMATIC))
    simple[:2] = False
    placement = np.array(tree.placement)
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, robot.standing)
    for body in range(2, model.njoints):
        if not simple[body]:
            placement[body] = np.array(data.liMi[body].homogeneous)
    return SkeletonArrays(
        parent=tree.parent,
        degree=np.where(simple, tree.idx_v - BASE_DOF, -1).astype(np.int32),
        slides=(tree.kind == PRISMATIC).astype(np.int32),
        axis=tree.axis,
        placement=placement,
        mass=tree.mass,
        com_in_body=tree.com,
    )


def sole_placements(robot: Robot) -> dict[Side, tuple[int, Array]]:
    """Return the body of each sole, and the sole's pose there, shape (4, 4).

    Raises:
        EquipoiseError: If a sole is missing.
    """
    missing = [side for side in SIDES if side not in robot.soles]
    if missing:
        raise EquipoiseError(
            f"{robot.name} has no {missing[0]} sole: it cannot be balanced on two feet"
        )
    found: dict[Side, tuple[int, Array]] = {}
    for side in SIDES:
        body, pose = placement_in_body(robot.model, robot.soles[side])
        found[side] = body, np.asarray(pose, dtype=np.float64)
    return found


def base_pose(robot: Robot, q: Array) -> tuple[Array, Array, Array]:
    """Return rotation (3, 3) and position (3,) of the base, and all joint positions."""
    rotation = np.array(pin.Quaternion(q[3:7]).toRotationMatrix())
    return rotation, np.array(q[:3]), np.array(joint_positions(robot, q))
