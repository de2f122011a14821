"""Where tables go: the terminal's width, or all they need in a file or pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


# Wide enough that no table of ours is cut when nobody's terminal sets the width.
UNBOUNDED_COLUMNS = 240


def make_console() -> Console:
    """Return a console that prints names as they are."""
    from rich.console import Console

    class PlainConsole(Console):
        """A console that leaves a broken pipe to the entry point."""

        def on_broken_pipe(self) -> None:
            """Raise instead of exiting with 1, which has a meaning of its own."""
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else UNBOUNDED_COLUMNS
    return PlainConsole(markup=False, highlight=False, width=width)


def printable(text: str) -> str:
    """Return text on one line, without what a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def print_notices(summary: Mapping[str, Any]) -> None:
    """Print what a log lost and what was mended, on stderr, from a run's summary."""
    for notice in summary.get("notices", ()):
        print(printable(f"note: {notice}"), file=sys.stderr, flush=True)


def check_out(file: Path, force: bool) -> None:
    """Refuse a file that must not or cannot be written, before anything long is done.

    What a killed process left beside it is removed.

    Args:
        file: To be written.
        force: Whether a plain file may be there already.

    Raises:
        EquipoiseError: If it is there, or its folder is not.
    """
    from equipoise.atomic_file import naming_file
    from equipoise.errors import EquipoiseError
    from equipoise.staging import remove_leftovers

    remove_leftovers(file.parent)
    with naming_file(file):
        exists, is_file, is_folder = file.exists(), file.is_file(), file.is_dir()
        has_parent = file.parent.is_dir()
    if is_folder:
        raise EquipoiseError(f"{file}: is a folder, cannot be written as a file")
    if exists and not is_file:
        raise EquipoiseError(f"{file}: is not a regular file")
    if exists and not force:
        raise EquipoiseError(f"{file}: exists already; --force replaces it")
    if not has_parent:
        raise EquipoiseError(f"{file}: the folder '{file.parent}' does not exist")


def make_table(*headings: str, numbers: tuple[str, ...] = ()) -> Table:
    """Return a table with a plain head.

    Args:
        headings: Column heads.
        numbers: Those among them whose columns hold numbers.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in numbers else "left")
    return table


def drop_output() -> None:
    """Send what is still buffered nowhere, so that Python does not complain at exit."""
    if sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    hook, sys.unraisablehook = sys.unraisablehook, _unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, usual)
        _asked.clear()


def check_interrupt() -> None:
    """Raise what was forgotten; long work asks now and then.

    Raises:
        KeyboardInterrupt: If Ctrl-C was pressed and nothing came of it.
    """
    if _asked.is_set():
        raise KeyboardInterrupt


def _unraisable(ignored: sys.UnraisableHookArgs) -> None:
    """Say what a destructor could not raise, but a Ctrl-C, which is remembered."""
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)


def _remember(number: int, frame: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt
