"""``equipoise push --map``: what is survived by direction and phase of the step."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from equipoise.cli.console import (
    drop_output,
    make_console,
    make_table,
    printable,
    progress,
)
from equipoise.cli.feedback_options import FeedbackOptions
from equipoise.cli.long_work import refuse_long
from equipoise.cli.world_options import WorldOptions, asked_world, command_line
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.study.push_grid import PushGrid

CELLS_NAME, TRIALS_NAME, PICTURE_NAME = "push_map.csv", "trials.csv", "push_map.svg"
# A trial takes so long on one core [s], measured with `humanoid`; a map goes on where
# it was interrupted, so that one of a day is not refused [s].
TRIAL_SECONDS, LONGEST_UNASKED = 4.0, 86_400.0


@dataclass(frozen=True)
class MapOptions(FeedbackOptions, WorldOptions):
    """Options of a map of pushes."""

    map: bool = False
    """Find the largest impulse survived over directions and phases of the step, and
    standing, by trying all impulses of a grid; needs --out, and goes on where it was
    interrupted. Feedback is by whole-body torques unless --law stabiliser is given."""

    phases: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Number of phases of the step in the map; default: 8, 0 for standing alone."""

    impulse_step: Annotated[float | None, tyro.conf.arg(metavar="NS/KG")] = None
    """Distance of impulses in the map [N s/kg]; default: 0.1."""

    impulse_most: Annotated[float | None, tyro.conf.arg(metavar="NS/KG")] = None
    """Largest impulse in the map [N s/kg]; default: 2."""

    failures: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Impulses in a row that are not survived with every seed before the map goes no
    higher; default: 2."""

    bisect: bool = False
    """Bisect the impulses of the map: fewer trials, if survival is monotone."""

    seeds: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Number of seeds of the sensors' noise in the map, from --seed on; default: 1."""

    length: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Step length of the walk in the map [m]; default: what fits the robot."""

    step_time: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """Step time of the walk in the map [s]; default: what fits the robot."""

    jobs: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Number of processes for the map; default: one for each core."""

    def refuse_map_options(self) -> None:
        """Refuse options of a map where none is asked for.

        Raises:
            EquipoiseError: Which one.
        """
        usual = {option.name for option in fields(WorldOptions)}
        usual |= {option.name for option in fields(FeedbackOptions)}
        for option in fields(MapOptions):
            given = getattr(self, option.name) != option.default
            if option.name not in usual and given:
                raise EquipoiseError(f"--{option.name.replace('_', '-')} is for --map")


def run_map(options: MapOptions, directions: int | None, link: str | None) -> int:
    """Try the pushes of a map, print, write; 0 if some are survived everywhere.

    Args:
        options: What the user asked for.
        directions: Number of directions, or None.
        link: The link that is pushed, or None.
    """
    from equipoise.log.folder import check_folder
    from equipoise.simulation.feedback import mode_for
    from equipoise.study.push_map import push_map
    from equipoise.study.store import remove_store, store_beside
    from equipoise.study.workers import cores

    if options.out is None:
        raise EquipoiseError("--map needs --out DIR, the folder for the map")
    if options.open_loop or options.law == "paper":
        raise EquipoiseError("--map is for --law whole-body or --law stabiliser")
    if options.jobs is not None and options.jobs < 1:
        raise EquipoiseError(f"--jobs {options.jobs}; there must be 1 or more")
    grid = _grid(options, directions)
    _refuse_long(grid, options.jobs or cores(), options.long)
    check_folder(options.out, files=_files(), replace=options.force)
    law = options.law or "whole-body"
    options.asked_feedback("stabiliser", options.seed)  # gains are not for a map
    asked = asked_world(options, mode_for(law))
    store = store_beside(options.out)
    title = f"push {asked.robot.name} --map"
    with _saying_what_is_kept(store), progress(1.0, title) as told:
        done = push_map(
            asked.world,
            grid,
            law=law,
            true_state=options.true_state,
            link=link,
            length=options.length,
            step_time=options.step_time,
            engine=options.engine,
            dt=options.dt,
            model=asked.model,
            jobs=options.jobs,
            store=store,
            progress=told,
        )
    results = {**done.as_dict(), **asked.results(options.seed)}
    _write(options, results, done.rows, title)
    remove_store(store)
    try:
        _print(results, asked.robot.warnings)
        print(f"written: {printable(str(options.out))}", flush=True)
    except BrokenPipeError:  # the map is kept, and its status
        drop_output()
    return 0 if results["achieved"] else 1


