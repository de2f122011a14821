"""Work that is done in processes of its own, each a fresh interpreter with one thread.

A job that crashes its process costs that job alone: the next one gets a new process.
Processes are started by hand, not by :mod:`multiprocessing`, so that a user's script
needs no guard around its main part, and they end by themselves when their parent does,
however it ends: their pipe is closed.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, TypeVar

from equipoise.errors import EquipoiseError

Job = TypeVar("Job")
Result = TypeVar("Result")

# The parent's module path comes first: it may be needed to find this file.
PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from equipoise.study.workers import serve; serve()"
)
# Libraries of linear algebra have one thread in each process: cores are for processes.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
READY = "ready"
# How long a process whose pipe is closed may take to end [s].
END_SECONDS = 2.0


class WorkerError(EquipoiseError):
    """A job that failed, or whose process crashed."""


class Workers(Generic[Job, Result]):
    """Processes that do the same work for many jobs.

    Use it as a context manager; its end kills what is still running.
    """

    def __init__(self, work: Callable[[Job], Result], count: int) -> None:
        """Prepare; processes are started when there are jobs for them.

        Args:
            work: Takes a job, returns its result; it, jobs and results are pickled.
            count: Number of processes.

        Raises:
            EquipoiseError: If there is not at least one process.
        """
        if count < 1:
            raise EquipoiseError(f"{count} processes; there must be 1 or more")
        self._work = work
        self._threads = ThreadPoolExecutor(count)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def __enter__(self) -> Workers[Job, Result]:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all processes; jobs that wait are dropped."""
        with self._lock:
            self._over = True
            for process in self._running:
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._running:
            _close(process)

    def submit(self, job: Job) -> Future[Result]:
        """Do a job when a process is free.

        The result of the future raises :class:`WorkerError` if the job raised or
        crashed its process, and another EquipoiseError if no process can be started.
        """
        return self._threads.submit(self._do, job)

    def _do(self, job: Job) -> Result:
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = self._start()
        try:
            _send(process, job)
            done, answer = _receive(process)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._own.process = None
            raise WorkerError(f"its process ended: {self._ended(process)}") from error
        if not done:
            raise WorkerError(answer)
        result: Result = answer
        return result

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._over:
                raise EquipoiseError("no more jobs are done")
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **ONE_THREAD},
            )
            self._running.add(process)
        try:
            _send(process, sys.path)
            _send(process, self._work)
            answer = _receive(process)
        except (OSError, EOFError, pickle.UnpicklingError):
            answer = (False, self._ended(process))
        if answer != (True, READY):
            raise EquipoiseError(f"a process cannot be started: {answer[1]}")
        return process

    def _ended(self, process: subprocess.Popen[bytes]) -> str:
        """Return how a process ended, in words."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        process.kill()  # where it said something that is no answer
        _close(process)
        with self._lock:
            self._running.discard(process)
        status = process.returncode
        if status < 0:
            return f"signal {-status} ({signal.strsignal(-status)})"
        return f"status {status}"


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def serve() -> None:
    """Take work and jobs from standard input until it ends; answer on standard output.

    What libraries print goes to standard error. Ctrl-C is the parent's to act on.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def say(done: bool, answer: Any) -> None:
        sink.write(pickle.dumps((done, answer)))
        sink.flush()

    with suppress(EOFError, BrokenPipeError):  # the parent has ended
        try:
            work = pickle.load(source)
        except EOFError:
            raise
        except Exception as error:  # a class that only the parent's script has
            say(False, words_of(error))
            return
        say(True, READY)
        while True:
            job = pickle.load(source)
            try:
                answer = (True, work(job))
            except Exception as error:
                answer = (False, words_of(error))
            say(*answer)


def words_of(error: Exception, longest: int | None = None) -> str:
    """Return what an error says, in one line.

    Args:
        error: The error.
        longest: Most letters of what it says; all of them unless given.
    """
    said = " ".join(str(error).split())[:longest]
    if isinstance(error, EquipoiseError):
        return said
    return f"{type(error).__name__}: {said}"


def _send(process: subprocess.Popen[bytes], value: object) -> None:
    assert process.stdin is not None
    process.stdin.write(pickle.dumps(value))
    process.stdin.flush()


def _receive(process: subprocess.Popen[bytes]) -> tuple[bool, Any]:
    assert process.stdout is not None
    answer: tuple[bool, Any] = pickle.load(process.stdout)
    return answer


def _close(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process, and close its pipes."""
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
