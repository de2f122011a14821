"""Pushes that need steps: how many are survived, standing and walking, as a table.

``python -m benchmarks.recovery`` pushes robots that stand towards eight directions, and
robots that walk at eight phases of a step, with whole-body torques and sensors. Every
impulse of a grid of 0.1 N s/kg up to the target is tried with every seed: 0.6 N s/kg
standing (0.5 sideways), 0.5 walking (0.4 sideways); ``--target-only`` tries the target
alone. Survived is what did not fall; beside it are the largest speed of a foot and the
deepest overlap of two links, of which meshes are their convex hulls: engines do not
stop limbs that meet. Links that touch in the standing posture, or in most postures, are
left out. Only pushes that were survived count for both.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pinocchio as pin

import equipoise as eq
from benchmarks.walks import robots
from equipoise.identification.posing.pose_limits import GROUND, self_collision
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.collision import link_of
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
# Limbs are looked at so often [s].
LOOK = 0.02


class Limbs:
    """Links of a robot that should not go through each other."""

    def __init__(self, robot: eq.Robot) -> None:
        self.robot = robot
        self._geometry = geometry = self_collision(robot, 0.0).geometry
        objects = list(geometry.geometryObjects)
        self._links = [link_of(one.name) for one in objects]
        for pair in list(geometry.collisionPairs):
            if GROUND in (self._links[pair.first], self._links[pair.second]):
                geometry.removeCollisionPair(pair)
        self._data = pin.GeometryData(geometry)

    def overlap(self, run: Run) -> tuple[float, str]:
        """Return the deepest overlap [m] in a run, and of which links."""
        every = max(1, round(LOOK / float(run.time[1] - run.time[0])))
        robot, geometry, data = self.robot, self._geometry, self._data
        deepest, words = 0.0, ""
        for q in run.q[::every]:
            touch = pin.computeCollisions(
                robot.model, robot.data, geometry, data, q, True
            )
            if not touch:
                continue
            at = pin.computeDistances(robot.model, robot.data, geometry, data, q)
            depth = -float(data.distanceResults[at].min_distance)
            if depth > deepest:
                pair = geometry.collisionPairs[at]
                deepest = depth
                words = f"{self._links[pair.first]}, {self._links[pair.second]}"
        return deepest, words


@dataclass
class Count:
    """Pushes that were tried.

    Attributes:
        limbs: Links that should not go through each other.
        tried: How many.
        survived: How many the robot survived.
        foot_speed: Largest speed of a sole while it had not fallen [m/s].
        overlap: Deepest overlap of two links meanwhile [m], and which.
        fell: What it did not survive, in words.
    """

    limbs: Limbs
    tried: int = 0
    survived: int = 0
    foot_speed: float = 0.0
    overlap: tuple[float, str] = (0.0, "")
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
        self.overlap = max(self.overlap, self.limbs.overlap(run))


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
    print("| robot, engine | trial | survived | fastest foot | overlap | fell |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, path in robots():
        if name not in options.robots:
            continue
        limbs = Limbs(eq.load(path))
        for engine in options.engines:
            seeds = range(options.seeds)
            trials = {"standing": standing, "walking": walking}
            for words, trial in trials.items():
                if options.only in (None, words):
                    phases = [k / options.phases for k in range(options.phases)]
                    count = trial(limbs, engine, seeds, phases, options.target_only)
                    depth, links = count.overlap
                    print(
                        f"| {name}, {engine} | {words} | {count.survived} of "
                        f"{count.tried} ({100 * count.survived / count.tried:.0f} %) | "
                        f"{count.foot_speed:.1f} m/s | {1e3 * depth:.0f} mm"
                        f"{f' ({links})' if links else ''} | {'; '.join(count.fell)} |",
                        flush=True,
                    )


def impulses(most: tuple[float, float], degrees: float, *, last: bool) -> list[float]:
    """Return the impulses that are tried in a direction [N s/kg]."""
    largest = most[1] if degrees in (90, 270) else most[0]
    count = round(largest / GRID)
    return [GRID * n for n in range(count if last else 1, count + 1)]


def standing(
    limbs: Limbs,
    engine: EngineName,
    seeds: Sequence[int],
    phases: Sequence[float],
    target_only: bool,
) -> Count:
    """Return what a robot that stands survives; phases do not matter."""
    robot, count = limbs.robot, Count(limbs)
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
    limbs: Limbs,
    engine: EngineName,
    seeds: Sequence[int],
    phases: Sequence[float],
    target_only: bool,
) -> Count:
    """Return what a robot that walks survives."""
    robot, count = limbs.robot, Count(limbs)
    motion = eq.solve(robot, eq.fit_walk(robot, STEPS))
    gait = motion.gait
    start = next(
        p.start for p in gait.phases if p.kind == "swing" and p.step == PUSHED_STEP
    )
    plain = trial_world(robot, None, "torque")
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
