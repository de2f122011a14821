"""From measured poses to a corrected robot."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import Consistent, consistent, new_inertials
from equipoise.identification.estimate import Estimate, estimate
from equipoise.identification.held_out import held_out
from equipoise.identification.identifiability import identifiability, link_sights
from equipoise.identification.identified import (
    WIDTH_95,
    Identified,
    links_found,
    offset_sum_found,
    offsets_found,
)
from equipoise.identification.level import LEVEL_SOLES, Level, standing_scatter
from equipoise.identification.measuring.measured_poses import MeasuredPoses
from equipoise.identification.noise import SensorNoise, covariances
from equipoise.identification.one_thread import one_thread
from equipoise.identification.prior import (
    Prior,
    PriorBelief,
    default_prior,
    prior_belief,
)
from equipoise.identification.standing_frames import check_standing, standing_frames
from equipoise.identification.statics import PER_LINK, Equations, equations

# Fewer poses than this say nothing that could be checked on others.
FEWEST = 3
# A total mass so many standard deviations away is a surprise.
SURPRISE = 3.0
# Poses whose links all stay within this of the first are one pose [m].
ALIKE = 2e-3


@one_thread
def identify_poses(
    poses: MeasuredPoses,
    *,
    noise: SensorNoise | None = None,
    prior: Prior | None = None,
    seed: int = 0,
    notices: tuple[str, ...] = (),
) -> Identified:
    """Return masses and centres of mass of all links, with what is known of them.

    Args:
        poses: What was measured.
        noise: Of the sensors.
        prior: How far the model may be off; :func:`default_prior` unless given.
        seed: Of the bootstrap that judges the improvement.
        notices: Sentences to hand on.

    Raises:
        EquipoiseError: If there are too few poses, all are alike, or feet are not flat.
    """
    robot = poses.robot
    noise, prior = noise or SensorNoise(), prior or default_prior(robot)
    frames = standing_frames(robot, poses.q)
    _check_enough(poses, frames.link_position)
    check_standing(frames)
    belief = prior_belief(robot, prior)
    system = equations(frames, poses)
    plain = covariances(frames, poses, noise)
    level, spread = standing_scatter(frames, system, plain, noise, belief)

    def fit(rows: NDArray[np.int64]) -> Array:
        return estimate(system.take(rows), spread[rows], belief).mean

    links = PER_LINK * len(belief.links)
    fit_offsets = partial(_fit_offsets, system, belief)
    fits_of_offsets = [
        (partial(fit_offsets, spread), level),
        (partial(fit_offsets, plain), LEVEL_SOLES),
    ]
    found = estimate(system, spread, belief)
    possible = consistent(robot, found)
    checked = held_out(poses, frames, belief.mean, level, fit, fits_of_offsets, seed)
    tell = identifiability(frames, found)
    offsets, offsets_95 = offsets_found(found, possible.mean)
    offset_sum, offset_sum_95 = offset_sum_found(found, possible.mean)
    inertials = new_inertials(robot, possible.mean, belief.links)
    masses = np.arange(0, links, PER_LINK)
    scatter = found.covariance[np.ix_(masses, masses)].sum()
    return Identified(
        original=robot,
        robot=robot.with_inertials(inertials),
        poses=poses,
        links=links_found(robot, found, possible.mean, link_sights(found)),
        offsets=offsets,
        offsets_95=offsets_95,
        offset_sum=offset_sum,
        offset_sum_95=offset_sum_95,
        mass=float(possible.mean[masses].sum()),
        mass_95=float(WIDTH_95 * np.sqrt(scatter)),
        estimate=found,
        level=level,
        can_tell=tell,
        held_out=checked,
        held_links=possible.held,
        notices=(*notices, *_remarks(found, level, possible)),
    )


def _fit_offsets(
    system: Equations,
    belief: PriorBelief,
    spread: Array,
    rows: NDArray[np.int64],
) -> Array:
    """Return the best unknowns with the links' as they are believed to be, (nx,)."""
    matrix, right = system.take(rows)
    links = PER_LINK * len(belief.links)
    sure = belief.mean[:links]
    own = PriorBelief((), belief.mean[links:], belief.root[links:, links:])
    left = Equations(matrix[..., links:], right - matrix[..., :links] @ sure)
    return np.concatenate([sure, estimate(left, spread[rows], own).mean])


def _check_enough(poses: MeasuredPoses, link_position: np.ndarray) -> None:
    if len(poses) < FEWEST:
        raise EquipoiseError(
            f"{len(poses)} poses are too few: at least {FEWEST} are needed, and no "
            "link can be told from the others with fewer than some ten"
        )
    travel = np.abs(link_position - link_position[:1]).max()
    if travel < ALIKE:
        raise EquipoiseError(
            f"all {len(poses)} poses are alike: no link moves by more than "
            f"{1e3 * travel:.1f} mm against the soles, so that no two links can be "
            "told apart; 'equipoise poses' finds better ones"
        )


def _remarks(found: Estimate, level: Level, possible: Consistent) -> tuple[str, ...]:
    remarks = []
    belief, total = found.belief, np.zeros(len(found.mean))
    total[: PER_LINK * len(belief.links) : PER_LINK] = 1.0
    doubt = float(np.linalg.norm(total @ belief.root) / (total @ belief.mean))
    heavier = float(total @ possible.mean / (total @ belief.mean)) - 1.0
    if abs(heavier) > SURPRISE * doubt:
        remarks.append(
            f"the robot weighs {100 * abs(heavier):.1f} % "
            f"{'more' if heavier > 0.0 else 'less'} than its model, whose masses "
            f"together were taken to be right to {100 * doubt:.1f} %: doubt them more "
            "(--mass-doubt)"
        )
    if level.sideways > 0.0:
        remarks.append(
            f"each foot's forces sideways are off by {level.sideways:.1f} N (one "
            "standard deviation) beyond what a tilt of the soles explains: sensors, or "
            "offsets larger than they were taken to be (--offset-doubt)"
        )
    what = {"sideways": "forces sideways", "upright": "weight and tipping torques"}
    for name, scale in found.noise_scale._asdict().items():
        if scale > 1.0:
            remarks.append(
                f"{what[name]} fit {scale:.1f} times worse than the sensors' noise "
                "explains; uncertainties are widened by that"
            )
    odd = np.flatnonzero(found.weights < 1.0)
    if len(odd):
        named = ", ".join(str(row) for row in odd[:8])
        remarks.append(f"poses that do not fit the others count less: {named}")
    if possible.held:
        names = ", ".join(possible.held)
        remarks.append(f"held within what a body can be: {names}")
    return tuple(remarks)
