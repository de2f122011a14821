"""The map of pushes: which are tried, what is said of them, what a kill leaves."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.simulation.push import theoretical_limit
from equipoise.simulation.push_trial import (
    AFTER,
    TRIAL_COLUMNS,
    PushOutcome,
    PushScene,
    PushTrial,
)
from equipoise.study.push_grid import Cell, PushGrid, survival, try_pushes
from equipoise.study.push_map import assemble, identity, make_scene
from equipoise.study.store import ResultStore
from equipoise.study.workers import WorkerError

Try = Callable[[PushTrial], PushOutcome]


def at_once(attempt: Try) -> Callable[[PushTrial], Future[PushOutcome]]:
    """Return what does a trial as soon as it is submitted."""

    def submit(trial: PushTrial) -> Future[PushOutcome]:
        future: Future[PushOutcome] = Future()
        try:
            future.set_result(attempt(trial))
        except Exception as error:
            future.set_exception(error)
        return future

    return submit


def weak(trial: PushTrial) -> PushOutcome:
    """Survive 0.35 N s/kg, and a stronger push by chance."""
    survived = trial.impulse_nspkg < 0.35 or trial.impulse_nspkg == 0.5
    return PushOutcome(survived, None if survived else 1.0, True)


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """Return the catalogue's humanoid."""
    return eq.load("humanoid")


@pytest.fixture(scope="module")
def scene(humanoid: eq.Robot) -> PushScene:
    """A humanoid that stands, and does not walk."""
    return make_scene(humanoid, PushGrid(phases=0))


@pytest.fixture(scope="module")
def walking(humanoid: eq.Robot) -> PushScene:
    """A humanoid that walks, too, with short steps."""
    return make_scene(humanoid, PushGrid(), length=0.1, step_time=0.6)


def test_every_impulse_is_tried_until_two_in_a_row_fail() -> None:
    """A chance survival at 0.5 is seen, and the search goes on after it."""
    grid = PushGrid(directions=1, phases=0)
    done = try_pushes(grid, at_once(weak))
    tried = [trial.impulse_nspkg for trial in done]
    assert tried == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


def test_bisection_takes_fewer_trials() -> None:
    """It finds one limit, of several where survival is not monotone."""
    grid = PushGrid(directions=1, phases=0, search="bisection", impulse_most=1.6)
    done = try_pushes(grid, at_once(weak))
    assert len(done) == 4
    found = survival(grid, grid.cells[0], done)
    assert not any(up for j, up in found.items() if j > 0.5)


@pytest.mark.parametrize("limit", [0.0, 0.1, 0.4, 1.0])
def test_bisection_agrees_with_the_grid(limit: float, scene: PushScene) -> None:
    """Where survival is monotone both find the same, whatever the limit is."""
    found = []
    for search in ("grid", "bisection"):
        grid = PushGrid(directions=1, phases=0, search=search, impulse_most=1.0)
        done = try_pushes(
            grid, at_once(lambda trial: PushOutcome(trial.impulse_nspkg <= limit))
        )
        (cell,) = assemble(scene, grid, done).cells
        found.append((cell.survived_nspkg, cell.at_least))
    assert found[0] == found[1] == (limit, limit == 1.0)


