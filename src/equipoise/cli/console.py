"""Where tables go: the terminal's width, or all they need in a file or pipe."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

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
