"""A study from its file to its folder: where it runs, what is kept, what is written.

Runs are numbered, and done in fixed blocks of numbers. Each block is a job for a
backend (processes, a GPU, a Ray cluster), and is written to the store as one transaction
when it is done. A study that was killed goes on with the blocks that are missing, and
ends with the same table.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from equipoise.atomic_file import write_text_atomically
from equipoise.errors import EquipoiseError
from equipoise.log.folder import (
    REPORT_NAME,
    SUMMARY_NAME,
    check_folder,
    summary_as_json,
    write_folder,
)
from equipoise.simulation.summary import versions
from equipoise.study.batched_walks import Device, why_one_by_one
from equipoise.study.experiments import Experiment, Job, make_experiment
from equipoise.study.outcomes import SURVIVED
from equipoise.study.possible_robots import PossibleRobots, possible_robots
from equipoise.study.sampling import Points
from equipoise.study.store import (
    ResultStore,
    Value,
    code_hash,
    content_hash,
    remove_store,
    store_beside,
)
from equipoise.study.study_file import Study, load_study
from equipoise.study.table import (
    CSV_NAME,
    PARQUET_NAME,
    StudyTable,
    read_table,
    write_csv,
    write_parquet,
)
from equipoise.study.workers import WorkerError, Workers, cores

STUDY_NAME = "study.toml"
FILES = (SUMMARY_NAME, REPORT_NAME, CSV_NAME, PARQUET_NAME, STUDY_NAME)
CORES, GPU, RAY = "cores", "gpu", "ray"
# Packages of ours that have no part in a run.
NOT_RUNNING = ("cli", "show")
# How often to look for Ctrl-C [s].
WATCH_PERIOD = 0.2
# Jobs that wait at a backend, for each that is done at a time.
AHEAD = 2
# Errors that a summary tells of.
MOST_ERRORS = 10

Rows = list[tuple[Value, ...]]


class Backend(Protocol):
    """Where jobs are done."""

    def submit(self, job: Job) -> Future[Rows]:
        """Do a job when there is room."""
        ...


@dataclass(frozen=True)
class Place:
    """Where a study runs.

    Attributes:
        on: ``"cores"``, ``"gpu"``, ``"ray"`` or ``"ray://host:port"``.
        jobs: Number of jobs that are done at a time.
        notice: Why it is not where it was asked for, or None.
    """

    on: str
    jobs: int
    notice: str | None = None

    def backend(self, work: Experiment) -> AbstractContextManager[Backend]:
        """Return the backend for some work.

        Raises:
            EquipoiseError: If a cluster does not answer.
        """
        if self.on.startswith(RAY):
            from equipoise.study.ray_workers import RayWorkers

            address = None if self.on == RAY else self.on
            return RayWorkers(work, address, self.jobs)
        return Workers(work, self.jobs)


def place_for(on: str, jobs: int | None, study: Study) -> Place:
    """Return where a study runs.

    Args:
        on: As in :func:`run_study`.
        jobs: Number of processes; one for each core unless given.
        study: The study, of which a GPU may not be able to do the runs.

    Raises:
        EquipoiseError: If there is no such place.
    """
    if jobs is not None and jobs < 1:
        raise EquipoiseError(f"{jobs} jobs at a time; there must be 1 or more")
    if on == GPU:
        from equipoise.kernels.runtime import has_cuda

        why = "no GPU was found" if not has_cuda() else why_one_by_one(study)
        if why is None:
            return Place(GPU, 1)
        return Place(CORES, jobs or cores(), f"{why}: it runs on cores")
    if on not in (CORES, RAY) and not on.startswith(f"{RAY}://"):
        raise EquipoiseError(
            f"nothing runs on '{on}'; choose from {CORES}, {GPU}, {RAY} and "
            f"{RAY}://HOST:PORT"
        )
    return Place(on, jobs or cores())


class StudyRuns:
    """The runs of a study: their points, and jobs of them.

    Attributes:
        study: The study.
        experiment: What does a run.
        points: Points of what is varied.
        robots: Possible robots, or None.
        size: Runs of a job.
    """

    def __init__(self, study: Study, place: Place) -> None:
        """Prepare all that runs have in common.

        Raises:
            EquipoiseError: If something asked for is impossible for all of them.
        """
        self.study = study
        self.robots: PossibleRobots | None = possible_robots(study)
        self.points: Points = study.points
        device = Device("cuda", "float32") if place.on == GPU else Device()
        self.experiment = make_experiment(study, device)
        used = self.experiment.device
        self.size = 1 if used is None else used.size(len(self))

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.points)

    def job(self, first: int, last: int) -> Job:
        """Return the job of runs from a number up to, and without, another."""
        numbers = range(first, min(last, len(self)))
        points = tuple(self.points[number] for number in numbers)
        if self.robots is None:
            return Job(first, points)
        drawn = tuple(self.robots[number].inertials for number in numbers)
        return Job(first, points, drawn)

    def begin_of_row(self, run: int) -> tuple[Value, ...]:
        """Return the values of the parameters of a run."""
        drawn = () if self.robots is None else self.robots[run].values
        return (*drawn, *self.points[run])

    def identity(self) -> dict[str, Any]:
        """Return what makes a study the same study, for its store."""
        study, made = self.study, self.experiment
        found = None if self.robots is None else self.robots.found.parameters
        return {
            "verb": study.verb,
            "robot": content_hash(study.robot, made.world),
            "run": content_hash(study.options, study.constants),
            "motion": content_hash(None if made.motion is None else made.motion.arms),
            "varied_parameters": content_hash(study.varied),
            "sampling": content_hash(study.sampling),
            "posterior": content_hash(found),
            "numbers": None if made.device is None else made.device.dtype,
            "batch": self.size,
            "code_of_Equipoise": code_hash(NOT_RUNNING),
            "versions": versions(),
        }


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


Page = Callable[[Study, StudyTable, dict[str, Any]], str]


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
        page: Makes the report's HTML of study, table and summary; none if None.

    Raises:
        EquipoiseError: If something asked for is impossible, the results kept there
            are another study's, or a cluster does not answer.
    """
    if not isinstance(study, Study):
        study = load_study(study)
    place = place_for(on, jobs, study)
    check_folder(out, files=FILES, replace=replace)
    runs = StudyRuns(study, place)
    path = store_beside(out)
    with ResultStore(path, runs.identity(), study.columns) as store:
        do_runs(runs, store, place, progress)
        result = _write(runs, store, place, Path(out), replace, page)
    remove_store(path)
    return result


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
                rows, halves = _rows(runs, future, job)
                again += halves
                store.write(rows)
                done += len(rows)
                room = AHEAD * place.jobs
            for job in again:  # few, and each is a single run
                running[backend.submit(job)] = job
            while len(running) < room and (job_ := next(waiting, None)) is not None:
                running[backend.submit(job_)] = job_
    if progress is not None:
        progress(1.0)