def test_a_cell_says_what_every_seed_survived(scene: PushScene) -> None:
    """One seed that falls at 0.3 counts; J* is that of the standing robot."""
    grid = PushGrid(directions=4, phases=0, seeds=3, seed=5)

    def attempt(trial: PushTrial) -> PushOutcome:
        unlucky = trial.direction_deg == 90.0 and trial.seed == 6
        if unlucky and trial.impulse_nspkg == 0.3:
            return PushOutcome(False, 1.0, False)
        return weak(trial)

    drawn = assemble(scene, grid, try_pushes(grid, at_once(attempt)))
    by_angle = {cell.direction_deg: cell for cell in drawn.cells}
    assert by_angle[0.0].survived_nspkg == 0.3
    assert by_angle[90.0].survived_nspkg == 0.2
    assert by_angle[90.0].largest_nspkg == 0.3
    assert by_angle[90.0].within_limits
    limit = theoretical_limit(scene.world, 0.0) / scene.world.robot.mass
    assert by_angle[0.0].limit_nspkg == pytest.approx(limit)
    assert by_angle[0.0].limit_fraction == pytest.approx(0.3 / limit)
    results = drawn.as_dict()
    assert results["achieved"]
    assert "0.2 N s/kg standing (least towards 90°" in results["sentence"]
    assert any("not monotone" in line for line in results["notices"])
    row = next(r for r in results["by_impulse"] if r["impulse_nspkg"] == 0.3)
    assert (row["trials"], row["survived"]) == (12, 11)


def test_one_bad_trial_does_not_end_the_map(scene: PushScene) -> None:
    """Its row carries the error, and counts as not survived."""
    grid = PushGrid(directions=2, phases=0, impulse_most=0.3)

    def attempt(trial: PushTrial) -> PushOutcome:
        if trial.direction_deg == 0.0 and trial.impulse_nspkg == 0.2:
            raise WorkerError("its process ended: signal 11")
        return weak(trial)

    drawn = assemble(scene, grid, try_pushes(grid, at_once(attempt)))
    assert [cell.survived_nspkg for cell in drawn.cells] == [0.1, 0.3]
    assert [cell.errors for cell in drawn.cells] == [1, 0]
    assert "signal 11" in drawn.notices[-1]
    assert [row["error"] for row in drawn.rows].count(None) == len(drawn.rows) - 1


def test_an_interrupted_map_goes_on(tmp_path: Path) -> None:
    """What is done is not done again, whenever it is interrupted."""
    grid = PushGrid(directions=2, phases=2, seeds=2, impulse_most=0.6)
    whole = try_pushes(grid, at_once(weak))
    for after in (0, 1, 7, len(whole) - 1):
        path, tried = tmp_path / f"{after}", itertools.count()

        def until(trial: PushTrial, most: int = after, n=tried) -> PushOutcome:  # type: ignore[no-untyped-def]
            if next(n) == most:
                raise KeyboardInterrupt
            return weak(trial)

        with (
            pytest.raises(KeyboardInterrupt),
            ResultStore(path, {}, TRIAL_COLUMNS) as store,
        ):
            try_pushes(grid, at_once(until), store)
        more = itertools.count()
        with ResultStore(path, {}, TRIAL_COLUMNS) as store:
            kept = store.count()
            assert kept <= after
            again = try_pushes(
                grid, at_once(lambda trial, n=more: (next(n), weak(trial))[1]), store
            )
            assert next(more) == len(whole) - kept
        assert again == whole


KILLED = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from equipoise.study.push_grid import PushGrid, try_pushes
from equipoise.simulation.push_trial import TRIAL_COLUMNS, PushOutcome
from equipoise.study.store import ResultStore

def attempt(trial):
    time.sleep(0.02)
    print("tried", flush=True)
    survived = trial.impulse_nspkg < 0.35 or trial.impulse_nspkg == 0.5
    return PushOutcome(survived, None if survived else 1.0, True)

grid = PushGrid(directions=8, phases=8)
store = ResultStore(sys.argv[1], {"map": 1}, TRIAL_COLUMNS)
with store, ThreadPoolExecutor(2) as threads:
    try_pushes(grid, lambda trial: threads.submit(attempt, trial), store)
