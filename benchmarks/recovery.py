"""Pushes that need steps: how many are survived, standing and walking, as a table.

``python -m benchmarks.recovery`` pushes robots that stand towards eight directions, and
robots that walk at eight phases of a step, with whole-body torques and sensors. Every
impulse of a grid of 0.1 N s/kg up to the target is tried with every seed: 0.6 N s/kg
standing (0.5 sideways), 0.5 walking (0.4 sideways); ``--target-only`` tries the target
alone. Survived is what did not fall; the largest speed of a foot is beside it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import equipoise as eq
from benchmarks.walks import robots
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.simulation.simulate import ENGINES, EngineName
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import horizontal_push

NAMES = ("G1", "TALOS", "humanoid")
DIRECTIONS = (0, 45, 90, 135, 180, 225, 270, 315)
WALKING_DIRECTIONS = (0, 90, 180, 270)
# Largest impulses that are tried [N s/kg]: standing and walking, and sideways.
STANDING, WALKING = (0.6, 0.5), (0.5, 0.4)
GRID = 0.1
PHASES = 8
# The robot walks so many steps and is pushed in this one.
STEPS, PUSHED_STEP = 12, 5


@dataclass
class Count:
    """Pushes that were tried.

    Attributes:
        tried: How many.
        survived: How many the robot survived.
        foot_speed: Largest speed of a sole while it had not fallen [m/s].
        fell: What it did not survive, in words.
    """

    tried: int = 0
    survived: int = 0
    foot_speed: float = 0.0
    fell: list[str] = field(default_factory=list)

    def add(self, run: Run, words: str) -> None:
        """Count one push."""
        end = run.summary["fell_at_s"]
        self.tried += 1
        self.survived += end is None
        if end is not None:
            self.fell.append(words)
            return
        for side in run.robot.soles:
            place = sole_pose(run.robot, run.q, side)[:, :3, 3]
            speed = np.linalg.norm(np.diff(place, axis=0), axis=1) / np.diff(run.time)
            self.foot_speed = max(self.foot_speed, float(speed.max()))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery")
    parser.add_argument("--robots", nargs="*", default=NAMES)
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--phases", type=int, default=PHASES)
    parser.add_argument("--target-only", action="store_true")
    parser.add_argument("--only", choices=["standing", "walking"])
    options = parser.parse_args()
    print("| robot, engine | trial | survived | fastest foot | fell |")
    print("|---|---|---|---|---|", flush=True)
    for name, path in robots():
        if name not in options.robots:
            continue
        robot = eq.load(path)
        for engine in options.engines:
            seeds = range(options.seeds)
            trials = {"standing": standing, "walking": walking}
            for words, trial in trials.items():
                if options.only in (None, words):
                    phases = [k / options.phases for k in range(options.phases)]
                    count = trial(robot, engine, seeds, phases, options.target_only)
                    print(
                        f"| {name}, {engine} | {words} | {count.survived} of "
                        f"{count.tried} ({100 * count.survived / count.tried:.0f} %) | "
                        f"{count.foot_speed:.1f} m/s | {'; '.join(count.fell)} |",
                        flush=True,
                    )


def impulses(most: tuple[float, float], degrees: float, *, last: bool) -> list[float]:
    """Return the impulses that are tried in a direction [N s/kg]."""
    largest = most[1] if degrees in (90, 270) else most[0]
    count = round(largest / GRID)
    return [GRID * n for n in range(count if last else 1, count + 1)]


def standing(
    robot: eq.Robot,
    engine: EngineName,
    seeds: Sequence[int],
    phases: Sequence[float],
    target_only: bool,
) -> Count:
    """Return what a robot that stands survives; phases do not matter."""
    count = Count()
    for degrees in DIRECTIONS:
        for impulse in impulses(STANDING, degrees, last=target_only):
            for seed in seeds:
                run = eq.push(
                    robot,
                    impulse * robot.mass,
                    math.radians(degrees),
                    law="whole-body",
                    steps=True,
                    seconds=4.0,
                    seed=seed,
                    engine=engine,
                )
                count.add(run, f"{impulse:.1f} to {degrees}°")
    return count


def walking(
    robot: eq.Robot,
    engine: EngineName,
    seeds: Sequence[int],
    phases: Sequence[float],
    target_only: bool,
) -> Count:
    """Return what a robot that walks survives."""
    motion = eq.solve(robot, eq.fit_walk(robot, STEPS))
    gait = motion.gait
    start = next(
        p.start for p in gait.phases if p.kind == "swing" and p.step == PUSHED_STEP
    )
    plain = trial_world(robot, None, "torque")
    count = Count()
    for degrees in WALKING_DIRECTIONS:
        for impulse in impulses(WALKING, degrees, last=target_only):
            for phase in phases:
                at = start + phase * gait.parameters.step_time
                push = horizontal_push(
                    robot, impulse * robot.mass, math.radians(degrees), at
                )
                world = replace(plain, pushes=(push,))
                for seed in seeds:
                    run = eq.walk(world, motion, seed=seed, engine=engine)
                    count.add(run, f"{impulse:.1f} to {degrees}° at {phase:.3g}")
    return count


if __name__ == "__main__":
    main()
