"""How many random poses a chosen pose is worth, by errors, not by expectation.

For each robot: true robots whose links' CoMs are off by up to 30 mm on each axis (three
standard deviations), measured with 0.5 N, 0.02 Nm and encoders of 14 bits; the error of
the total CoM in 200 new poses after n chosen and n random poses. Each link's mass is
off by 12 % (one standard deviation), and with them the whole by 3.3 of 68 kg on
Mahru-1, 1.1 of 33 on the G1, 3.1 of 90 on TALOS and 1.2 of 33 on iCub: 5 of 64 kg are
1.6 to 2.3 standard deviations.

    .venv/bin/python -m benchmarks.identification_poses [--offsets] [--samples N]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import equipoise as eq
from equipoise.arrays import Array
from equipoise.identification.estimate import estimate
from equipoise.identification.noise import SensorNoise, covariances
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.design import (
    choose_poses,
    information_rows,
    predicted_poses,
    reduced,
)
from equipoise.identification.posing.optimal_choice import variances_after
from equipoise.identification.prior import (
    Prior,
    PriorBelief,
    com_functionals,
    prior_belief,
)
from equipoise.identification.statics import (
    FEET,
    MeasuredPoses,
    equations,
    standing_frames,
    total_com,
)

STEP = 2.0 * np.pi / 2**14
NOISE = SensorNoise(force=0.5, torque=0.02, joint=STEP / np.sqrt(12.0))
# Three standard deviations of a CoM are 30 mm.
PRIOR = Prior(
    com_std=0.01,
    mass_std_fraction=0.12,
    lateral_force_std=20.0,
    vertical_force_std=1.0,
    torque_std=1.0,
)
COUNTS = (5, 10, 15, 20, 30, 40, 60, 80, 100, 150)
CHOSEN = 30
NEW = 200
# Random orders whose expected errors are averaged, and how far.
DRAWS, MOST = 50, 500


class Errors(NamedTuple):
    """Root mean square errors of the CoM in new poses [m] by number of poses.

    Attributes:
        chosen: After chosen poses.
        random: After random poses.
        needed: How many random poses should reach the error expected of chosen ones.
    """

    chosen: dict[int, float]
    random: dict[int, float]
    needed: dict[int, int]


def robots() -> dict[str, str | Path]:
    """Return where the robots are."""
    import icub_models

    package = importlib.metadata.distribution("example-robot-data")
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data")))
    return {
        "mahru-1": "mahru-1",
        "G1": folder / "robots/g1_description/urdf/g1_29dof_rev_1_0.urdf",
        "TALOS": folder / "robots/talos_data/robots/talos_reduced.urdf",
        "iCub": Path(icub_models.get_model_file("iCubGazeboV2_5")),
    }


def measured(
    robot: eq.Robot,
    belief: PriorBelief,
    truth: Array,
    q: Array,
    samples: int,
    rng: np.random.Generator,
) -> MeasuredPoses:
    """Return what sensors and encoders of a true robot would show."""
    true = PriorBelief(belief.links, truth, belief.root)
    exact = predicted_poses(robot, q, true, samples)
    spread = np.repeat([NOISE.force, NOISE.torque], 3) / np.sqrt(samples)
    wrenches = {
        side: exact.wrenches[side]
        + truth[len(truth) - 12 + 6 * at :][:6]
        + spread * rng.standard_normal((len(q), 6))
        for at, side in enumerate(FEET)
    }
    shown = np.array(q)
    shown[:, 7:] = np.round(shown[:, 7:] / STEP) * STEP
    return MeasuredPoses(robot, shown, wrenches, np.array(samples))


def errors(
    robot: eq.Robot, prior: Prior, repetitions: int, samples: int, seed: int
) -> Errors:
    """Return the errors after chosen and after random poses."""
    rng = np.random.default_rng(seed)
    began = time.perf_counter()
    every = pose_candidates(robot, 2000 + NEW, seed)
    drawn = time.perf_counter()
    every = every[rng.permutation(len(every))]
    new, q = every[:NEW], every[NEW:]
    belief = prior_belief(robot, prior)
    orders = {}
    for count in (n for n in COUNTS if n <= CHOSEN):
        design = choose_poses(
            robot, q, count, noise=NOISE, prior=prior, samples=samples
        )
        orders[count] = design.rows
    print(
        f"  {len(every)} candidates in {drawn - began:.1f} s; expected after "
        f"{CHOSEN} chosen: {1e3 * design.deviation[-1]:.2f} mm, random need "
        f"{design.random_count}; choosing took {time.perf_counter() - drawn:.1f} s "
        f"for {len(orders)} designs"
    )
    frames = standing_frames(robot, new)
    exact = predicted_poses(robot, q, belief, samples)
    rows_of, few = reduced(
        information_rows(exact, NOISE, belief), com_functionals(frames, belief)
    )
    known = np.eye(rows_of.shape[2])
    draws = np.array([rng.permutation(len(q))[:MOST] for _ in range(DRAWS)])
    by_chance = variances_after(rows_of, few, known, draws).mean(axis=0)
    worth = {}
    for count, order in orders.items():
        variance = variances_after(rows_of, few, known, order[None])[0, -1]
        worth[count] = int(np.sum(by_chance > variance)) + 1
    found: dict[str, dict[int, list[float]]] = {"chosen": {}, "random": {}}
    for _ in range(repetitions):
        away = np.clip(rng.standard_normal(len(belief.mean)), -3.0, 3.0)
        truth = belief.mean + belief.root @ away
        right = total_com(frames, truth)
        for count in COUNTS:
            rows = {"random": rng.choice(len(q), count, replace=False)}
            if count in orders:
                rows["chosen"] = orders[count]
            for kind, some in rows.items():
                poses = measured(robot, belief, truth, q[some], samples, rng)
                own = standing_frames(robot, poses.q)
                fit = estimate(
                    equations(own, poses), covariances(own, poses, NOISE), belief
                )
                off = total_com(frames, fit.mean) - right
                square = float(np.mean(np.sum(off**2, axis=1)))
                found[kind].setdefault(count, []).append(square)
    means = {
        kind: {count: float(np.sqrt(np.mean(own))) for count, own in values.items()}
        for kind, values in found.items()
    }
    return Errors(means["chosen"], means["random"], worth)


def needed(random: dict[int, float], error: float) -> float:
    """Return how many random poses reach an error, between counts by the logarithm."""
    counts, values = np.array(list(random)), np.array(list(random.values()))
    values = np.minimum.accumulate(values)
    if error < values[-1]:
        return float("inf")
    return float(np.exp(np.interp(-error, -values, np.log(counts))))


def main() -> None:
    """Print a table for each robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--samples", type=int, default=100, help="averaged in a pose")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--offsets", action="store_true", help="of the sensors too")
    parser.add_argument("--robots", nargs="*", default=None)
    options = parser.parse_args()
    prior = PRIOR
    if not options.offsets:
        prior = replace(
            PRIOR, lateral_force_std=0.0, vertical_force_std=0.0, torque_std=0.0
        )
    for name, path in robots().items():
        if options.robots and name not in options.robots:
            continue
        print(name)
        robot = eq.load(path)
        result = errors(
            robot, prior, options.repetitions, options.samples, options.seed
        )
        print("  poses   chosen [mm]   random [mm]   random needed   ratio   expected")
        for count in COUNTS:
            random = 1e3 * result.random[count]
            line = f"  {count:5d}   {'–':>11}   {random:11.3f}"
            if count in result.chosen:
                error = result.chosen[count]
                need = needed(result.random, error)
                line = f"  {count:5d}   {1e3 * error:11.3f}   {random:11.3f}"
                line += f"   {need:13.0f}   {need / count:5.1f}"
                line += f"   {result.needed[count] / count:8.1f}"
            print(line)


if __name__ == "__main__":
    main()
