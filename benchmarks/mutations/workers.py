"""Processes that read broken files, each with bounds of memory and time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from benchmarks.mutations.examples import Examples
from benchmarks.mutations.mutate import mutated
from benchmarks.mutations.targets import from_python, on_the_command_line
from equipoise.robot.mesh_worker import end_worker

SECONDS = 20.0
MEMORY_BYTES = 2 * 1024**3
# Nothing is heard of a process that waits for ever; it has no processor time [s].
SILENCE = 240.0
BATCH = 100


@dataclass(frozen=True)
class Case:
    """A broken file: of which format, which one, and whether a command reads it."""

    kind: str
    number: int
    command: bool

    def label(self) -> str:
        """Return how to name it after ``--only``."""
        return f"{self.kind}:{self.number}{':cli' if self.command else ''}"


def write_case(case: Case, examples: Examples, seed: int, folder: Path) -> Path:
    """Write the file of a case; the same seed gives the same bytes."""
    dice = random.Random(f"{seed}:{case.kind}:{case.number}:{case.command}")
    name = dice.choice(sorted(examples.files))
    others = [own for other, own in examples.files.items() if other != name]
    kind = examples.kind
    if name == "b.stl":
        kind = "lines"
    elif name == "b.npy":
        kind = "binary"
    file = folder / f"case{Path(name).suffix}"
    file.write_bytes(mutated(examples.files[name], others, kind, dice))
    return file


def run_case(case: Case, examples: Examples, seed: int, folder: Path) -> str:
    """Return what becomes of a case: loaded, refused, or the fault."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = write_case(case, examples, seed, folder)
    if case.command:
        return on_the_command_line(case.kind, file, case.number)
    return from_python(case.kind, file)


def outcomes(
    cases: list[Case],
    examples: dict[str, Examples],
    seed: int,
    folder: Path,
    count: int,
) -> Iterator[tuple[Case, str]]:
    """Yield what becomes of each case, as it is known.

    Args:
        cases: The broken files to try.
        examples: Valid files by format.
        seed: Seed of all cases.
        folder: Where to work.
        count: Number of processes.
    """
    context = multiprocessing.get_context("fork")
    batches = [cases[at : at + BATCH] for at in range(0, len(cases), BATCH)][::-1]
    active: dict[Connection, tuple[BaseProcess, list[Case], float]] = {}
    started = 0
    while batches or active:
        while batches and len(active) < count:
            ours, theirs = context.Pipe(duplex=False)
            batch, started = batches.pop(), started + 1
            process = context.Process(
                target=_work,
                args=(theirs, batch, examples, seed, folder / str(started)),
            )
            process.start()
            theirs.close()
            active[ours] = process, list(batch), time.monotonic()
        for pipe in wait(list(active), timeout=1.0):
            assert isinstance(pipe, Connection)
            process, left, _ = active[pipe]
            try:
                result = pipe.recv()
            except EOFError:
                process.join()
                del active[pipe]
                pipe.close()
                if left:  # it died of the first that is left
                    yield left[0], _cause(process.exitcode)
                    batches += [left[1:]] if left[1:] else []
                continue
            active[pipe] = process, left[1:], time.monotonic()
            yield left[0], result
        for process, _, heard in list(active.values()):
            if time.monotonic() - heard > SILENCE:
                process.kill()


def _cause(status: int | None) -> str:
    name = signal.Signals(-status).name if status is not None and status < 0 else ""
    if name == "SIGPROF":
        return f"more than {SECONDS:g} s"
    return f"the process ended with {name or status}"


def _work(
    pipe: Connection,
    batch: list[Case],
    examples: dict[str, Examples],
    seed: int,
    folder: Path,
) -> None:
    """Try cases one by one and tell what becomes of each."""
    with contextlib.suppress(OSError):
        os.setsid()
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what libraries print themselves
        os.dup2(silent, stream)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for case in batch:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        result = run_case(case, examples[case.kind], seed, folder)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        pipe.send(" ".join(result.split())[:400])
    shutil.rmtree(folder, ignore_errors=True)
    pipe.close()
    end_worker()
    os._exit(0)
