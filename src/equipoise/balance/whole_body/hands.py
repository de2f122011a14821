"""Hands: where an arm ends, as a point that touches and reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.robot.anatomy.geometry import (
    link_shapes,
    shape_is_known,
    support_point,
)
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side


@dataclass(frozen=True, eq=False)
class Hand:
    """The end of an arm; a robot without hands has the end of its last link.

    Attributes:
        side: Left or right.
        link: The link that the arm ends with.
        point_in_link: The point that touches and reaches [m], shape (3,).
        joints: Joints of the arm, from the base outwards.
        length: Length of the arm, from its first joint to that point [m].
    """

    side: Side
    link: str
    point_in_link: Array
    joints: tuple[str, ...]
    length: float

    @property
    def frame(self) -> str:
        """Name of its frame in the robot's dynamics, see :func:`add_hands`."""
        return f"{self.side} hand"


def hands_of(robot: Robot) -> dict[Side, Hand]:
    """Return the hands of a robot by side; empty without arms.

    The point lies on the line from the last joint through the centre of mass of what
    that joint moves, as far out as its shapes reach; it is that centre itself where no
    shape is known.
    """
    hands: dict[Side, Hand] = {}
    for limb in robot.limbs.values():
        if limb.kind != "arm" or limb.side is None:
            continue
        point = _farthest(robot, limb.end_link)
        length = limb.length + float(np.linalg.norm(point))
        hands[limb.side] = Hand(
            limb.side, limb.end_link, frozen_array(point), limb.joints, length
        )
    return hands


def _farthest(robot: Robot, end_link: str) -> Array:
    """Return the end of a link and of those fixed to it, in its axes [m]."""
    model = robot.model
    own = model.frames[robot.frame_id(end_link)]
    middle = own.placement.actInv(np.array(model.inertias[own.parentJoint].lever))
    distance = float(np.linalg.norm(middle))
    if distance == 0.0:
        return np.zeros(3)
    along = middle / distance
    farthest = distance
    for frame in model.frames:
        if frame.parentJoint != own.parentJoint or frame.type != pin.FrameType.BODY:
            continue
        to_own = own.placement.actInv(frame.placement)
        shapes, _ = link_shapes(robot.description.link_by_name[frame.name])
        for shape in shapes:
            if shape_is_known(shape):
                end = support_point(shape, to_own.rotation.T @ along)
                farthest = max(farthest, float(to_own.act(end) @ along))
    return np.asarray(farthest * along)


def hand_of(robot: Robot, side: str) -> Hand:
    """Return one hand.

    Raises:
        EquipoiseError: If the robot has no arms.
        NameNotFoundError: If it has no such hand; names those that it has.
    """
    hands = hands_of(robot)
    if not hands:
        raise EquipoiseError(f"{robot.name} has no arms, so no hand to reach with")
    for name, hand in hands.items():
        if name == side:
            return hand
    raise NameNotFoundError("hand", side, hands, robot.name)


def add_hands(dynamics: Dynamics) -> dict[Side, Hand]:
    """Give a robot's dynamics a frame for each hand, and return the hands."""
    hands = hands_of(dynamics.robot)
    for hand in hands.values():
        dynamics.add_frame(hand.frame, hand.link, hand.point_in_link)
    return hands
