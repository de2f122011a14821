"""The largest pushes that robots survive without a step, in both engines, as a table.

``python -m benchmarks.pushes`` prints Markdown: the impulse at the torso over the
theoretical limit J*, in eight directions, without feedback, with the stabiliser and
with the balancing controller of [Choi2007]; ``--law`` for one of them alone.
"""

from __future__ import annotations

import argparse
import math

import equipoise as eq
from benchmarks.walks import robots
from equipoise.simulation.push_limits import equal_directions, find_push_limits
from equipoise.simulation.simulate import ENGINES

NAMES = ("mahru-1", "humanoid", "G1", "TALOS")
DIRECTIONS = equal_directions(8)
LAWS = {
    "servos": ("without", {"feedback": False}),
    "stabiliser": ("with", {}),
    "paper": ("paper's law", {"law": "paper"}),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pushes")
    parser.add_argument("--law", choices=list(LAWS), help="one of them alone")
    parser.add_argument("--engine", choices=list(ENGINES), help="one of them alone")
    parser.add_argument("--true-state", action="store_true", help="feedback of it")
    parser.add_argument("--robot", help="one of them alone")
    options = parser.parse_args()
    heads = [f"{math.degrees(direction):.0f}°" for direction in DIRECTIONS]
    print(f"| robot | engine | feedback | {' | '.join(heads)} |")
    print(f"|{'---|' * (3 + len(heads))}")
    for name, path in robots():
        if name not in NAMES or options.robot not in (None, name):
            continue
        robot = eq.load(path)
        for engine in ENGINES if options.engine is None else (options.engine,):
            for law in LAWS if options.law is None else (options.law,):
                words, how = LAWS[law]
                if options.true_state and law != "servos":
                    how = {**how, "true_state": True}
                limits = find_push_limits(robot, DIRECTIONS, engine=engine, **how)
                cells = [
                    f"{limit.impulse:.1f} N s, {100 * limit.fraction:.0f} %"
                    for limit in limits
                ]
                row = f"| {name} | {engine} | {words} | {' | '.join(cells)} |"
                print(row, flush=True)
        best = " | ".join(f"{limit.theoretical:.1f} N s" for limit in limits)
        print(f"| {name} | J* | | {best} |", flush=True)


if __name__ == "__main__":
    main()
