"""Minutes of walking by a commanded velocity: falls, planning time and memory.

``python -m benchmarks.velocity_walk`` prints, for each robot and engine, how long a
step took to plan in the first and in the last minute, memory, and whether it fell: with
sensors and feedback, or with ``--open-loop``.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import equipoise as eq
from benchmarks.endurance import memory_now
from benchmarks.walks import robots
from equipoise.arrays import Array
from equipoise.control.signals import Target
from equipoise.gait.velocity_walk import VelocityWalk
from equipoise.simulation.executed_plan import (
    MovedPlan,
    com_error_from_stance,
    planned_loads,
    planned_soles,
    true_soles,
)
from equipoise.simulation.feedback import balance_feedback
from equipoise.simulation.simulate import ENGINES, simulate
from equipoise.simulation.trials import trial_world

# Each velocity holds for so long [s]: forward, a left and a right turn, sideways,
# backward and turning, on the spot, standing.
HOLD = 6.0
VELOCITIES = (
    (0.2, 0.0, 0.0),
    (0.15, 0.0, 0.2),
    (0.2, 0.0, -0.15),
    (0.0, 0.03, 0.0),
    (-0.15, 0.0, 0.1),
    (0.0, 0.0, 0.3),
    (0.0, 0.0, 0.0),
)
MINUTE = 60.0


def command(now: float) -> tuple[float, float, float]:
    """Return the commanded velocity at a time [s]."""
    return VELOCITIES[int(now / HOLD) % len(VELOCITIES)]


class Timed:
    """A reference that notes how long each step took to plan, and memory."""

    def __init__(self, walk: VelocityWalk) -> None:
        """Begin with a walk."""
        self.walk, self.duration, self.q = walk, walk.duration, walk.q
        self.planned: list[tuple[float, float, float]] = []
        self.memory: list[tuple[float, int]] = []

    q: Array

    def reset(self) -> None:
        """Begin anew."""
        self.walk.reset()
        self.planned.clear()
        self.memory.clear()

    def sample(self, now: float) -> Target:
        """Return the target, and note what a new step took."""
        steps = self.walk.steps
        wall, cpu = time.perf_counter(), time.process_time()
        target = self.walk.sample(now)
        if self.walk.steps > steps:
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            self.planned.append((now, 1e3 * wall, 1e3 * cpu))
            self.memory.append((now, memory_now()))
        return target


def main() -> None:
    """Print a line for each robot and engine."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.velocity_walk")
    parser.add_argument("--seconds", type=float, default=300.0, help="of walking")
    parser.add_argument("--robots", nargs="*", default=["humanoid", "G1"])
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--open-loop", action="store_true", help="no feedback")
    options = parser.parse_args()
    for name, path in robots():
        if name in options.robots:
            robot = eq.load(path)
            walk = VelocityWalk(robot, command, options.seconds)
            for engine in options.engines:
                row(f"{name}, {engine}", Timed(walk), engine, options.open_loop)


def row(name: str, timed: Timed, engine: str, open_loop: bool) -> None:
    """Walk and print how it went."""
    world = trial_world(timed.walk.robot)
    blocks = {} if open_loop else balance_feedback(world).blocks
    # few records: memory is to be that of the walk
    run = simulate(world, timed, engine=engine, record_period=0.5, **blocks)
    planned = planned_soles(run)
    executed = MovedPlan(planned, true_soles(run), planned_loads(run, planned))
    off = com_error_from_stance(run, executed, np.inf)
    results = run.summary
    last = results["duration_s"]
    first = [p for p in timed.planned if p[0] < MINUTE]
    final = [p for p in timed.planned if p[0] >= last - MINUTE]
    told = [
        " ".join(
            f"{statistics.mean(part):.0f} (largest {max(part):.0f})"
            for part in list(zip(*rows, strict=True))[1:]
        )
        for rows in (first, final)
    ]
    after = next(size for now, size in timed.memory if now >= min(MINUTE, last / 2.0))
    fell = results["fell_at_s"]
    print(
        f"{name}: {'no fall' if fell is None else f'fell at {fell:.1f} s'} in "
        f"{last:g} s, {timed.walk.steps} steps; planning a step, ms of wall and CPU "
        f"time: {told[0]} in the first minute, {told[1]} in the last; memory "
        f"{after / 2**20:.0f} MB after a minute, "
        f"{timed.memory[-1][1] / 2**20:.0f} MB at the end; CoM off its plan by "
        f"{1e3 * off.mean():.1f} mm on average, seen from the stance foot, and in the "
        f"world by {1e3 * results['com_error_m']['mean']:.1f} mm; "
        f"{results['realtime_factor']:.1f} times real time",
        flush=True,
    )


if __name__ == "__main__":
    main()
