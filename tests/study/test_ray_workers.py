"""Work on a real Ray cluster of this machine, started and stopped once."""

from __future__ import annotations

import operator
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from study.studies import STANDING, written

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.study.experiments import Experiment, Job
from equipoise.study.places import Place
from equipoise.study.ray_workers import RayWorkers
from equipoise.study.run_study import do_runs
from equipoise.study.runs import StudyRuns
from equipoise.study.store import ResultStore
from equipoise.study.workers import WorkerError, Workers

ray = pytest.importorskip("ray", reason="Ray is not installed: equipoise[ray]")

call = operator.methodcaller("__call__")
MOST_SECONDS = 20.0
# The first process that evaluates it writes its number to a file, and waits.
KILLED_ONCE = """
7 if __import__("os").path.exists({path!r}) else [
    open({path!r}, "w").write(str(__import__("os").getpid())),
    __import__("time").sleep(600),
]
"""
OTHER_PROGRAM = """
import sys
from equipoise.study.ray_workers import RayWorkers
with RayWorkers(eval, sys.argv[1], 1) as workers:
    print(workers.submit("__import__('equipoise').__file__").result())
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[RayWorkers]:
    """Return two workers of a cluster; of its processes none is left at the end."""
    before = descendants(os.getpid())  # of other tests, a browser say
    with RayWorkers(call, None, 2) as started:
        yield started
        processes = set(descendants(os.getpid())).difference(before)
    assert processes
    until = time.monotonic() + MOST_SECONDS
    while (left := [p for p in processes if lives(p)]) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


def descendants(parent: int) -> list[int]:
    """Return the numbers of a process's children, and of theirs."""
    children: list[int] = []
    for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
        children += map(int, tasks.read_text().split())
    return children + [d for child in children for d in descendants(child)]


