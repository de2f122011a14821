"""Principal moments and axes, in the form that MuJoCo accepts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import RobotFileError
from equipoise.robot.formats.mujoco_state import wxyz_from_xyzw

# A + B ≥ C may be missed by this share of the largest moment, or by this much
RELATIVE_ROUNDING = 1e-9
ROUNDING = 1e-15  # [kg m²]
SAME_INERTIA = 1e-13  # share of the largest entry: turning axes rounds by less


class PrincipalInertia(NamedTuple):
    """A rotational inertia, diagonal in its own axes.

    Attributes:
        moments: Moments about the three axes [kg m²], shape (3,), none negative and
            the largest at most the sum of the others.
        quaternion_wxyz: Rotation from those axes to link axes, scalar first, shape
            (4,); None where both coincide.
    """

    moments: Array
    quaternion_wxyz: Array | None


def principal_inertia(inertia_in_link: Array, where: str) -> PrincipalInertia:
    """Find principal moments and axes.

    Thin plates have A + B = C, which rounding may miss; MuJoCo then refuses them.
    The largest moment is lowered by that rounding, and by no more.

    Args:
        inertia_in_link: Rotational inertia in link axes [kg m²], shape (3, 3).
        where: Names file and link in messages.

    Raises:
        RobotFileError: If no rigid body has such an inertia.
    """
    moments, quaternion = np.array(np.diag(inertia_in_link)), None
    if np.count_nonzero(inertia_in_link - np.diag(moments)):
        moments, axes = np.linalg.eigh(inertia_in_link)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        quaternion = quaternion_wxyz(axes)
    slack = max(RELATIVE_ROUNDING * float(moments.max()), ROUNDING)
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


def quaternion_wxyz(rotation: Array) -> Array:
    """Return the unit quaternion of a rotation, scalar first, shape (4,)."""
    xyzw: Array = pin.Quaternion(np.array(rotation)).normalized().coeffs()
    return wxyz_from_xyzw(xyzw)


def same_inertia(one: Array, other: Array, tolerance: float = SAME_INERTIA) -> bool:
    """Whether two inertias differ by a share of their largest entry at most."""
    scale = max(float(np.abs(one).max()), float(np.abs(other).max()))
    return bool(np.abs(one - other).max() <= tolerance * scale)
