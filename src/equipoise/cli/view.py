"""``equipoise view``: runs and robots on a page in the browser."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.console import check_interrupt, print_notices, printable

if TYPE_CHECKING:
    from equipoise.log.run import Run
    from equipoise.show.viewer.window import Window


@dataclass(frozen=True)
class View:
    """Look at a run or a robot in the browser; up to four runs side by side."""

    what: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN|ROBOT")
    ]
    """Run folder, MCAP file, ROS 2 bag or CSV file to replay; or a robot to pose: a
    catalogue name, or a path to a URDF, MJCF or DH (TOML) file."""

    robot: Annotated[str | None, tyro.conf.arg(metavar="ROBOT")] = None
    """Robot of a bag or CSV file that does not describe it."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    port: Annotated[int, tyro.conf.arg(metavar="N")] = 8080
    """Port of the page; the next free one if it is busy."""

    host: Annotated[str, tyro.conf.arg(metavar="ADDRESS")] = "127.0.0.1"
    """Address to serve on. Only this machine can reach the default."""

    open: bool = False
    """Open the page in the browser."""

    seconds: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """How long to serve [s]; default: until Ctrl-C."""

    def run(self) -> int:
        """Load, serve, and wait for Ctrl-C."""
        from equipoise.errors import EquipoiseError
        from equipoise.log.run import Run
        from equipoise.robot.load import load
        from equipoise.show.viewer.window import (
            Window,
            check_count,
            check_together,
            distinct_names,
            is_large,
            open_subject,
        )

        if self.seconds is not None and not self.seconds >= 0.0:
            raise EquipoiseError(f"--seconds {self.seconds:g}: it must be 0 or more")
        check_count(len(self.what))
        robot = None if self.robot is None else load(self.robot, self.settings)
        names = distinct_names(self.what)
        early = any(is_large(item) for item in self.what)
        with (
            Window(" and ".join(names), self.host, self.port) as window,
            contextlib.suppress(KeyboardInterrupt),
        ):
            if early:
                self._announce(window)
            subjects = {
                name: open_subject(item, robot, self.settings)
                for name, item in zip(names, self.what, strict=True)
            }
            check_together(subjects.values())
            for subject in subjects.values():
                if isinstance(subject, Run):
                    _print_run(subject)
            if not early:
                self._announce(window)
            window.show(subjects)
            check_interrupt()
            window.wait(self.seconds)
        return 0

    def _announce(self, window: Window) -> None:
        """Print where the page is."""
        import webbrowser

        from equipoise.show.viewer.gate import is_loopback

        if window.port != self.port:
            print(f"note: port {self.port} is busy, {window.port} is taken")
        if not is_loopback(self.host):
            print(
                f"warning: whoever reaches {printable(self.host)} and has this address "
                "can look, too; nothing is encrypted"
            )
        print(window.url, flush=True)
        if self.open:
            webbrowser.open(window.url)


def _print_run(run: Run) -> None:
    """Print what the run was, and what its log lost."""
    said = str(run.summary.get("sentence") or run.robot.name)
    print(printable(said), flush=True)
    print_notices(run.summary)
