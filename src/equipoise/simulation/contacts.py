"""Where a robot touches the world, and what touching is like."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.com import com
from equipoise.robot.anatomy.geometry import widest_corners
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# The sole of one foot resists tilting this many times as much as gravity tilts the
# robot about it: with 1, standing on one foot is an inverted pendulum that falls, with
# 100 a ZMP off the middle of the sole tilts the robot by 1 % of what it would without.
TILT_STIFFNESS_RATIO = 100.0
# Rocking of the robot on one sole has at least this damping ratio.
ROCKING_DAMPING_RATIO = 0.1
# On both feet the soles sink in by less than this fraction of the leg's length.
DEEPEST_SINK = 1e-3
# Of critical damping, for the part of the mass that a corner of one foot carries.
CORNER_DAMPING_RATIO = 0.7
# Rubber on a hard floor.
STATIC_FRICTION = 0.8
DYNAMIC_FRICTION = 0.7
# A sole has at most this many corners that touch, as many as a sole that is found in a
# robot's file: with fewer, a rounded heel would be cut off, and the ZMP with it.
MOST_CORNERS = 8


@dataclass(frozen=True)
class Material:
    """What touching is like, in all directions: Eq. (46–50) of [Sariyildiz2015].

    Attributes:
        stiffness: Stiffness of one contact point [N/m].
        damping: Damping of one contact point [N s/m].
        static_friction: Tangential over normal force at which a point begins to slip.
        dynamic_friction: Tangential over normal force while it slips.
    """

    stiffness: float
    damping: float
    static_friction: float = STATIC_FRICTION
    dynamic_friction: float = DYNAMIC_FRICTION

    def __post_init__(self) -> None:
        """Refuse what no material has."""
        for name, unit in (("stiffness", "N/m"), ("damping", "N s/m")):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0) or (
                name == "stiffness" and value == 0.0
            ):
                raise EquipoiseError(
                    f"contact {name} is {value:g} {unit}; it must be positive"
                )
        for name in ("static_friction", "dynamic_friction"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise EquipoiseError(f"{name} is {value:g}; it must be 0 or more")
        if self.dynamic_friction > self.static_friction:
            raise EquipoiseError(
                f"dynamic_friction {self.dynamic_friction:g} is above static_friction "
                f"{self.static_friction:g}"
            )


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A point of the robot that can touch.

    Attributes:
        name: For example ``"left_sole_0"``.
        link: The link that it is fixed to.
        position_in_link: In link coordinates [m], shape (3,).
        side: The foot whose sole it is a corner of, or None.
    """

    name: str
    link: str
    position_in_link: Array
    side: Side | None = None


def contact_point(robot: Robot, link: str, position_in_link: ArrayLike) -> ContactPoint:
    """Return a point of any link: a fingertip, a knee, the back of the torso.

    Args:
        robot: The robot.
        link: Link name.
        position_in_link: In link coordinates [m], shape (3,).

    Raises:
        NameNotFoundError: If the robot has no such link.
        EquipoiseError: If the position is not three finite numbers.
    """
    if link not in robot.description.link_by_name:
        names = robot.description.link_by_name
        raise NameNotFoundError("link", link, names, robot.name)
    position = np.asarray(position_in_link, dtype=np.float64)
    if position.shape != (3,) or not np.isfinite(position).all():
        raise EquipoiseError(
            f"the position of a contact point on '{link}' must be three finite numbers"
        )
    label = ",".join(f"{value:g}" for value in position)
    return ContactPoint(f"{link}({label})", link, frozen_array(position))


def sole_points(robot: Robot) -> tuple[ContactPoint, ...]:
    """Return the corners of all soles, at most eight of each.

    Soles with more corners are represented by the eight that enclose most area.
    """
    points = []
    for side, sole in robot.soles.items():
        keep = widest_corners(sole.polygon_in_sole, MOST_CORNERS)
        for number, at in enumerate(keep):
            position = frozen_array(sole.corners_in_link[at])
            points.append(
                ContactPoint(f"{side}_sole_{number}", sole.link, position, side)
            )
    return tuple(points)


def default_material(robot: Robot) -> Material:
    """Return a floor that this robot can stand on, also on one foot.

    Stiff enough that a sole resists tilting a hundred times as much as gravity tilts
    the robot about it (K = Σ k r² against m g h) and that it sinks in little. Damped to
    0.7 of critical for the mass that a corner carries, and to 0.1 of critical at least
    for the robot rocking on one sole, C = Σ c r² against 2 √((K - m g h) I).
    """
    points = sole_points(robot)
    if not points:
        _ = robot.legs  # says why there are none
        raise EquipoiseError(
            f"{robot.name} has no soles: give contact points and a material"
        )
    weight = robot.mass * STANDARD_GRAVITY
    height = float(com(robot, robot.standing)[2])
    leg = max(
        (limb.length for limb in robot.limbs.values() if limb.kind == "leg"),
        default=height,
    )
    stiffness = weight / (len(points) * DEEPEST_SINK * leg)
    corners = 1
    spreads = []
    for sole in robot.soles.values():
        polygon = sole.polygon_in_sole[
            widest_corners(sole.polygon_in_sole, MOST_CORNERS)
        ]
        corners = max(corners, len(polygon))
        spread = ((polygon - polygon.mean(axis=0)) ** 2).sum(axis=0)
        # a point or a line cannot resist tilting, however stiff
        spreads += [float(r2) for r2 in spread if r2 > (1e-3 * leg) ** 2]
        if spread.min() > (1e-3 * leg) ** 2:
            tilt = TILT_STIFFNESS_RATIO * weight * height / float(spread.min())
            stiffness = max(stiffness, tilt)
    damping = 2.0 * CORNER_DAMPING_RATIO * math.sqrt(stiffness * robot.mass / corners)
    inertia = robot.mass * height**2  # about the sole; that about the CoM is left out
    for r2 in spreads:
        tilt = max(stiffness * r2 - weight * height, 0.0)
        rocking = 2.0 * ROCKING_DAMPING_RATIO * math.sqrt(tilt * inertia) / r2
        damping = max(damping, rocking)
    return Material(stiffness, damping)
