"""Meshes read by coal in a process of their own, with bounds of memory and time.

coal reads meshes with assimp. One odd byte in a COLLADA file makes that take all of the
memory or never end, and others make it crash; a process can be ended. Starting one
takes a tenth of a second, so that a single one reads the meshes of all robots, and is
replaced when it had to be ended.

This file is also the program that runs there; it imports nothing of Equipoise.
"""

from __future__ import annotations

import atexit
import os
import select
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_MEMORY_BYTES = 2 * 1024**3
# A large file takes longer [s].
SECONDS, SECONDS_A_MEGABYTE = 10.0, 1.0
# Time for the process to start, on a busy machine [s].
START_SECONDS = 20.0
# Vertices and triangles of an answer; no file within the bounds gives more.
MOST_ROWS = 100_000_000
# Length of a path, seconds; numbers of vertices and triangles, zero for no mesh.
QUESTION, ANSWER = struct.Struct("<Id"), struct.Struct("<QQ")


class RawMesh(NamedTuple):
    """Vertices (n, 3) and triangles (m, 3) as they stand in a file."""

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]


def read_with_coal(path: Path) -> RawMesh | None:
    """Return the mesh in a file; None where coal finds none, crashes or runs away."""
    return _WORKER.read(path)


def end_worker() -> None:
    """End the process that reads meshes; the next mesh starts another."""
    _WORKER.end()


class _Worker:
    """A process that reads meshes, started when the first one is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)
        # a forked process must not speak to the worker of its parent
        os.register_at_fork(after_in_child=self._forget)

    def read(self, path: Path) -> RawMesh | None:
        """Return a mesh; what a process that read others before refuses is read anew.

        A broken file may leave its process with little memory, or about to crash, and
        the next one is not to blame for that.
        """
        seconds = SECONDS + SECONDS_A_MEGABYTE * path.stat().st_size / 1e6
        with self._lock:
            read_others, began = self._process is not None, time.monotonic()
            mesh = self._try(path, seconds)
            took_all_its_time = time.monotonic() - began > 0.9 * seconds
            if mesh is None and read_others and not took_all_its_time:
                self._end()
                mesh = self._try(path, seconds)
            return mesh

    def end(self) -> None:
        with self._lock:
            self._end()

    def _try(self, path: Path, seconds: float) -> RawMesh | None:
        try:
            return self._ask(path, seconds)
        except (OSError, EOFError):  # it has crashed, or takes too long
            self._end()
            return None
        except BaseException:  # its answer would be taken for the next one's
            self._end()
            raise

    def _ask(self, path: Path, seconds: float) -> RawMesh | None:
        fresh = self._process is None
        process = self._running()
        assert process.stdin is not None
        name = os.fsencode(path.absolute())
        process.stdin.write(QUESTION.pack(len(name), seconds) + name)
        process.stdin.flush()
        until = time.monotonic() + seconds + (START_SECONDS if fresh else 0.0)
        vertices, triangles = ANSWER.unpack(self._receive(ANSWER.size, until))
        if max(vertices, triangles) > MOST_ROWS:
            raise EOFError("an answer beyond all bounds")
        if vertices == 0:
            return None
        points = np.frombuffer(self._receive(24 * vertices, until), "<f8")
        corners = np.frombuffer(self._receive(12 * triangles, until), "<i4")
        return RawMesh(points.reshape(-1, 3), corners.reshape(-1, 3))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # a Ctrl-C is for the one who asks
                start_new_session=True,
            )
        return self._process

    def _receive(self, size: int, until: float) -> bytearray:
        assert self._process is not None
        assert self._process.stdout is not None
        pipe, received = self._process.stdout.fileno(), bytearray()
        ready = select.poll()
        ready.register(pipe, select.POLLIN)
        while len(received) < size:
            left = max(until - time.monotonic(), 0.0)
            if not ready.poll(1e3 * left):
                raise TimeoutError
            part = os.read(pipe, min(size - len(received), 1 << 20))
            if not part:
                raise EOFError
            received += part
        return received

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        process.wait()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # not ours to wait for
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()


_WORKER = _Worker()


def _main() -> None:
    """Read the meshes that are asked for, until nobody asks any more."""
    import resource
    import signal

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the reader prints is no answer
    while len(head := sys.stdin.buffer.read(QUESTION.size)) == QUESTION.size:
        length, seconds = QUESTION.unpack(head)
        name = sys.stdin.buffer.read(length)
        # ends this process even if the one that asks has gone
        signal.setitimer(signal.ITIMER_REAL, seconds)
        mesh = _loaded(os.fsdecode(name))
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        answers.write(ANSWER.pack(len(mesh.vertices), len(mesh.triangles)))
        answers.write(mesh.vertices.tobytes())
        answers.write(mesh.triangles.tobytes())
        answers.flush()


def _loaded(name: str) -> RawMesh:
    import coal

    nothing = RawMesh(np.zeros((0, 3)), np.zeros((0, 3), np.int32))
    try:
        # of its trees, which nobody needs here, that of boxes takes the least time
        model = coal.MeshLoader(coal.NODE_TYPE.BV_AABB).load(name)
        corners = (model.tri_indices(at) for at in range(model.num_tris))
        triangles = np.array([(t[0], t[1], t[2]) for t in corners], dtype="<i4")
        vertices = np.array(model.vertices(), dtype="<f8")
    except (ValueError, RuntimeError):
        return nothing
    return RawMesh(vertices.reshape(-1, 3), triangles.reshape(-1, 3))


if __name__ == "__main__":
    _main()
