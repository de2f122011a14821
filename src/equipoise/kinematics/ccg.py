"""Converging centre of gravity: Algorithm 1 of [Sanliturk2024].

The soles and the torso's attitude are given, so a posture is known from the pelvis'
position alone. It is moved along the error of the centre of mass, step by step, until
that is small enough, and stays there for the next point.

The published step has a fixed length β. Let J be how the centre of mass follows the
pelvis, dc = J dp, and ĝ the unit vector of the error e. A step makes the error smaller
only while::

    |e| > β |J ĝ|² / (2 ĝᵀ J ĝ),

which is β j / 2 for J = j·1. With a tolerance ε below that the centre of mass goes
round its target for ever; this is noticed, and the point given up. On the ITU Biped
with bent knees J has singular values from 0.4 to 0.9, so that the published β = ε
converges; towards straight knees the largest has no bound. The proportional step moves
the pelvis by a share of the error instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.com_targets import ComSolution, ComTargets, Outcome
from equipoise.kinematics.leg_geometry import Knee
from equipoise.kinematics.pelvis import Pelvis, Placed
from equipoise.robot.model import Robot

Step = Literal["published", "proportional"]

# Progress that counts, as share of the smaller of step and tolerance.
PROGRESS = 1e-3


@dataclass(frozen=True)
class CcgParameters:
    """Parameters of the algorithm; those of Table 4 of [Sanliturk2024] by default.

    Attributes:
        step: ``"published"``: of fixed length; ``"proportional"``: to the error.
        step_length: β, length of a published step [m].
        tolerance: ε, G_prec in Table 4: error of the CoM that is accepted [m].
        gain: Length of a proportional step over the error [1].
        max_iterations: Steps at one point, at most.
        patience: Steps without progress after which a point is given up.
    """

    step: Step = "published"
    step_length: float = 0.001
    tolerance: float = 0.001
    gain: float = 1.0
    max_iterations: int = 2000
    patience: int = 50

    def __post_init__(self) -> None:
        """Check the values."""
        if self.step not in get_args(Step):
            raise NameNotFoundError("step", self.step, get_args(Step), "CCG")
        for name, value in vars(self).items():
            if name != "step" and not 0.0 < value < np.inf:
                raise EquipoiseError(f"CCG: {name} must be positive, it is {value}")


def solve_ccg(
    robot: Robot,
    targets: ComTargets,
    parameters: CcgParameters | None = None,
    *,
    posture: ArrayLike | None = None,
    knee: Knee = "forward",
) -> ComSolution:
    """Return configurations with soles in place and the CoM near its targets.

    Joint limits are not looked at. A point that is not solved says so in ``outcome``;
    its configuration is then the one with the least sum of errors of CoM and sole. The
    first point begins where
    :func:`~equipoise.kinematics.constant_pelvis.solve_constant_pelvis` has the pelvis.

    Args:
        robot: A robot whose legs have closed-form inverse kinematics.
        targets: Centre of mass, soles and torso, in the order of the path.
        parameters: The paper's if not given.
        posture: Configuration whose joints are held, but for the legs', shape (nq,) or
            (n, nq); the posture standing if not given.
        knee: To which side knees bend.

    Raises:
        NoClosedFormError: If a leg does not qualify; the message says why.
        ShapeError: If the posture is none.
    """
    chosen = CcgParameters() if parameters is None else parameters
    pelvis = Pelvis(robot, targets, posture, knee)
    count = len(targets)
    solution = ComSolution(
        q=np.empty((count, robot.nq)),
        com_error=np.empty(count),
        foot_gap=np.empty(count),
        iterations=np.empty(count, dtype=np.int64),
        outcome=np.empty(count, dtype=np.int64),
    )
    for row in range(count):  # line 3
        start = solution.q[row - 1, :3] if row else pelvis.constant[0]
        point = _converge(pelvis, row, targets.com[row], start, chosen)
        solution.q[row] = point.placed.q
        solution.com_error[row] = point.com_error
        solution.foot_gap[row] = point.placed.foot_gap
        solution.iterations[row] = point.iterations
        solution.outcome[row] = point.outcome(chosen)
    return solution


class _Point(NamedTuple):
    """The best posture met at a point, and how long it took to find."""

    placed: Placed
    com_error: float
    iterations: int
    stuck: bool

    def outcome(self, parameters: CcgParameters) -> Outcome:
        if self.placed.foot_gap > 0.0:
            return Outcome.UNREACHABLE
        if self.com_error < parameters.tolerance:
            return Outcome.CONVERGED
        return Outcome.ORBITING if self.stuck else Outcome.NOT_CONVERGED


def _converge(
    pelvis: Pelvis, row: int, com: Array, start: Array, parameters: CcgParameters
) -> _Point:
    """Move the pelvis until the CoM is within the tolerance: lines 4 to 25."""
    placed = pelvis.place(row, start)
    error = com - placed.com  # Eq. (20)
    length = float(np.sqrt(error @ error))
    best = _Point(placed, length, 0, False)
    position, fixed, iterations = start, 0, 0
    progress = PROGRESS * min(parameters.step_length, parameters.tolerance)
    least = mark = length + placed.foot_gap
    waited = 0
    while (
        length >= parameters.tolerance  # line 7
        and iterations < parameters.max_iterations
        and waited < parameters.patience
    ):
        if parameters.step == "published":
            step = parameters.step_length * (error / length)  # Eq. (21), (22)
        else:
            step = parameters.gain * error
        to_fixed = pelvis.to_hips[row, fixed]
        fixed_hip = position + to_fixed + step  # Eq. (22), line 11
        position = fixed_hip - to_fixed  # line 12: the other hip goes along
        fixed = 1 - fixed  # lines 22 to 24
        placed = pelvis.place(row, position)  # Eq. (5)–(10), (19)
        error = com - placed.com  # Eq. (20)
        length = float(np.sqrt(error @ error))
        iterations += 1

        total = length + placed.foot_gap
        if total < least:
            least, best = total, _Point(placed, length, iterations, False)
        if total < mark - progress:
            mark, waited = total, 0
        else:
            waited += 1
    stuck = waited >= parameters.patience
    return best._replace(iterations=iterations, stuck=stuck)


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
