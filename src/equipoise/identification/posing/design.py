"""Optimal experiment design: the next best poses to measure, compared with random ones.

Wanted is the total CoM in poses that were not measured, so that poses are chosen by the
covariance of it, not of sensor offsets or of links that hardly move it: log det over
poses, with a floor (``"com"``). With usual sensors, 30 of 1000 candidates so chosen are
expected to be as good as 163 random ones on Mahru-1, 88 on the G1, 174 on TALOS and 140
on iCub; by the mean variance (``"com-mean"``) 164, 87, 167 and 138; by log det of all
parameters (``"all"``, plain D-optimality) 80, 43, 101 and 76. The floor was chosen by
such results of Mahru-1 and the G1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.identification.evidence import USUAL_LEVEL
from equipoise.identification.noise import SensorNoise, covariances
from equipoise.identification.one_thread import one_thread
from equipoise.identification.pose_errors import Level
from equipoise.identification.posing.optimal_choice import (
    Criterion,
    choose,
    variances_after,
)
from equipoise.identification.prior import (
    Prior,
    PriorBelief,
    com_functionals,
    default_prior,
    prior_belief,
)
from equipoise.identification.statics import (
    FEET,
    PER_LINK,
    WRENCH,
    MeasuredPoses,
    balance_matrix,
    frames_of,
    link_columns,
    standing_frames,
    wrench_transform,
)
from equipoise.kinematics.com import com as centre_of_mass
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin, support_polygon
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.rotations import rpy_from_rotation

# Samples of a pose that are averaged: a second at 100 Hz.
SAMPLES = 100
# Poses in which the CoM is wanted, random orders to compare with, and their length
# over the number of chosen poses.
NEW_POSES, DRAWS, FARTHEST = 200, 20, 20
# Soles whose placements differ by less than this are placed the same [m or rad].
SAME_PLACE = 1e-6


@dataclass(frozen=True, eq=False)
class Design:
    """Poses to measure, the most informative first.

    Attributes:
        q: Configurations, shape (n, nq).
        rows: Their rows among the candidates, shape (n,).
        tour: The same poses with little joint travel from one to the next, poses of
            one foot placement together; places in ``rows``, shape (n,). Whether the
            motion between two poses is free and balanced is not checked.
        deviation_before: Expected distance of the CoM from the estimate's, root mean
            square over new poses, before these poses are measured [m].
        deviation: The same after 1, 2, … n of them [m], shape (n,).
        random_deviation: The same for 1, 2, … m random candidates, mean of several
            draws [m], shape (m,).
    """

    q: Array
    rows: NDArray[np.int64]
    tour: NDArray[np.int64]
    deviation_before: float
    deviation: Array
    random_deviation: Array

    @cached_property
    def random_count(self) -> int | None:
        """Number of random poses as good as all chosen; None: more than tried."""
        enough = self.random_deviation <= self.deviation[-1]
        return int(np.argmax(enough)) + 1 if enough.any() else None


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
    progress: Callable[[float], None] = lambda fraction: None,
) -> Design:
    """Return the candidates that determine the CoM best.

    Args:
        robot: The robot.
        candidates: Configurations on both feet, shape (N, nq); see
            :func:`~equipoise.identification.posing.candidates.pose_candidates`.
        count: Number of poses to choose, at most N.
        noise: Standard deviations of the sensors.
        prior: Standard deviations of the model; :func:`default_prior` by default.
        measured: Poses that were measured already.
        samples: Independent samples that will be averaged in each pose.
        criterion: Quantity to minimise; see
            :class:`~equipoise.identification.posing.optimal_choice.Choice`.
        seed: Seed of the random poses to compare with.
        progress: Is told now and then the fraction of the work that is done, at most.

    Raises:
        EquipoiseError: If there are fewer candidates than poses wanted.
        ShapeError: If candidates are not configurations.
    """
    q = np.atleast_2d(robot.check_q(candidates))
    if not 1 <= count <= len(q):
        raise EquipoiseError(
            f"{count} poses cannot be chosen from {len(q)} candidates: from 1 to "
            f"{len(q)} can"
        )
    rng = np.random.default_rng(seed)
    noise = SensorNoise() if noise is None else noise
    belief = prior_belief(robot, default_prior(robot) if prior is None else prior)
    poses = predicted_poses(robot, q, belief, samples)
    rows = information_rows(poses, noise, belief)
    if measured is not None:
        rows = np.concatenate([rows, information_rows(measured, noise, belief)])
    new = rng.choice(len(q), min(NEW_POSES, len(q)), replace=False)
    wanted = com_functionals(standing_frames(robot, q[new]), belief)
    rows, few = reduced(rows, wanted)
    done = rows[len(q) :].reshape(-1, rows.shape[2])
    rows, known = rows[: len(q)], np.eye(rows.shape[2]) + done.T @ done
    order = np.array(choose(rows, few, known, count, criterion, progress))
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


def predicted_poses(
    robot: Robot, q: Array, belief: PriorBelief, samples: int
) -> MeasuredPoses:
    """Return the measurements of sensors without offsets in poses of shape (n, nq).

    The distribution of the load is not determined; a foot takes more the nearer the
    CoM is to it.
    """
    frames = standing_frames(robot, q)
    unknowns = PER_LINK * len(belief.links)
    total = link_columns(frames) @ belief.mean[:unknowns]
    places = [sole_pose(robot, q, side)[:, :2, 3] for side in FEET]
    between = places[0] - places[1]
    offset = np.asarray(centre_of_mass(robot, q))[:, :2] - places[1]
    apart = np.sum(between**2, axis=1)
    along = np.sum(offset * between, axis=1)
    left = np.full(len(q), 0.5)  # where both are in one place
    np.divide(along, apart, out=left, where=apart > 0.0)
    left = np.clip(left, 0.0, 1.0)
    wrenches: dict[str, Array] = {}
    for side, fraction in zip(FEET, (left, 1.0 - left), strict=True):
        carried = (fraction[:, None] * total)[..., None]
        transform = wrench_transform(frames.sole_in_level[side])
        wrenches[side] = np.linalg.solve(transform, carried)[..., 0]
    return MeasuredPoses(robot, q, wrenches, np.array(samples))


def information_rows(
    poses: MeasuredPoses, noise: SensorNoise, belief: PriorBelief
) -> Array:
    """Return B with I + Σ BᵀB the information on u after the poses, shape (n, 6, nx).

    Rows are in units of their noise, columns in those of the prior.
    """
    frames = frames_of(poses)
    tilt = USUAL_LEVEL if noise.level is None else noise.level
    covariance = covariances(frames, poses, noise)
    covariance += Level(tilt, 0.0).covariances(frames, belief.mean)
    root = np.linalg.cholesky(covariance)
    return np.asarray(np.linalg.solve(root, balance_matrix(frames)) @ belief.root)


def reduced(rows: Array, functionals: Array) -> tuple[Array, Array]:
    """Return the same in fewer coordinates: those that rows or functionals involve.

    From shapes (n, 6, nx) and (m, 3, nx) to (n, 6, d) and (r, d); the functionals have
    an equivalent, whose sum of squares is their mean square over m.
    """
    size = rows.shape[2]
    stacked = functionals.reshape(-1, size) / np.sqrt(len(functionals))
    seen = np.einsum("nai,naj->ij", rows, rows, optimize=True)
    wanted = stacked.T @ stacked
    both = seen / max(np.trace(seen), 1e-300) + wanted / max(np.trace(wanted), 1e-300)
    values, vectors = np.linalg.eigh(both)
    basis = vectors[:, values > 1e-13 * values[-1]]
    values, vectors = np.linalg.eigh(basis.T @ wanted @ basis)
    kept = values > 1e-12 * values[-1]
    few = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    turned = (rows.reshape(-1, size) @ basis).reshape(len(rows), WRENCH, -1)
    return turned, few


def short_tour(robot: Robot, q: Array) -> NDArray[np.int64]:
    """Return an order of n poses, from standing on, with little travel between them.

    Travel is that of the joint that moves farthest; feet are moved as rarely as
    possible. Nearest neighbours first, then pieces of the order are reversed while
    that helps.
    """
    rows = np.vstack([robot.standing, q])
    travel, places = joint_travel(robot, rows), foot_placement(robot, rows)
    distance = travel + (places[:, None] != places) * travel.sum()
    order = [0]
    left = set(range(1, len(rows)))
    while left:
        order.append(min(left, key=lambda row: (distance[order[-1], row], row)))
        left.remove(order[-1])
    improved = True
    while improved:
        improved = False
        for first in range(1, len(order) - 1):
            for last in range(first + 1, len(order)):
                if _shorter(distance, order, first, last):
                    order[first : last + 1] = order[first : last + 1][::-1]
                    improved = True
    return np.array(order[1:], dtype=np.int64) - 1


def joint_travel(robot: Robot, q: Array) -> Array:
    """Return the travel of the joint that moves farthest between poses, (n, n)."""
    joints = joint_positions(robot, q)
    return np.asarray(np.abs(joints[:, None] - joints[None]).max(axis=2, initial=0.0))


def foot_placement(robot: Robot, q: Array) -> NDArray[np.int64]:
    """Return a number for each pose, the same where feet are placed the same, (n,).

    They count from 0 in the order of their first poses.
    """
    left, right = (sole_pose(robot, q, side) for side in FEET)
    between = (np.linalg.inv(left) @ right)[:, :3].reshape(len(q), -1)
    numbers = np.zeros(len(q), dtype=np.int64)
    kinds: list[Array] = []
    for row, pose in enumerate(between):
        differences = [np.abs(kind - pose).max() for kind in kinds]
        same = [at for at, far in enumerate(differences) if far < SAME_PLACE]
        if not same:
            kinds.append(pose)
        numbers[row] = same[0] if same else len(kinds) - 1
    return numbers


def _shorter(distance: Array, order: list[int], first: int, last: int) -> bool:
    """Return whether the tour is shorter with a piece reversed."""
    before = distance[order[first - 1], order[first]]
    after = distance[order[first - 1], order[last]]
    if last + 1 < len(order):
        before += distance[order[last], order[last + 1]]
        after += distance[order[first], order[last + 1]]
    return bool(after < before - 1e-12)


class DescribedPose(NamedTuple):
    """A description of a pose.

    Attributes:
        number: Number of the pose, from 0.
        placement: Number of the feet's placement, from 0.
        torso_rpy: Turn of the base from its attitude standing [rad].
        com_margin: Distance of the CoM inside the support polygon [m].
        place_on_tour: Place of the pose on the tour, from 0.
        travel: Travel of the joint that moves farthest from the pose before on the
            tour, from the standing posture for the first [rad or m].
    """

    number: int
    placement: int
    torso_rpy: tuple[float, ...]
    com_margin: float
    place_on_tour: int
    travel: float


def described_poses(
    robot: Robot, q: Array, tour: NDArray[np.int64]
) -> list[DescribedPose]:
    """Return descriptions of n poses, in their order; ``tour`` is another order."""
    upright = np.array(pin.Quaternion(robot.standing[3:7]).toRotationMatrix())
    travel = joint_travel(robot, np.vstack([robot.standing, q]))
    before = np.concatenate([[0], tour + 1])
    placed = np.argsort(tour)
    placement = foot_placement(robot, q)
    com = np.asarray(centre_of_mass(robot, q))[:, :2]
    found = []
    for row, (pose, polygon) in enumerate(
        zip(q, support_polygon(robot, q), strict=True)
    ):
        turned = np.array(pin.Quaternion(pose[3:7]).toRotationMatrix()) @ upright.T
        at = int(placed[row])
        found.append(
            DescribedPose(
                row,
                int(placement[row]),
                tuple(rpy_from_rotation(turned).tolist()),
                float(polygon_margin(polygon, com[row])),
                at,
                float(travel[before[at], row + 1]),
            )
        )
    return found
