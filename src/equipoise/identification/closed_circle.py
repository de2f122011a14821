"""A rehearsal in the simulator: what would an identification give on this robot?

Robots that are not as their model says are drawn at random, stand in the simulator in
the poses that are to be measured, and are identified from what their sensors show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.identification.estimate import Estimate, estimate
from equipoise.identification.identifiability import link_sights
from equipoise.identification.identified import WIDTH_95
from equipoise.identification.level import standing_scatter
from equipoise.identification.measuring.measured_poses import MeasuredPoses
from equipoise.identification.noise import SensorNoise, covariances
from equipoise.identification.one_thread import one_thread
from equipoise.identification.posing.pose_information import com_functionals
from equipoise.identification.prior import (
    Prior,
    PriorBelief,
    default_prior,
    prior_belief,
)
from equipoise.identification.simulated_poses import (
    TrueRobot,
    draw_truth,
    noise_of,
    stand_in_poses,
    usual_encoders,
    usual_feet,
)
from equipoise.identification.standing_frames import StandingFrames, standing_frames
from equipoise.identification.statics import PER_LINK, equations, total_com
from equipoise.robot.model import Robot
from equipoise.simulation.sensors import Encoders, FootSensors


@dataclass(frozen=True, eq=False)
class Score:
    """How good an estimate is where the truth is known.

    Attributes:
        before: Errors of the model's CoM in new poses [m], shape (n, 3).
        after: Errors of the estimate's [m], shape (n, 3).
        covered: Whether 95 % intervals hold the truth: ``"com"`` of the total in new
            poses (n, 3), ``"link com"`` (nl, 3), ``"link mass"`` (nl,) and
            ``"offset"`` (12,).
    """

    before: Array
    after: Array
    covered: dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What identifications of many true robots gave.

    Attributes:
        scores: One for each true robot.
        kept: Share of the poses in which they stood still.
    """

    scores: tuple[Score, ...]
    kept: float

    @property
    def rms_before(self) -> float:
        """Error of the model's total CoM in new poses [m]."""
        return _rms([score.before for score in self.scores])

    @property
    def rms_after(self) -> float:
        """The same after identification [m]."""
        return _rms([score.after for score in self.scores])

    def coverage(self, what: str) -> float:
        """Return the share of 95 % intervals that hold the truth."""
        return float(np.mean([score.covered[what].mean() for score in self.scores]))


def rehearse(
    robot: Robot,
    q: Array,
    new: Array,
    *,
    prior: Prior | None = None,
    feet: FootSensors | None = None,
    encoders: Encoders | None = None,
    repetitions: int = 5,
    seed: int = 0,
) -> Rehearsal:
    """Identify robots that are not as the model says, in the simulator.

    Args:
        robot: The model.
        q: Poses to measure, shape (n, nq).
        new: Poses in which the CoM is wanted, shape (m, nq).
        prior: How far off true robots and their sensors are; usual figures if not
            given. An offset of zero is one that is known: the sensors were zeroed.
        feet: 0.5 N and 0.02 Nm unless given.
        encoders: Of 14 bits unless given.
        repetitions: How many true robots.
        seed: Of all that is random.

    Raises:
        EquipoiseError: If a true robot stands still in too few of the poses.
    """
    rng = np.random.default_rng(seed)
    doubt = default_prior(robot) if prior is None else prior
    seen_by = usual_feet() if feet is None else feet
    steps = usual_encoders() if encoders is None else encoders
    noise = noise_of(seen_by, steps)
    belief, frames = prior_belief(robot, doubt), standing_frames(robot, new)
    scores, kept = [], []
    for _ in range(repetitions):
        truth = draw_truth(robot, doubt, rng)
        stood = stand_in_poses(robot, truth, q, seen_by, steps, rng)
        found = known_after(stood.poses, noise, belief)
        scores.append(score(frames, found, truth))
        kept.append(len(stood.rows) / len(q))
    return Rehearsal(tuple(scores), float(np.mean(kept)))


@one_thread
def known_after(
    poses: MeasuredPoses, noise: SensorNoise, belief: PriorBelief
) -> Estimate:
    """Return what poses on soft ground tell.

    Args:
        poses: What was measured.
        noise: Of the sensors.
        belief: The unknowns before.
    """
    frames = standing_frames(poses.robot, poses.q)
    system, spread = equations(frames, poses), covariances(frames, poses, noise)
    _, spread = standing_scatter(frames, system, spread, noise, belief)
    return estimate(system, spread, belief)


def score(frames: StandingFrames, found: Estimate, truth: TrueRobot) -> Score:
    """Return how good an estimate is.

    Args:
        frames: Of new poses, in which the CoM is wanted.
        found: The estimate.
        truth: What is true.
    """
    true = total_com(frames, truth.values)
    after = total_com(frames, found.mean) - true
    size = len(found.mean)
    lever = com_functionals(
        frames, PriorBelief(found.belief.links, found.mean, np.eye(size))
    )
    spread = np.sqrt(np.einsum("nij,nij->ni", lever @ found.covariance, lever))
    count = PER_LINK * len(found.belief.links)
    deviation = np.sqrt(np.diag(found.covariance))
    links, right = (
        values[:count].reshape(-1, PER_LINK) for values in (found.mean, truth.values)
    )
    off = links[:, 1:] / links[:, :1] - right[:, 1:] / right[:, :1]
    sights = np.array([sight.after for sight in link_sights(found)])
    inside = np.abs(found.mean - truth.values) <= WIDTH_95 * deviation
    return Score(
        before=total_com(frames, found.belief.mean) - true,
        after=after,
        covered={
            "com": np.abs(after) <= WIDTH_95 * spread,
            "link com": np.abs(off) <= WIDTH_95 * sights,
            "link mass": inside[:count:PER_LINK],
            "offset": inside[count:],
        },
    )


def _rms(errors: list[Array]) -> float:
    squares = [np.mean(np.sum(error**2, axis=1)) for error in errors]
    return float(np.sqrt(np.mean(squares)))
