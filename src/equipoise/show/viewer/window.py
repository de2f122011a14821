"""A page that shows runs or a robot."""

from __future__ import annotations

import contextlib
import os
import time
import webbrowser
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Self

from equipoise.errors import EquipoiseError
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.show.charts.comparison import MOST_RUNS
from equipoise.show.viewer.poser import Poser
from equipoise.show.viewer.replay import Replay
from equipoise.show.viewer.server import FIRST_PORT, LOOPBACK, address, serve
from equipoise.show.viewer.subject import distinct_names, open_subject

LONGEST_NAP = 3600.0


class Window:
    """A page that is served until it is stopped; a context manager.

    Attributes:
        url: What to type into a browser.
        port: That it is served on.
        content: What moves: a replay of runs, or a robot to pose; None at first.
    """

    def __init__(
        self, title: str, host: str = LOOPBACK, port: int = FIRST_PORT
    ) -> None:
        """Serve a page that says that it waits.

        Args:
            title: Of the page.
            host: Address to serve on.
            port: The first to try.

        Raises:
            EquipoiseError: If nothing can be served there.
        """
        self._server = serve(title, host, port)
        self.port = self._server.get_port()
        self.url = address(host, self.port)
        self.content: Replay | Poser | None = None
        self._waiting = self._server.gui.add_markdown(f"Reading {title} …")

    def show(self, subjects: Mapping[str, Run | Robot]) -> None:
        """Fill the page.

        Args:
            subjects: One robot, or one to four runs, by name.

        Raises:
            EquipoiseError: If these cannot be shown together.
        """
        check_together(subjects.values())
        runs = {name: it for name, it in subjects.items() if isinstance(it, Run)}
        robots = [it for it in subjects.values() if isinstance(it, Robot)]
        self._waiting.remove()
        if runs:
            self.content = Replay(self._server, runs)
        else:
            self.content = Poser(self._server, robots[0])

    def __enter__(self) -> Self:
        """Serve within a block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop at its end."""
        self.stop()

    def wait(self, seconds: float | None = None) -> None:
        """Serve for a while [s], for ever if not given.

        Raises:
            KeyboardInterrupt: On Ctrl-C.
        """
        end = float("inf") if seconds is None else time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            time.sleep(min(left, LONGEST_NAP))

    def stop(self) -> None:
        """Stop serving."""
        if self.content is not None:
            self.content.stop()
        self._server.stop()


def view(
    *what: Run | Robot | str | os.PathLike[str],
    port: int = FIRST_PORT,
    host: str = LOOPBACK,
    open_browser: bool = False,
    block: bool = True,
) -> Window:
    """Show runs or a robot on a page that is served on this machine.

    Args:
        what: One robot to pose, or up to four runs side by side; runs and robots
            themselves, or their names and paths.
        port: The first to try; the next that is free is taken.
        host: Address to serve on; other machines can reach others than the default.
        open_browser: Open the page in a browser.
        block: Serve until Ctrl-C, then stop; else return at once.

    Returns:
        The page; it is stopped already if this function blocked.

    Raises:
        EquipoiseError: If something is neither run nor robot, or cannot be served.
    """
    names = distinct_names(what)
    subjects = {n: open_subject(item) for n, item in zip(names, what, strict=True)}
    check_together(subjects.values())
    window = Window(" and ".join(names), host, port)
    window.show(subjects)
    if open_browser:
        webbrowser.open(window.url)
    if block:
        with window, contextlib.suppress(KeyboardInterrupt):
            print(window.url, flush=True)
            window.wait()
    return window


def check_together(subjects: Collection[Run | Robot]) -> None:
    """Refuse what does not fit on one page.

    Raises:
        EquipoiseError: What does.
    """
    runs = sum(isinstance(subject, Run) for subject in subjects)
    robots = len(subjects) - runs
    if not subjects:
        raise EquipoiseError("there is nothing to look at: name a run or a robot")
    if robots > 1 or (robots and runs):
        there = _many(robots, "robot") + (f" and {_many(runs, 'run')}" if runs else "")
        raise EquipoiseError(
            f"one robot, or up to {MOST_RUNS} runs, can be looked at, not {there}"
        )
    check_count(runs)


def check_count(runs: int) -> None:
    """Refuse more runs than fit beside each other.

    Raises:
        EquipoiseError: How many do.
    """
    if runs > MOST_RUNS:
        raise EquipoiseError(
            f"{runs} runs do not fit beside each other, {MOST_RUNS} do"
        )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
