"""How near the file is to the true CoM on force plates and in slow motion.

True robots are drawn from the default prior, as far as they are physically possible.
On one force plate they stand in 15 poses; motion capture of the base has errors of its
own in each pose. Moving slowly on sensors at the soles, they make four movements of 12
pieces each, whose errors a movement shares: the ground tilts, forces are off. Encoders
have wrong zeros; sensors have noise, and no offsets, but the identification does not
know. Printed are the error of the file's CoM in new poses, horizontally, and how many
of its 95 % intervals hold the truth, both before and after.

Measurements are made as poses, not as logs: reading a log takes longer than identifying
it. A piece of slow motion is an instant, with the wrenches of inverse dynamics.

    .venv/bin/python -m benchmarks.identification_coverage [--repetitions 200]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import equipoise as eq
from benchmarks.identification_poses import robots
from benchmarks.identification_verdicts import (
    FORCE_NOISE,
    LATERAL,
    TILT,
    TORQUE,
    TORQUE_NOISE,
    VERTICAL,
    ZERO,
    poses_for,
    robot_named,
)
from equipoise.arrays import Array
from equipoise.identification.consistency import link_bounds, new_inertials
from equipoise.identification.identify import identify_poses
from equipoise.identification.noise import SensorNoise
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.statics import (
    FEET,
    MeasuredPoses,
    com_gradient,
    level_frames,
    links_with_mass,
    standing_frames,
    total_com,
)
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations, joint_positions

KINDS = ("plate", "moving")
POSES, NEW_POSES = 15, 40
# Movements, pieces of each, and seconds of a movement; how many are kept.
MOVEMENTS, PIECES, SECONDS, PATHS = 4, 12, 10.0, 12
# Samples of a pose or piece that are averaged.
SAMPLES = 100
# Errors of motion capture in a pose: position [m] and attitude [rad].
MOCAP_PLACE, MOCAP_TURN = 1e-3, 2e-3
# Zeros of encoders in legs, as a fraction of those of others.
LEG_ZEROS = 0.3
# A common factor of all masses is within so many standard deviations.
FAR = 2.0
# The period of slow motion [s], and by how much joints, CoM and torso move: [rad], as
# fractions of the CoM's height, and [rad].
PERIOD = 12.0
JOINTS, SWAY, LEAN = 0.4, (0.02, 0.04, 0.04), (0.2, 0.3, 0.3)
STEP = 2e-3
# Movements that legs cannot make become smaller by this factor.
SMALLER = 0.8


class Outcome(NamedTuple):
    """One identification.

    Attributes:
        error: Errors of the file's CoM in new poses, horizontally [m], shape (n, 2).
        before: Those of the model.
        inside: Whether 95 % intervals hold the truth, shape (n, 2).
        inside_before: The same of the prior's intervals.
        width: Half widths of the former [m].
        strength: How far CoMs may be from the model in the file that was chosen.
        offsets: What sensors' offsets are believed to be.
        confirmed: Whether the file was confirmed.
    """

    error: Array
    before: Array
    inside: Array
    inside_before: Array
    width: Array
    strength: float
    offsets: str
    confirmed: bool


@cache
def bounds(name: str) -> tuple[tuple[Array, Array], ...]:
    """Return what is physically possible, by link."""
    robot = robot_named(name)
    return tuple(
        link_bounds(robot, link, own) for link, own in links_with_mass(robot).items()
    )


def true_links(name: str, rng: np.random.Generator) -> Array:
    """Return masses and first moments of a possible robot, shape (4 nl,)."""
    robot = robot_named(name)
    prior = default_prior(robot)
    values = []
    for own, (planes, most) in zip(
        links_with_mass(robot).values(), bounds(name), strict=True
    ):
        while True:
            link = own.mass * np.append(1.0, own.com_in_link)
            link *= 1.0 + prior.mass_std_fraction * rng.standard_normal()
            link[1:] += prior.com_std * own.mass * rng.standard_normal(3)
            if np.all(planes @ link <= most):
                break
        values.append(link)
    common = float(np.clip(rng.standard_normal(), -FAR, FAR))
    factor = 1.0 + prior.total_mass_std_fraction * common
    return factor * np.concatenate(values)


def on_plate(
    name: str, values: Array, zero_std: float | None, rng: np.random.Generator
) -> MeasuredPoses:
    """Return standing poses on one force plate, the base seen by motion capture."""
    robot = robot_named(name)
    q = poses_for(name)[rng.choice(len(poses_for(name)) - NEW_POSES, POSES, False)]
    truth = robot.with_inertials(new_inertials(robot, values))
    wrench = static_wrench(truth, q)
    weight = STANDARD_GRAVITY * truth.mass
    wrench[:, 2] += VERTICAL * weight * rng.standard_normal(POSES)
    wrench[:, :2] += LATERAL * weight * rng.standard_normal((POSES, 2))
    wrench[:, 3:5] += TORQUE * weight * rng.standard_normal((POSES, 2))
    wrench += noise_of(rng, POSES)
    turn = Rotation.from_rotvec(MOCAP_TURN * rng.standard_normal((POSES, 3)))
    base = np.tile(np.eye(4), (POSES, 1, 1))
    base[:, :3, :3] = (turn * Rotation.from_quat(q[:, 3:7])).as_matrix()
    base[:, :3, 3] = q[:, :3] + MOCAP_PLACE * rng.standard_normal((POSES, 3))
    return MeasuredPoses(
        robot,
        as_shown(robot, q, zero_std, rng),
        {"plate": wrench},
        np.full(POSES, SAMPLES),
        plates={"plate": np.linalg.inv(base)},
        up_in_base=base[:, 2, :3],
    )


def as_shown(
    robot: eq.Robot, q: Array, zero_std: float | None, rng: np.random.Generator
) -> Array:
    """Return poses as encoders with wrong zeros show them; None: as in verdicts."""
    spread = np.full(robot.nv - 6, ZERO if zero_std is None else zero_std)
    if zero_std is None:
        legs = (robot.joint_id(name) for name in robot.leg_joints)
        spread[[robot.model.idx_vs[leg] - 6 for leg in legs]] *= LEG_ZEROS
    zeros = spread * rng.standard_normal(len(spread))
    return configurations(robot, q[:, :7], joint_positions(robot, q) - zeros)


def static_wrench(robot: eq.Robot, q: Array) -> Array:
    """Return the ground's wrench about the world's origin at rest, shape (n, 6)."""
    force = np.tile([0.0, 0.0, STANDARD_GRAVITY * robot.mass], (len(q), 1))
    return np.hstack([force, np.cross(np.asarray(eq.com(robot, q)), force)])


def noise_of(rng: np.random.Generator, count: int) -> Array:
    """Return noise of means over samples [N, Nm], shape (count, 6)."""
    spread = np.repeat([FORCE_NOISE, TORQUE_NOISE], 3) / np.sqrt(SAMPLES)
    return spread * rng.standard_normal((count, 6))


@cache
def movement(name: str, seed: int) -> CubicSpline:
    """Return joint positions of slow motion on fixed soles, as a function of time."""
    robot, rng = robot_named(name), np.random.default_rng(seed)
    knots = np.arange(-0.5, SECONDS + 0.6, 0.25)
    count = robot.nv - 6
    phase = rng.uniform(0.0, 2.0 * np.pi, count + 6)
    rate = 2.0 * np.pi / PERIOD * rng.uniform(0.5, 1.0, count + 6)
    wave = np.sin(knots[:, None] * rate + phase)
    left, right = (sole_pose(robot, robot.standing, side) for side in FEET)
    height = float(eq.com(robot, robot.standing)[2])
    middle = np.append(0.5 * (left + right)[:2, 3], 0.93 * height)
    joints = joint_positions(robot, np.tile(robot.standing, (len(knots), 1)))
    base = np.tile(robot.standing[:7], (len(knots), 1))
    while True:
        torso = Rotation.from_euler("xyz", wave[:, 3:6] * LEAN).as_matrix()
        com = middle + height * wave[:, :3] * SWAY
        posture = configurations(robot, base, joints + JOINTS * wave[:, 6:])
        found = solve_com(robot, com_targets(com, left, right, torso), posture=posture)
        if found.converged.all():
            return CubicSpline(knots, joint_positions(robot, found.q))
        wave = SMALLER * wave


def on_left_sole(robot: eq.Robot, positions: Array) -> Array:
    """Return configurations whose left sole is where it is in standing, (n, nq)."""
    q = configurations(
        robot, np.tile([0.0] * 6 + [1.0], (len(positions), 1)), positions
    )
    stands = sole_pose(robot, robot.standing, "left")
    base = stands @ np.linalg.inv(sole_pose(robot, q, "left"))
    q[:, :3] = base[:, :3, 3]
    q[:, 3:7] = Rotation.from_matrix(base[:, :3, :3]).as_quat()
    return q


def moving_wrench(
    robot: eq.Robot, path: Callable[[Array], Array], instants: Array
) -> Array:
    """Return the ground's wrench about the world's origin by inverse dynamics, (n, 6).

    Args:
        robot: The robot.
        path: Joint positions as a function of time.
        instants: Times [s], shape (n,).
    """
    q = [on_left_sole(robot, path(instants + step)) for step in (-STEP, 0.0, STEP)]
    found = np.zeros((len(instants), 6))
    for row, (last, now, after) in enumerate(zip(*q, strict=True)):
        back = pin.difference(robot.model, last, now) / STEP
        ahead = pin.difference(robot.model, now, after) / STEP
        torque = pin.rnea(
            robot.model,
            robot.data,
            now,
            0.5 * (back + ahead),
            (ahead - back) / STEP,
        )
        found[row] = pin.XYZQUATToSE3(now[:7]).act(pin.Force(torque[:6])).vector
    return found


def in_frames(pose: Array, wrench: Array) -> Array:
    """Return wrenches about the world's origin in frames (n, 4, 4) there, (n, 6)."""
    force, torque = wrench[:, :3], wrench[:, 3:]
    torque = torque - np.cross(pose[:, :3, 3], force)
    back = np.swapaxes(pose[:, :3, :3], 1, 2)
    return np.hstack([np.einsum("nij,nj->ni", back, part) for part in (force, torque)])


