"""What a study will take: time, memory and disk, from jobs that are timed."""

from __future__ import annotations

import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from equipoise.study.places import CORES, place_for
from equipoise.study.runs import StudyRuns
from equipoise.study.study_file import Study, load_study
from equipoise.study.workers import Workers, cores


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
    """Return what a study will take, from its first job, done twice, and its last.

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
    width = min(place.jobs or cores(), blocks)
    seconds = times[0] + max(blocks - 1, 0) * block / width
    row_bytes += len(repr(runs.job(0, 1).begins))
    return Estimate(
        runs=len(runs),
        blocks=blocks,
        jobs=width,
        first_seconds=times[0],
        block_seconds=block,
        seconds=seconds,
        memory_bytes=1024 * (own + width * children),
        disk_bytes=3 * row_bytes * len(runs),
        notice=place.notice,
    )
