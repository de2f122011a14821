"""Work in processes of its own."""

from __future__ import annotations

import math
import operator
import os
import sys
from functools import partial

import pytest

from equipoise.errors import EquipoiseError
from equipoise.study.workers import WorkerError, Workers


def test_jobs_are_done_and_fail_alone() -> None:
    """A result, an error with its words, and a result again."""
    with Workers(math.sqrt, 2) as workers:
        done = [workers.submit(job) for job in (4.0, -1.0, 9.0)]
        assert done[0].result() == 2.0
        with pytest.raises(WorkerError, match="ValueError: math domain error"):
            done[1].result()
        assert done[2].result() == 3.0


def test_a_crash_costs_one_job() -> None:
    """The next job gets a new process."""
    with Workers(sys.exit, 1) as workers, pytest.raises(WorkerError, match="status 3"):
        workers.submit(3).result()
    with Workers(operator.methodcaller("__call__"), 1) as workers:
        crash = workers.submit(partial(os.abort))
        fine = workers.submit(partial(abs, -2))
        with pytest.raises(WorkerError, match=r"signal 6 \(Aborted\)"):
            crash.result()
        assert fine.result() == 2


def test_processes_have_one_thread() -> None:
    """Cores are for processes."""
    with Workers(os.getenv, 1) as workers:
        assert workers.submit("OMP_NUM_THREADS").result() == "1"


def test_no_processes_are_refused() -> None:
    """One line."""
    with pytest.raises(EquipoiseError, match="1 or more"):
        Workers(math.sqrt, 0)
