"""The largest pushes that robots survive without a step, in both engines, as a table.

``python -m benchmarks.pushes`` prints Markdown: the impulse at the torso over the
theoretical limit J*, in eight directions, without feedback, with the stabiliser and
with the balancing controller of [Choi2007]; ``--law`` for one of them alone. Limits are
bisected. ``--from-below`` tries whole-body torques instead, at every 2 % of J* from
``--start`` until the first that is not survived: bisection may step over one.
"""

from __future__ import annotations

import argparse
import math

import equipoise as eq
from benchmarks.walks import robots
from equipoise.simulation.push import push, theoretical_limit
from equipoise.simulation.push_limits import equal_directions, find_push_limits
from equipoise.simulation.simulate import ENGINES, EngineName
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World

NAMES = ("mahru-1", "humanoid", "G1", "TALOS")
DIRECTIONS = equal_directions(8)
LAWS = {
    "servos": ("without", {"feedback": False}),
    "stabiliser": ("with", {}),
    "paper": ("paper's law", {"law": "paper"}),
}
# From below, pushes are so much harder each time, and between these [% of J*].
STEP, FIRST, LAST = 2, 50, 150


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pushes")
    parser.add_argument("--law", choices=list(LAWS), help="one of them alone")
    parser.add_argument("--engine", choices=list(ENGINES), help="one of them alone")
    parser.add_argument("--true-state", action="store_true", help="feedback of it")
    parser.add_argument("--robot", help="one of them alone")
    parser.add_argument("--from-below", action="store_true", help="whole-body torques")
    parser.add_argument(
        "--start", type=int, default=88, help="with --from-below [%% of J*]"
    )
    parser.add_argument("--seed", type=int, default=0, help="with --from-below")
    options = parser.parse_args()
    heads = [f"{math.degrees(direction):.0f}°" for direction in DIRECTIONS]
    if options.from_below:
        print(f"| robot | engine | {' | '.join(heads)} |\n|{'---|' * (2 + len(heads))}")
        from_below(options)
        return
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


def from_below(options: argparse.Namespace) -> None:
    """Print what whole-body torques survive without a step, in percent of J*.

    Beside it, how high a foot was in the air meanwhile [mm].
    """
    for name, path in robots():
        if name not in NAMES or options.robot not in (None, name):
            continue
        world = trial_world(eq.load(path), None, "torque")
        for engine in ENGINES if options.engine is None else (options.engine,):
            cells = []
            for direction in DIRECTIONS:
                limit, lift = survived(world, direction, engine, options)
                air = f" ({1e3 * lift:.0f} mm)" if lift > 0.01 else ""
                cells.append(f"{limit}{air}")
            print(f"| {name} | {engine} | {' | '.join(cells)} |", flush=True)


def survived(
    world: World, direction: float, engine: EngineName, options: argparse.Namespace
) -> tuple[int, float]:
    """Return the last level before the first that was not survived, and the lift [m].

    From a start that is not survived, levels go down to the first that is.
    """
    most = theoretical_limit(world, direction)

    def stands(percent: int) -> float | None:
        results = push(
            world,
            0.01 * percent * most,
            direction,
            law="whole-body",
            engine=engine,
            seed=options.seed,
        ).summary
        return results["sole_lift_m"]["max"] if results["achieved"] else None

    percent, lift = options.start, stands(options.start)
    while lift is None and percent > FIRST:
        percent -= STEP
        lift = stands(percent)
    if lift is None or percent < options.start:
        return percent, lift or 0.0
    while percent < LAST:
        higher = stands(percent + STEP)
        if higher is None:
            break
        percent, lift = percent + STEP, higher
    return percent, lift


if __name__ == "__main__":
    main()
