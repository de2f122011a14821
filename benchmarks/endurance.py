"""An hour of standing, a thousand robots, two cores, and starting up.

``python -m benchmarks.endurance`` prints each figure; the hour takes about a minute.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import equipoise as eq
from benchmarks.com_jacobian import g1_urdf
from benchmarks.steps import hold
from equipoise.control.signals import Command
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import make_world

DT = 1e-3
PIECE = 10_000
MANY = 1000
CROWD = 256
ROUNDS = 7
START = (
    "import time; begin = time.perf_counter()\n"
    "import equipoise as eq\n"
    "from equipoise.simulation.native import NativeEngine\n"
    "from equipoise.simulation.world import make_world\n"
    "from benchmarks.com_jacobian import g1_urdf\n"
    "from benchmarks.steps import hold\n"
    "world = make_world(eq.load(g1_urdf()))\n"
    "NativeEngine(world).advance(hold(world, 1))\n"
    "print(time.perf_counter() - begin)\n"
)


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of standing")
    options = parser.parse_args()
    start_up()
    stand(options.seconds)
    two_cores()
    thousand()


def start_up() -> None:
    """Print how long it takes to the first step, kernels compiled and cached."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = dict(os.environ, WARP_CACHE_PATH=folder)
        compiled, cached = (_time_to_first_step(fresh) for _ in range(2))
    print(f"to the first step: {compiled:.1f} s compiling, {cached:.1f} s cached")


def _time_to_first_step(environment: dict[str, str]) -> float:
    done = subprocess.run(
        [sys.executable, "-c", START],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def stand(seconds: float) -> None:
    """Print drift of the CoM and memory while the G1 stands."""
    robot = eq.load(g1_urdf())
    world = make_world(robot)
    engine = NativeEngine(world, DT)
    position = joint_positions(robot, robot.standing)
    rows = np.broadcast_to(position, (PIECE, len(position)))
    still = np.zeros_like(rows)
    command = Command(rows, still, still)
    settled = eq.com(robot, engine.advance(command, PIECE).at(-1).q)
    eq.com(robot, engine.advance(command, PIECE // 10).q)
    before = memory_now()
    begin = time.perf_counter()
    worst = 0.0
    for _ in range(round(seconds / DT / PIECE)):
        q = engine.advance(command, PIECE // 10).q
        worst = max(worst, float(np.abs(eq.com(robot, q) - settled).max()))
    wall = time.perf_counter() - begin
    grown = memory_now() - before
    print(
        f"standing {seconds:g} s at 1 ms: CoM within {worst:.1e} m, memory grew by "
        f"{grown / 2**20:.1f} MB, {seconds / wall:.0f} times real time"
    )


def two_cores() -> None:
    """Print how much faster two threads are than one."""
    world = make_world(eq.load(g1_urdf()))
    fleets = [Fleet(world, CROWD, DT, threads=threads) for threads in (1, 2)]
    command = hold(world, 500)
    for fleet in fleets:
        fleet.reset(world.robot.standing)
        fleet.advance(command, 500)
    ratios = []
    for _ in range(ROUNDS):
        times = []
        for fleet in fleets:
            begin = time.perf_counter()
            fleet.advance(command, 500)
            times.append(time.perf_counter() - begin)
        ratios.append(times[0] / times[1])
    print(
        f"two threads on {len(os.sched_getaffinity(0))} cores: "
        f"{statistics.median(ratios):.2f} times one ({min(ratios):.2f} to "
        f"{max(ratios):.2f})"
    )


def thousand() -> None:
    """Print the peak memory of a process that moves a thousand robots."""
    world = make_world(eq.load(g1_urdf()))
    fleet = Fleet(world, MANY, DT, threads=2)
    fleet.reset(world.robot.standing)
    fleet.advance(hold(world, 100), 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{MANY} robots, 100 steps, 10 states kept: peak {peak:.0f} MB")


def memory_now() -> int:
    """Return resident memory [bytes]."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
