"""The walks of [Sariyildiz2015], Section V, with whole-body torques, as a table.

``python -m benchmarks.whole_body_walks`` prints Markdown, a row for each robot, engine
and experiment: even ground with the right hand waving; blocks of ±2 cm and ±4° that the
gait knows, with arms held still and with arms that suppress the yaw moment; the same
blocks unknown to all that plans or controls. Sensors are on; a seed is that of the
ground and of their noise. ``--seeds 2`` is quicker, ``--verbose`` prints each run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import equipoise as eq
from benchmarks.walks import robots
from equipoise.gait.motion import Motion
from equipoise.gait.waving import waving
from equipoise.kinematics.terrain import Terrain
from equipoise.simulation.simulate import ENGINES
from equipoise.simulation.terrain_names import terrain_named

GROUND = "blocks:0.02,4"
SEEDS, STEPS = 10, 6
EXPERIMENTS = ("wave", "still", "yaw", "unknown")
WORDS = {
    "wave": "even, right hand waving",
    "still": "blocks, arms still",
    "yaw": "blocks, arms against yaw",
    "unknown": "blocks, unknown",
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_body_walks")
    parser.add_argument("--robots", nargs="*", default=("humanoid", "G1"))
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--experiments", nargs="*", default=EXPERIMENTS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--ground", default=GROUND)
    parser.add_argument("--verbose", action="store_true", help="each run, on stderr")
    options = parser.parse_args()
    print(
        "| robot, engine | walk | achieved | fell | CoM mean, worst | ZMP 5 mm inside "
        "| yaw moment RMS | hand RMS |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, path in robots():
        if name in options.robots:
            robot_rows(name, eq.load(path), options)


def robot_rows(name: str, robot: eq.Robot, options: argparse.Namespace) -> None:
    """Print the rows of one robot."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for seed in range(options.seeds):
        ground = terrain_named(options.ground, robot, seed)
        for experiment in options.experiments:
            known = experiment in ("still", "yaw")
            try:
                motion = planned(robot, experiment, options.steps, ground)
            except eq.EquipoiseError as error:
                print(f"{name}, {experiment}, seed {seed}: {error}", file=sys.stderr)
                for engine in options.engines:
                    found.setdefault((engine, experiment), [])
                continue
            for engine in options.engines:
                run = eq.walk(
                    robot,
                    motion,
                    ground if known else None,
                    unknown_terrain=ground if experiment == "unknown" else None,
                    actuators="torque",
                    arms=experiment if known else None,
                    seed=seed,
                    engine=engine,
                )
                found.setdefault((engine, experiment), []).append(run.summary)
                if options.verbose:
                    said = run.summary["sentence"]
                    print(
                        f"{engine}, {experiment}, seed {seed}: {said}", file=sys.stderr
                    )
    for engine in options.engines:
        still = found.get((engine, "still"), [])
        for experiment in options.experiments:
            beside = still if experiment == "yaw" else []
            runs = found.get((engine, experiment), [])
            head = f"{name}, {engine} | {WORDS[experiment]}"
            print(f"| {head} | {cells(runs, beside, options.seeds)} |", flush=True)


def planned(robot: eq.Robot, experiment: str, steps: int, ground: Terrain) -> Motion:
    """Return the motion of an experiment."""
    if experiment in ("still", "yaw"):
        return eq.solve(robot, eq.fit_walk(robot, steps, ground=ground))
    gait = eq.fit_walk(robot, steps)
    arms = waving(robot, "right", gait.duration) if experiment == "wave" else None
    return eq.solve(robot, gait, arms=arms)


def cells(
    runs: Sequence[dict[str, Any]], still: Sequence[dict[str, Any]], count: int
) -> str:
    """Return the results of runs with different seeds as cells of a table."""
    if not runs:
        return f"0 of {count} planned | | | | | "
    achieved = sum(run["achieved"] for run in runs)
    fell = sum(run["fell_at_s"] is not None for run in runs)
    errors = [run["com_error_from_stance_m"]["mean"] for run in runs]
    inside = [run["zmp_5mm_inside_fraction"] or 0.0 for run in runs]
    moment = np.array([run["yaw_moment_rms_nm"] or np.nan for run in runs])
    yaw = f"{np.nanmean(moment):.2f} Nm"
    if len(still) == len(runs):
        ratio = moment / np.array([run["yaw_moment_rms_nm"] for run in still])
        yaw += f", {100 * np.nanmean(ratio):.0f} % of still, worst "
        yaw += f"{100 * np.nanmax(ratio):.0f} %"
    hands = [run["hand_error_m"]["rms"] for run in runs if run["hand_error_m"]]
    hand = f"{1e3 * max(hands):.1f} mm" if hands else "–"
    return (
        f"{achieved} of {count} | {fell} | {1e3 * np.mean(errors):.1f} mm, "
        f"{1e3 * max(errors):.1f} mm | {100 * np.mean(inside):.1f} %, least "
        f"{100 * min(inside):.1f} % | {yaw} | {hand}"
    )


if __name__ == "__main__":
    main()
