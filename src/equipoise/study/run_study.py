"""A study from its file to its folder: where it runs, what is kept, what is written.

Runs are numbered, and done in fixed blocks of numbers. Each block is a job for a
backend (processes, a GPU, a Ray cluster), and is written to the store as one
transaction when it is done. A study that was killed goes on with the blocks that are
missing, and ends with the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from equipoise.atomic_file import write_text_atomically
from equipoise.log.folder import (
    REPORT_NAME,
    SUMMARY_NAME,
    check_folder,
    summary_as_json,
    write_folder,
)
from equipoise.study.experiments import Job
from equipoise.study.places import CORES, Place, Rows, place_for
from equipoise.study.runs import StudyRuns
from equipoise.study.store import ResultStore, Value, remove_store, store_beside
from equipoise.study.study_file import Study, load_study
from equipoise.study.study_summary import summarise
from equipoise.study.table import (
    CSV_NAME,
    PARQUET_NAME,
    StudyTable,
    read_table,
    write_csv,
    write_parquet,
)
from equipoise.study.workers import WorkerError

STUDY_NAME = "study.toml"
FILES = (SUMMARY_NAME, REPORT_NAME, CSV_NAME, PARQUET_NAME, STUDY_NAME)
# How often to look for Ctrl-C [s].
WATCH_PERIOD = 0.2


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A study that is done.

    Attributes:
        folder: Its folder.
        summary: Its results as plain data, as in ``summary.json``.
        table: Its table, or a part of it if it is very large.
    """

    folder: Path
    summary: dict[str, Any]
    table: StudyTable


Page = Callable[[StudyTable, dict[str, Any]], str]


def run_study(
    study: Study | Path | str,
    out: Path | str,
    *,
    on: str = CORES,
    jobs: int | None = None,
    replace: bool = False,
    progress: Callable[[float], None] | None = None,
    page: Page | None = None,
) -> StudyResult:
    """Do all runs of a study, and write its folder.

    What is done is kept beside the folder until that is written; asked for the same
    again after a kill, the study goes on from there.

    Args:
        study: The study, or its file.
        out: Folder for ``table.csv``, ``table.parquet``, ``summary.json``,
            ``study.toml`` and ``report.html``.
        on: Where it runs: ``"cores"`` of this computer, its ``"gpu"`` (cores if there
            is none), ``"ray"`` for a Ray cluster that is started here, or the address
            of one, ``"ray://host:port"``.
        jobs: Number of jobs that are done at a time; one for each core unless given.
        replace: Whether a study that is in the folder already may be replaced.
        progress: Is told the fraction that is done now and then, of what was left to
            do.
        page: Makes the report's HTML of table and summary; no report if None.

    Raises:
        EquipoiseError: If something asked for is impossible, the results kept there
            are another study's, or a cluster does not answer.
    """
    if not isinstance(study, Study):
        study = load_study(study)
    place = place_for(on, jobs, study)
    path = store_beside(out)
    replace = replace or _was_written(study, Path(out), path)
    check_folder(out, files=FILES, replace=replace)
    runs = StudyRuns(study, place)
    with ResultStore(path, runs.identity(), study.columns) as store:
        do_runs(runs, store, place, progress)
        result = _write(runs, store, place, Path(out), replace, page)
    remove_store(path)
    return result


def _was_written(study: Study, out: Path, store: Path) -> bool:
    """Return whether a kill came after the folder was written, before the end."""
    file = out / STUDY_NAME
    return store.exists() and file.is_file() and file.read_text("utf-8") == study.text


def do_runs(
    runs: StudyRuns,
    store: ResultStore,
    place: Place,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Do the runs that a store does not have yet, and keep them as they come.

    Raises:
        EquipoiseError: If no process can be started, a cluster does not answer, or the
            store cannot be written.
    """
    waiting = _missing(runs, store)
    first = next(waiting, None)
    if first is None:
        return
    total, done = len(runs) - store.count(), 0
    with place.backend(runs.experiment) as backend:
        # alone: it compiles kernels that the others then find compiled
        running = {backend.submit(first): first}
        room = 1
        while running:
            if progress is not None:
                progress(done / total)
            finished, _ = wait(running, WATCH_PERIOD, FIRST_COMPLETED)
            again: list[Job] = []
            for future in finished:
                job = running.pop(future)
                rows, halves = _rows(runs.study, future, job)
                again += halves
                store.write(rows)
                done += len(rows)
                room = place.ahead
            for job in again:
                running[backend.submit(job)] = job
            while len(running) < room and (job_ := next(waiting, None)) is not None:
                running[backend.submit(job_)] = job_
    if progress is not None:
        progress(1.0)


def _missing(runs: StudyRuns, store: ResultStore) -> Iterator[Job]:
    """Yield the jobs that are not done: whole blocks, or what a crash left of them."""
    for first in range(0, len(runs), runs.size):
        missing = store.missing(first, min(first + runs.size, len(runs)))
        # numbers that follow each other differ from their places by the same
        for _, group in groupby(enumerate(missing), lambda pair: pair[1] - pair[0]):
            numbers = [number for _, number in group]
            yield runs.job(numbers[0], numbers[-1] + 1)


def _rows(
    study: Study, future: Future[Rows], job: Job
) -> tuple[list[tuple[int, tuple[Value, ...]]], tuple[Job, ...]]:
    """Return the rows of a job, or jobs to try instead where its process crashed."""
    try:
        results = future.result()
    except WorkerError as error:
        if len(job.points) > 1:  # one of them: the others shall have results
            return [], job.halves()
        results = [(*(None for _ in study.outcomes), str(error))]
    both = enumerate(zip(job.begins, results, strict=True))
    return [(job.first + at, (*begin, *result)) for at, (begin, result) in both], ()


def _write(
    runs: StudyRuns,
    store: ResultStore,
    place: Place,
    out: Path,
    replace: bool,
    page: Page | None,
) -> StudyResult:
    study = runs.study
    table = read_table(study, store.rows())
    summary = summarise(runs, store, place, table)

    def write(part: Path) -> None:
        write_csv(part / CSV_NAME, study, store.rows())
        write_parquet(part / PARQUET_NAME, study, store.rows())
        write_text_atomically(part / STUDY_NAME, study.text)
        write_text_atomically(part / SUMMARY_NAME, summary_as_json(summary))
        if page is not None:
            write_text_atomically(part / REPORT_NAME, page(table, summary))

    write_folder(out, write, files=FILES, replace=replace)
    return StudyResult(out, summary, table)
