"""The equations of motion of a floating-base robot, Eq. (1) of [Sariyildiz2015].

    M(q) a + c(q, v) + g(q) = Sᵀ τ + Jᵀ f

with accelerations a = v̇, joint torques τ (Sᵀ leaves the six rows of the base empty) and
forces f that the ground exerts on the soles. Gravity stands on the left: of a standing
robot the third row of g is its weight, positive.

Coordinates are Pinocchio's: the base's velocity v_o and rate ω_o are in base axes, and
so are the base's rows. The paper's base accelerations [v̇, ẇ] are in world axes. With
the base's rotation R they are R(v̇_o + ω_o × v_o) and R ω̇_o, so that the paper's matrix
is T M Tᵀ with T = diag(R, R, E), its gravity T g, and its Coriolis vector
T (c − M [ω_o × v_o, 0, 0]).

These are the equations of rigid bodies. Rotor inertia (the second line of Eq. (1)),
which Pinocchio's ``crba`` adds to the diagonal of M as armature, is not in them, nor is
joint friction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import NameNotFoundError
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

BASE = "base"
BASE_NV = 6
BASE_COORDINATES = ("x", "y", "z", "about x", "about y", "about z")

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """M a + c + g = Sᵀ τ + Jᵀ f of one robot in one state, with its rows labelled.

    All arrays are read-only.

    Attributes:
        robot_name: Name of the robot.
        mass_matrix: M of shape (nv, nv), without rotor inertia.
        coriolis: Coriolis and centrifugal vector c = C(q, v) v, shape (nv,) [N, Nm].
        gravity: Gravity vector g, shape (nv,) [N, Nm].
        contact_jacobians: By side, the Jacobian of the velocity of the frame of
            ``robot.soles[side]``, linear part first, in world axes (Pinocchio's
            LOCAL_WORLD_ALIGNED), shape (6, nv).
        coordinates: What each row stands for, nv names: ``"base x"``, …,
            ``"base about z"``, then joints.
        limb_rows: By limb, the rows of its joints.
    """

    robot_name: str
    mass_matrix: Array
    coriolis: Array
    gravity: Array
    contact_jacobians: Mapping[Side, Array]
    coordinates: tuple[str, ...]
    limb_rows: Mapping[str, Rows]

    def __post_init__(self) -> None:
        """Make arrays and mappings read-only."""
        for name in ("mass_matrix", "coriolis", "gravity"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        jacobians = {s: frozen_array(j) for s, j in self.contact_jacobians.items()}
        object.__setattr__(self, "contact_jacobians", MappingProxyType(jacobians))
        rows = {name: _frozen_rows(rows) for name, rows in self.limb_rows.items()}
        object.__setattr__(self, "limb_rows", MappingProxyType(rows))

    @classmethod
    def label(
        cls,
        robot: Robot,
        mass_matrix: Array,
        coriolis: Array,
        gravity: Array,
        contact_jacobians: Mapping[Side, Array],
    ) -> EquationsOfMotion:
        """Return the equations with rows labelled by the robot's joints and limbs."""
        return cls(
            robot_name=robot.name,
            mass_matrix=mass_matrix,
            coriolis=coriolis,
            gravity=gravity,
            contact_jacobians=contact_jacobians,
            coordinates=_coordinates(robot),
            limb_rows={
                name: np.array(
                    [
                        row
                        for joint in limb.subtree_joints
                        for row in _joint_rows(robot, robot.joint_id(joint))
                    ],
                    dtype=np.intp,
                )
                for name, limb in robot.limbs.items()
            },
        )

    @property
    def contact_jacobian(self) -> Array:
        """J of all soles, one below the other, shape (6 · soles, nv)."""
        empty = np.zeros((0, len(self.coordinates)))
        return np.vstack([empty, *self.contact_jacobians.values()])

    def rows(self, name: str) -> Rows:
        """Return the rows of ``"base"`` or of a limb.

        Raises:
            NameNotFoundError: If it is neither; the message lists all.
        """
        if name == BASE:
            return _frozen_rows(np.arange(BASE_NV))
        if name not in self.limb_rows:
            raise NameNotFoundError(
                "block", name, (BASE, *self.limb_rows), self.robot_name
            )
        return self.limb_rows[name]

    def block(self, row: str, column: str) -> Array:
        """Return a block of the mass matrix by the names of its row and column.

        The blocks of Eq. (1) of [Sariyildiz2015]: ``("base", "base")`` is M_oo, the
        whole robot's inertia about the base; ``("left_leg", "left_leg")`` a limb's
        M_ii; ``("base", "left_leg")`` the cross term M_oi; and ``("left_leg",
        "left_arm")`` the cross term M_ij of two limbs. M_ij is zero where no joint of
        one limb carries the other, as for limbs that hang directly on the base. A
        torso carries arms and head, so its blocks with them are not zero.

        Raises:
            NameNotFoundError: If a name is neither ``"base"`` nor a limb.
        """
        return self.mass_matrix[np.ix_(self.rows(row), self.rows(column))]


def _joint_rows(robot: Robot, joint_id: int) -> range:
    start = int(robot.model.idx_vs[joint_id])
    return range(start, start + int(robot.model.nvs[joint_id]))


def _coordinates(robot: Robot) -> tuple[str, ...]:
    names = [f"{BASE} {axis}" for axis in BASE_COORDINATES]
    for joint_id in range(2, robot.model.njoints):
        joint, count = robot.model.names[joint_id], robot.model.nvs[joint_id]
        names += [joint] if count == 1 else [f"{joint} {k}" for k in range(count)]
    return tuple(names)


def _frozen_rows(rows: Rows) -> Rows:
    rows = np.array(rows, dtype=np.intp)
    rows.flags.writeable = False
    return rows
