"""The largest push that a robot survives, by direction and phase of its step.

A cell of the map is the largest impulse up to which each of a grid was survived with
every seed (:mod:`~equipoise.study.push_grid`); the largest that any single trial
survived stands beside it.

Impulses are compared with J* of the standing robot in the same direction, the largest
impulse that a pendulum survives with its feet in place
(:func:`~equipoise.simulation.push.theoretical_limit`), standing and walking alike: more
than 1 is more than it could survive without a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.model import Robot
from equipoise.simulation.engine import check_dt
from equipoise.simulation.feedback import Law, mode_for
from equipoise.simulation.push import pushed_stance, theoretical_limit
from equipoise.simulation.push_trial import (
    AFTER,
    PUSHED_STEP,
    TRIAL_COLUMNS,
    PushedWalk,
    PushOutcome,
    PushScene,
    PushTrial,
    pushed_walk,
    trial_row,
)
from equipoise.simulation.simulate import ENGINES, EngineName
from equipoise.simulation.summary import versions
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World, pushed_link
from equipoise.study.push_grid import (
    Cell,
    PushGrid,
    bounds,
    survival,
    try_pushes,
)
from equipoise.study.store import ResultStore, code_hash, content_hash
from equipoise.study.workers import Workers, cores

# Laws by which robots walk.
LAWS: tuple[Law, ...] = ("whole-body", "stabiliser")
# Packages of ours that have no part in a simulation.
NOT_SIMULATING = ("cli", "show", "identification")


@dataclass(frozen=True)
class CellResult:
    """What a robot survives at a phase, in a direction.

    Attributes:
        phase: Part of the step that is over when the push begins; None for standing.
        direction_deg: Where it is pushed, about z [degrees].
        survived_nspkg: Largest impulse up to which each one tried was survived with
            every seed [N s/kg]; zero if the smallest was not.
        at_least: Whether that is the largest of the grid: nothing more was tried.
        largest_nspkg: Largest impulse that a single trial survived [N s/kg].
        limit_nspkg: J* of the standing robot over its mass [N s/kg].
        limit_fraction: The first of these over J*.
        within_limits: Whether no actuator went beyond its limits in any trial up to
            that impulse.
        trials: Number of trials.
        errors: How many of them failed without a result.
    """

    phase: float | None
    direction_deg: float
    survived_nspkg: float
    at_least: bool
    largest_nspkg: float
    limit_nspkg: float
    limit_fraction: float
    within_limits: bool
    trials: int
    errors: int


@dataclass(frozen=True, eq=False)
class PushMap:
    """The map.

    Attributes:
        robot: Name of the robot.
        mass: [kg].
        grid: Pushes that were asked for.
        cells: What is survived, standing first, then phase by phase.
        trials: Every trial and its outcome, in the same order.
        asked: Other numbers of the experiment, as plain data.
    """

    robot: str
    mass: float
    grid: PushGrid
    cells: tuple[CellResult, ...]
    trials: tuple[tuple[PushTrial, PushOutcome], ...]
    asked: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return results as plain data, for ``summary.json``."""
        return {
            "verb": "push",
            "robot": self.robot,
            "mass_kg": self.mass,
            "achieved": all(cell.survived_nspkg > 0.0 for cell in self.cells),
            "sentence": self.sentence,
            "map": [asdict(cell) for cell in self.cells],
            "grid": asdict(self.grid),
            "by_impulse": self.by_impulse,
            "trials": len(self.trials),
            "errors": sum(cell.errors for cell in self.cells),
            "notices": self.notices,
            **self.asked,
            "versions": versions(),
        }

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each trial."""
        return [trial_row(*both) for both in self.trials]

    @property
    def by_impulse(self) -> list[dict[str, Any]]:
        """How many trials of each impulse there were, and how many were survived."""
        rows = []
        for standing in (True, False):
            for impulse in self.grid.impulses:
                outcomes = [
                    outcome.survived
                    for trial, outcome in self.trials
                    if trial.impulse_nspkg == impulse
                    and (trial.phase is None) == standing
                ]
                if outcomes:
                    row = {"standing": standing, "impulse_nspkg": impulse}
                    rows.append(
                        {**row, "trials": len(outcomes), "survived": sum(outcomes)}
                    )
        return rows

    @property
    def notices(self) -> list[str]:
        """What a reader of the map should know, a sentence each."""
        said, count = [], len(self.cells)
        odd = sum(cell.largest_nspkg > cell.survived_nspkg for cell in self.cells)
        if odd:
            said.append(
                f"In {odd} of {count} cells a single trial survived a larger impulse "
                "than the map says: survival is not monotone"
                f"{', or depends on the seed' if self.grid.seeds > 1 else ''}."
            )
        beyond = sum(not cell.within_limits for cell in self.cells)
        if beyond:
            said.append(
                f"In {beyond} of {count} cells an actuator went beyond its limits in a "
                "trial that was survived."
            )
        errors = [o.error for _, o in self.trials if o.error is not None]
        if errors:
            said.append(
                f"{len(errors)} of {len(self.trials)} trials failed without a result "
                f"and count as not survived, the first one so: {errors[0]}."
            )
        return said

    @property
    def sentence(self) -> str:
        """The least that is survived, in words."""
        parts = []
        for words, standing in (("standing", True), ("walking", False)):
            among = [c for c in self.cells if (c.phase is None) == standing]
            if among:
                worst = min(among, key=lambda cell: cell.survived_nspkg)
                more = "" if standing else f" at phase {worst.phase:.3g}"
                parts.append(
                    f"{worst.survived_nspkg:.3g} N s/kg {words} (least towards "
                    f"{worst.direction_deg:.0f}°{more}, "
                    f"{100 * worst.limit_fraction:.0f} % of J*)"
                )
        return f"{self.robot} survives pushes of {' and '.join(parts)}."


def push_map(
    robot: Robot | World,
    grid: PushGrid | None = None,
    terrain: Terrain | None = None,
    *,
    law: Law = "whole-body",
    true_state: bool = False,
    link: str | None = None,
    length: float | None = None,
    step_time: float | None = None,
    engine: EngineName = "native",
    dt: float = 1e-3,
    model: Robot | None = None,
    jobs: int | None = None,
    store: Path | str | None = None,
    progress: Callable[[float], None] | None = None,
) -> PushMap:
    """Find the largest push that a robot survives, standing and over its step.

    A push lasts 0.1 s. It is survived if the robot has not fallen when it has walked on
    for 3.5 s and stopped, or 3.5 s after the push where it stands.

    Args:
        robot: The robot, or the robot in its world, whose joints must be those that
            the law is for.
        grid: Pushes to try; :class:`PushGrid` says which by default.
        terrain: What it stands on; flat ground unless given.
        law: ``"whole-body"`` for joints that are told torques, or ``"stabiliser"``.
        true_state: Whether feedback is shown the true state, not sensors.
        link: Link whose centre of mass is pushed; the torso unless given.
        length: Step length [m]; what fits the robot unless given.
        step_time: Step time [s]; what fits the robot unless given.
        engine: Which engine.
        dt: Time step [s].
        model: The robot as planner and feedback know it; as it is unless given.
        jobs: Number of processes; as many as there are cores unless given.
        store: File that keeps each trial as soon as it is done: asked for the same
            again, the map goes on with what is there. Nothing is kept unless given.
        progress: Is told the fraction that is done, by estimate, now and then.

    Raises:
        EquipoiseError: If something asked for is impossible, or the file belongs to
            another map.
    """
    grid = grid or PushGrid()
    scene = make_scene(
        robot,
        grid,
        terrain,
        law=law,
        true_state=true_state,
        link=link,
        length=length,
        step_time=step_time,
        engine=engine,
        dt=dt,
        model=model,
    )
    with ExitStack() as stack:
        kept = None
        if store is not None:
            kept = stack.enter_context(
                ResultStore(store, identity(scene, grid), TRIAL_COLUMNS)
            )
        workers = stack.enter_context(Workers(scene, jobs or cores()))
        trials = try_pushes(grid, workers.submit, kept, progress)
    return assemble(scene, grid, trials)


def make_scene(
    robot: Robot | World,
    grid: PushGrid,
    terrain: Terrain | None = None,
    *,
    law: Law = "whole-body",
    length: float | None = None,
    step_time: float | None = None,
    model: Robot | None = None,
    **how: Any,
) -> PushScene:
    """Return what pushes have in common; arguments are those of :func:`push_map`.

    Raises:
        EquipoiseError: If something asked for is impossible.
    """
    if law not in LAWS:
        raise NameNotFoundError("law", law, LAWS, "map of pushes")
    if how.get("engine", ENGINES[0]) not in ENGINES:
        raise NameNotFoundError("engine", how["engine"], ENGINES, "map of pushes")
    check_dt(how.get("dt", 1e-3))
    world = trial_world(robot, terrain, mode_for(law))
    if world.actuation.by_torque != (mode_for(law) == "torque"):
        raise EquipoiseError(
            "law='whole-body' is for a world whose joints are told torques, "
            "law='stabiliser' for one whose joints are servos"
        )
    how["link"] = pushed_link(world.robot, how.get("link"))
    known = model or world.robot
    walking: PushedWalk | None = None
    if grid.phases:
        walking = pushed_walk(
            known, length=length, step_time=step_time, ground=world.terrain
        )
    pushed_stance(world)  # it must be able to stand, too
    return PushScene(world, known, walking, law, **how)


def identity(scene: PushScene, grid: PushGrid) -> dict[str, Any]:
    """Return what makes a map the same map, for its store."""
    gait = None if scene.walk is None else scene.walk.motion.gait
    numbers = None if gait is None else content_hash(gait.parameters, gait.phases)
    return {
        "robot": content_hash(scene.world, scene.model),
        "walk": numbers,
        **asdict(grid),
        "law": scene.law,
        "true_state": scene.true_state,
        "link": scene.link,
        "engine": scene.engine,
        "time_step": scene.dt,
        "code_of_Equipoise": code_hash(NOT_SIMULATING),
        "versions": versions(),
    }


def assemble(
    scene: PushScene, grid: PushGrid, done: Mapping[PushTrial, PushOutcome]
) -> PushMap:
    """Return the map of trials that are done."""
    world, mass = scene.world, scene.world.robot.mass
    q = pushed_stance(world)
    cells, order = [], []
    for cell in grid.cells:
        among = [t for t in done if (t.phase, t.direction_deg) == cell]
        among.sort(key=lambda trial: (trial.impulse_nspkg, trial.seed))
        limit = theoretical_limit(world, math.radians(cell.direction_deg), q=q) / mass
        cells.append(_cell_result(grid, cell, limit, {t: done[t] for t in among}))
        order += among
    asked = {
        "terrain": world.terrain.describe(),
        "engine": scene.engine,
        "dt_s": scene.dt,
        "law": scene.law,
        "feedback": "true state" if scene.true_state else "sensors",
        "link": scene.link,
        "after_s": AFTER,
    }
    if scene.walk is not None:
        numbers = scene.walk.motion.gait.parameters
        asked["walk"] = {
            "step_time_s": numbers.step_time,
            "length_m": numbers.length,
            "pushed_step": PUSHED_STEP,
            "supporting_foot": "left",
            "start_s": scene.walk.start,
            "end_s": scene.walk.end,
        }
    trials = tuple((trial, done[trial]) for trial in order)
    return PushMap(world.robot.name, mass, grid, tuple(cells), trials, asked)


def _cell_result(
    grid: PushGrid,
    cell: Cell,
    limit: float,
    done: Mapping[PushTrial, PushOutcome],
) -> CellResult:
    found = survival(grid, cell, done)
    best, lowest = bounds(found)
    below = [o for t, o in done.items() if t.impulse_nspkg <= best]
    return CellResult(
        *cell,
        survived_nspkg=best,
        at_least=lowest == math.inf,
        largest_nspkg=max(
            (t.impulse_nspkg for t, o in done.items() if o.survived), default=0.0
        ),
        limit_nspkg=limit,
        limit_fraction=best / limit if limit > 0.0 else 0.0,
        within_limits=all(bool(outcome.within_limits) for outcome in below),
        trials=len(done),
        errors=sum(outcome.error is not None for outcome in done.values()),
    )
