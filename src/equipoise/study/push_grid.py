"""Pushes that a map is made of, and the search for those that are survived.

Survival is not monotone in the impulse: a robot that recovers by steps may survive a
push and fall after a smaller one. So all impulses of a grid are tried, from the
smallest on. Bisection of the grid takes fewer trials, and assumes that survival is
monotone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from equipoise.errors import EquipoiseError, NameNotFoundError
from equipoise.simulation.push_limits import equal_directions
from equipoise.simulation.push_trial import (
    TRIAL_COLUMNS,
    PushOutcome,
    PushTrial,
    read_row,
    trial_row,
)
from equipoise.study.store import ResultStore
from equipoise.study.workers import WorkerError

Search = Literal["grid", "bisection"]
Submit = Callable[[PushTrial], "Future[PushOutcome]"]
# More of them are refused: impulses of the grid, phases and seeds.
MOST_LEVELS, MOST_PHASES, MOST_SEEDS = 1000, 100, 1000
# How often to look for Ctrl-C [s].
WATCH_PERIOD = 0.2


@dataclass(frozen=True)
class PushGrid:
    """Pushes that are tried.

    Attributes:
        directions: Number of directions, equally spaced from forward on.
        phases: Number of phases of the step, equally spaced; 0 for no walk.
        standing: Whether the robot is pushed while it stands, too.
        impulse_step: Distance of impulses, and the smallest [N s/kg].
        impulse_most: The largest impulse [N s/kg].
        failures: So many impulses in a row that are not survived with every seed end
            the search in a cell.
        search: ``"grid"``: each impulse from the smallest on; ``"bisection"``: fewer,
            if survival is monotone.
        seeds: Number of seeds of the sensors' noise.
        seed: The first of them.
    """

    directions: int = 8
    phases: int = 8
    standing: bool = True
    impulse_step: float = 0.1
    impulse_most: float = 2.0
    failures: int = 2
    search: Search = "grid"
    seeds: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is not a grid."""
        equal_directions(self.directions)
        if not 0.0 < self.impulse_step < math.inf:
            raise EquipoiseError(
                f"impulses {self.impulse_step:g} N s/kg apart; that must be positive"
            )
        count = self.impulse_most / self.impulse_step
        if not 1.0 - 1e-9 <= count <= MOST_LEVELS:
            raise EquipoiseError(
                f"impulses up to {self.impulse_most:g} N s/kg, {self.impulse_step:g} "
                f"apart; there must be 1 to {MOST_LEVELS} of them"
            )
        for name, value, least, most in (
            ("phases", self.phases, 0, MOST_PHASES),
            ("seeds", self.seeds, 1, MOST_SEEDS),
            ("failures in a row", self.failures, 1, MOST_LEVELS),
        ):
            if not least <= value <= most:
                raise EquipoiseError(f"{value} {name}; there must be {least} to {most}")
        if not (self.phases or self.standing):
            raise EquipoiseError("neither standing nor any phase of a step is asked")
        if self.search not in get_args(Search):
            raise NameNotFoundError("search", self.search, get_args(Search), "map")

    @property
    def impulses(self) -> tuple[float, ...]:
        """The grid of impulses [N s/kg]."""
        count = math.floor(self.impulse_most / self.impulse_step + 1e-9)
        return tuple(round(k * self.impulse_step, 9) for k in range(1, count + 1))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Phase (None: standing) and direction [degrees] of each cell of the map."""
        phases: list[float | None] = [None] if self.standing else []
        phases += [k / self.phases for k in range(self.phases)]
        angles = [
            round(math.degrees(angle), 9) for angle in equal_directions(self.directions)
        ]
        return tuple(Cell(phase, angle) for phase in phases for angle in angles)

    def next_impulse(self, survived: Mapping[float, bool]) -> float | None:
        """Return which impulse to try next in a cell; None when all is known.

        Args:
            survived: Whether each impulse that was tried was survived with all seeds.
        """
        grid = self.impulses
        if self.search == "bisection":
            best, lowest = bounds(survived)
            between = [j for j in grid if best < j < lowest]
            return between[(len(between) - 1) // 2] if between else None
        failed = 0
        for impulse in grid:
            if impulse not in survived:
                return impulse
            failed = 0 if survived[impulse] else failed + 1
            if failed == self.failures:
                return None
        return None


class Cell(NamedTuple):
    """A place on the map: a phase of the step, None for standing, and a direction."""

    phase: float | None
    direction_deg: float


def try_pushes(
    grid: PushGrid,
    submit: Submit,
    store: ResultStore | None = None,
    progress: Callable[[float], None] | None = None,
) -> dict[PushTrial, PushOutcome]:
    """Try all pushes of a grid, many at a time; return their outcomes.

    Args:
        grid: Pushes to try.
        submit: Begins a trial.
        store: Has trials that are done, and keeps more.
        progress: Is told the fraction that is done, by estimate, now and then.

    Raises:
        EquipoiseError: If a trial cannot be begun, or kept.
    """
    kept = () if store is None else store.rows()
    done = dict(read_row(dict(zip(TRIAL_COLUMNS, row, strict=True))) for _, row in kept)
    running: dict[Future[PushOutcome], PushTrial] = {}
    waiting = list(_wanted(grid, grid.cells, done))
    alone = waiting[:1]  # compiles kernels that the others then find compiled
    running.update((submit(trial), trial) for trial in alone)
    waiting = waiting[1:]
    fraction = _fraction(grid, done)
    while running:
        if progress is not None:
            progress(fraction)
        finished, _ = wait(running, WATCH_PERIOD, FIRST_COMPLETED)
        for future in finished:
            trial = running.pop(future)
            done[trial] = _outcome(future)
            if store is not None:
                store.append(trial_row(trial, done[trial]))
            cell = Cell(trial.phase, trial.direction_deg)
            others = {*running.values(), *waiting}
            if not any((t.phase, t.direction_deg) == cell for t in others):
                waiting += _wanted(grid, [cell], done)
        if finished:
            running.update((submit(trial), trial) for trial in waiting)
            waiting = []
            fraction = _fraction(grid, done)
    return done


def bounds(survived: Mapping[float, bool]) -> tuple[float, float]:
    """Return the largest impulse survived below the smallest that was not.

    Args:
        survived: Whether each impulse that was tried was survived.

    Returns:
        The largest survived, zero if there is none, and the smallest not survived,
        infinity if there is none.
    """
    lowest = min((j for j, up in survived.items() if not up), default=math.inf)
    best = max((j for j, up in survived.items() if up and j < lowest), default=0.0)
    return best, lowest


def _outcome(future: Future[PushOutcome]) -> PushOutcome:
    try:
        return future.result()
    except WorkerError as error:  # one bad trial does not end the map
        return PushOutcome(False, error=str(error))


def _wanted(
    grid: PushGrid, cells: Iterable[Cell], done: Mapping[PushTrial, PushOutcome]
) -> Iterator[PushTrial]:
    """Yield the trials that cells want next."""
    for cell in cells:
        impulse = grid.next_impulse(survival(grid, cell, done))
        if impulse is not None:
            yield from (t for t in _level(grid, cell, impulse) if t not in done)


def _level(grid: PushGrid, cell: Cell, impulse: float) -> list[PushTrial]:
    """Return the trials of an impulse, one for each seed."""
    seeds = range(grid.seed, grid.seed + grid.seeds)
    return [PushTrial(*cell, impulse, seed) for seed in seeds]


def survival(
    grid: PushGrid, cell: Cell, done: Mapping[PushTrial, PushOutcome]
) -> dict[float, bool]:
    """Return whether impulses of a cell were survived with all seeds, where known."""
    found = {}
    for impulse in grid.impulses:
        outcomes = [done.get(trial) for trial in _level(grid, cell, impulse)]
        if None not in outcomes:
            found[impulse] = all(o.survived for o in outcomes if o is not None)
    return found


def _fraction(grid: PushGrid, done: Mapping[PushTrial, PushOutcome]) -> float:
    """Return about how much is done: other cells may take as many as those known."""
    known = [survival(grid, cell, done) for cell in grid.cells]
    ended = [len(found) for found in known if grid.next_impulse(found) is None]
    usual = sum(ended) / len(ended) if ended else grid.failures + 3
    usual = min(max(usual, 1.0), len(grid.impulses))
    total = sum(
        len(found) if grid.next_impulse(found) is None else max(usual, len(found) + 1)
        for found in known
    )
    return min(len(done) / (total * grid.seeds), 1.0)
