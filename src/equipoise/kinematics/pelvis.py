"""Configurations from where the pelvis is: both legs reach for their soles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.kinematics.com import com
from equipoise.kinematics.com_targets import ComTargets
from equipoise.kinematics.leg_geometry import Knee, LegGeometry, leg_geometry
from equipoise.kinematics.leg_ik import knee_sense, solve_leg, solve_legs
from equipoise.kinematics.turns import FLOATS
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

SIDES: tuple[Side, Side] = ("left", "right")
BASE_NQ = 7


class Placed(NamedTuple):
    """A configuration with the pelvis at a given place.

    Attributes:
        q: Shape (nq,).
        com: Centre of mass in the world [m], shape (3,).
        foot_gap: Distance of the farther sole from its place [m].
    """

    q: Array
    com: Array
    foot_gap: float


class PlacedAll(NamedTuple):
    """Configurations with the pelvis at given places.

    Attributes:
        q: Shape (n, nq).
        com: Centre of mass in the world [m], shape (n, 3).
        foot_gap: Distance of the farther sole from its place [m], shape (n,).
    """

    q: Array
    com: Array
    foot_gap: Array


class Pelvis:
    """Pelvis and legs of a robot, on the way along targets.

    The pelvis is the base; its attitude is the targets' and only its position is left
    to choose. All joints but the legs' stay as they are in a posture.

    Attributes:
        constant: Where the base is [m] if the CoM lies in it where it does in the
            posture standing, shape (n, 3).
        to_hips: From the base to left and right hip, world axes [m], shape (n, 2, 3).
    """

    def __init__(
        self,
        robot: Robot,
        targets: ComTargets,
        posture: ArrayLike | None = None,
        knee: Knee = "forward",
    ) -> None:
        """Make ready for targets.

        Args:
            robot: The robot.
            targets: The targets.
            posture: Configuration whose joints are held, but for the legs', shape
                (nq,) or (n, nq); the posture standing if not given.
            knee: To which side knees bend.

        Raises:
            NoClosedFormError: If a leg does not qualify; the message says why.
            ShapeError: If the posture is none, or not one for each target.
        """
        held = robot.check_q(robot.standing if posture is None else posture)
        if held.ndim == 2 and len(held) != len(targets):
            raise ShapeError(
                f"posture has {len(held)} rows but there are {len(targets)} targets"
            )
        upright = Rotation.from_quat(robot.standing[3:BASE_NQ]).as_matrix()
        rotation = targets.torso @ upright
        to_com = (com(robot, robot.standing) - robot.standing[:3]) @ upright
        self.constant = np.asarray(targets.com - rotation @ to_com)
        self._robot = robot
        self._q = np.array(np.broadcast_to(held, (len(targets), robot.nq)))
        if len(targets):
            self._q[:, 3:BASE_NQ] = Rotation.from_matrix(rotation).as_quat()
        self._legs = [
            _Leg(robot, leg_geometry(robot, side), rotation, sole, knee)
            for side, sole in zip(SIDES, (targets.left, targets.right), strict=True)
        ]
        self.to_hips = np.stack(
            [rotation @ leg.geometry.hip for leg in self._legs], axis=1
        )

    def place(self, row: int, position: Array) -> Placed:
        """Return the configuration for one target.

        Args:
            row: Which target.
            position: Position of the base in the world [m], shape (3,).
        """
        q = self._q[row].copy()
        q[:3] = position
        where = position.tolist()
        gap = 0.0
        for leg in self._legs:
            *angles, missing = leg.reach(row, where)
            q[leg.columns] = leg.coordinates(np.array(angles))
            gap = max(gap, missing)
        at = pin.centerOfMass(self._robot.model, self._robot.data, q, False)
        return Placed(q, np.array(at), gap)

    def place_all(self, positions: Array) -> PlacedAll:
        """Return configurations for all targets.

        Args:
            positions: Positions of the base in the world [m], shape (n, 3).
        """
        q = self._q.copy()
        q[:, :3] = positions
        gap = np.zeros(len(q))
        for leg in self._legs:
            angles, missing = leg.reach_all(positions)
            q[:, leg.columns] = leg.coordinates(angles)
            gap = np.maximum(gap, missing)
        at = np.asarray(com(self._robot, q), dtype=np.float64)
        return PlacedAll(q, at, gap)


class _Leg:
    """A leg, and where its ankle and foot should be at each target."""

    def __init__(
        self, robot: Robot, leg: LegGeometry, rotation: Array, sole: Array, knee: Knee
    ) -> None:
        to_base = np.swapaxes(rotation, -1, -2)
        zero = leg.transform_sole_to_base
        ankle_in_sole = (leg.ankle - zero[:3, 3]) @ zero[:3, :3]
        ankle = sole[:, :3, :3] @ ankle_in_sole + sole[:, :3, 3]
        self.geometry = leg
        self.sense = knee_sense(leg, knee)
        self.to_base = to_base
        self.moved = to_base @ sole[:, :3, :3] @ zero[:3, :3].T
        # From hip to ankle in base axes is this, less the base's position turned.
        self.offset = (to_base @ ankle[:, :, None])[:, :, 0] - leg.hip
        self._numbers = (
            self.moved.reshape(-1, 9).tolist(),
            to_base.reshape(-1, 9).tolist(),
            self.offset.tolist(),
        )
        joints = [robot.model.joints[robot.joint_id(name)] for name in leg.joints]
        self.columns = [joint.idx_q + at for joint in joints for at in range(joint.nq)]
        self._endless = [at for at, joint in enumerate(joints) if joint.nq == 2]

    def reach(self, row: int, position: Sequence[float]) -> tuple[float, ...]:
        moved, turned, (p, q, r) = (values[row] for values in self._numbers)
        (x, y, z), (a, b, c, d, e, f, g, h, i) = position, turned
        to_ankle = (
            p - a * x - b * y - c * z,
            q - d * x - e * y - f * z,
            r - g * x - h * y - i * z,
        )
        return solve_leg(self.geometry, moved, to_ankle, self.sense, FLOATS)

    def reach_all(self, positions: Array) -> tuple[Array, Array]:
        to_ankle = self.offset - (self.to_base @ positions[:, :, None])[:, :, 0]
        return solve_legs(self.geometry, self.moved, to_ankle, self.sense)

    def coordinates(self, angles: Array) -> Array:
        """Return Pinocchio's: cosine and sine of joints without end."""
        if not self._endless:
            return angles
        parts = [
            [np.cos(angle), np.sin(angle)] if at in self._endless else [angle]
            for at, angle in enumerate(np.moveaxis(angles, -1, 0))
        ]
        return np.stack([number for part in parts for number in part], axis=-1)
