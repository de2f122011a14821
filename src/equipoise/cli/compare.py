"""``equipoise compare``: what differs between two runs, in numbers and curves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from equipoise.cli.console import check_out, make_console, make_table, printable
from equipoise.cli.plot import read_runs

if TYPE_CHECKING:
    from equipoise.log.compare import Comparison
    from equipoise.log.run import Run

# Joints that are drawn: those that differ most.
MOST_JOINTS = 3
WHAT = ("com", "zmp", "joints", "torques")
# Results of each joint, which are many.
JOINTS = "actuators.joints."


@dataclass(frozen=True)
class Compare:
    """Show what differs between two runs: results, and curves over common time."""

    first: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Folder of a run, its MCAP file, or a robot's own log."""

    second: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run to compare with it."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Figure of both runs' CoM, ZMP and of the joints that differ most: FILE.png,
    FILE.svg or FILE.pdf."""

    all: bool = False
    """Show results that are the same, those of each joint and of the machine, too."""

    json: bool = False
    """Print everything as JSON, for machines."""

    robot: Annotated[str | None, tyro.conf.arg(metavar="ROBOT")] = None
    """The robot of logs that do not describe it: a name or a file."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    force: bool = False
    """Replace a file that exists."""

    def run(self) -> int:
        """Read, compare, draw, print."""
        from equipoise.log.compare import compare_runs

        if self.out is not None:
            from equipoise.show.charts.paper_figures import check_format

            check_format(self.out)
            check_out(self.out, self.force)
        runs = read_runs((self.first, self.second), self.robot, self.settings)
        found = compare_runs(*runs.values())
        if self.out is not None:
            _draw(self.out, runs, found)
        if self.json:
            print(json.dumps(found.as_dict(), indent=2, allow_nan=False))
        else:
            _print(found, runs, self.all)
            if self.out is not None:
                print(f"written: {printable(str(self.out))}")
        return 0


def _draw(out: Path, runs: dict[str, Run], found: Comparison) -> None:
    from equipoise.show.charts.chart import compare
    from equipoise.show.charts.paper_figures import (
        WIDTH_MM,
        default_height,
        write_figure,
    )
    from equipoise.show.charts.quantities import available, charts

    joints = list(found.joints)[:MOST_JOINTS]
    there = [available(run) for run in runs.values()]
    names = [name for name in WHAT if all(name in own for own in there)]
    if not joints:
        names = [name for name in names if name not in ("joints", "torques")]
    drawn = compare(
        {
            label: [
                chart.within(found.begin, found.end)
                for chart in charts(run, names, joints or None)
            ]
            for label, run in runs.items()
        }
    )
    size = (WIDTH_MM, default_height(len(drawn), False))
    write_figure(out, drawn, None, size=size)


def _print(found: Comparison, runs: dict[str, Run], everything: bool) -> None:
    from equipoise.log.compare import OF_THE_MACHINE

    aside = (*OF_THE_MACHINE, "sentence", "command")
    console = make_console()
    numbers = ("RMS", "largest", "at [s]")
    curves = make_table("over time", *numbers, "joint", numbers=numbers)
    for curve in found.curves:
        curves.add_row(
            f"{curve.name} [{curve.unit}]",
            f"{curve.rms:.3g}",
            f"{curve.largest:.3g}",
            f"{curve.time:.3f}",
            printable(curve.where),
        )
    first, second = (printable(label) for label in runs)
    title = f"{first} and {second}, {found.begin:.2f} to {found.end:.2f} s"
    console.print(title, style="bold", soft_wrap=True)
    for label, run in runs.items():
        said = run.summary.get("sentence", run.robot.name)
        console.print(printable(f"{label}: {said}"), soft_wrap=True)
    console.print(curves)
    table = make_table(
        "key", first, second, "difference", numbers=(first, second, "difference")
    )
    shown = [
        row
        for row in found.results
        if everything
        or (row.differs and row.key not in aside and not row.key.startswith(JOINTS))
    ]
    for row in shown:
        off = "–" if row.difference is None else f"{row.difference:+.6g}"
        table.add_row(printable(row.key), _cell(row.first), _cell(row.second), off)
    if shown:
        console.print(table)
    same = sum(not row.differs for row in found.results)
    if not everything:
        console.print(f"{same} results are the same")
    for notice in found.notices:
        console.print(printable(f"note: {notice}"), soft_wrap=True)


def _cell(value: float | str | bool | None) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:.6g}"
        case _:
            return printable(value)