def _missing(runs: StudyRuns, store: ResultStore) -> Iterator[Job]:
    """Yield the jobs that are not done: whole blocks, or what a crash left of them."""
    for first in range(0, len(runs), runs.size):
        last = min(first + runs.size, len(runs))
        missing = store.missing(first, last)
        if len(missing) == last - first:
            yield runs.job(first, last)
        else:
            yield from (runs.job(number, number + 1) for number in missing)


def _rows(
    runs: StudyRuns, future: Future[Rows], job: Job
) -> tuple[list[tuple[int, tuple[Value, ...]]], list[Job]]:
    """Return the rows of a job, or jobs to try instead where its process crashed."""
    count = len(job.points)
    try:
        results = future.result()
    except WorkerError as error:
        if count > 1:  # one of them: each alone, so that the others have results
            alone = range(job.first, job.first + count)
            return [], [runs.job(number, number + 1) for number in alone]
        results = [(*(None for _ in runs.study.outcomes), str(error))]
    rows = [
        (job.first + at, (*runs.begin_of_row(job.first + at), *result))
        for at, result in enumerate(results)
    ]
    return rows, []


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
    summary = _summary(runs, store, place)

    def write(part: Path) -> None:
        write_csv(part / CSV_NAME, study, store.rows())
        write_parquet(part / PARQUET_NAME, study, store.rows())
        write_text_atomically(part / STUDY_NAME, study.text)
        write_text_atomically(part / SUMMARY_NAME, summary_as_json(summary))
        if page is not None:
            text = page(study, table, summary)
            write_text_atomically(part / REPORT_NAME, text)

    write_folder(out, write, files=FILES, replace=replace)
    return StudyResult(out, summary, table)


