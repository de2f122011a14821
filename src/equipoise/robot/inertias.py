"""Inertias of links: possible ones, estimated ones, their principal moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import RobotFileError
from equipoise.rotations import quaternion_from_rotation

# Principal moments below zero by no more than this are rounding in the file, as in
# released iCub and ANYmal files: a fraction of the largest moment, and the moment of
# the link's mass at a radius of 0.03 mm.
RELATIVE_ROUNDING = 1e-3
ROUNDING_RADIUS_SQUARED = 1e-9

# Entries of an inertia in URDF files: key, row and column.
INERTIA_ENTRIES = tuple(
    (f"i{'xyz'[i]}{'xyz'[j]}", i, j) for i in range(3) for j in range(i, 3)
)

# Mean density of a link, shell and hollows included, where its inertia is estimated
# [kg/m³]; about that of water, as of most humanoid robots and of their makers.
LINK_DENSITY = 1000.0

# MuJoCo wants A + B ≥ C; rounding may miss it by this fraction of the largest moment,
# or by this much.
MUJOCO_RELATIVE_ROUNDING = 1e-9
MUJOCO_ROUNDING = 1e-15  # [kg m²]
SAME_INERTIA = 1e-13  # relative to the largest entry: turning axes rounds by less


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass distribution of one link.

    Attributes:
        mass: Mass [kg].
        com_in_link: Centre of mass in link coordinates [m], shape (3,).
        inertia_in_link: Rotational inertia about the centre of mass, in link axes
            [kg m²], shape (3, 3).
    """

    mass: float
    com_in_link: Array
    inertia_in_link: Array


def check_inertial(inertial: Inertial, where: str) -> None:
    """Refuse a mass or inertia that no body can have.

    Zero and very slightly negative principal moments pass: files of real robots
    have them; :mod:`equipoise.robot.anatomy.checks` warns of them.
    """
    if not np.isfinite(inertial.mass) or inertial.mass < 0.0:
        raise RobotFileError(f"{where} has an impossible mass of {inertial.mass:g} kg")
    if not (
        np.isfinite(inertial.com_in_link).all()
        and np.isfinite(inertial.inertia_in_link).all()
    ):
        raise RobotFileError(f"{where} has an inertial entry that is not finite")
    moments = np.linalg.eigvalsh(inertial.inertia_in_link)
    rounding = RELATIVE_ROUNDING * max(moments[2], 0.0)
    rounding += ROUNDING_RADIUS_SQUARED * inertial.mass
    if moments[0] < -rounding:
        raise RobotFileError(
            f"{where} has an inertia that is not positive definite "
            f"(smallest principal moment {moments[0]:.3g} kg m²)"
        )


class PrincipalInertia(NamedTuple):
    """A rotational inertia, diagonal in its own axes.

    Attributes:
        moments: Moments about the three axes [kg m²], shape (3,), none negative and
            the largest at most the sum of the others.
        quaternion: Rotation from those axes to link axes, xyzw, shape (4,); None
            where both coincide.
    """

    moments: Array
    quaternion: Array | None


def principal_inertia(inertia_in_link: Array, where: str) -> PrincipalInertia:
    """Find principal moments and axes.

    Thin plates have A + B = C, which rounding may miss; MuJoCo then refuses them.
    The largest moment is lowered by that rounding, and by no more.

    Raises:
        RobotFileError: If no rigid body has such an inertia.
    """
    moments, quaternion = np.array(np.diag(inertia_in_link)), None
    if np.count_nonzero(inertia_in_link - np.diag(moments)):
        moments, axes = np.linalg.eigh(inertia_in_link)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        quaternion = quaternion_from_rotation(axes)
    slack = max(MUJOCO_RELATIVE_ROUNDING * float(moments.max()), MUJOCO_ROUNDING)
    excess = 2.0 * float(moments.max()) - float(moments.sum())
    if excess > slack or float(moments.min()) < -slack:
        words = ", ".join(f"{moment:.4g}" for moment in np.sort(moments))
        raise RobotFileError(
            f"{where} has principal moments of inertia {words} kg m², which no rigid "
            "body has (A + B < C) and MuJoCo refuses"
        )
    moments = np.maximum(moments, 0.0)
    largest = int(np.argmax(moments))
    others = np.delete(moments, largest).sum()
    moments[largest] = min(moments[largest], others)
    return PrincipalInertia(moments, quaternion)


def same_inertia(one: Array, other: Array, tolerance: float = SAME_INERTIA) -> bool:
    """Whether two inertias differ by a fraction of their largest entry at most."""
    scale = max(float(np.abs(one).max()), float(np.abs(other).max()))
    return bool(np.abs(one - other).max() <= tolerance * scale)


def estimate_inertia(mass: float, span: Array) -> Array:
    """Estimate the inertia about the centre of mass [kg m²], shape (3, 3).

    The link is a uniform solid of :data:`LINK_DENSITY`: a cylinder along the span from
    its joint to the next [m], shape (3,), or a sphere where the span is shorter than
    the sphere's diameter.
    """
    volume = mass / LINK_DENSITY
    radius = np.cbrt(0.75 * volume / np.pi)
    length = float(np.linalg.norm(span))
    if length <= 2.0 * radius:
        return sphere_inertia(mass, float(radius))
    radius = np.sqrt(volume / (np.pi * length))
    return cylinder_inertia(mass, float(radius), length, span)


def sphere_inertia(mass: float, radius: float) -> Array:
    """Return the inertia of a uniform sphere [kg m²], shape (3, 3)."""
    moment: float = 0.4 * mass * radius**2
    return np.diag([moment, moment, moment])


def cylinder_inertia(mass: float, radius: float, length: float, axis: Array) -> Array:
    """Return the inertia of a uniform cylinder along an axis [kg m²], shape (3, 3)."""
    along = 0.5 * mass * radius**2
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    unit = axis / np.linalg.norm(axis)
    return across * np.eye(3) + (along - across) * np.outer(unit, unit)
