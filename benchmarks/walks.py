"""Walks of several robots and in several directions, in both engines, as a table.

``python -m benchmarks.walks`` prints Markdown: twelve steps with servo actuators, open
loop. ``--directions`` walks two of the robots forward, backward, sideways, turning and
on slopes instead, ``--stairs`` up and down stairs. ``--closed`` walks with sensors and
feedback, on flat ground and with a payload on a floor that nobody planned for, with
open loop beside it; with ``--torque`` joints are told whole-body torques instead of
servos' positions. ``--robots`` also takes files.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import equipoise as eq
from equipoise.kinematics.terrain import Slope, Stairs, Terrain
from equipoise.simulation.simulate import ENGINES, EngineName
from equipoise.simulation.terrain_names import TREAD_PER_SOLE, terrain_named
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import with_payload

STEPS = 12
# Of the closed loop: payload at the torso as a fraction of the mass, height of a floor
# that is not known [m], seeds of floor and noise.
PAYLOAD, FLOOR, SEEDS = 0.08, 0.01, (0, 1, 2)
CATALOGUE = ("humanoid", "mahru-1", "itu-biped")
EXAMPLE_ROBOTS = {
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "TALOS": "talos_data/robots/talos_reduced.urdf",
    "Romeo": "romeo_description/urdf/romeo.urdf",
}
RISES = (0.05, -0.05, 0.08, -0.08, 0.1, -0.1, 0.12, -0.12)
STAIRS = 4
SIDE = 0.075
TURN = math.radians(10.0)
DIRECTIONS: tuple[tuple[str, dict[str, Any], Terrain | None], ...] = (
    ("forward", {}, None),
    ("backward", {"length": -0.1}, None),
    ("left", {"length": 0.0, "sideways": SIDE}, None),
    ("right", {"length": 0.0, "sideways": -SIDE}, None),
    ("turning left by 10° a step", {"turn": TURN}, None),
    ("turning right", {"turn": -TURN}, None),
    ("up a slope of 10°", {}, Slope(TURN)),
    ("down a slope of 10°", {}, Slope(-TURN)),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks")
    parser.add_argument("--directions", action="store_true", help="many directions")
    parser.add_argument("--stairs", action="store_true", help="up and down stairs")
    parser.add_argument("--closed", action="store_true", help="sensors and feedback")
    parser.add_argument("--torque", action="store_true", help="with --closed")
    parser.add_argument("--robots", nargs="*", help="only these, with --closed")
    parser.add_argument("--engines", nargs="*", default=ENGINES, help="with --closed")
    options = parser.parse_args()
    if options.closed:
        beside, bar = ("", "") if options.torque else (" open loop |", "---|")
        print(f"| robot, engine | trial | closed loop: CoM mean, max |{beside}")
        print(f"|---|---|---|{bar}", flush=True)
        for name, path in robots(options.robots):
            closed_rows(name, eq.load(path), options.engines, torque=options.torque)
        return
    if options.stairs:
        for name, path in robots():
            if name in ("humanoid", "G1"):
                robot = eq.load(path)
                tread = TREAD_PER_SOLE * robot.soles["left"].size[0]
                for rise in RISES:
                    ground = terrain_named(f"stairs:{rise},{tread},{STAIRS}", robot)
                    row(f"{name}, {ground.describe()}", robot, {}, ground)
        return
    if options.directions:
        for name, path in robots():
            if name in ("humanoid", "G1"):
                robot = eq.load(path)
                for words, asked, ground in DIRECTIONS:
                    row(f"{name}, {words}", robot, asked, ground)
        return
    for name, path in robots():
        row(name, eq.load(path), {}, None)


def robots(chosen: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield names and paths of robots.

    Args:
        chosen: Names of installed ones, or paths of others; all installed ones if None.
    """
    installed = dict(_installed())
    for name in installed if chosen is None else chosen:
        yield Path(name).stem, installed.get(name, name)


def _installed() -> Iterator[tuple[str, str]]:
    for name in CATALOGUE:
        yield name, name
    try:
        shared = importlib.metadata.distribution("example-robot-data")
        root = Path(str(shared.locate_file("cmeel.prefix/share/example-robot-data")))
        for name, path in EXAMPLE_ROBOTS.items():
            yield name, str(root / "robots" / path)
        import icub_models

        yield "iCub", str(icub_models.get_model_file("iCubGazeboV2_5"))
    except (ImportError, importlib.metadata.PackageNotFoundError) as error:
        print(f"left out: {error}", file=sys.stderr)


def row(
    name: str, robot: eq.Robot, asked: dict[str, Any], ground: Terrain | None
) -> None:
    """Print how one walk went in each engine."""
    stairs = isinstance(ground, Stairs)
    more = {} if ground is None else {"ground": ground}
    try:
        motion = eq.solve(
            robot, eq.fit_walk(robot, None if stairs else STEPS, **asked, **more)
        )
    except eq.EquipoiseError as error:
        print(f"| {name} | {error} | |", flush=True)
        return
    cells = []
    for engine in ENGINES:
        results = eq.walk(robot, motion, ground, engine=engine, feedback=False).summary
        com, zmp = results["com_error_m"]["mean"], results["zmp_error_m"]
        torque = results["actuators"]["peak_torque_fraction"]
        outcome = (
            "" if results["achieved"] else f", not achieved: {results['sentence']}"
        )
        cells.append(
            f"{1e3 * com:.1f} mm, {1e3 * zmp['single_support_rms']:.1f} mm, "
            f"{100 * torque:.0f} %{outcome}"
        )
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def closed_rows(
    name: str, robot: eq.Robot, engines: Sequence[EngineName], *, torque: bool
) -> None:
    """Print walks of one robot with sensors and feedback, open loop beside them.

    The CoM error is horizontal, against the plan as it was executed, relative to the
    stance foot.
    """
    motion = eq.solve(robot, eq.fit_walk(robot, STEPS))
    torso = robot.limbs.get("torso")
    link = robot.description.root if torso is None else torso.end_link
    loaded = with_payload(robot, {link: PAYLOAD * robot.mass})
    plain = trial_world(robot, None, "torque" if torque else "servo")
    trials = [("flat, unloaded", plain, None, 0)]
    for seed in SEEDS:
        floor = terrain_named(f"rough:{FLOOR}", robot, seed)
        words = f"{100 * PAYLOAD:g} % payload, ±{100 * FLOOR:g} cm, seed {seed}"
        trials.append((words, replace(plain, robot=loaded), floor, seed))
    for engine in engines:
        for words, world, floor, seed in trials:
            cells = []
            for feedback in (True,) if torque else (True, False):
                results = eq.walk(
                    world,
                    motion,
                    model=robot,
                    unknown_terrain=floor,
                    feedback=feedback,
                    seed=seed,
                    engine=engine,
                ).summary
                error = results["com_error_from_stance_m"]
                cells.append(
                    f"{1e3 * error['mean']:.1f} mm, {1e3 * error['max']:.1f} mm, "
                    f"{results['realtime_factor']:.1f} × real time, {outcome(results)}"
                )
            print(f"| {name}, {engine} | {words} | {' | '.join(cells)} |", flush=True)


def outcome(results: Mapping[str, Any]) -> str:
    """Return whether a walk was achieved, or why not, in few words."""
    if results["fell_at_s"] is not None:
        steps = f"{results['steps_done']} of {results['steps_wanted']} steps"
        return f"fell at {results['fell_at_s']:.1f} s, after {steps}"
    failed = [check["name"] for check in results["checks"] if not check["passed"]]
    return f"not achieved: {', '.join(failed)}" if failed else "achieved"


if __name__ == "__main__":
    main()
