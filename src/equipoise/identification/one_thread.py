"""Many small matrices: threads would only wait for one another."""

from __future__ import annotations

from contextlib import ContextDecorator
from threading import Lock
from typing import Any

from threadpoolctl import threadpool_limits


class _OneThread(ContextDecorator):
    """Limits linear algebra to one thread while any caller is inside.

    On an idle machine it is as fast; beside other work it may be ten times faster.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:  # the last one to leave
                self._limits.restore_original_limits()


one_thread = _OneThread()