def in_motion(
    name: str, values: Array, zero_std: float | None, rng: np.random.Generator
) -> MeasuredPoses:
    """Return pieces of slow motion, with sensors at the soles."""
    robot = robot_named(name)
    truth = robot.with_inertials(new_inertials(robot, values))
    instants = (np.arange(PIECES) + 0.5) * SECONDS / PIECES
    paths = rng.choice(PATHS, MOVEMENTS, replace=False)
    q, total, rate = [], [], []
    for seed in paths:
        path = movement(name, int(seed))
        own = on_left_sole(robot, path(instants))
        level = level_frames(*(sole_pose(robot, own, side) for side in FEET))
        by_model = moving_wrench(robot, path, instants) - static_wrench(robot, own)
        q.append(own)
        total.append(moving_wrench(truth, path, instants))
        rate.append(truth.mass / robot.mass * in_frames(level, by_model))
    true_q, wrench = np.concatenate(q), np.concatenate(total)
    weight = STANDARD_GRAVITY * truth.mass
    of = np.repeat(np.arange(MOVEMENTS), PIECES)
    shared = np.array([LATERAL, LATERAL, VERTICAL, TORQUE, TORQUE, TORQUE])
    wrench += weight * (shared * rng.standard_normal((MOVEMENTS, 6)))[of]
    lean = weight * TILT * rng.standard_normal((MOVEMENTS, 3))[of] * [1.0, 1.0, 0.0]
    arm = np.asarray(eq.com(truth, true_q))
    wrench += np.hstack([lean, np.cross(arm, lean)])
    part = rng.uniform(0.3, 0.7, (len(of), 1))
    wrenches: dict[str, Array] = {}
    for side, own_part in zip(FEET, (part, 1.0 - part), strict=True):
        place = sole_pose(robot, true_q, side)
        wrenches[side] = in_frames(place, own_part * wrench) + noise_of(rng, len(of))
    return MeasuredPoses(
        robot,
        as_shown(robot, true_q, zero_std, rng),
        wrenches,
        np.full(len(of), SAMPLES),
        stretch=of,
        momentum_rate=np.concatenate(rate),
    )


