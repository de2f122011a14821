"""Many small matrices: threads would only wait for one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

P = ParamSpec("P")
T = TypeVar("T")


class _Limit:
    """One thread for linear algebra while anybody is inside."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limits: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it; the last one to leave gives the threads back."""
        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limits.restore_original_limits()


_LIMIT = _Limit()


def one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that lets linear algebra use one thread only.

    On an idle machine it is as fast; beside other work it may be ten times faster.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with _LIMIT.held():
            return function(*args, **kwargs)

    return limited
