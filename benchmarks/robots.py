"""Robots from files, tried: do they load, stand and walk twelve steps, in both engines?

``python -m benchmarks.robots FILE [FILE ...]`` prints a Markdown table, a row for each
URDF or MJCF file; a robot that is refused has the reason in place of results.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import equipoise as eq
from equipoise.simulation.simulate import ENGINES

STEPS = 12
HEAD = "| robot | mass [kg] | stands | walks | CoM error [mm] | speed [m/s] |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robots")
    parser.add_argument("files", nargs="+", help="URDF or MJCF files, catalogue names")
    parser.add_argument("--actuators", choices=("servo", "ideal"), default="servo")
    options = parser.parse_args()
    print(HEAD, "|---|---|---|---|---|---|", sep="\n", flush=True)
    for file in options.files:
        print(row(file, options.actuators), flush=True)


def row(file: str, actuators: str) -> str:
    """Return a row of the table."""
    name = Path(file).stem
    try:
        robot = eq.load(file)
    except eq.EquipoiseError as error:
        return f"| {name} | – | {error} | | | |"
    stands = []
    for engine in ENGINES:
        try:
            done = eq.stand(robot, engine=engine).summary
            stands.append("yes" if done["achieved"] else done["sentence"])
        except eq.EquipoiseError as error:
            stands.append(str(error))
    head = f"| {name} | {robot.mass:.1f} | {both(stands)}"
    try:
        gait = eq.fit_walk(robot, STEPS)
        motion = eq.solve(robot, gait)
    except eq.EquipoiseError as error:
        return f"{head} | {error} | | |"
    walks, errors = [], []
    for engine in ENGINES:
        try:
            done = eq.walk(
                robot,
                motion,
                engine=engine,
                actuators="ideal" if actuators == "ideal" else "servo",
                feedback=False,
            ).summary
        except eq.EquipoiseError as error:
            walks.append(str(error))
            continue
        made = f"{done['steps_done']} steps"
        walks.append(made if done["achieved"] else done["sentence"])
        errors.append(f"{1e3 * done['com_error_m']['mean']:.1f}")
    length, beat = gait.parameters.length or 0.0, gait.parameters.step_time
    return f"{head} | {both(walks)} | {both(errors)} | {length / beat:.2f} |"


def both(texts: list[str]) -> str:
    """Return what both engines say, once if they say the same."""
    return " / ".join(dict.fromkeys(texts)) if len(texts) > 1 else "".join(texts)


if __name__ == "__main__":
    main()