def _summary(runs: StudyRuns, store: ResultStore, place: Place) -> dict[str, Any]:
    study = runs.study
    names = study.columns
    at_survived = names.index(SURVIVED) if SURVIVED in names else None
    errors: Counter[str] = Counter()
    known = survived = 0
    spread = {own.name: _Spread() for own in study.outcomes if own.type != "str"}
    places = {name: names.index(name) for name in spread}
    for _, values in store.rows():
        if values[-1] is not None:
            errors[str(values[-1])] += 1
        if at_survived is not None and values[at_survived] is not None:
            known += 1
            survived += bool(values[at_survived])
        for name, at in places.items():
            spread[name].add(values[at])
    failed = sum(errors.values())
    count, used = len(runs), runs.experiment.device
    sentence = f"{count} runs of {study.verb} with {study.robot.name}"
    if at_survived is not None and known:
        sentence += f": {survived} of {known} survived ({100 * survived / known:.1f} %)"
    if failed:
        sentence += f"; {failed} failed with an error"
    return {
        "verb": "study",
        "study": study.name,
        "title": study.title,
        "of": study.verb,
        "robot": study.robot.name,
        "law": study.law,
        "achieved": failed < count,
        "sentence": f"{sentence}.",
        "runs": count,
        "failed": failed,
        "survived": survived if at_survived is not None else None,
        "survived_fraction": survived / known if known else None,
        "errors": [
            {"error": words, "runs": number}
            for words, number in errors.most_common(MOST_ERRORS)
        ],
        "parameters": [
            {"name": own.name, "unit": own.unit, "meaning": own.meaning}
            for own in study.parameters
        ],
        "outcomes": {
            own.name: {
                "unit": own.unit,
                "meaning": own.meaning,
                **(spread[own.name].as_dict() if own.name in spread else {}),
            }
            for own in study.outcomes
        },
        "options": dict(study.options),
        "constants": dict(study.constants),
        "sampling": {
            "method": study.sampling.method,
            "count": study.sampling.count,
            "seed": study.sampling.seed,
        },
        "on": place.on,
        "numbers": "float64" if used is None else used.dtype,
        "batch": runs.size,
        "notices": [] if place.notice is None else [place.notice],
        "versions": versions(),
    }


class _Spread:
    """Mean and range of a column, over rows that come one by one."""

    def __init__(self) -> None:
        self._count, self._sum = 0, 0.0
        self._least: float | None = None
        self._most: float | None = None

    def add(self, value: Value) -> None:
        """Count a value, if there is one."""
        if value is None or isinstance(value, str):
            return
        number = float(value)
        self._count, self._sum = self._count + 1, self._sum + number
        self._least = number if self._least is None else min(self._least, number)
        self._most = number if self._most is None else max(self._most, number)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        mean = self._sum / self._count if self._count else None
        known = {"known": self._count, "mean": mean}
        return {**known, "min": self._least, "max": self._most}


@dataclass(frozen=True)
class Estimate:
    """What a study will take.

    Attributes:
        runs: Number of runs.
        blocks: Number of jobs that they are done in.
        jobs: How many are done at a time.
        first_seconds: How long the first job took, kernels compiled if they were not
            [s].
        block_seconds: How long a job takes [s].
        seconds: How long all of it takes [s].
        memory_bytes: Memory that all processes need together.
        disk_bytes: Size of the store, and of the tables after it.
        notice: Why it is not where it was asked for, or None.
    """

    runs: int
    blocks: int
    jobs: int
    first_seconds: float
    block_seconds: float
    seconds: float
    memory_bytes: int
    disk_bytes: int
    notice: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def estimate_study(
    study: Study | Path | str, *, on: str = CORES, jobs: int | None = None
) -> Estimate:
    """Return what a study will take, from one job that is done twice, and the last.

    Nothing is written.

    Args:
        study: The study, or its file.
        on: As in :func:`run_study`; jobs are timed on this computer.
        jobs: As in :func:`run_study`.

    Raises:
        EquipoiseError: If something asked for is impossible.
    """
    if not isinstance(study, Study):
        study = load_study(study)
    place = place_for(on, jobs, study)
    runs = StudyRuns(study, place)
    blocks = -(-len(runs) // runs.size)
    last = (blocks - 1) * runs.size
    times = []
    row_bytes = 0
    with Workers(runs.experiment, 1) as workers:
        for first in (0, 0, last):
            job = runs.job(first, first + runs.size)
            began = time.perf_counter()
            rows = workers.submit(job).result()
            times.append(time.perf_counter() - began)
            row_bytes = max(row_bytes, *(len(repr(row)) for row in rows))
    # the worker has ended: its memory is counted
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    block = (times[1] + times[2]) / 2.0 if blocks > 1 else times[1]
    width = min(place.jobs, blocks)
    seconds = times[0] + max(blocks - 1, 0) * block / width
    row_bytes += sum(len(repr(value)) for value in runs.begin_of_row(0))
    return Estimate(
        runs=len(runs),
        blocks=blocks,
        jobs=place.jobs,
        first_seconds=times[0],
        block_seconds=block,
        seconds=seconds,
        memory_bytes=1024 * (own + width * children),
        disk_bytes=3 * row_bytes * len(runs),
        notice=place.notice,
    )
