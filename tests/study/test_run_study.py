"""A study from file to folder; what kills, crashes and other studies leave of it."""

from __future__ import annotations

import csv
import itertools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from study.studies import STANDING, varying, written

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.study.experiments import Job
from equipoise.study.places import Place, place_for
from equipoise.study.run_study import FILES, do_runs
from equipoise.study.runs import StudyRuns
from equipoise.study.store import JOURNAL, ResultStore, store_beside
from equipoise.study.table import read_table, write_csv
from equipoise.study.workers import WorkerError

CORES = Place("cores", 1)
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> eq.Study:
    """24 runs of standing, half a second each."""
    return eq.load_study(written(tmp_path_factory.mktemp("study")))


def test_a_study_of_two_runs(tmp_path: Path) -> None:
    """In a process of its own: tables that agree, a summary, the file, nothing else."""
    text = STANDING.replace("count = 24", "count = 2")
    path, out = written(tmp_path, text, "two.toml"), tmp_path / "out"
    told: list[float] = []
    done = eq.run_study(path, out, jobs=1, progress=told.append)
    written_files = sorted(file.name for file in out.iterdir())
    assert written_files == sorted(name for name in FILES if name != "report.html")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "two.toml"]
    assert (out / "study.toml").read_text() == path.read_text()
    with (out / "table.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = pq.read_table(out / "table.parquet").to_pylist()
    assert [row["run"] for row in table] == [0, 1]
    for row, same in zip(rows, table, strict=True):
        assert float(row["torso.com.x"]) == same["torso.com.x"]
        assert float(row["com_error_m.max"]) == same["com_error_m.max"]
        assert row["survived"] == str(same["survived"]) == "True"
        assert (row["error"], same["error"]) == ("", None)
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["runs"], summary["failed"], summary["survived"]) == (2, 0, 2)
    assert "2 runs of stand with itu-biped: 2 of 2 survived" in summary["sentence"]
    assert done.table.columns["friction"].tolist() == [
        float(row["friction"]) for row in rows
    ]
    assert told[-1] == 1.0
    with pytest.raises(EquipoiseError, match="exists already"):
        eq.run_study(path, out)


