"""Closed-loop walks of many robots: sensors, estimator and stabiliser in kernels.

``python -m benchmarks.walking_fleet --robot itu-biped --walks 1000 --threads 2`` lets
robots, each with link masses and sensor noise of its own, walk with sensors and
feedback, and prints how many survived and how long that took. ``--save FILE`` keeps all
that the device needs as plain arrays instead; ``--load FILE`` walks from there on a
machine that has NumPy and Warp alone.
"""

from __future__ import annotations

import argparse
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import warp as wp

from equipoise.kernels import assessment as at
from equipoise.kernels.monitor import DIVERGED, FELL, WHY
from equipoise.kernels.once import lock
from equipoise.kernels.runtime import SCALARS
from equipoise.kernels.walks import WalkArrays, Walked, Walks

# Masses of links differ by up to this fraction.
SPREAD = 0.03
# Different robots; walks beyond them differ by their noise.
ROBOTS = 256
# When a push begins, and how long it lasts [s].
PUSH_START, PUSH_LASTS = 1.5, 0.1
# Time of the walk that compiles and warms up [s].
WARM_UP = 0.05


def main() -> None:
    """Print survivors and speed."""
    options = _options()
    if options.load:
        arrays = pickle.loads(Path(options.load).read_bytes())
    else:
        arrays = planned(options.robot, options.seconds, options.push)
    if options.save:
        Path(options.save).write_bytes(pickle.dumps(arrays))
        print(f"{arrays.robots} robots, {arrays.dt * arrays.steps:g} s: {options.save}")
        return
    size = options.batch or (64 if options.device == "cpu" else 1 << 16)
    parts = np.array_split(np.arange(options.walks), -(-options.walks // size))
    short = replace(arrays, steps=max(round(WARM_UP / arrays.dt), 1))
    began = time.perf_counter()
    walked(short, parts[0], options)
    print(f"compiled and warmed up in {time.perf_counter() - began:.1f} s", flush=True)
    began = time.perf_counter()
    with ThreadPoolExecutor(options.threads) as pool:
        found = list(pool.map(lambda part: walked(arrays, part, options), parts))
    wall = time.perf_counter() - began
    status = np.concatenate([part.status for part in found])
    numbers = np.concatenate([part.found for part in found])
    fell, diverged = status[:, WHY] == FELL, status[:, WHY] == DIVERGED
    error = numbers[:, at.ERROR_SUM] / np.maximum(numbers[:, at.ERRORS], 1.0)
    fine = ~fell & ~diverged
    seconds = arrays.dt * arrays.steps
    device = wp.get_device(options.device)
    print(
        f"{options.walks} walks of {seconds:g} s on {device.name}, {options.dtype}, "
        f"{options.threads} threads, {len(parts)} batches: {fine.sum()} survived, "
        f"{fell.sum()} fell, {diverged.sum()} diverged; {wall:.1f} s, "
        f"{options.walks * seconds / wall:.4g} times real time"
    )
    if fine.any():
        print(
            f"  CoM from its plan, survivors: {1e3 * error[fine].mean():.3f} mm on "
            f"average, {1e3 * numbers[fine, at.ERROR_MAX].max():.2f} mm at most"
        )
    if options.out:
        np.savez(options.out, status=status, found=numbers)
    if options.compare:
        compare(status[:, WHY], numbers, options.compare)


def compare(why: np.ndarray, numbers: np.ndarray, file: str) -> None:
    """Print how far results are from those that ``--out`` kept in a file."""
    other = np.load(file)
    count = min(len(why), len(other["status"]))
    theirs, found = other["status"][:count, WHY], other["found"][:count]
    why, numbers = why[:count], numbers[:count]
    same = (why == theirs) & (why != FELL) & (why != DIVERGED)
    means = [n[same, at.ERROR_SUM] / n[same, at.ERRORS] for n in (numbers, found)]
    off = 1e3 * np.abs(means[0] - means[1])
    print(
        f"  beside {file}, {count} walks: {np.sum(why != theirs)} ended otherwise; "
        f"mean CoM error of survivors off by {np.median(off):.4f} mm in the median, "
        f"{off.max():.4f} mm at most"
    )


def walked(arrays: WalkArrays, part: np.ndarray, options: argparse.Namespace) -> Walked:
    """Return what came of some walks; number n is of robot n modulo all robots."""
    rows = arrays.of_robots((part % arrays.robots).astype(np.int32))
    seeded = rows.sensors | {"seed": part.astype(np.int32)}
    scalar = SCALARS[np.dtype(options.dtype)]
    with lock:
        walks = Walks(replace(rows, sensors=seeded), scalar, options.device)
    return walks.run()


def planned(name: str, seconds: float, push: float) -> WalkArrays:
    """Return walks of robots of different masses as plain arrays.

    Args:
        name: A robot of the catalogue, a file, or ``g1`` for that of robot
            descriptions.
        seconds: How long they walk [s].
        push: Largest impulse of a push of the base in any direction [N s/kg].
    """
    import equipoise as eq
    from benchmarks.com_jacobian import g1_urdf
    from equipoise.gait.fit import fit_walk
    from equipoise.simulation.planned_walks import PlannedWalks
    from equipoise.simulation.trials import trial_world
    from equipoise.simulation.variation import Variation

    robot = eq.load(g1_urdf() if name == "g1" else name)
    pushed = eq.Push(
        robot.description.root, (0.0, 0.0, 0.0), start=PUSH_START, duration=PUSH_LASTS
    )
    world = trial_world(robot, mode="servo", pushes=(pushed,) if push else ())
    steps = 6
    gait = fit_walk(robot, steps=steps)
    while gait.duration < seconds:
        steps += 1
        gait = fit_walk(robot, steps=steps)
    rng = np.random.default_rng(0)
    masses = {
        link.name: link.inertial.mass * (1.0 + SPREAD * rng.uniform(-1.0, 1.0, ROBOTS))
        for link in robot.description.links
        if link.inertial is not None and link.inertial.mass > 0.0
    }
    angle = rng.uniform(0.0, 2.0 * np.pi, ROBOTS)
    size = robot.mass / PUSH_LASTS * rng.uniform(0.0, push, ROBOTS)
    ways = np.stack([np.cos(angle), np.sin(angle), np.zeros(ROBOTS)], axis=1)
    walks = PlannedWalks(
        world,
        [eq.solve(robot, gait)],
        Variation(
            mass=masses, push_force=(size[:, None] * ways)[:, None] if push else None
        ),
        seeds=np.arange(ROBOTS),
        seconds=seconds,
    )
    return walks.arrays(np.arange(ROBOTS))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.walking_fleet", description=__doc__
    )
    parser.add_argument("--robot", default="itu-biped", help="catalogue, file, or g1")
    parser.add_argument("--walks", type=int, default=1000, help="how many")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a walk")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--dtype", default="float64", help="float64 or float32")
    parser.add_argument("--threads", type=int, default=1, help="threads of the CPU")
    parser.add_argument("--batch", type=int, default=None, help="robots at once")
    parser.add_argument(
        "--push", type=float, default=0.0, help="largest impulse of a push [N s/kg]"
    )
    parser.add_argument("--save", default=None, help="keep arrays in this file")
    parser.add_argument("--load", default=None, help="walk from such a file")
    parser.add_argument("--out", default=None, help="results as an .npz file")
    parser.add_argument("--compare", default=None, help="with such a file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
