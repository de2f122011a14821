"""From a log, or measured poses, to a corrected robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import Consistent, consistent, new_inertials
from equipoise.identification.estimate import Estimate, estimate, identifiability
from equipoise.identification.identified import HeldOut, Identified, Reduction, rms
from equipoise.identification.measuring.attitude import Up
from equipoise.identification.measuring.log_poses import (
    measured_poses,
    measured_poses_of_run,
)
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.noise import (
    LEVEL_SOLES,
    Level,
    SensorNoise,
    covariances,
    level_of_soles,
)
from equipoise.identification.one_thread import one_thread
from equipoise.identification.prior import (
    Prior,
    PriorBelief,
    default_prior,
    prior_belief,
)
from equipoise.identification.statics import (
    PER_LINK,
    Equations,
    MeasuredPoses,
    StandingFrames,
    centre_of_pressure,
    check_standing,
    equations,
    frames_of,
    offset_columns,
    total_com,
    total_wrench,
)
from equipoise.log.open_run import read_recording
from equipoise.log.run import Run
from equipoise.robot.model import Robot

# With fewer poses than this none is left for validation.
FEWEST = 3
# A total mass so many standard deviations away is a surprise.
SURPRISE = 3.0
# Poses whose links all stay within this of the first are one pose [m].
ALIKE = 2e-3
MOST_FOLDS = 5
# Draws of the bootstrap, and the probability that an improvement is chance.
DRAWS, CHANCE = 4000, 0.05
MISFITS = {"lateral": "lateral forces", "vertical": "weight and tipping torques"}

Fit = Callable[[Equations, Array, PriorBelief], Array]


def identify(
    robot: Robot,
    log: Path | str | Run,
    *,
    table: bool = False,
    units: Mapping[str, str] | None = None,
    wrench_frames: Mapping[str, str] | None = None,
    plate_at: Mapping[str, Sequence[float]] | None = None,
    up: Up | None = None,
    moving: bool = False,
    free_mass: bool = False,
    noise: SensorNoise | None = None,
    level: float | None = None,
    prior: Prior | None = None,
    seed: int = 0,
) -> Identified:
    """Return a robot's true centres of mass, with their uncertainty, from a log.

    Args:
        robot: The robot as its file describes it.
        log: A log of joint angles and both feet's wrenches (CSV, MCAP, ROS 2 bag, or
            the folder of a run), in which the robot stands still now and then; or a
            run.
        table: Whether the log is a CSV table of poses, a row each.
        units: Units of the log where they are not SI, as ``{"angle": "deg"}``.
        wrench_frames: Frames of wrenches, by topic or column name, where the log's own
            are wrong or missing.
        plate_at: Position [m] and yaw [rad] of force plates in the world of the base's
            pose, by topic or column name, or by ``""`` for a single plate.
        up: ``"soles"`` or ``"base"``: up is the mean of the soles' normals, or the
            base's measured attitude. The default is the soles', and the base's on force
            plates.
        moving: Whether slow motion is used as well as standing poses; it is anyhow
            where these are too few.
        free_mass: Whether the robot may weigh much more or less than its model.
        noise: Standard deviations of the sensors; estimated from the log by default.
        level: Standard deviation of the soles' tilt against the level [rad]; estimated
            from lateral forces by default.
        prior: Standard deviations of the model's parameters;
            :func:`~equipoise.identification.prior.default_prior` by default.
        seed: Seed of the bootstrap that judges the improvement.

    Raises:
        EquipoiseError: If the log does not fit the robot, or is not sufficient.
    """
    if isinstance(log, Run):
        extracted = measured_poses_of_run(
            log, up=up, moving=moving, free_mass=free_mass
        )
    else:
        extracted = measured_poses(
            robot,
            read_pose_table(Path(log)) if table else read_recording(log),
            table=table,
            units=units,
            wrench_frames=wrench_frames,
            plate_at=plate_at,
            up=up,
            moving=moving,
            free_mass=free_mass,
        )
    noise = noise or extracted.noise
    found = identify_poses(
        extracted.poses,
        noise=noise if level is None else replace(noise, level=level),
        prior=prior,
        seed=seed,
        notices=extracted.notices,
    )
    return replace(found, log_rows=extracted.rows)


@one_thread
def identify_poses(
    poses: MeasuredPoses,
    *,
    noise: SensorNoise | None = None,
    prior: Prior | None = None,
    seed: int = 0,
    notices: tuple[str, ...] = (),
) -> Identified:
    """Return masses and centres of mass of all links, with their uncertainty.

    Args:
        poses: The measured poses.
        noise: Standard deviations of the sensors.
        prior: Standard deviations of the model's parameters; :func:`default_prior` by
            default.
        seed: Seed of the bootstrap that judges the improvement.
        notices: Sentences to include in the result.

    Raises:
        EquipoiseError: If there are too few poses, all are alike, or feet are not flat.
    """
    robot = poses.robot
    noise, prior = noise or SensorNoise(), prior or default_prior(robot)
    frames = frames_of(poses)
    _check_enough(poses, frames.link_arms[..., 0])
    check_standing(frames)
    belief = prior_belief(robot, prior, len(poses.sensors))
    system = equations(frames, poses)
    plain = covariances(frames, poses, noise)
    level, covariance = level_of_soles(frames, system, plain, noise, belief)

    found = estimate(system, covariance, belief)
    possible = consistent(robot, found)
    inertials = new_inertials(robot, possible.mean)
    return Identified(
        original=robot,
        robot=robot.with_inertials(inertials),
        poses=poses,
        parameters=possible.mean,
        estimate=found,
        level=level,
        identifiability=identifiability(frames, found),
        held_out=_held_out(
            poses,
            frames,
            system,
            belief,
            [(covariance, level), (plain, LEVEL_SOLES)],
            seed,
        ),
        links_at_bounds=possible.at_bounds,
        notices=(*notices, *_remarks(found, level, possible)),
    )


def _held_out(
    poses: MeasuredPoses,
    frames: StandingFrames,
    system: Equations,
    belief: PriorBelief,
    levels: Sequence[tuple[Array, Level]],
    seed: int,
) -> HeldOut:
    """Leave out one part of the poses after the other, and predict it.

    Parts are runs of neighbours, since these are most alike. ``levels`` has covariances
    of the equations with the level of the soles, then on level soles; with offsets
    only, the one that predicts best counts.
    """
    rows = np.arange(len(poses))
    parts = np.array_split(rows, min(MOST_FOLDS, len(poses)))
    # without sensor offsets a tilt cannot be separated from lateral forces
    before = cop_errors(poses, frames, belief.mean, LEVEL_SOLES)

    def left_out(fit: Fit, covariance: Array, level: Level) -> Array:
        errors = np.zeros_like(before)
        for part in parts:
            others = np.setdiff1d(rows, part)
            mean = fit(system.take(others), covariance[others], belief)
            errors[part] = cop_errors(poses, frames, mean, level)[part]
        return errors

    after = left_out(_fit_all, *levels[0])
    offsets_only = min((left_out(_fit_offsets, *pair) for pair in levels), key=rms)
    return HeldOut(
        len(parts),
        before,
        offsets_only,
        after,
        _reduction(before, after, seed),
        _reduction(offsets_only, after, seed),
    )


def _fit_all(system: Equations, covariance: Array, belief: PriorBelief) -> Array:
    return estimate(system, covariance, belief).mean


def _fit_offsets(system: Equations, covariance: Array, belief: PriorBelief) -> Array:
    """Return the best parameters with those of the links as in the model, (nx,)."""
    matrix, right = system
    links = PER_LINK * len(belief.links)
    fixed = belief.mean[:links]
    own = PriorBelief((), belief.mean[links:], belief.root[links:, links:])
    left = Equations(matrix[..., links:], right - matrix[..., :links] @ fixed)
    return np.concatenate([fixed, estimate(left, covariance, own).mean])


def cop_errors(
    poses: MeasuredPoses, frames: StandingFrames, mean: Array, level: Level
) -> Array:
    """Return predicted minus measured centre of pressure [m], shape (n, 2).

    The CoM is above it along the line of force, as far as lateral forces come from
    soles that are not level; ``mean`` are masses, first moments and offsets, (nx,).
    """
    offsets = offset_columns(frames) @ mean[PER_LINK * len(frames.link_names) :]
    total = total_wrench(frames.sensor_in_level, poses.wrenches) - offsets
    measured = centre_of_pressure(total)
    centre = total_com(frames, mean)
    return np.asarray(
        centre[:, :2] - centre[:, 2:] * level.expected_tilt(total) - measured
    )


def _reduction(before: Array, after: Array, seed: int) -> Reduction:
    """Return a reduction and its bootstrap interval."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(before), (DRAWS, len(before)))
    squares = [
        np.sum(errors**2, axis=1)[draws].mean(axis=1) for errors in (before, after)
    ]
    ratio = np.sqrt(squares[1] / np.maximum(squares[0], 1e-300))
    low, high = np.quantile(1.0 - ratio, [CHANCE / 2.0, 1.0 - CHANCE / 2.0])
    fraction = 1.0 - rms(after) / max(rms(before), 1e-300)
    return Reduction(fraction, (float(low), float(high)))


