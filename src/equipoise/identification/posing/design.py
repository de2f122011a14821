"""The next best poses to measure, and how many random ones they are worth.

Wanted is the total CoM in poses that were not measured, so that poses are chosen by
what they say about it, not about sensors' offsets or about links that hardly move it:
log det of its covariance over poses, with a floor (``"com"``). By what is expected with
usual sensors, 30 of 1000 candidates so chosen are worth 163 random ones on Mahru-1, 88
on the G1, 174 on TALOS and 140 on iCub; by the mean variance (``"com-mean"``) 164,
87, 167 and 138; by log det of all unknowns (``"all"``, plain D-optimality) 80, 43, 101
and 76. The floor was chosen by such figures of Mahru-1 and the G1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.measured_poses import MeasuredPoses
from equipoise.identification.noise import SensorNoise
from equipoise.identification.one_thread import one_thread
from equipoise.identification.posing.optimal_choice import (
    Criterion,
    choose,
    variances_after,
)
from equipoise.identification.posing.pose_information import (
    com_functionals,
    information_rows,
    predicted_poses,
    reduced,
)
from equipoise.identification.posing.tour import short_tour
from equipoise.identification.prior import Prior, default_prior, prior_belief
from equipoise.identification.standing_frames import standing_frames
from equipoise.robot.model import Robot

# Samples of a pose that are averaged: a second at 100 Hz.
SAMPLES = 100
# Poses in which one wants to know the CoM, random orders to compare with, and how
# many times the chosen poses these are followed.
NEW_POSES, DRAWS, FARTHEST = 200, 20, 20


@dataclass(frozen=True, eq=False)
class Design:
    """Poses to measure, the most telling first.

    Attributes:
        q: Configurations, shape (n, nq).
        rows: Which candidates they are, shape (n,).
        tour: The same poses with little joint travel from one to the next, poses of
            one foot placement together; places in ``rows``, shape (n,). Whether the
            way between two poses is free and balanced is not looked at.
        deviation_before: Expected distance of the CoM from the estimate's, root mean
            square over new poses, before these poses are measured [m].
        deviation: The same after 1, 2, … n of them [m], shape (n,).
        random_deviation: The same for random candidates, mean of several draws, as
            far as they were followed [m], shape (m,).
    """

    q: Array
    rows: NDArray[np.int64]
    tour: NDArray[np.int64]
    deviation_before: float
    deviation: Array
    random_deviation: Array

    @cached_property
    def random_count(self) -> int | None:
        """How many random poses tell as much as all chosen; None: more than tried."""
        enough = self.random_deviation <= self.deviation[-1]
        return int(np.argmax(enough)) + 1 if enough.any() else None

    @property
    def ratio(self) -> float:
        """How many random poses a chosen one is worth; at least so many if unknown."""
        count = self.random_count or len(self.random_deviation) + 1
        return count / len(self.deviation)


@one_thread
def choose_poses(
    robot: Robot,
    candidates: ArrayLike,
    count: int,
    *,
    noise: SensorNoise | None = None,
    prior: Prior | None = None,
    measured: MeasuredPoses | None = None,
    samples: int = SAMPLES,
    criterion: Criterion = "com",
    seed: int = 0,
) -> Design:
    """Return the candidates that tell most about the CoM.

    Args:
        robot: The robot.
        candidates: Configurations on both feet, shape (N, nq); see
            :func:`~equipoise.identification.posing.candidates.pose_candidates`.
        count: How many to choose, at most N.
        noise: Of the sensors; usual figures if not given.
        prior: How far off the model may be; usual figures if not given.
        measured: Poses that were measured already.
        samples: Independent samples that will be averaged in each pose.
        criterion: What should become small; see
            :class:`~equipoise.identification.posing.optimal_choice.Choice`.
        seed: Of the random poses to compare with.

    Raises:
        EquipoiseError: If there are fewer candidates than poses wanted.
        ShapeError: If candidates are no configurations.
    """
    q = np.atleast_2d(robot.check_q(candidates))
    if not 1 <= count <= len(q):
        raise EquipoiseError(
            f"{count} poses cannot be chosen from {len(q)} candidates: from 1 to "
            f"{len(q)} can"
        )
    rng = np.random.default_rng(seed)
    scatter = SensorNoise() if noise is None else noise
    belief = prior_belief(robot, default_prior(robot) if prior is None else prior)
    poses = predicted_poses(robot, q, belief, samples)
    rows = information_rows(poses, scatter, belief)
    if measured is not None:
        rows = np.concatenate([rows, information_rows(measured, scatter, belief)])
    new = rng.choice(len(q), min(NEW_POSES, len(q)), replace=False)
    wanted = com_functionals(standing_frames(robot, q[new]), belief)
    rows, few = reduced(rows, wanted)
    done = rows[len(q) :].reshape(-1, rows.shape[2])
    rows, known = rows[: len(q)], np.eye(rows.shape[2]) + done.T @ done
    order = np.array(choose(rows, few, known, count, criterion))
    length = min(len(q), FARTHEST * count)
    draws = np.array([rng.permutation(len(q))[:length] for _ in range(DRAWS)])
    random = np.sqrt(variances_after(rows, few, known, draws)).mean(axis=0)
    chosen = np.sqrt(variances_after(rows, few, known, order[None]))[0]
    return Design(
        q=frozen_array(q[order]),
        rows=order,
        tour=short_tour(robot, q[order]),
        deviation_before=float(np.sqrt(np.sum(few * np.linalg.solve(known, few.T).T))),
        deviation=frozen_array(chosen),
        random_deviation=frozen_array(random),
    )
