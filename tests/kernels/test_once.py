from __future__ import annotations

import threading
import time

import pytest

from equipoise.kernels.once import once


def test_threads_get_the_same_object():
    """Eight threads that ask at the same time make one object and share it."""

    @once
    def make(name: str) -> list[str]:
        time.sleep(0.01)
        return [name]

    together = threading.Barrier(8)
    made: list[list[str]] = []

    def ask() -> None:
        together.wait()
        made.append(make("tree"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert all(one is made[0] for one in made)
    assert make("lanes") == ["lanes"]


def test_what_raised_is_tried_again():
    """An error is not kept."""
    attempts: list[int] = []

    @once
    def make() -> int:
        attempts.append(len(attempts))
        if len(attempts) == 1:
            raise OSError("disk full")
        return 1

    with pytest.raises(OSError, match="disk full"):
        make()
    assert (make(), make()) == (1, 1)
    assert len(attempts) == 2
