"""From a log, or measured poses, to a corrected robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import Consistent, consistent, new_inertials
from equipoise.identification.estimate import (
    Estimate,
    estimate,
    fitted_covariances,
    identifiability,
)
from equipoise.identification.evidence import Chosen, averaged, most_probable
from equipoise.identification.held_out import judge
from equipoise.identification.hypotheses import (
    LATERAL_ONLY,
    NO_OFFSETS,
    NOT_ZEROED,
    STRENGTHS,
    USUAL,
    ZEROED,
    Hypothesis,
    Offsets,
    hypothesis,
)
from equipoise.identification.identified import Identified
from equipoise.identification.left_out import (
    Setting,
    blocks_of,
    choose_file,
    scaled_belief,
)
from equipoise.identification.measuring.attitude import Up
from equipoise.identification.measuring.log_poses import (
    measured_poses,
    measured_poses_of_run,
)
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.measuring.stretches import WEIGHT_FRACTION
from equipoise.identification.noise import SensorNoise, covariances, joint_lever
from equipoise.identification.one_thread import one_thread
from equipoise.identification.pose_errors import turned
from equipoise.identification.prior import Prior, PriorBelief, default_prior
from equipoise.identification.statics import (
    PER_LINK,
    MeasuredPoses,
    check_standing,
    equations,
    frames_of,
    link_parameters,
    total_wrench,
)
from equipoise.log.open_run import read_recording
from equipoise.log.run import Run
from equipoise.robot.model import Robot

# With fewer poses than this none is left for validation.
FEWEST = 3
# A total mass so many standard deviations away is a surprise.
SURPRISE = 3.0
# A pose whose weight differs from the others' median by more than that of stretches
# may, and by more than so many standard deviations, is none of standing.
FAR_DEVIATIONS = 5.0
# A link's CoM that moves by more than this part of the longest limb moves far.
FAR_LINK = 0.06
# Poses whose links all stay within this of the first are one pose [m].
ALIKE = 2e-3
MISFITS = {
    "lateral": "lateral forces fit",
    "yaw": "torques about the vertical fit",
    "weight": "weights fit",
    "tipping": "tipping torques fit",
}


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
    zeroed: bool = False,
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
        zeroed: Whether sensors are known to have no offsets.

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
        zeroed=zeroed,
        notices=extracted.notices,
    )
    return replace(found, log_rows=extracted.rows)


@one_thread
def identify_poses(
    poses: MeasuredPoses,
    *,
    noise: SensorNoise | None = None,
    prior: Prior | None = None,
    zeroed: bool = False,
    notices: tuple[str, ...] = (),
) -> Identified:
    """Return masses and centres of mass of all links, with their uncertainty.

    Args:
        poses: The measured poses.
        noise: Standard deviations of the sensors.
        prior: Standard deviations of the model's parameters. Those of
            :func:`default_prior` if None, and then how far CoMs may be from the model,
            and whether sensors have offsets, is chosen by the measurements.
        zeroed: Whether sensors are known to have no offsets.
        notices: Sentences to include in the result.

    Raises:
        EquipoiseError: If there are too few poses, all are alike, or feet are not flat.
    """
    robot, sensors = poses.robot, len(poses.sensors)
    poses, dropped = without_missing_weight(poses)
    independent = len(np.unique(poses.stretch))
    poses = replace(poses, stretch=blocks_of(poses.stretch))
    frames = frames_of(poses)
    _check_enough(poses, frames.link_arms[..., 0])
    check_standing(frames)
    noise, usual = noise or SensorNoise(), prior or default_prior(robot)
    stretches = turned(poses.stretch)
    measured = equations(frames, poses)
    columns = measured.matrix
    if usual.joint_zero_std > 0.0:
        columns = np.concatenate([columns, joint_lever(poses, frames)], axis=2)
    system = stretches.equations(measured._replace(matrix=columns))
    plain = stretches.covariances(covariances(frames, poses, noise))

    kinds: tuple[Offsets, ...] = (ZEROED, NO_OFFSETS)
    if not zeroed:
        kinds = (USUAL,) if prior else (USUAL, *kinds, NOT_ZEROED)
    strengths = (1.0,) if prior else (1.0, *(own for own in STRENGTHS if own != 1.0))
    believed = [
        hypothesis(robot, usual, sensors, kind, strength)
        for kind in kinds
        for strength in strengths
    ]
    chosen = most_probable(frames, system, plain, noise, believed, stretches)
    likely = chosen.hypothesis
    found = averaged(system, chosen)

    # the file has no offsets: what looks like one of torques belongs to it
    own = LATERAL_ONLY if likely.offsets is USUAL and not prior else likely.offsets
    files = {k: hypothesis(robot, usual, sensors, own, k) for k in strengths}
    if own is likely.offsets:
        files[likely.strength] = likely
    factor = usual.total_mass_std_fraction or usual.mass_std_fraction
    files[0.0] = Hypothesis(own, 0.0, scaled_belief(files[1.0].belief, factor))
    fitted = fitted_covariances(chosen.covariance, found)
    setting = Setting(poses, frames, measured.right, system, fitted, chosen.level)
    taken = choose_file(setting, files, likely)
    # where lateral forces have no offsets sensors were zeroed, and so were torques
    rival = hypothesis(robot, usual, sensors, likely.offsets).belief
    held_out = replace(
        judge(setting, files, likely, scaled_belief(rival, factor), zeroed=zeroed),
        stretches=independent,
        moved=taken.strength > 0.0,
    )
    file = found
    if taken.belief is not likely.belief:
        file = estimate(system, chosen.covariance, taken.belief)
    possible = Consistent(file.mean, ())
    if taken.strength > 0.0:
        possible = consistent(robot, file)
    # where the file is not what is most probable, the difference is uncertain, too
    away = file.mean - found.mean
    found = replace(
        found, mean=file.mean, covariance=found.covariance + np.outer(away, away)
    )
    inertials = new_inertials(robot, possible.mean)
    return Identified(
        original=robot,
        robot=robot.with_inertials(inertials),
        poses=poses,
        parameters=possible.mean,
        estimate=found,
        level=chosen.level,
        offset_belief=likely.offsets,
        strength=taken.strength,
        identifiability=identifiability(frames, found),
        held_out=held_out,
        links_at_bounds=possible.at_bounds,
        notices=(
            *notices,
            *dropped,
            *_remarks(found, chosen, taken.strength, possible, poses),
        ),
    )


def without_missing_weight(
    poses: MeasuredPoses,
) -> tuple[MeasuredPoses, tuple[str, ...]]:
    """Return poses that carry the weight that most of them carry, and which do not.

    A robot that tips, or is held, is not carried by its feet alone.
    """
    frames = frames_of(poses)
    total = total_wrench(frames.sensor_in_level, poses.wrenches)[:, 2]
    middle = float(np.median(total))
    off = total / max(middle, 1e-9) - 1.0
    spread = 1.4826 * float(np.median(np.abs(off)))
    far = np.abs(off) > max(WEIGHT_FRACTION, FAR_DEVIATIONS * spread)
    if not far.any() or np.count_nonzero(~far) < FEWEST:
        return poses, ()
    sentences = tuple(
        f"pose {row} (at {poses.start_s[row]:.2f} s) is left out: the ground carries "
        f"{100.0 * abs(off[row]):.0f} % {'less' if off[row] < 0.0 else 'more'} there "
        "than in the others: the robot tips, or something else holds it"
        for row in np.flatnonzero(far)
    )
    return poses.take(np.flatnonzero(~far)), sentences


def _farthest(belief: PriorBelief, values: Array) -> tuple[str, float]:
    """Return the link whose CoM is farthest from the model's, and how far [m]."""
    before, after = (
        link_parameters(own, len(belief.links)) for own in (belief.mean, values)
    )
    away = after[:, 1:] / after[:, :1] - before[:, 1:] / before[:, :1]
    distance = np.linalg.norm(away, axis=1)
    worst = int(np.argmax(distance))
    return belief.links[worst], float(distance[worst])


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


