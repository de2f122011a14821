"""Where a study runs: processes on this computer, its GPU, or a Ray cluster."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from equipoise.errors import EquipoiseError
from equipoise.study.batched_walks import why_one_by_one
from equipoise.study.experiments import Experiment, Job
from equipoise.study.store import Value
from equipoise.study.study_file import Study
from equipoise.study.workers import Workers, cores

CORES, GPU, RAY = "cores", "gpu", "ray"
# Jobs that wait at a backend, for each that is done at a time; at a cluster of unknown
# size.
AHEAD, AHEAD_OF_CLUSTER = 2, 2000

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
        jobs: Number of jobs that are done at a time; None for as many as a cluster
            has cores.
        notice: Why it is not where it was asked for, or None.
    """

    on: str
    jobs: int | None
    notice: str | None = None

    @property
    def ahead(self) -> int:
        """Number of jobs that a backend is given before it has done any."""
        return AHEAD_OF_CLUSTER if self.jobs is None else AHEAD * self.jobs

    def backend(self, work: Experiment) -> AbstractContextManager[Backend]:
        """Return the backend for some work.

        Raises:
            EquipoiseError: If a cluster does not answer.
        """
        if self.on.startswith(RAY):
            from equipoise.study.ray_workers import RayWorkers

            address = None if self.on == RAY else self.on
            return RayWorkers(work, address, self.jobs)
        return Workers(work, self.jobs or cores())


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
    return Place(on, jobs or (cores() if on in (CORES, RAY) else None))
