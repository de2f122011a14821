"""The baseline: the pelvis at a constant vector from the centre of mass.

Kajita et al. 2003, reference [9] of [Sanliturk2024], take the vector from pelvis to
centre of mass to be what it is in the posture standing. Where legs are heavy it is not,
and the centre of mass misses its target by what this module measures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from equipoise.errors import EquipoiseError
from equipoise.kinematics.com_targets import ComSolution, ComTargets, Outcome
from equipoise.kinematics.leg_geometry import Knee
from equipoise.kinematics.pelvis import Pelvis
from equipoise.robot.model import Robot


def solve_constant_pelvis(
    robot: Robot,
    targets: ComTargets,
    tolerance: float = 0.001,
    *,
    posture: ArrayLike | None = None,
    knee: Knee = "forward",
) -> ComSolution:
    """Return configurations with soles in place and the pelvis below or above the CoM.

    The vector from pelvis to CoM turns with the torso. No step is taken to bring the
    CoM nearer: ``iterations`` is zero.

    Args:
        robot: A robot whose legs have closed-form inverse kinematics.
        targets: Centre of mass, soles and torso.
        tolerance: Error of the CoM up to which a point counts as converged [m].
        posture: Configuration whose joints are held, but for the legs', shape (nq,) or
            (n, nq); the posture standing if not given. The vector is that of standing
            in any case.
        knee: To which side knees bend.

    Raises:
        EquipoiseError: If the tolerance is not positive.
        NoClosedFormError: If a leg does not qualify; the message says why.
        ShapeError: If the posture is none.
    """
    if not 0.0 < tolerance < np.inf:
        raise EquipoiseError(f"tolerance must be positive, it is {tolerance}")
    pelvis = Pelvis(robot, targets, posture, knee)
    placed = pelvis.place_all(pelvis.constant)
    com_error = np.linalg.norm(targets.com - placed.com, axis=1)
    outcome = np.select(
        [placed.foot_gap > 0.0, com_error < tolerance],
        [Outcome.UNREACHABLE, Outcome.CONVERGED],
        Outcome.NOT_CONVERGED,
    )
    none = np.zeros(len(targets), dtype=np.int64)
    return ComSolution(placed.q, com_error, placed.foot_gap, none, outcome)
