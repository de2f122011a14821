"""``equipoise plot``: figures of a run, or of several, for papers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.console import check_out, print_notices, printable

if TYPE_CHECKING:
    from equipoise.log.run import Run
    from equipoise.show.charts.chart import Chart

EVERYTHING, LIST = "all", "list"


@dataclass(frozen=True)
class Plot:
    """Draw what happened in a run as PNG, SVG or PDF; several runs are compared."""

    runs: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")
    ]
    """Folder of a run, its MCAP file, or a robot's own log; up to four are drawn over
    each other."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write: FILE.png, FILE.svg or FILE.pdf."""

    robot: Annotated[str | None, tyro.conf.arg(metavar="ROBOT")] = None
    """The robot of logs that do not describe it: a name or a file."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    what: Annotated[str, tyro.conf.arg(metavar="NAMES")] = "com,zmp,forces"
    """Comma-separated: com, com-error, zmp, zmp-margin, sole, forces, torques, joints,
    velocity, ground; or all. list prints what they are."""

    begin: Annotated[float, tyro.conf.arg(name="from", metavar="S")] = 0.0
    """Start of the part that is drawn [s]."""

    end: Annotated[float, tyro.conf.arg(name="to", metavar="S")] = math.inf
    """End of the part that is drawn [s]."""

    joints: Annotated[str | None, tyro.conf.arg(metavar="NAMES")] = None
    """Joints, comma-separated, for torques, joints and velocity; those with the
    largest if not given."""

    width: Annotated[float | None, tyro.conf.arg(metavar="MM")] = None
    """Width of the figure [mm]; default: 180, two columns of a paper."""

    height: Annotated[float | None, tyro.conf.arg(metavar="MM")] = None
    """Height of the figure [mm]; default: what the charts need."""

    dpi: Annotated[float, tyro.conf.arg(metavar="DPI")] = 200.0
    """Dots per inch of a PNG."""

    force: bool = False
    """Replace a file that exists."""

    def run(self) -> int:
        """Read, draw, write."""
        from equipoise.show.charts.paper_figures import write_figure
        from equipoise.show.charts.quantities import GROUND, ground_map

        if self.what.strip() == LIST:
            _print_names()
            return 0
        out = self._checked_out()
        runs = read_runs(self.runs, self.robot, self.settings)
        names = self._names(runs)
        charts = self._charts(runs, names)
        ground = None
        if GROUND in names:
            ground = ground_map(next(iter(runs.values())))
            ground = ground.within(self.begin, self.end)
        size = self._size(len(charts), ground is not None)
        write_figure(out, charts, ground, size=size, dpi=self.dpi)
        print(f"written: {printable(str(out))}")
        return 0

    def _checked_out(self) -> Path:
        """Return where to write, before anything long is done."""
        from equipoise.errors import EquipoiseError
        from equipoise.show.charts.paper_figures import (
            WIDTH_MM,
            check_format,
            check_size,
        )

        if self.out is None:
            raise EquipoiseError("--out FILE is needed: FILE.png, FILE.svg or FILE.pdf")
        check_format(self.out)
        check_out(self.out, self.force)
        width, height = (
            WIDTH_MM if n is None else n for n in (self.width, self.height)
        )
        check_size(width, height, self.dpi)
        if not self.begin <= self.end:
            raise EquipoiseError(
                f"--from {self.begin:g} --to {self.end:g}: nothing lies between"
            )
        return self.out

    def _names(self, runs: dict[str, Run]) -> list[str]:
        """Return what to draw, all of it known."""
        from equipoise.errors import EquipoiseError
        from equipoise.show.charts.quantities import GROUND, available, check_names

        several = len(runs) > 1
        if self.what.strip() == EVERYTHING:
            there = [available(run) for run in runs.values()]
            return [
                name
                for name in there[0]
                if all(name in names for names in there)
                and not (several and name == GROUND)
            ]
        names = _words(self.what)
        check_names(names)
        if several and GROUND in names:
            raise EquipoiseError("'ground' shows one run: leave it out to compare runs")
        if not names:
            raise EquipoiseError(
                "--what names nothing; --what list prints what there is"
            )
        return names

    def _charts(self, runs: dict[str, Run], names: list[str]) -> list[Chart]:
        from equipoise.errors import EquipoiseError
        from equipoise.show.charts.chart import compare
        from equipoise.show.charts.quantities import charts

        joints = None if self.joints is None else _words(self.joints)
        if joints == []:
            raise EquipoiseError("--joints names none; leave it out for the largest")
        made = {
            label: [
                chart.within(self.begin, self.end)
                for chart in charts(run, names, joints)
            ]
            for label, run in runs.items()
        }
        return compare(made) if len(made) > 1 else next(iter(made.values()))

    def _size(self, panels: int, with_map: bool) -> tuple[float, float]:
        from equipoise.show.charts.paper_figures import WIDTH_MM, default_height

        width = WIDTH_MM if self.width is None else self.width
        height = (
            default_height(panels, with_map) if self.height is None else self.height
        )
        return width, height


def read_runs(
    paths: Sequence[Path], robot_name: str | None, settings: Path | None
) -> dict[str, Run]:
    """Return runs by the names of their folders; print what their logs lack.

    Args:
        paths: One to four runs.
        robot_name: The robot of logs that do not describe it.
        settings: TOML to use instead of the one beside the robot file.
    """
    from equipoise.errors import EquipoiseError
    from equipoise.log.open_run import open_run
    from equipoise.robot.load import load
    from equipoise.show.charts.chart import MOST_RUNS

    if not 1 <= len(paths) <= MOST_RUNS:
        raise EquipoiseError(
            f"{len(paths)} runs were given; from 1 to {MOST_RUNS} can be drawn"
        )
    labels = [_label(path) for path in paths]
    if len(set(labels)) < len(labels):
        labels = [str(path) for path in paths]
    if len(set(labels)) < len(labels):
        raise EquipoiseError("a run was given twice")
    robot = None if robot_name is None else load(robot_name, settings)
    pairs = zip(labels, paths, strict=True)
    runs = {label: open_run(path, robot) for label, path in pairs}
    for run in runs.values():
        print_notices(run.summary)
    return runs


def _words(text: str) -> list[str]:
    """Return comma-separated words, each once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _label(path: Path) -> str:
    """Return what to call a run: its folder, or its file if that has its own name."""
    from equipoise.log.mcap_format.mcap_file import LOG_NAME

    path = path.absolute()
    return path.parent.name if path.name == LOG_NAME else path.stem


def _print_names() -> None:
    from equipoise.cli.console import make_console, make_table
    from equipoise.show.charts.quantities import WHAT

    table = make_table("name", "what it shows")
    for name, about in WHAT.items():
        table.add_row(name, about)
    make_console().print(table)
