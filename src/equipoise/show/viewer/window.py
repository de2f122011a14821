"""A page that shows runs or a robot."""

from __future__ import annotations

import contextlib
import os
import time
import webbrowser
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.log.open_run import is_log, open_run_or_robot
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.show.charts.chart import MOST_RUNS
from equipoise.show.viewer.page import FIRST_PORT, LOOPBACK, PageServer
from equipoise.show.viewer.poser import Poser
from equipoise.show.viewer.run_replay import Replay

LONGEST_NAP = 3600.0
What = Run | Robot | str | os.PathLike[str]
# Larger logs take more than a second to read.
LARGE_BYTES = 10_000_000


class Window(contextlib.AbstractContextManager["Window"]):
    """A page that is served until it is stopped; a context manager.

    Attributes:
        url: Address of the page, for a browser, with the key that it takes to look.
        port: Port that it is served on.
        content: A replay of runs, or a robot to pose; None at first.
    """

    def __init__(
        self, title: str, host: str = LOOPBACK, port: int = FIRST_PORT
    ) -> None:
        """Serve a page that says that it waits, on the first free port from one on.

        Raises:
            EquipoiseError: If nothing can be served there.
        """
        self._server = PageServer(title, host, port)
        self.port = self._server.get_port()
        self.url = self._server.url
        self.content: Replay | Poser | None = None
        self._waiting = self._server.gui.add_markdown(f"Reading {title} …")

    def show(self, subjects: Mapping[str, Run | Robot]) -> None:
        """Fill the page with one robot, or one to four runs, by name.

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

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self, seconds: float | None = None) -> None:
        """Serve for a while [s], until Ctrl-C if not given.

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
        port: The first port to try; the next that is free is taken.
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
    """Refuse what does not fit on one page, with an :class:`EquipoiseError`."""
    runs = sum(isinstance(subject, Run) for subject in subjects)
    robots = len(subjects) - runs
    if not subjects:
        raise EquipoiseError("there is nothing to look at: name a run or a robot")
    if robots > 1 or (robots and runs):
        there = f"{robots} robot{'s' if robots > 1 else ''}"
        if runs:
            there += f" and {runs} run{'s' if runs > 1 else ''}"
        raise EquipoiseError(
            f"one robot, or up to {MOST_RUNS} runs, can be looked at, not {there}"
        )
    check_count(runs)


def check_count(runs: int) -> None:
    """Refuse more runs than fit side by side, with an :class:`EquipoiseError`."""
    if runs > MOST_RUNS:
        raise EquipoiseError(
            f"{runs} runs do not fit beside each other, {MOST_RUNS} do"
        )


def open_subject(
    what: What, robot: Robot | None = None, settings: Path | None = None
) -> Run | Robot:
    """Return the run or robot that is meant.

    Args:
        what: A run or robot; or a path to the folder or log of a run; or what
            :func:`~equipoise.robot.load.load` loads.
        robot: Robot of the run; without it the log must describe its robot.
        settings: TOML file for a robot file.

    Raises:
        EquipoiseError: If it is neither.
    """
    if isinstance(what, Run | Robot):
        return what
    return open_run_or_robot(what, robot, settings)


def distinct_names(whats: Sequence[What]) -> list[str]:
    """Return short names, with a number where one occurs twice."""
    names = [_name(what) for what in whats]
    return [
        f"{name} ({names[: at + 1].count(name)})" if names.count(name) > 1 else name
        for at, name in enumerate(names)
    ]


def is_large(what: What) -> bool:
    """Return whether reading takes so long that the page should be served before."""
    if isinstance(what, Run | Robot) or not is_log(os.fspath(what)):
        return False
    path = Path(what)
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files) > LARGE_BYTES


def _name(what: What) -> str:
    """Return the name of a folder or file, or of a robot."""
    if isinstance(what, Run):
        return what.robot.name
    if isinstance(what, Robot):
        return what.name
    path = Path(what)
    return path.stem if path.stem != "run" else path.resolve().parent.name
