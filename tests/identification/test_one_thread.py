from __future__ import annotations

from threading import Barrier, Thread

import numpy as np
from threadpoolctl import threadpool_info

from equipoise.identification.one_thread import one_thread


def threads() -> list[int]:
    """Return how many threads each library of linear algebra may use."""
    np.linalg.inv(np.eye(2))
    found = threadpool_info()
    return [item["num_threads"] for item in found if item["user_api"] == "blas"]


def test_linear_algebra_has_one_thread_inside() -> None:
    """One inside, errors or not, and as before afterwards."""
    before = threads()
    assert set(one_thread(threads)()) == {1}
    assert threads() == before


def test_calls_that_overlap_give_the_threads_back() -> None:
    """The last one to leave restores what the first one found."""
    before, both = threads(), Barrier(2)
    seen: list[list[int]] = []

    @one_thread
    def meet() -> None:
        both.wait(10.0)
        seen.append(threads())

    workers = [Thread(target=meet) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(set(each) == {1} for each in seen)
    assert threads() == before