"""


def test_a_killed_map_loses_only_what_was_running(tmp_path: Path) -> None:
    """Kill -9: trials that were done are on the disk, and the same table comes out."""
    path = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    seen = sum(1 for _ in itertools.islice(process.stdout, 40))
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().count("tried")
    process.wait()
    process.stdout.close()
    grid = PushGrid(directions=8, phases=8)
    more = itertools.count()
    with ResultStore(path, {"map": 1}, TRIAL_COLUMNS) as store:
        kept = store.count()
        assert seen - 4 <= kept <= seen + rest
        done = try_pushes(
            grid, at_once(lambda trial: (next(more), weak(trial))[1]), store
        )
    whole = try_pushes(grid, at_once(weak))
    assert done == whole
    assert next(more) == len(whole) - kept


def test_a_store_knows_its_map(humanoid: eq.Robot, scene: PushScene) -> None:
    """The same question has the same identity, another robot or grid has not."""
    grid = PushGrid(phases=0)
    known = identity(scene, grid)
    again = make_scene(eq.load("humanoid"), grid)
    assert identity(again, grid) == known
    heavier = make_scene(eq.load("mahru-1"), grid)
    for other in (
        identity(heavier, grid),
        identity(make_scene(humanoid, grid, law="stabiliser"), grid),
        identity(scene, PushGrid(phases=0, seeds=2)),
    ):
        assert other != known


def test_the_step_that_is_pushed(walking: PushScene) -> None:
    """A steady one that the left foot carries, with time to walk on after it."""
    walk = walking.walk
    assert walk is not None
    gait = walk.motion.gait
    assert walk.end - walk.start == pytest.approx(gait.parameters.step_time)
    table = gait.at([walk.time_of(phase) for phase in (0.01, 0.6, 0.99)])
    assert table.support.tolist() == [0, 1, 1]
    stop = next(phase for phase in gait.phases if phase.kind == "stop")
    assert stop.start - walk.end >= AFTER - gait.parameters.step_time
    # the step two before it is as long, as in a steady walk
    times = [walk.start, walk.start + 2.0 * gait.parameters.step_time]
    speed = gait.at(times).com_velocity
    assert speed[0] == pytest.approx(speed[1], abs=0.02)


def test_a_blow_while_it_walks(walking: PushScene) -> None:
    """It comes at its phase with its impulse, and the robot falls after it."""
    assert walking.walk is not None
    results = walking.simulate(PushTrial(0.25, 90.0, 5.0, 0)).summary
    (pushed,) = results["pushes"]
    assert pushed["start_s"] == pytest.approx(walking.walk.time_of(0.25), abs=1e-3)
    assert pushed["impulse_ns"] == pytest.approx(5.0 * walking.world.robot.mass)
    assert pushed["direction_deg"] == 90.0
    assert results["fell_at_s"] > pushed["start_s"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"directions": 0}, "1 to 360"),
        ({"phases": -1}, "-1 phases"),
        ({"phases": 0, "standing": False}, "neither standing nor any phase"),
        ({"impulse_step": 0.0}, "must be positive"),
        ({"impulse_step": float("nan")}, "must be positive"),
        ({"impulse_most": 0.05}, "1 to 1000 of them"),
        ({"impulse_most": float("inf")}, "1 to 1000 of them"),
        ({"seeds": 0}, "0 seeds"),
        ({"failures": 0}, "0 failures in a row"),
        ({"search": "guess"}, "no search 'guess'"),
    ],
)
def test_what_is_no_grid(asked: dict[str, object], message: str) -> None:
    """One line that says what is possible."""
    with pytest.raises(EquipoiseError, match=message):
        PushGrid(**asked)  # type: ignore[arg-type]


def test_other_laws_are_refused(humanoid: eq.Robot) -> None:
    """The paper's law stands, and does not walk; a standing scene has no phases."""
    with pytest.raises(EquipoiseError, match="no law 'paper'"):
        eq.push_map(humanoid, law="paper")
    with pytest.raises(EquipoiseError, match="joints are told torques"):
        eq.push_map(eq.make_world(humanoid))
    standing = make_scene(humanoid, PushGrid(phases=0))
    outcome = standing(PushTrial(0.5, 0.0, 0.1, 0))
    assert "no walk" in str(outcome.error)
    assert Cell(0.5, 0.0) in PushGrid().cells
