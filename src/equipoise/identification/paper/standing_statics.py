"""What the sensors of a robot that stands still would read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.identification.paper.coefficients import FootWrench
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Points 0 and 1 of Table 1 of [Muscolo2017]: y = −200 mm and y = 200 mm.
FEET: tuple[Side, Side] = ("right", "left")


class StandingStatics(NamedTuple):
    """A robot at rest on both feet.

    Attributes:
        foot_0: The ground on the right foot, world axes, at the sole's origin.
        foot_1: The ground on the left foot.
        torques: That hold the joints [Nm], by name of coordinate as Pinocchio orders
            them; on the child link, about the joint's axis.
    """

    foot_0: FootWrench
    foot_1: FootWrench
    torques: Mapping[str, float]


def standing_statics(
    robot: Robot, q: ArrayLike, internal: ArrayLike | None = None
) -> StandingStatics:
    """Return wrenches and torques that hold a robot still.

    Two feet can push against each other: of all wrenches that carry the weight, the
    least (N and Nm counted alike) is taken, plus ``internal``. Whether the ground can
    give them is not checked.

    Args:
        robot: The robot; its joints have one degree of freedom each.
        q: Configuration, shape (nq,).
        internal: Force and torque of foot 0, then of foot 1 [N, Nm], shape (12,). Only
            the part that the feet can do to each other is used.

    Raises:
        ShapeError: If ``q`` or ``internal`` has another shape.
    """
    q = robot.check_q(q)
    if q.ndim != 1:
        raise ShapeError(f"q must be one configuration, it has shape {q.shape}")
    push = np.zeros(12) if internal is None else np.asarray(internal, dtype=np.float64)
    if push.shape != (12,) or not np.isfinite(push).all():
        raise ShapeError(f"internal must be 12 finite numbers, not {push.shape}")
    places = [sole_pose(robot, q, side)[:3, 3] for side in FEET]
    jacobian = np.vstack(
        [
            _sole_jacobian(robot, q, side, at)
            for side, at in zip(FEET, places, strict=True)
        ]
    )
    gravity = np.array(pin.computeGeneralizedGravity(robot.model, robot.data, q))
    on_base = jacobian[:, :6].T
    wrench = push + np.linalg.pinv(on_base) @ (gravity[:6] - on_base @ push)
    torque = (gravity - jacobian.T @ wrench)[6:]
    names = [str(name) for name in robot.model.names][2:]
    return StandingStatics(
        FootWrench(places[0], wrench[0:3], wrench[3:6]),
        FootWrench(places[1], wrench[6:9], wrench[9:12]),
        dict(zip(names, torque.tolist(), strict=True)),
    )


def _sole_jacobian(robot: Robot, q: Array, side: Side, at: Array) -> Array:
    """Return the Jacobian of a sole's origin, linear first, world axes, (6, nv)."""
    link = robot.soles[side].link
    jacobian: Array = np.array(frame_jacobian(robot, q, link), np.float64)
    arm = at - frame_pose(robot, q, link)[:3, 3]
    jacobian[:3] += np.cross(jacobian[3:].T, arm).T
    return jacobian