def _check_enough(poses: MeasuredPoses, link_position: Array) -> None:
    if len(poses) < FEWEST:
        raise EquipoiseError(
            f"{len(poses)} poses are too few: at least {FEWEST} are needed, and about "
            "ten to separate any link from the others"
        )
    travel = np.abs(link_position - link_position[:1]).max()
    if travel < ALIKE:
        raise EquipoiseError(
            f"all {len(poses)} poses are alike: no link moves by more than "
            f"{1e3 * travel:.1f} mm against the soles, so that no two links can be "
            "separated; choose_poses() finds better ones"
        )


def _remarks(found: Estimate, level: Level, possible: Consistent) -> tuple[str, ...]:
    remarks = []
    belief, total = found.belief, np.zeros(len(found.mean))
    total[: PER_LINK * len(belief.links) : PER_LINK] = 1.0
    deviation = float(np.linalg.norm(total @ belief.root) / (total @ belief.mean))
    heavier = float(total @ possible.mean / (total @ belief.mean)) - 1.0
    if abs(heavier) > SURPRISE * deviation:
        remarks.append(
            f"the robot weighs {100 * abs(heavier):.1f} % "
            f"{'more' if heavier > 0.0 else 'less'} than its model, whose total mass "
            f"was assumed to have a standard deviation of {100 * deviation:.1f} %: "
            "assume a larger one (prior.mass_std_fraction)"
        )
    if level.lateral_force > 0.0:
        remarks.append(
            f"each foot's lateral forces have errors of {level.lateral_force:.1f} N "
            "(one standard deviation) beyond what a tilt of the soles explains: sensor "
            "errors, or offsets larger than assumed (prior.lateral_force_std)"
        )
    for name, scale in found.noise_scale._asdict().items():
        if scale > 1.0:
            remarks.append(
                f"{MISFITS[name]} fit {scale:.1f} times worse than the sensors' noise "
                "explains; uncertainties are widened by that factor"
            )
    outliers = np.flatnonzero(found.weights < 1.0)
    if len(outliers):
        named = ", ".join(str(row) for row in outliers[:8])
        remarks.append(f"poses that do not fit the others count less: {named}")
    if possible.at_bounds:
        names = ", ".join(possible.at_bounds)
        remarks.append(f"at the bounds of what is physically possible: {names}")
    return tuple(remarks)