def _grid(options: MapOptions, directions: int | None) -> PushGrid:
    """Return the grid that is asked for; its own defaults for the rest."""
    from equipoise.study.push_grid import PushGrid

    asked = {
        "directions": directions,
        "phases": options.phases,
        "impulse_step": options.impulse_step,
        "impulse_most": options.impulse_most,
        "failures": options.failures,
        "search": "bisection" if options.bisect else None,
        "seeds": options.seeds,
        "seed": options.seed,
    }
    given: dict[str, Any] = {
        k: value for k, value in asked.items() if value is not None
    }
    return PushGrid(**given)


def _refuse_long(grid: PushGrid, jobs: int, long: bool) -> None:
    trials = len(grid.cells) * len(grid.impulses) * grid.seeds
    seconds = TRIAL_SECONDS * trials / jobs
    if seconds > LONGEST_UNASKED:
        refuse_long(seconds, f"up to {trials} trials", long)


@contextmanager
def _saying_what_is_kept(store: Path) -> Iterator[None]:
    """Say after Ctrl-C that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        if store.exists() and sys.stderr is not None:
            kept = "trials that are done are kept: the same command goes on from there"
            print(f"equipoise: {kept}", file=sys.stderr)
        raise


def _files() -> tuple[str, ...]:
    from equipoise.log.folder import REPORT_NAME, SUMMARY_NAME

    return (SUMMARY_NAME, REPORT_NAME, CELLS_NAME, TRIALS_NAME, PICTURE_NAME)


def _write(
    options: MapOptions,
    results: Mapping[str, Any],
    trials: Sequence[Mapping[str, Any]],
    title: str,
) -> None:
    """Write the folder of the map."""
    from equipoise.atomic_file import write_text_atomically
    from equipoise.log.folder import (
        REPORT_NAME,
        SUMMARY_NAME,
        summary_as_json,
        write_folder,
    )
    from equipoise.show.charts.push_map import write_push_map
    from equipoise.show.pages.push_map_report import push_map_report

    assert options.out is not None
    page = push_map_report(results, title, command_line())

    def write(part: Path) -> None:
        write_text_atomically(part / SUMMARY_NAME, summary_as_json(results))
        write_text_atomically(part / REPORT_NAME, page)
        write_text_atomically(part / CELLS_NAME, _csv(results["map"]))
        write_text_atomically(part / TRIALS_NAME, _csv(trials))
        write_push_map(part / PICTURE_NAME, results)

    write_folder(options.out, write, files=_files(), replace=options.force)


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table whose head is the keys of its rows."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _print(results: Mapping[str, Any], warnings: Iterable[str]) -> None:
    from equipoise.show.charts.push_map import push_map_panels

    console = make_console()
    console.print(printable(results["sentence"]), style="bold", soft_wrap=True)
    for panel in push_map_panels(results):
        table = make_table(panel.title, *panel.columns, numbers=panel.columns)
        for name, words in zip(panel.rows, panel.words, strict=True):
            table.add_row(name, *words)
        console.print(table)
    for note in results["notices"]:
        console.print(printable(f"note: {note}"), soft_wrap=True)
    for warning in warnings:
        line = printable(f"warning: {warning}")
        console.print(line, style="yellow", soft_wrap=True)
