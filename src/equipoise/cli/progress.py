"""How far long work has come: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from equipoise.cli.console import printable
from equipoise.cli.interrupt import check_interrupt


@contextmanager
def progress(total: float | None, title: str) -> Iterator[Callable[[float], None]]:
    """Give a function to tell what is done; it raises a Ctrl-C that was forgotten.

    Args:
        total: What is to be done; None if that is not known.
        title: What it is.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: check_interrupt()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(title), total=total)

        def told(done: float) -> None:
            check_interrupt()
            bar.update(task, completed=done)

        yield told