def once(name: str, kind: str, seed: int, zero_std: float | None) -> Outcome:
    """Identify one true robot."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    robot, values = robot_named(name), true_links(name, rng)
    poses = (on_plate if kind == "plate" else in_motion)(name, values, zero_std, rng)
    noise = SensorNoise(FORCE_NOISE, TORQUE_NOISE, 1e-4)
    found = identify_poses(poses, noise=noise)
    estimate = found.estimate
    frames = standing_frames(robot, poses_for(name)[-NEW_POSES:])
    true = total_com(frames, np.append(values, np.zeros(12)))
    error, before = (
        (total_com(frames, mean) - true)[:, :2]
        for mean in (found.parameters, estimate.belief.mean)
    )

    def width(mean: Array, covariance: Array) -> Array:
        gradient = com_gradient(frames.link_arms, mean)
        count = gradient.shape[2]
        spread = np.einsum(
            "nij,jk,nik->ni", gradient, covariance[:count, :count], gradient
        )
        return np.asarray(1.96 * np.sqrt(spread[:, :2]))

    wide = width(estimate.mean, estimate.covariance)
    usual = prior_belief(robot, default_prior(robot))
    prior = width(usual.mean, usual.root @ usual.root.T)
    return Outcome(
        error,
        before,
        np.abs(error) <= wide,
        np.abs(before) <= prior,
        wide,
        found.strength,
        found.offset_belief.words,
        found.improved,
    )


def line_of(name: str, kind: str, done: Sequence[Outcome]) -> str:
    """Return a row of the table."""
    after, before = (
        1e3 * np.linalg.norm([getattr(one, part) for one in done], axis=2)
        for part in ("error", "before")
    )
    rms = [float(np.sqrt(np.mean(own**2))) for own in (before, after)]
    covered, covered_before = (
        float(np.mean([getattr(one, part) for one in done]))
        for part in ("inside", "inside_before")
    )
    by_robot = np.array([one.inside.mean() for one in done])
    chance = float(by_robot.std(ddof=1) / np.sqrt(len(done))) if len(done) > 1 else 0.0
    wide = 1e3 * float(np.mean([one.width for one in done]))
    yes = sum(one.confirmed for one in done)
    return (
        f"{name:9} {kind:7} {rms[0]:7.2f} {covered_before:7.3f} {rms[1]:9.2f} "
        f"{np.quantile(after, 0.95):8.2f} {wide:8.2f} {covered:9.3f} ±{chance:.3f} "
        f"{yes:5} of {len(done)}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--robots", default=",".join(robots()))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument(
        "--zeros", type=float, help="of all encoders; less in legs by default [rad]"
    )
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(arguments)
    print("robot     kind     before          file [mm]           intervals")
    print(
        f"{'':17} {'RMS':>7} {'covers':>7} {'RMS':>9} {'95 %':>8} {'± [mm]':>8} "
        f"{'cover':>9} {'':6} confirmed"
    )
    with ProcessPoolExecutor(asked.processes) as pool:
        for name in asked.robots.split(","):
            for kind in asked.kinds.split(","):
                began = time.perf_counter()
                jobs = [
                    pool.submit(once, name, kind, seed, asked.zeros)
                    for seed in range(asked.repetitions)
                ]
                done = [job.result() for job in jobs]
                strengths = sorted(Counter(one.strength for one in done).items())
                files = ", ".join(f"{count} of {own:g}" for own, count in strengths)
                beliefs = Counter(one.offsets for one in done)
                print(
                    f"{line_of(name, kind, done)}   "
                    f"({time.perf_counter() - began:.0f} s)\n"
                    f"{'':17} strengths: {files}; "
                    + "; ".join(f"{count}: {own}" for own, count in beliefs.items()),
                    flush=True,
                )


if __name__ == "__main__":
    main()
