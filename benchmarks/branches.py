"""Walks that are the same until a push, each branching off in a process of its own.

All pushes of one seed share the walk before them. It is simulated once; where a push
begins the process forks, and the branch alone is pushed and walks to the end. Results
are those of a walk that is pushed from the start, bit for bit.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import equipoise as eq
from equipoise.control.signals import Command, State
from equipoise.log.run import Run
from equipoise.simulation.engine import Engine
from equipoise.simulation.simulate import EngineName, make_engine
from equipoise.simulation.world import Push, World


class AllBranchedError(Exception):
    """Every push has its branch, and all have ended: the walk without one can end."""


class Branching:
    """An engine that goes on in another process with each push.

    Attributes:
        branch: Index of the push in this process; None before it branches.
    """

    def __init__(self, engine: Engine, pushes: Sequence[Push], jobs: int) -> None:
        self.engine, self._jobs = engine, jobs
        self.branch: int | None = None
        self._left = sorted(enumerate(pushes), key=lambda item: -item[1].start)
        self._running: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        """Return what the engine has."""
        return getattr(self.engine, name)

    def step(self, command: Command, steps: int = 1) -> State:
        """Branch off whoever is pushed now, then step."""
        engine = self.engine
        until = engine.state.time + steps * engine.dt
        while self._left and self._left[-1][1].start < until:
            number, push = self._left.pop()
            self._wait_for_room()
            process = os.fork()
            if process == 0:
                self.branch, self._left = number, []
                engine.set_push(push)
                break
            self._running.add(process)
        if self.branch is None and not self._left:
            while self._running:
                self._wait()
            raise AllBranchedError
        return engine.step(command, steps)

    def _wait_for_room(self) -> None:
        while len(self._running) >= self._jobs:
            self._wait()

    def _wait(self) -> None:
        process, status = os.wait()
        self._running.discard(process)
        if status:
            raise RuntimeError("a branch ended with an error")


def pushed_walks(
    world: World,
    motion: eq.Motion,
    pushes: Sequence[Push],
    judge: Callable[[Run], Any],
    *,
    seed: int,
    engine: EngineName,
    jobs: int,
) -> list[Any]:
    """Return what is judged of one walk for each push, in their order.

    Args:
        world: The robot in its world, without pushes.
        motion: What it walks.
        pushes: On one point of one link.
        judge: What is kept of a run; must be what JSON can write.
        seed: Seed of the sensors' noise.
        engine: Which engine.
        jobs: How many branches run at once.
    """
    later = replace(pushes[0], start=2.0 * motion.gait.duration)
    world = replace(world, pushes=(later,))
    plant = Branching(make_engine(engine, world), pushes, jobs)
    with TemporaryDirectory() as folder:
        try:
            run = eq.walk(world, motion, seed=seed, engine=plant)
            path = Path(folder, f"{plant.branch}.json")
            path.write_text(json.dumps(judge(run)))
        except AllBranchedError:
            names = [Path(folder, f"{number}.json") for number in range(len(pushes))]
            return [json.loads(name.read_text()) for name in names]
        except BaseException:
            if plant.branch is None:
                raise
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
