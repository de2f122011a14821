"""Walks to a box: force, acceleration of the box and balance, in both engines.

``python -m benchmarks.box_push`` prints for each robot and engine the peak and the
steady force of the hands on the box over the wanted one, the box's acceleration beside
(F - μ m g) / m, the time line, and whether all checks passed.
"""

from __future__ import annotations

import argparse

import equipoise as eq
from benchmarks.walks import robots
from equipoise.errors import EquipoiseError
from equipoise.simulation.simulate import ENGINES

USUAL = ("humanoid", "G1")


def main() -> int:
    """Run from the command line; 0: all achieved, 1: not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=USUAL, help="robots")
    parser.add_argument("--to-box", type=float, default=1.5, help="distance [m]")
    parser.add_argument("--push-force", type=float, default=40.0, help="[N]")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from 0")
    asked = parser.parse_args()
    paths, failed = dict(robots()), 0
    for name in asked.names:
        robot = eq.load(paths.get(name, name))
        for engine in ENGINES:
            for seed in range(asked.seeds):
                try:
                    run = eq.walk_to_box(
                        robot, asked.to_box, asked.push_force, seed=seed, engine=engine
                    )
                except EquipoiseError as error:
                    print(f"{name} {engine}: {error}", flush=True)
                    failed += 1
                    continue
                failed += not run.summary["achieved"]
                print(row(name, seed, run), flush=True)
    return 1 if failed else 0


def row(name: str, seed: int, run: eq.Run) -> str:
    """Return the results of a run in a line, and what failed in another."""
    results = run.summary
    wanted, steady = results["wanted_force_n"], results["steady_force_n"]
    words = [f"{name:10} {results['engine']:7} seed {seed}:"]
    words.append(f"peak {results['peak_force_n'] / wanted:.2f} F,")
    if steady is not None:
        low, high = steady["min"] / wanted, steady["max"] / wanted
        words.append(
            f"steady {steady['mean'] / wanted:.3f} F ({low:.2f} to {high:.2f}),"
        )
        found, expected = (
            results[f"{which}_acceleration_mps2"] for which in ("box", "expected")
        )
        words.append(f"box {found:.3f} of {expected:.3f} m/s², moved")
        words.append(f"{results['box_moved_m']:.2f} m;")
    times = [f"{what} {at:.1f} s" for what, at in results["timeline_s"].items()]
    words.append(", ".join(times) + ";")
    words.append("achieved" if results["achieved"] else results["sentence"])
    return " ".join(words)


if __name__ == "__main__":
    raise SystemExit(main())