def _remarks(
    found: Estimate,
    chosen: Chosen,
    strength: float,
    possible: Consistent,
    poses: MeasuredPoses,
) -> tuple[str, ...]:
    remarks = []
    level, belief = chosen.level, found.belief
    total = np.zeros(len(found.mean))
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
    if strength == 0.0:
        remarks.append(
            "no other centres of mass predict stretches that were left out better than "
            "the model's: they stay, and "
            + (
                "all masses change by one factor"
                if heavier != 0.0
                else "so do masses, which no common factor makes better there"
            )
        )
    farthest = _farthest(belief, possible.mean)
    if farthest[1] > FAR_LINK * poses.robot.longest_limb:
        remarks.append(
            f"links' centres of mass had to move far, '{farthest[0]}' by "
            f"{1e3 * farthest[1]:.0f} mm, to predict stretches that were left out: "
            "read their sums, not single links; errors of another kind (encoders, soft "
            "joints, frames) may be behind it"
        )
    if chosen.hypothesis.offsets is NOT_ZEROED:
        remarks.append(
            "lateral forces show that sensors were not zeroed: neither mass nor CoM "
            "can be told from their offsets; zero them with the feet in the air"
        )
    if level.lateral_force > 0.0:
        remarks.append(
            f"lateral forces have errors of {level.lateral_force:.1f} N in each sensor "
            "(one standard deviation) beyond what a tilt of the soles explains: sensor "
            "errors, or offsets larger than assumed (prior.lateral_force_std)"
        )
    if level.vertical_force > 0.0 or level.pressure > 0.0:
        remarks.append(
            f"from pose to pose weights scatter by {level.vertical_force:.1f} N and "
            f"centres of pressure by {1e3 * level.pressure:.1f} mm (one standard "
            "deviation) beyond the sensors' noise; uncertainties contain that"
        )
    for name, scale in found.noise_scale._asdict().items():
        if scale > 1.0:
            remarks.append(
                f"{MISFITS[name]} {scale:.1f} times worse than the sensors' noise "
                "explains; uncertainties are widened by that factor"
            )
    outliers = np.flatnonzero(found.weights < 1.0)
    if len(outliers):
        named = ", ".join(
            f"{row} (at {poses.start_s[row]:.2f} s)" for row in outliers[:8]
        )
        remarks.append(f"poses that do not fit the others count less: {named}")
    if possible.at_bounds:
        names = ", ".join(possible.at_bounds)
        remarks.append(f"at the bounds of what is physically possible: {names}")
    return tuple(remarks)
