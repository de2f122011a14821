"""Pushes that need steps: how many are survived, standing and walking, as a table.

``python -m benchmarks.recovery`` pushes robots that stand towards eight directions, and
robots that walk at eight phases of a step, with whole-body torques and sensors. Every
impulse of a grid of 0.1 N s/kg up to the target is tried with every seed: 0.6 N s/kg
standing (0.5 sideways), 0.5 walking (0.4 sideways); ``--target-only`` tries the target
alone, ``--below-target-only`` all but it. Survived is what did not fall; beside it are
the largest speed of a foot and the deepest overlap of two links, of which meshes are
their convex hulls: engines do not stop limbs that meet. Links that touch in the
standing posture, or in most postures, are left out. Only pushes that were survived
count for both.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pinocchio as pin

import equipoise as eq
from benchmarks.branches import pushed_walks
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
# Largest impulses that are tried [N s/kg]: straight, and to the side.
STANDING, WALKING = (0.6, 0.5), (0.5, 0.4)
GRID = 0.1
PHASES = 8
# The robot walks so many steps and is pushed in this one.
STEPS, PUSHED_STEP = 12, 5
# Limbs are looked at so often [s].
LOOK = 0.02

# Of a run: whether the robot fell, largest speed of a sole [m/s], deepest overlap of
# two links [m], and which.
Outcome = tuple[bool, float, float, str]
# How many times the grid below the target, the push in words, what came of it.
Trials = Iterator[tuple[int, str, Outcome]]


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


class Count:
    """Pushes that were tried.

    Attributes:
        tried: How many.
        survived: How many the robot survived.
        foot_speed: Largest speed of a sole in these [m/s].
        overlap: Deepest overlap of two links in these [m], and which.
        fell: What it did not survive, in words.
    """

    def __init__(self) -> None:
        self.tried, self.survived, self.foot_speed = 0, 0, 0.0
        self.overlap: tuple[float, str] = (0.0, "")
        self.fell: list[str] = []

    def add(self, outcome: Outcome, words: str) -> None:
        """Count one push."""
        fell, speed, depth, links = outcome
        self.tried += 1
        if fell:
            self.fell.append(words)
            return
        self.survived += 1
        self.foot_speed = max(self.foot_speed, speed)
        self.overlap = max(self.overlap, (depth, links))

    def __str__(self) -> str:
        """Return it as cells of a table."""
        depth, links = self.overlap
        return (
            f"{self.survived} of {self.tried} "
            f"({100 * self.survived / self.tried:.1f} %) | {self.foot_speed:.1f} m/s | "
            f"{1e3 * depth:.0f} mm{f' ({links})' if links else ''} | "
            f"{'; '.join(self.fell)}"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery")
    parser.add_argument("--robots", nargs="*", default=NAMES, help="or files")
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--phases", type=int, default=PHASES)
    parser.add_argument("--target-only", action="store_true")
    parser.add_argument("--below-target-only", action="store_true")
    parser.add_argument("--only", choices=["standing", "walking"])
    parser.add_argument("--jobs", type=int, default=2, help="pushed walks at once")
    options = parser.parse_args()
    print(
        "| robot, engine | pushed | N s/kg (to the side) | survived | fastest foot "
        "| overlap | fell |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    trials = {"standing": (standing, STANDING), "walking": (walking, WALKING)}
    for name, path in robots(options.robots):
        limbs = Limbs(eq.load(path))
        for engine in options.engines:
            for pushed, (trial, most) in trials.items():
                if options.only not in (None, pushed):
                    continue
                counts: defaultdict[int, Count] = defaultdict(Count)
                for below, words, outcome in trial(limbs, engine, options):
                    counts[below].add(outcome, words)
                for below, count in sorted(counts.items()):
                    straight, side = (one - GRID * below for one in most)
                    beside = f" ({side:.1f})" if side > 0.5 * GRID else ""
                    print(
                        f"| {name}, {engine} | {pushed} | {straight:.1f}{beside} "
                        f"| {count} |",
                        flush=True,
                    )


def impulses(
    most: tuple[float, float], degrees: float, options: argparse.Namespace
) -> Iterator[tuple[int, float]]:
    """Yield how far below the target, in grid steps, and which impulse [N s/kg]."""
    count = round((most[1] if degrees in (90, 270) else most[0]) / GRID)
    first = 1 if options.below_target_only else 0
    for below in range(first, 1 if options.target_only else count):
        yield below, GRID * (count - below)


def outcome_of(run: Run, limbs: Limbs) -> Outcome:
    """Return what came of a push."""
    if run.summary["fell_at_s"] is not None:
        return True, math.nan, math.nan, ""
    fastest = 0.0
    for side in run.robot.soles:
        place = sole_pose(run.robot, run.q, side)[:, :3, 3]
        speed = np.linalg.norm(np.diff(place, axis=0), axis=1) / np.diff(run.time)
        fastest = max(fastest, float(speed.max()))
    return False, fastest, *limbs.overlap(run)


def standing(limbs: Limbs, engine: EngineName, options: argparse.Namespace) -> Trials:
    """Yield what comes of pushes against a robot that stands."""
    robot = limbs.robot
    first = options.first_seed
    for degrees in DIRECTIONS:
        for below, impulse in impulses(STANDING, degrees, options):
            for seed in range(first, first + options.seeds):
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
                words = f"{impulse:.1f} to {degrees}°"
                yield below, words, outcome_of(run, limbs)


def walking(limbs: Limbs, engine: EngineName, options: argparse.Namespace) -> Trials:
    """Yield what comes of pushes against a robot that walks."""
    robot = limbs.robot
    motion = eq.solve(robot, eq.fit_walk(robot, STEPS))
    gait = motion.gait
    start = next(
        p.start for p in gait.phases if p.kind == "swing" and p.step == PUSHED_STEP
    )
    pushes, labels = [], []
    for degrees in WALKING_DIRECTIONS:
        for below, impulse in impulses(WALKING, degrees, options):
            for phase in np.arange(options.phases) / options.phases:
                at = start + phase * gait.parameters.step_time
                impulse_ns, direction = impulse * robot.mass, math.radians(degrees)
                pushes.append(horizontal_push(robot, impulse_ns, direction, at))
                labels.append((below, f"{impulse:.1f} to {degrees}° at {phase:.3g}"))
    first = options.first_seed
    for seed in range(first, first + options.seeds):
        outcomes = pushed_walks(
            trial_world(robot, None, "torque"),
            motion,
            pushes,
            lambda run: outcome_of(run, limbs),
            seed=seed,
            engine=engine,
            jobs=options.jobs,
        )
        for (below, words), outcome in zip(labels, outcomes, strict=True):
            yield below, f"{words}, seed {seed}", outcome


if __name__ == "__main__":
    main()
