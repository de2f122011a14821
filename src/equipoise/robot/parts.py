"""The parts of a biped: limbs, soles, actuators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.robot.anatomy.geometry import area
from equipoise.robot.description import JointCommand

Side = Literal["left", "right"]
LimbKind = Literal["leg", "arm", "head", "torso", "other"]
# Origin of a figure that no file gives.
NOT_GIVEN = "not given"


@dataclass(frozen=True)
class Limb:
    """A part of the tree that moves against the base.

    Limbs share no body, and together with the base they hold all bodies, so that
    masses and centre-of-mass Jacobians of the limbs add up to the whole robot's.

    Attributes:
        name: For example ``"left_leg"``.
        kind: Leg, arm, head, torso (joints between base and arms) or other.
        side: ``"left"``, ``"right"`` or None for limbs in the middle.
        joints: Moving joints of the main chain, from the base outwards.
        end_link: The link that the main chain ends at: foot, hand, head.
        subtree_joints: All moving joints of the limb, side branches (fingers,
            toes, eyes) included, in Pinocchio's order.
        length: Length of the main chain, joint to joint and on to the sole [m].
        origin: Source of the limb's definition.
    """

    name: str
    kind: LimbKind
    side: Side | None
    joints: tuple[str, ...]
    end_link: str
    subtree_joints: tuple[str, ...]
    length: float
    origin: str


@dataclass(frozen=True, eq=False)
class Sole:
    """The flat under a foot.

    The sole frame lies in the contact plane below the last leg joint, x forward, z
    up in the standing posture (``l_sole`` and ``r_sole`` of REP-120).

    Attributes:
        side: Left or right foot.
        link: The foot link, in whose coordinates the pose is given.
        transform_sole_to_link: Maps sole coordinates to link coordinates, (4, 4).
        polygon_in_sole: Corners of the convex contact polygon, counter-clockwise
            seen from above [m], shape (k, 2) with k ≥ 1 (a point foot has 1).
        origin: Source of the polygon.
    """

    side: Side
    link: str
    transform_sole_to_link: Array
    polygon_in_sole: Array
    origin: str

    @property
    def size(self) -> tuple[float, float]:
        """Length along x and width along y of the polygon [m]."""
        extent = np.ptp(self.polygon_in_sole, axis=0)
        return float(extent[0]), float(extent[1])

    @property
    def area(self) -> float:
        """Area of the polygon [m²]."""
        return area(self.polygon_in_sole)

    @cached_property
    def corners_in_link(self) -> Array:
        """Corner points in link coordinates [m], shape (k, 3)."""
        flat = np.hstack(
            [self.polygon_in_sole, np.zeros((len(self.polygon_in_sole), 1))]
        )
        pose = self.transform_sole_to_link
        return frozen_array(flat @ pose[:3, :3].T + pose[:3, 3])


@dataclass(frozen=True)
class Actuator:
    """The actuator of one joint.

    Attributes:
        joint: Joint name.
        rotor_inertia: Inertia of the rotor seen at the joint, gear included
            [kg m² or kg].
        viscous_friction: Viscous friction [Nm s/rad or N s/m].
        coulomb_friction: Coulomb friction [Nm or N].
        effort_limit: Largest torque or force [Nm or N].
        velocity_limit: Largest speed [rad/s or m/s].
        lower: Lower position limit [rad or m].
        upper: Upper position limit [rad or m].
        command: What it is told.
        torque_constant: Torque of the motor for its current [Nm/A]; None if not given.
        gear_ratio: Turns of the motor for one of the joint; negative if it turns
            against the joint.
        origins: Source of each parameter, by its name. A limit that is not given
            is infinite, an inertia or friction that is not given is zero, and it is
            told positions.
    """

    joint: str
    rotor_inertia: float
    viscous_friction: float
    coulomb_friction: float
    effort_limit: float
    velocity_limit: float
    lower: float
    upper: float
    command: JointCommand
    origins: Mapping[str, str]
    torque_constant: float | None = None
    gear_ratio: float = 1.0
