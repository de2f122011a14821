"""Work that is done by a Ray cluster: one that is started here, or an existing one.

Jobs are Ray tasks of one core each. Ray does a job again when its process or its
machine was lost; a job that raises, or that ends its process each time, fails alone. To
a cluster that exists, this installation's Equipoise is sent, so that all run the same
code; what it needs must be installed there.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, TypeVar

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.study.workers import ONE_THREAD, WorkerError, words_of

Job = TypeVar("Job")
Result = TypeVar("Result")

# How often a job is done again whose process ended.
RETRIES = 3
# Jobs that Ray has for each core: the next one is there when one is done.
JOBS_PER_CORE = 2
# How often it is asked how many cores a cluster has, as it may grow [s].
CORES_SECONDS = 10.0
# How long a port may take to accept a connection, and a cluster to answer [s].
PORT_SECONDS, ANSWER_SECONDS = 5.0, 20.0
# Jobs and results are small: Ray would reserve a third of the memory.
OBJECT_STORE_BYTES = 200 * 2**20
CLIENT = "ray://"
PRINTS = "_worker_logs_enabled"
INSTALL = "pip install 'equipoise[ray]'"
# Asks a cluster for an answer, in a process that can be ended when none comes: Ray
# itself may try for minutes, and prints what it tries.
PROBE = """
import sys, ray
try:
    ray.init(address=sys.argv[1], logging_level="CRITICAL", log_to_driver=False)
    ray.cluster_resources()
except Exception as error:
    print(" ".join(str(error).split()))
    sys.exit(1)
"""


class RayWorkers(Generic[Job, Result]):
    """A Ray cluster that does the same work for many jobs.

    Use it as a context manager; its end drops what is still waiting or running. A
    cluster that was started here ends with it, and with this process, however it ends.
    """

    def __init__(
        self,
        work: Callable[[Job], Result],
        address: str | None = None,
        count: int | None = None,
    ) -> None:
        """Prepare; the cluster is started, or connected to, on entry.

        Args:
            work: Takes a job, returns its result; it, jobs and results are pickled. It
                is sent to the cluster once.
            address: ``"ray://host:port"`` for the Ray Client of a cluster; ``"auto"``
                or ``"host:port"`` for a cluster that this machine is part of; None for
                ``RAY_ADDRESS`` of the environment, or else a cluster of this machine
                that is started, and stopped at the end.
            count: Most jobs at a time; None for as many as there are cores.

        Raises:
            EquipoiseError: If there is not at least one worker, or no Ray installed.
        """
        if count is not None and count < 1:
            raise EquipoiseError(f"{count} Ray workers; there must be 1 or more")
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._count = count
        needed = ["ray"]
        if self._address is not None and self._address.startswith(CLIENT):
            needed.append("grpc")
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            raise EquipoiseError(
                f"Ray is needed ({', '.join(missing)} is not installed): {INSTALL}"
            )
        self._work = work
        self._sent: Any = None
        self._task: Any = None
        self._events: SimpleQueue[_Event] = SimpleQueue()
        self._dispatcher = threading.Thread(target=self._dispatch, daemon=True)
        self._open: set[Future[Result]] = set()
        self._lock = threading.Lock()
        self._over = False
        self._stack = ExitStack()

    def __enter__(self) -> RayWorkers[Job, Result]:
        """Start or find the cluster, and send the work to it.

        Raises:
            EquipoiseError: If no cluster can be started, or none answers in time.
        """
        import ray

        if self._address is not None:
            check_cluster(self._address)
        if ray.is_initialized():
            raise EquipoiseError(
                "this program is connected to Ray already; call ray.shutdown() before"
            )
        with ExitStack() as stack:
            if self._address is None:
                stack.enter_context(_started(self._count or os.cpu_count() or 1))
            else:
                stack.enter_context(_connected(self._address))
            self._sent = ray.put(self._work)
            self._task = ray.remote(_do).options(num_cpus=1, max_retries=RETRIES)
            self._dispatcher.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the cluster, or stop it if it was started here."""
        self._over = True
        self._events.put(None)
        self._dispatcher.join()
        self._sent = self._task = None
        self._stack.close()
        with self._lock:
            left = [*self._open]
        for future in left:
            with suppress(InvalidStateError):  # one that was done just now
                if not future.cancel():
                    future.set_exception(EquipoiseError("no more jobs are done"))

    def submit(self, job: Job) -> Future[Result]:
        """Do a job when the cluster has a core for it.

        The result of the future raises :class:`WorkerError` if the job raised, or if
        its process ended each time that it was tried, and another EquipoiseError if the
        cluster is lost.
        """
        if self._over:
            raise EquipoiseError("no more jobs are done")
        future: Future[Result] = Future()
        with self._lock:
            self._open.add(future)
        future.add_done_callback(self._closed)
        self._events.put((job, future))
        return future

    def _closed(self, future: Future[Result]) -> None:
        with self._lock:
            self._open.discard(future)

    def _dispatch(self) -> None:
        """Hand jobs to Ray as it has room for them; runs in a thread of its own.

        Ray says in threads of its own what is done, where Ray must not be called.
        """
        waiting: deque[tuple[Job, Future[Result]]] = deque()
        running = 0
        room = self._room()
        asked = time.monotonic()
        while (event := self._events.get()) is not None:
            if isinstance(event, tuple):
                waiting.append(event)
            else:
                running -= 1
            if time.monotonic() - asked > CORES_SECONDS:
                room, asked = self._room(), time.monotonic()
            while waiting and running < room and not self._over:
                job, future = waiting.popleft()
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    # in a list, it is a reference there, too: fetched once a process
                    answer = self._task.remote([self._sent], job).future()
                except Exception as error:
                    future.set_exception(_lost(error))
                    continue
                running += 1
                answer.add_done_callback(self._settle(future))

    def _settle(self, future: Future[Result]) -> Callable[[Future[Any]], None]:
        def settle(answer: Future[Any]) -> None:
            with suppress(InvalidStateError):  # given up meanwhile
                _settled(answer, future)
            self._events.put(answer)

        return settle

    def _room(self) -> int:
        """Return how many jobs Ray may have at a time."""
        import ray

        if self._count is not None and self._address is not None:
            return self._count
        try:
            resources: Any = ray.cluster_resources
            cores = resources().get("CPU", 0.0)
        except Exception:  # the jobs will say so
            cores = 0.0
        return max(1, int(JOBS_PER_CORE * cores))