def test_a_kill_at_the_very_end(
    tmp_path: Path, standing: eq.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is there, and what was kept for it, too: the same command ends."""
    out, identity = tmp_path / "out", StudyRuns(standing, CORES).identity()
    with ResultStore(store_beside(out), identity, standing.columns) as store:
        rows = [(k, (0.0, 0.4, True, 0.0, 0.0, None)) for k in range(24)]
        store.write(rows)

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("equipoise.study.run_study.remove_store", killed)
        with pytest.raises(KeyboardInterrupt):
            eq.run_study(standing, out)
    before = (out / "table.csv").read_bytes()
    assert store_beside(out).exists()
    eq.run_study(standing, out)
    assert (out / "table.csv").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


# A page that SQLite writes to its journal [bytes].
PAGE = 4096 + 24


def kill_when_written(command: list[str], journal: Path, least: int) -> None:
    """Kill a command when the journal of its store has so many bytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        if journal.exists() and journal.stat().st_size >= least:
            break
        time.sleep(0.002)
    assert process.poll() is None, "it was done before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_a_killed_study_ends_with_the_same_table(
    standing: eq.Study, tmp_path: Path
) -> None:
    """Kill -9 after some rows, twice: the table is that of the runs one by one."""
    path, out = written(tmp_path), tmp_path / "out"
    store = store_beside(out)
    command = [sys.executable, "-m", "equipoise", "study", str(path)]
    command += ["--out", str(out), "--jobs", "1"]
    runs = StudyRuns(standing, CORES)
    journal, kept = store.with_name(store.name + JOURNAL), []
    with ResultStore(store, runs.identity(), standing.columns):
        begun = journal.stat().st_size
    for least in (begun + 3 * PAGE, 3 * PAGE):
        kill_when_written(command, journal, least)
        with ResultStore(store, runs.identity(), standing.columns) as opened:
            kept.append([number for number, _ in opened.rows()])
    assert 0 < len(kept[0]) < len(kept[1]) < 24
    eq.run_study(path, out, jobs=1)
    jobs = [runs.job(run, run + 1) for run in range(24)]
    rows = [(job.first, (*job.begins[0], *runs.experiment(job)[0])) for job in jobs]
    write_csv(tmp_path / "whole.csv", standing, rows)
    assert (out / "table.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not store.exists()


def in_memory(job: Job) -> Rows:
    """Return rows without a simulation: the first parameter twice."""
    return [(True, 2.0 * float(x), 0.0, None) for x, _ in job.points]  # type: ignore[arg-type]


@dataclass(frozen=True)
class AtOnce(Place):
    """Jobs are done as soon as they are submitted, or when somebody waits for them."""

    work: Callable[[Job], Rows] = in_memory
    given: list[int] = field(default_factory=list)

    @contextmanager
    def backend(self, work: object) -> Iterator[AtOnce]:  # type: ignore[override]
        """Return itself."""
        yield self

    def submit(self, job: Job) -> Future[Rows]:
        """Do a job."""
        self.given.append(len(job.points))
        future: Future[Rows] = Future()
        try:
            future.set_result(self.work(job))
        except Exception as error:
            future.set_exception(error)
        return future


def rows_of(path: Path, runs: StudyRuns) -> list[tuple[int, tuple[Any, ...]]]:
    """Return the rows of a study's store."""
    with ResultStore(path, {}, runs.study.columns) as store:
        return list(store.rows())


@pytest.fixture
def runs(standing: eq.Study) -> StudyRuns:
    """The runs of the standing robot, in blocks of five."""
    made = StudyRuns(standing, CORES)
    made.size = 5
    return made


def done_at_once(path: Path, runs: StudyRuns, **how: Any) -> AtOnce:
    """Do runs into a store."""
    place = AtOnce("cores", 2, **how)
    with ResultStore(path, {}, runs.study.columns) as store:
        do_runs(runs, store, place)
    return place


def test_an_interrupted_study_goes_on(runs: StudyRuns, tmp_path: Path) -> None:
    """Whenever it is interrupted: no row lost, none twice, the same rows."""
    done_at_once(tmp_path / "whole", runs)
    whole = rows_of(tmp_path / "whole", runs)
    assert [number for number, _ in whole] == list(range(24))
    for after in range(5):
        path, count = tmp_path / f"{after}", itertools.count()

        def until(job: Job, most: int = after, n: Any = count) -> Rows:
            if next(n) == most:
                raise KeyboardInterrupt
            return in_memory(job)

        with pytest.raises(KeyboardInterrupt):
            done_at_once(path, runs, work=until)
        kept = len(rows_of(path, runs)) if path.exists() else 0
        place = done_at_once(path, runs)
        assert sum(place.given) == 24 - kept
        assert rows_of(path, runs) == whole


def test_a_crash_costs_one_row(runs: StudyRuns, tmp_path: Path) -> None:
    """The others of its block are done again, half by half."""
    bad = runs.points[7]

    def crash(job: Job) -> Rows:
        if bad in job.points:
            raise WorkerError("its process ended: signal 11 (Segmentation fault)")
        return in_memory(job)

    place = done_at_once(tmp_path / "store", runs, work=crash)
    assert sorted(place.given) == [1, 2, 2, 3, 4, 5, 5, 5, 5]
    found = dict(rows_of(tmp_path / "store", runs))
    assert len(found) == 24
    errors = {number: row[-1] for number, row in found.items() if row[-1] is not None}
    assert list(errors) == [7]
    assert "signal 11" in errors[7]
    assert found[7][: len(bad)] == bad
    assert found[7][len(bad) : -1] == (None, None, None)


def test_rows_that_a_crash_left_are_not_done_again(
    runs: StudyRuns, tmp_path: Path
) -> None:
    """A block of which some rows are there: only the others are done."""
    with ResultStore(tmp_path / "store", {}, runs.study.columns) as store:
        job = runs.job(6, 7)
        store.write([(6, (*job.begins[0], *in_memory(job)[0]))])
    place = done_at_once(tmp_path / "store", runs)
    assert sorted(place.given) == [1, 3, 4, 5, 5, 5]


def test_a_lost_backend_ends_the_study(runs: StudyRuns, tmp_path: Path) -> None:
    """What was done before is kept."""
    count = itertools.count()

    def lost(job: Job) -> Rows:
        if next(count) == 2:
            raise EquipoiseError("the cluster does no more jobs")
        return in_memory(job)

    with pytest.raises(EquipoiseError, match="no more jobs"):
        done_at_once(tmp_path / "store", runs, work=lost)
    assert len(rows_of(tmp_path / "store", runs)) >= 5


def test_results_of_another_study_are_refused(
    standing: eq.Study, tmp_path: Path
) -> None:
    """What differs is said, and they stay as they are."""
    out = tmp_path / "out"
    store = store_beside(out)
    with ResultStore(
        store, StudyRuns(standing, CORES).identity(), standing.columns
    ) as kept:
        kept.write([(0, [0.0] * len(standing.columns))])
    before = store.read_bytes()
    other = written(tmp_path, STANDING.replace("seed = 3", "seed = 4"))
    with pytest.raises(EquipoiseError, match=r"something else: .*sampling"):
        eq.run_study(other, out)
    assert store.read_bytes() == before
    assert not out.exists()


def test_comments_do_not_make_another_study(standing: eq.Study, tmp_path: Path) -> None:
    """Nor does its title: what was done before they were written is gone on with."""
    said = written(tmp_path, f'title = "New"\n{STANDING}# the end\n', "other.toml")
    known = StudyRuns(standing, CORES).identity()
    assert StudyRuns(eq.load_study(said), CORES).identity() == known


def test_where_a_study_runs(standing: eq.Study, tmp_path: Path) -> None:
    """Places by name; a clear line where there is no GPU, or it cannot do the runs."""
    assert place_for("cores", 3, standing).jobs == 3
    assert place_for("ray://host:1", None, standing).jobs is None
    walks = eq.load_study(written(tmp_path, varying("friction = [0.5]")))
    for study in (standing, walks):
        place = place_for("gpu", 2, study)
        assert place.on in ("gpu", "cores")
        assert (place.notice is None) == (place.on == "gpu")
    assert "run by run" in str(place_for("gpu", 2, standing).notice) or (
        place_for("gpu", 2, standing).notice == "no GPU was found: it runs on cores"
    )
    with pytest.raises(EquipoiseError, match="nothing runs on 'moon'; choose from"):
        place_for("moon", None, standing)
    with pytest.raises(EquipoiseError, match="1 or more"):
        place_for("cores", 0, standing)


def test_large_tables_are_read_in_part(standing: eq.Study, tmp_path: Path) -> None:
    """The first rows of samples; of grids rows at random."""
    rows = [(k, (0.1, 0.4, k > 3, None, 1.0, None)) for k in range(24)]
    some = read_table(standing, rows, most=10)
    assert some.columns["run"].tolist() == list(range(10))
    assert some.runs == 24
    assert some.columns["survived"].tolist() == [0.0] * 4 + [1.0] * 6
    assert np.isnan(some.columns["com_error_m.max"]).all()
    assert some.columns["error"].tolist() == [None] * 10
    grid = eq.load_study(
        written(
            tmp_path,
            STANDING.replace('"random"\ncount = 24', '"grid"').replace(
                "to = 0.05", "to = 0.05, points = 12"
            ),
        )
    )
    taken = read_table(grid, rows, most=10).columns["run"]
    assert len(set(taken)) == 10
    assert taken.tolist() == sorted(taken)
    assert taken.tolist() != list(range(10))
    assert (read_table(grid, rows, most=10).columns["run"] == taken).all()
