"""Where centre of mass, feet and torso should be, and the joints found for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import ShapeError
from equipoise.kinematics.pose_arrays import check_points, check_poses, check_rotations


class Outcome(IntEnum):
    """How the search for a posture ended.

    Attributes:
        CONVERGED: Soles in place, CoM within the tolerance.
        NOT_CONVERGED: Soles in place, CoM not within the tolerance.
        ORBITING: The same, and more steps would not help: the error no longer falls.
        UNREACHABLE: A leg is too short or cannot fold so far: a sole is off its place.
    """

    CONVERGED = 0
    NOT_CONVERGED = 1
    ORBITING = 2
    UNREACHABLE = 3


@dataclass(frozen=True, eq=False)
class ComTargets:
    """Centre of mass, soles and torso at n points of a path, in the world.

    Attributes:
        com: Centre of mass [m], shape (n, 3).
        left: Transform from the left sole to the world, shape (n, 4, 4).
        right: Transform from the right sole to the world, shape (n, 4, 4).
        torso: Rotation that turns the base from its attitude in the posture standing
            (upright, facing x) to the wanted one, shape (n, 3, 3).
    """

    com: Array
    left: Array
    right: Array
    torso: Array

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.com)


def com_targets(
    com: ArrayLike, left: ArrayLike, right: ArrayLike, torso: ArrayLike | None = None
) -> ComTargets:
    """Return targets, checked. One pose or attitude stands for all points.

    Args:
        com: Shape (3,) or (n, 3) [m].
        left: Shape (4, 4) or (n, 4, 4).
        right: Shape (4, 4) or (n, 4, 4).
        torso: Shape (3, 3) or (n, 3, 3); upright and facing x if not given.

    Raises:
        ShapeError: If an array has the wrong shape, or holds no points, poses or
            rotations.
    """
    points = np.atleast_2d(check_points(com, "com"))
    upright = np.eye(3) if torso is None else torso
    given = {
        "left": check_poses(left, "left"),
        "right": check_poses(right, "right"),
        "torso": check_rotations(upright, "torso"),
    }
    whole = {}
    for name, values in given.items():
        if values.ndim == 3 and len(values) != len(points):
            raise ShapeError(
                f"{name} has {len(values)} rows but com has {len(points)}: one or "
                "equally many are needed"
            )
        rows = np.broadcast_to(values, (len(points), *values.shape[-2:]))
        whole[name] = frozen_array(rows)
    return ComTargets(com=frozen_array(points), **whole)


@dataclass(frozen=True, eq=False)
class ComSolution:
    """Configurations for :class:`ComTargets`, and how good they are.

    Attributes:
        q: Configurations, shape (n, nq).
        com_error: Distance of the centre of mass from its target [m], shape (n,).
        foot_gap: Distance of the farther sole from its place [m], shape (n,): zero
            but where a leg does not reach.
        iterations: Steps taken at each point, shape (n,).
        outcome: Numbers of :class:`Outcome`, shape (n,).
    """

    q: Array
    com_error: Array
    foot_gap: Array
    iterations: NDArray[np.int64]
    outcome: NDArray[np.int64]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Where soles are in place and the CoM is within the tolerance, (n,)."""
        return np.asarray(self.outcome == Outcome.CONVERGED)