_Event = tuple[Any, Future[Any]] | Future[Any] | None


def _settled(answer: Future[Any], future: Future[Any]) -> None:
    """Give a job's future what Ray answered."""
    from ray.exceptions import OutOfMemoryError, WorkerCrashedError

    error = answer.exception()
    if isinstance(error, OutOfMemoryError):
        future.set_exception(WorkerError("its process took too much memory"))
    elif isinstance(error, WorkerCrashedError):
        future.set_exception(
            WorkerError(f"its process ended each of {RETRIES + 1} times")
        )
    elif error is not None:
        future.set_exception(_lost(error))
    else:
        done, result = answer.result()
        if done:
            future.set_result(result)
        else:
            future.set_exception(WorkerError(result))


def _lost(error: BaseException) -> EquipoiseError:
    words = " ".join(str(error).split())
    return EquipoiseError(
        f"the Ray cluster does no more jobs: {type(error).__name__}: {words}"
    )


def _do(sent: list[Any], job: Any) -> tuple[bool, Any]:
    """Do a job in a process of the cluster; return whether it could, and the result."""
    try:
        return True, _received(sent[0])(job)
    except Exception as error:
        return False, words_of(error)


@lru_cache(maxsize=1)
def _received(sent: Any) -> Callable[[Any], Any]:
    """Return the work, fetched once in each process."""
    import ray

    work: Callable[[Any], Any] = ray.get(sent)
    return work