def lives(process: int) -> bool:
    """Return whether a process runs; one that ended and is not collected does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_results_are_those_of_processes(workers: RayWorkers) -> None:
    """Results, and errors with their words, are the same."""

    def outcomes(backend: RayWorkers | Workers) -> list[object]:
        done = [backend.submit(partial(divmod, 17, k % 5)) for k in range(20)]
        errors = [future.exception() for future in done]
        return [
            future.result() if error is None else (type(error), str(error))
            for future, error in zip(done, errors, strict=True)
        ]

    with Workers(call, 2) as processes:
        expected = outcomes(processes)
    assert outcomes(workers) == expected
    assert expected[3] == (5, 2)
    assert [isinstance(result[1], str) for result in expected] == [
        k % 5 == 0 for k in range(20)
    ]


def test_processes_have_one_thread(workers: RayWorkers) -> None:
    """Cores are for processes."""
    assert workers.submit(partial(os.getenv, "OMP_NUM_THREADS")).result() == "1"


def test_a_killed_worker_is_replaced(
    workers: RayWorkers, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The job of a process that is killed is done again, in silence; others go on."""
    written = tmp_path / "process"
    lost = workers.submit(partial(eval, KILLED_ONCE.format(path=str(written))))
    others = [workers.submit(partial(abs, -k)) for k in range(10)]
    until = time.monotonic() + MOST_SECONDS
    while not (written.exists() and written.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(int(written.read_text()), signal.SIGKILL)
    assert lost.result(MOST_SECONDS) == 7
    assert [future.result(MOST_SECONDS) for future in others] == list(range(10))
    assert capfd.readouterr() == ("", "")


def test_a_job_that_always_crashes_fails(workers: RayWorkers) -> None:
    """It is given up after a few times, alone."""
    crash = workers.submit(partial(os.abort))
    fine = workers.submit(partial(abs, -2))
    with pytest.raises(WorkerError, match="its process ended each of 4 times"):
        crash.result(MOST_SECONDS)
    assert fine.result(MOST_SECONDS) == 2


def test_the_table_of_a_study(workers: RayWorkers, tmp_path: Path) -> None:
    """It is the same from the cluster, a worker killed midway, as from this process."""
    text = STANDING.replace("count = 24", "count = 5")
    study = eq.load_study(written(tmp_path, text))
    killed: list[int] = []

    def kill_one(done: float) -> None:
        found = [p for p in descendants(os.getpid()) if doing(p)]
        if done > 0.0 and found and not killed:
            killed.append(found[0])
            os.kill(found[0], signal.SIGKILL)

    tables = {}
    for name, place in (
        ("cluster", OnCluster("cores", 2, workers=workers)),
        ("here", Here("cores", 1)),
    ):
        runs = StudyRuns(study, place)
        path = tmp_path / name
        with ResultStore(path, runs.identity(), study.columns) as store:
            do_runs(runs, store, place, kill_one)
            tables[name] = list(store.rows())
    assert killed
    assert len(tables["here"]) == 5
    assert tables["cluster"] == tables["here"]


@dataclass(frozen=True)
class OnCluster(Place):
    """The cluster that is there already."""

    workers: RayWorkers | None = None

    def backend(self, work: Experiment) -> AbstractContextManager[Any]:
        """Return it for some work."""
        to_do = self.workers
        return nullcontext(
            SimpleNamespace(submit=lambda job: to_do.submit(partial(work, job)))
        )


class Here(Place):
    """This process."""

    def backend(self, work: Experiment) -> AbstractContextManager[Any]:
        """Return what does jobs at once."""
        return nullcontext(SimpleNamespace(submit=lambda job: at_once(work, job)))


def at_once(work: Experiment, job: Job) -> Future[Any]:
    """Return a future that is done."""
    future: Future[Any] = Future()
    future.set_result(work(job))
    return future


def doing(process: int) -> bool:
    """Return whether a process of Ray's is at work on a job."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"ray::_do")
    except OSError:
        return False


def test_another_program_uses_the_cluster(workers: RayWorkers) -> None:
    """It connects by address, and its own Equipoise is sent to the processes."""
    address = ray.get_runtime_context().gcs_address
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROGRAM, address],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "_ray_pkg_" in done.stdout


def test_connected_already(workers: RayWorkers) -> None:
    """A program has one connection."""
    with (
        pytest.raises(EquipoiseError, match="connected to Ray already"),
        RayWorkers(call, None, 1),
    ):
        pass


@pytest.mark.parametrize("scheme", ["ray://", ""])
def test_nothing_listens(scheme: str) -> None:
    """The message names the address, at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{free.getsockname()[1]}"
    with (
        pytest.raises(EquipoiseError, match=f"no Ray .* at {address}: .* refused$"),
        RayWorkers(call, address, 1),
    ):
        pass


def test_what_listens_is_not_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time limit ends the wait."""
    monkeypatch.setattr("equipoise.study.ray_workers.ANSWER_SECONDS", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"ray://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(EquipoiseError, match=r"no Ray cluster .* within 1 s"),
            RayWorkers(call, address, 1),
        ):
            pass


@pytest.mark.parametrize("address", ["ray://host", "host:port", "ray://:10001", "host"])
def test_no_address(address: str) -> None:
    """What cannot be an address is refused, and what can be is said."""
    with (
        pytest.raises(EquipoiseError, match=f"'{address}' is not .* ray://host:port"),
        RayWorkers(call, address, 1),
    ):
        pass


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to install it."""
    monkeypatch.setattr("equipoise.study.ray_workers.find_spec", lambda name: None)
    with pytest.raises(EquipoiseError, match=r"pip install 'equipoise\[ray\]'"):
        RayWorkers(call, None, 1)


def test_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's own variable says which cluster is meant, if nothing else does."""
    monkeypatch.setenv("RAY_ADDRESS", "nowhere")
    with (
        pytest.raises(EquipoiseError, match="'nowhere' is not the address"),
        RayWorkers(call, None, 1),
    ):
        pass


def test_no_workers_are_refused() -> None:
    """One line."""
    with pytest.raises(EquipoiseError, match="1 or more"):
        RayWorkers(call, None, 0)
