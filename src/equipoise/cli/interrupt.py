"""Ctrl-C, remembered.

Python raises it wherever the program happens to be; within a finaliser or a callback
from a library it is printed and forgotten, and a long run would go on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = threading.Event()


@contextmanager
def remembered_interrupts() -> Iterator[None]:
    """Remember Ctrl-C while this lasts; it is raised as always, too."""
    usual = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread()
    if not mine or usual is not signal.default_int_handler:
        yield  # somebody else decides what Ctrl-C does
        return
    _asked.clear()
    signal.signal(signal.SIGINT, _remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        _asked.clear()


def check_interrupt() -> None:
    """Raise what was forgotten; long work asks now and then.

    Raises:
        KeyboardInterrupt: If Ctrl-C was pressed and nothing came of it.
    """
    if _asked.is_set():
        raise KeyboardInterrupt


def _remember(number: int, frame: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt
