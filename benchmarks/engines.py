"""The same motions in both engines, and at two time steps.

``python -m benchmarks.engines`` prints the largest distance of the CoM and the RMS
difference of the total vertical force, for each motion and robot.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import equipoise as eq
from benchmarks.com_jacobian import g1_urdf
from benchmarks.motions import MOTIONS, stance_shift
from equipoise.arrays import Array
from equipoise.control.signals import Command
from equipoise.simulation.actuation import MODES, Mode, actuation_of
from equipoise.simulation.simulate import make_engine
from equipoise.simulation.world import World, make_world

DT = 1e-3
FINE_DT = 5e-5
SAMPLE = 0.01


class Outcome(NamedTuple):
    """What a robot did.

    Attributes:
        com: [m], shape (n, 3).
        vertical_force: Of all contacts, over the weight, shape (n,).
    """

    com: Array
    vertical_force: Array


class Gap(NamedTuple):
    """How far two outcomes are apart.

    Attributes:
        com: Largest distance of the CoM [m].
        force: RMS difference of the vertical force, over the weight.
    """

    com: float
    force: float


def outcome(
    world: World, engine: str, motion: Callable[[eq.Robot, float], Command], dt: float
) -> Outcome:
    """Let a robot move, and sample it every millisecond or step."""
    runner = make_engine(engine, world, dt)
    runner.reset(world.robot.standing)
    every = max(round(DT / dt), 1)
    trace = runner.advance(motion(world.robot, dt), every)
    force = trace.contact_force[:, :, 2].sum(axis=1)
    weight = world.robot.mass * world.gravity
    return Outcome(np.asarray(eq.com(world.robot, trace.q)), force / weight)


def gap(one: Outcome, other: Outcome) -> Gap:
    """Compare two outcomes."""
    distance = np.linalg.norm(one.com - other.com, axis=1)
    difference = one.vertical_force - other.vertical_force
    return Gap(float(distance.max()), float(np.sqrt(np.mean(difference**2))))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines")
    parser.add_argument("robots", nargs="*", help="beside Unitree G1 and humanoid")
    options = parser.parse_args()
    print(f"{'robot':18}{'mode':10}{'motion':16}{'CoM [mm]':>10}{'Fz RMS [%]':>12}")
    modes: list[Mode] = [mode for mode in MODES if mode in ("servo", "position")]
    for source in (g1_urdf(), "humanoid", *options.robots):
        robot = eq.load(source)
        for mode in modes:
            world = make_world(robot, actuation=actuation_of(robot, mode))
            head = f"{robot.name[:17]:18}{mode:10}"
            for name, motion in MOTIONS.items():
                found = [
                    outcome(world, kind, motion, DT) for kind in ("native", "mujoco")
                ]
                _print(f"{head}{name:16}", gap(*found))
            fine = outcome(world, "native", stance_shift, FINE_DT)
            coarse = outcome(world, "native", stance_shift, DT)
            _print(f"{head}{'1 ms : 0.05 ms':16}", gap(coarse, fine))


def _print(head: str, found: Gap) -> None:
    print(f"{head}{1e3 * found.com:10.3f}{100 * found.force:12.3f}")


if __name__ == "__main__":
    main()
