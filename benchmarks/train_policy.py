"""A policy that keeps a pushed robot on its feet, trained in NumPy on two cores.

``python -m benchmarks.train_policy`` trains a network of two layers of 64 units
(:mod:`benchmarks.ppo`) in the vector environment of
:mod:`equipoise.study.environments`, and counts falls before and after: other robots,
other pushes, one episode each. Before training its output is zero: servos alone.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.com_jacobian import g1_urdf
from benchmarks.ppo import HORIZON, Policy, train
from equipoise.study.balance_task import ObservationNoise, Randomisation
from equipoise.study.cells import fraction_interval
from equipoise.study.environments import FleetEnv

# The task: bandwidth of the legs' servos [Hz], pushes over J*, an action of one over
# what makes a servo give its largest torque.
BANDWIDTH, IMPULSE, ACTION_SCALE = 0.8, (0.5, 0.65), 0.5
# Two pushes an episode, which lasts so long when robots learn and when they are judged
# [s], with these time steps [s]; how many are judged, twice each.
PUSHES, SECONDS, TIME_STEPS, JUDGED = 2, (6.0, 8.0), (2e-3, 1e-3), 512


def falls(env: FleetEnv, policy: Policy | None, seed: int) -> NDArray[np.bool_]:
    """Return which robots fall in an episode each, shape (n,); None: servos alone."""
    now, _ = env.reset(seed=seed)
    fell, over = np.zeros(env.num_envs, bool), np.zeros(env.num_envs, bool)
    still = np.zeros((env.num_envs, len(env.action_names)), "f4")
    while not over.all():
        action = still if policy is None else np.clip(policy(now), -1.0, 1.0)
        now, _, terminated, truncated, _ = env.step(action)
        fell |= terminated & ~over
        over |= terminated | truncated
    return fell


def main() -> None:
    """Train and print falls before and after."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.train_policy", description=__doc__
    )
    add = parser.add_argument
    add("--robot", default=None, help="name or file; Unitree G1 unless given")
    add("--bandwidth", type=float, default=BANDWIDTH, help="of the legs' servos [Hz]")
    add("--impulse", type=float, nargs=2, default=IMPULSE, help="of J*, from and to")
    add("--actions", default="legs", help="legs or base")
    add("--scale", type=float, default=ACTION_SCALE, help="of an action of one")
    add("--robots", type=int, default=384, help="that learn")
    add("--iterations", type=int, default=160, help="changes of the policy")
    add("--threads", type=int, default=2)
    add("--seed", type=int, default=0)
    add("--out", default=None, help="file of the policy's weights (.npz)")
    add("--plain", action="store_true", help="robots as modelled, no noise")
    options = parser.parse_args()
    name = options.robot or str(g1_urdf())

    def make(count: int, seed: int, judged: bool, pushes: int = PUSHES) -> FleetEnv:
        return FleetEnv(
            name,
            count,
            actions=options.actions,
            action_scale=options.scale,
            bandwidth=options.bandwidth,
            impulse=tuple(options.impulse),
            pushes=pushes,
            seconds=SECONDS[judged],
            randomisation=None if options.plain else Randomisation(),
            noise=None if options.plain else ObservationNoise(),
            seed=seed,
            dt=TIME_STEPS[judged],
            threads=options.threads,
        )

    env = make(options.robots, options.seed, judged=False)
    robot, limits = env.task.world.robot, env.task.learners.struct.limit.numpy()
    size = np.linalg.norm(limits, axis=1)
    least, most = options.impulse[0] * size.min(), options.impulse[1] * size.max()
    print(f"{robot.name}, {robot.mass:.1f} kg, pushes of {least:.1f} to {most:.1f} N s")
    began, used = time.perf_counter(), time.process_time()

    def say(iteration: int, reward: float, policy: Policy) -> None:
        if iteration % 20 == 19:
            spent = time.perf_counter() - began
            print(f"iteration {iteration + 1}: {reward:.3f}, {spent:.0f} s", flush=True)

    policy = train(env, options.iterations, options.seed, say)
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    if options.out:
        policy.save(options.out)
    periods = options.iterations * HORIZON * options.robots
    print(f"{periods} control periods in {wall:.0f} s, {cpu:.0f} s of CPU time")
    seed = options.seed + 1000
    held_out = make(JUDGED, seed, judged=True)
    left_alone = make(JUDGED, seed, judged=True, pushes=0)
    for who, judged, where in (
        ("servos alone, not pushed", None, left_alone),
        ("servos alone", None, held_out),
        ("policy", policy, held_out),
    ):
        fell = np.concatenate([falls(where, judged, seed) for seed in (1, 2)])
        low, high = fraction_interval(int(fell.sum()), len(fell))
        print(
            f"{who}: {fell.sum()} of {len(fell)} fall, {100 * fell.mean():.1f} % "
            f"({100 * low:.1f} to {100 * high:.1f} %)"
        )


if __name__ == "__main__":
    main()