@contextmanager
def _started(count: int) -> Iterator[None]:
    """Have a Ray cluster of this machine alone, with a number of workers.

    Its ports are open to other machines where no firewall forbids it: whoever connects
    must know a secret of this process.
    """
    import ray

    path = os.pathsep.join(os.path.abspath(place) for place in sys.path)
    with (
        tempfile.TemporaryDirectory(
            prefix="eq-ray-", ignore_cleanup_errors=True
        ) as folder,
        _own_settings(),
        _leaving_ray(),
    ):
        try:
            ray.init(
                address="local",
                num_cpus=count,
                num_gpus=0,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                logging_level=logging.CRITICAL,
                log_to_driver=False,
                runtime_env={"env_vars": {**ONE_THREAD, "PYTHONPATH": path}},
                _temp_dir=folder,
            )
        except Exception as error:
            raise EquipoiseError(
                f"no Ray cluster can be started: {words_of(error)}"
            ) from error
        yield


@contextmanager
def _connected(address: str) -> Iterator[None]:
    """Be connected to a cluster that exists, whose processes get this Equipoise."""
    import ray

    code = str(Path(equipoise.__file__).parent)
    with _leaving_ray():
        try:
            ray.init(
                address=address,
                logging_level=logging.CRITICAL,
                log_to_driver=False,
                runtime_env={
                    "env_vars": ONE_THREAD,
                    "py_modules": [code],
                    "excludes": ["__pycache__"],
                },
            )
        except Exception as error:
            raise EquipoiseError(
                f"the Ray cluster at {address} cannot be used: {words_of(error)}"
            ) from error
        yield


@contextmanager
def _leaving_ray() -> Iterator[None]:
    """Leave Ray at the end, and stop what was started of it, which is silent."""
    import ray
    from ray._private import worker

    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    # Ray prints that a process was lost, whatever it is told of logs; this switch of
    # its debugger is the only one.
    said = getattr(worker, PRINTS, True)
    setattr(worker, PRINTS, False)
    try:
        yield
    finally:
        ray.shutdown()
        logger.setLevel(level)
        setattr(worker, PRINTS, said)


def check_cluster(address: str) -> None:
    """Check that a Ray cluster answers at an address.

    Args:
        address: As for :class:`RayWorkers`.

    Raises:
        EquipoiseError: If it is not an address, or none answers in time.
    """
    host, colon, port = address.removeprefix(CLIENT).rpartition(":")
    if address != "auto":
        if not (colon and host and port.isdecimal() and int(port) < 2**16):
            raise EquipoiseError(
                f"{address!r} is not the address of a Ray cluster; it must be "
                "ray://host:port, host:port or auto"
            )
        try:
            socket.create_connection(
                (host.strip("[]"), int(port)), PORT_SECONDS
            ).close()
        except OSError as error:
            raise EquipoiseError(
                f"no Ray cluster answers at {address}: {error.strerror or error}"
            ) from error
    try:
        asked = subprocess.run(
            [sys.executable, "-c", PROBE, address],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ANSWER_SECONDS,
            text=True,
        )
    except subprocess.TimeoutExpired as error:
        raise EquipoiseError(
            f"no Ray cluster answers at {address} within {ANSWER_SECONDS:g} s; one "
            "that asks for a token needs RAY_AUTH_MODE=token here"
        ) from error
    if asked.returncode:
        words = asked.stdout.strip() or f"status {asked.returncode}"
        raise EquipoiseError(f"no Ray cluster answers at {address}: {words}")


@cache
def _secret() -> str:
    """Return the secret of clusters that this process starts: Ray keeps the first."""
    return secrets.token_hex(32)


@contextmanager
def _own_settings() -> Iterator[None]:
    """Set what Ray takes from the environment; afterwards it is as it was."""
    before = {name: value for name, value in os.environ.items() if _is_rays(name)}
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not any(name.startswith("RAY_AUTH_") for name in before):
        os.environ["RAY_AUTH_TOKEN"] = _secret()
    try:
        yield
    finally:
        for name in filter(_is_rays, list(os.environ)):
            del os.environ[name]
        os.environ.update(before)


def _is_rays(name: str) -> bool:
    return name.startswith("RAY_")
