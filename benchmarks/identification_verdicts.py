"""Whether the verdict of an identification can be trusted: null tests and power.

For each robot, tables of poses are made from statics with errors that stretches share:
the ground under the soles tilts, forces are off, encoders have wrong zeros, and sensors
have offsets (``--offsets 0``: none). In a null test the model is exact, so that nothing
is to be found; for the power a torso is 3 % of the robot's mass heavier, or its CoM is
displaced such that the whole robot's moves by 5 mm. Prints how often the file was
confirmed, and how far it is from the truth in new poses.

    .venv/bin/python -m benchmarks.identification_verdicts [--repetitions 200]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np

import equipoise as eq
from benchmarks.identification_poses import robots
from equipoise.arrays import Array
from equipoise.identification.identify import identify_poses
from equipoise.identification.noise import SensorNoise
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.design import predicted_poses
from equipoise.identification.prior import PriorBelief, default_prior, prior_belief
from equipoise.identification.statics import (
    FEET,
    PER_LINK,
    MeasuredPoses,
    com_gradient,
    standing_frames,
    total_com,
    wrench_transform,
)
from equipoise.robot.joint_coordinates import configurations, joint_positions

KINDS = ("nothing", "mass", "torso")
# Stretches, rows of each, and how far joints move within one [rad].
STRETCHES, ROWS, WITHIN = 12, 4, 0.02
NEW_POSES = 40
# Errors that the rows of a stretch share (one standard deviation): tilt of the ground
# [rad], vertical and lateral force and tipping torque, as fractions of the weight and
# the weight times a metre; zeros of encoders, shared by all [rad].
TILT, VERTICAL, LATERAL, TORQUE, ZERO = 2e-3, 2e-3, 5e-3, 1e-3, 1e-3
FORCE_NOISE, TORQUE_NOISE = 0.5, 0.02
# What is to be found: a fraction of the mass, and a displacement of the CoM [m].
HEAVIER, MOVED = 0.03, 5e-3


class Outcome(NamedTuple):
    """What one identification said, and how right it was.

    Attributes:
        confirmed: Whether the file was confirmed.
        error: RMS error of the file's CoM in new poses, horizontally [m].
        before: That of the model.
        covered: Fraction of 95 % intervals of the CoM in new poses that hold it.
    """

    confirmed: bool
    error: float
    before: float
    covered: float


@cache
def robot_named(name: str) -> eq.Robot:
    """Load one of the robots."""
    return eq.load(robots()[name])


@cache
def poses_for(name: str) -> Array:
    """Return poses to measure in, shape (n, nq)."""
    return pose_candidates(robot_named(name), 400, seed=1)


def torso_row(robot: eq.Robot, belief: PriorBelief) -> int:
    """Return which of the links is the torso, or the heaviest where none is."""
    torso = robot.limbs.get("torso")
    if torso is not None and torso.end_link in belief.links:
        return belief.links.index(torso.end_link)
    masses = belief.mean[: PER_LINK * len(belief.links) : PER_LINK]
    return int(np.argmax(masses))


def true_values(
    robot: eq.Robot, kind: str, rng: np.random.Generator, offsets: float = 0.5
) -> Array:
    """Return true masses, first moments and offsets of a usual size, shape (nx,)."""
    prior = default_prior(robot)
    belief = prior_belief(robot, prior)
    values = np.array(belief.mean)
    links = values[: PER_LINK * len(belief.links)].reshape(-1, PER_LINK)
    heaviest = torso_row(robot, belief)
    if kind == "mass":
        com = links[heaviest, 1:] / links[heaviest, 0]
        links[heaviest] += HEAVIER * robot.mass * np.array([1.0, *com])
    if kind == "torso":
        way = rng.standard_normal(3)
        way[2] *= 0.3
        links[heaviest, 1:] += MOVED * robot.mass * way / np.linalg.norm(way[:2])
    spread = np.array(
        [prior.lateral_force_std] * 2
        + [prior.vertical_force_std]
        + [prior.torque_std] * 3
    )
    values[links.size :] = np.tile(offsets * spread, 2) * rng.standard_normal(12)
    return values


def measure(
    robot: eq.Robot, values: Array, q: Array, rng: np.random.Generator
) -> MeasuredPoses:
    """Return a table of poses, rows of a stretch with errors in common."""
    belief = prior_belief(robot, default_prior(robot))
    joints = np.repeat(joint_positions(robot, q), ROWS, axis=0)
    # all but the legs move a little within a stretch
    legs = [robot.model.idx_vs[robot.joint_id(name)] - 6 for name in robot.leg_joints]
    moved = WITHIN * rng.standard_normal(joints.shape)
    moved[:, legs] = 0.0
    shown = configurations(robot, np.repeat(q[:, :7], ROWS, axis=0), joints + moved)
    zeros = ZERO * rng.standard_normal(joints.shape[1])
    zeros[legs] *= 0.3
    true_q = configurations(robot, shown[:, :7], joints + moved + zeros)
    links = PER_LINK * len(belief.links)
    truth = type(belief)(belief.links, values, belief.root)
    exact = predicted_poses(robot, true_q, truth, 100)
    frames = standing_frames(robot, true_q)
    stretch = np.repeat(np.arange(len(q)), ROWS)
    weight = 9.80665 * float(values[:links:PER_LINK].sum())
    tilt = TILT * rng.standard_normal((len(q), 2))[stretch]
    lean = weight * np.column_stack([tilt, np.zeros(len(tilt))])
    shared = np.array([LATERAL, LATERAL, VERTICAL, TORQUE, TORQUE, TORQUE]) * weight
    total = shared * rng.standard_normal((len(q), 6))[stretch]
    total[:, :3] += lean
    total[:, 3:] += np.cross(total_com(frames, values), lean)
    wrenches: dict[str, Array] = {}
    for at, side in enumerate(FEET):
        transform = wrench_transform(frames.sole_in_level[side])
        part = np.linalg.solve(transform, 0.5 * total[..., None])[..., 0]
        noise = np.repeat([FORCE_NOISE, TORQUE_NOISE], 3) / 10.0
        own = exact.wrenches[side] + part
        own = own + noise * rng.standard_normal(own.shape)
        first = links + 6 * at
        wrenches[side] = own + values[first : first + 6]
    return MeasuredPoses(
        robot, shown, wrenches, np.full(len(shown), 100), stretch=stretch
    )


def once(name: str, kind: str, seed: int, offsets: float, zeroed: bool) -> Outcome:
    """Identify one true robot."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    robot, q = robot_named(name), poses_for(name)
    chosen = rng.permutation(len(q))
    values = true_values(robot, kind, rng, offsets)
    poses = measure(robot, values, q[chosen[:STRETCHES]], rng)
    noise = SensorNoise(FORCE_NOISE, TORQUE_NOISE, 1e-4)
    found = identify_poses(poses, noise=noise, zeroed=zeroed)
    frames = standing_frames(robot, q[chosen[-NEW_POSES:]])
    true = total_com(frames, values)
    error, before = (
        (total_com(frames, mean) - true)[:, :2]
        for mean in (found.parameters, found.estimate.belief.mean)
    )
    gradient = com_gradient(frames.link_arms, found.estimate.mean)
    spread = np.einsum("nij,jk,nik->ni", gradient, found.estimate.covariance, gradient)
    inside = np.abs(error) <= 1.96 * np.sqrt(spread[:, :2])
    return Outcome(
        found.improved,
        float(np.sqrt(np.mean(np.sum(error**2, axis=1)))),
        float(np.sqrt(np.mean(np.sum(before**2, axis=1)))),
        float(inside.mean()),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--robots", default=",".join(robots()))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument(
        "--offsets",
        type=float,
        default=0.5,
        help="standard deviation of sensors' offsets, over the usual one",
    )
    parser.add_argument(
        "--zeroed", action="store_true", help="tell that sensors have no offsets"
    )
    asked = parser.parse_args(arguments)
    print("robot     to find   confirmed   CoM error before  after [mm]  covered")
    with ProcessPoolExecutor(2) as pool:
        for name in asked.robots.split(","):
            for kind in asked.kinds.split(","):
                began, count = time.perf_counter(), asked.repetitions
                jobs = [
                    pool.submit(once, name, kind, seed, asked.offsets, asked.zeroed)
                    for seed in range(count)
                ]
                done = [job.result() for job in jobs]
                yes = sum(one.confirmed for one in done)
                before, after = (
                    1e3 * float(np.sqrt(np.mean([own**2 for own in column])))
                    for column in (
                        [one.before for one in done],
                        [one.error for one in done],
                    )
                )
                covered = float(np.mean([one.covered for one in done]))
                print(
                    f"{name:9} {kind:9} {yes:4} of {count:4} {before:12.2f} "
                    f"{after:12.2f} {covered:12.3f}"
                    f"   ({time.perf_counter() - began:.0f} s)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
