"""The bodies of a robot in one configuration: where they are, how their joints move.

Body k moves with Pinocchio's joint k and has that joint's frame; body 0 is the world,
body 1 the base. The floating base is a joint like any other, of six degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.model import Robot
from equipoise.robot.parts import Sole

WORLD = 0


@dataclass(frozen=True, eq=False)
class Body:
    """A moving body and the joint that carries it.

    Attributes:
        index: Pinocchio's index of the joint, which numbers the body too.
        parent: Index of the body that the joint hangs on, ``WORLD`` for the base.
        columns: The joint's entries in v.
        subspace: S of shape (6, k), linear part first: the body moves against its
            parent at S v[columns], in body axes. S is constant for every joint kind
            that Equipoise knows.
        rotation_to_parent: Maps body axes to the parent's axes, shape (3, 3).
        position_in_parent: Origin of the body in parent coordinates [m], shape (3,).
        rotation: Maps body axes to world axes, shape (3, 3).
        position: Origin of the body in the world [m], shape (3,).
        mass: [kg].
        com_in_body: Centre of mass in body coordinates [m], shape (3,).
        inertia_in_body: Inertia about the centre of mass, body axes [kg m²], (3, 3).
    """

    index: int
    parent: int
    columns: slice
    subspace: Array
    rotation_to_parent: Array
    position_in_parent: Array
    rotation: Array
    position: Array
    mass: float
    com_in_body: Array
    inertia_in_body: Array

    @property
    def com(self) -> Array:
        """Centre of mass in the world [m], shape (3,)."""
        return self.position + self.rotation @ self.com_in_body

    @property
    def inertia(self) -> Array:
        """Inertia about the centre of mass in world axes [kg m²], shape (3, 3)."""
        return self.rotation @ self.inertia_in_body @ self.rotation.T

    @cached_property
    def spatial_inertia(self) -> Array:
        """Inertia about the body's origin in body axes, linear part first, (6, 6)."""
        lever = self.mass * pin.skew(self.com_in_body)
        about_origin = self.inertia_in_body - lever @ pin.skew(self.com_in_body)
        return np.block([[self.mass * np.eye(3), -lever], [lever, about_origin]])

    @cached_property
    def motion_from_parent(self) -> Array:
        """Maps spatial velocities of the parent into body coordinates, shape (6, 6).

        Its transpose maps spatial forces on the body to the parent.
        """
        rotation = self.rotation_to_parent.T
        lever = -rotation @ pin.skew(self.position_in_parent)
        return np.block([[rotation, lever], [np.zeros((3, 3)), rotation]])


def check_state(robot: Robot, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Return one configuration and one velocity as float64.

    Raises:
        ShapeError: If they are not, or if they are batches.
    """
    q = robot.check_q(q)
    if q.ndim != 1:
        raise ShapeError(
            f"q has shape {q.shape}; equations of motion are derived for one "
            f"configuration, shape ({robot.nq},)"
        )
    return q, robot.check_v(v, like=q)


def bodies_at(robot: Robot, q: Array) -> list[Body]:
    """Return the bodies below the world, parents before children."""
    model = robot.model
    poses = [pin.SE3.Identity()]
    bodies = []
    for index in range(1, model.njoints):
        joint, parent = model.joints[index], int(model.parents[index])
        data = joint.createData()
        joint.calc(data, q)
        pose_in_parent = model.jointPlacements[index] * data.M
        poses.append(poses[parent] * pose_in_parent)
        inertia = model.inertias[index]
        bodies.append(
            Body(
                index=index,
                parent=parent,
                columns=slice(joint.idx_v, joint.idx_v + joint.nv),
                subspace=np.array(data.S, dtype=np.float64).reshape(6, joint.nv),
                rotation_to_parent=np.array(pose_in_parent.rotation),
                position_in_parent=np.array(pose_in_parent.translation),
                rotation=np.array(poses[index].rotation),
                position=np.array(poses[index].translation),
                mass=float(inertia.mass),
                com_in_body=np.array(inertia.lever),
                inertia_in_body=np.array(inertia.inertia),
            )
        )
    return bodies


def sole_point(robot: Robot, bodies: list[Body], sole: Sole) -> tuple[Body, Array]:
    """Return the body that a sole belongs to, and the sole frame's origin in it [m]."""
    body, placement = placement_in_body(robot.model, sole)
    return bodies[body - 1], np.array(placement.translation)
