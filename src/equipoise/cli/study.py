"""``equipoise study``: thousands of what-ifs from one file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from equipoise.cli.console import (
    check_out,
    drop_output,
    make_console,
    make_table,
    printable,
    progress,
)
from equipoise.cli.world_options import command_line
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.study.estimate import Estimate
    from equipoise.study.study_file import Study as StudyFile

EXAMPLE_NAME = "example.toml"
UNITS = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0))


@dataclass(frozen=True)
class Study:
    """Do many runs that differ, and find what matters: how wrong may a model be?

    FILE says what is run, which parameters are varied and what is measured;
    --write-example writes one with comments. A study that was interrupted, or killed,
    goes on with the same command.
    """

    file: Annotated[
        Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")
    ] = None
    """The study, a TOML file."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder for table.csv, table.parquet, summary.json, study.toml and report.html.
    It appears when all is done."""

    on: Annotated[str, tyro.conf.arg(metavar="PLACE")] = "cores"
    """Where it runs: cores of this computer; gpu; ray for a Ray cluster that is started
    here; ray://HOST:PORT for one that is there (needs the extra of that name)."""

    jobs: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Number of jobs that are done at a time; default: one for each core."""

    dry_run: bool = False
    """Print the number of runs, and time and memory by estimate, from one job that is
    timed; write nothing."""

    force: bool = False
    """Replace a study that is in that folder already."""

    write_example: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write an example of a study, with comments, and do nothing else."""

    def run(self) -> int:
        """Do the study, print, write; 0 if not all runs failed."""
        if self.write_example is not None:
            return self._write_example(self.write_example)
        if self.file is None:
            raise EquipoiseError(
                "FILE is missing, the study's TOML file; --write-example writes one"
            )
        from equipoise.study.study_file import load_study

        if self.dry_run:
            return self._estimate(load_study(self.file))
        if self.out is None:
            raise EquipoiseError("--out DIR is missing, the folder for the study")
        return self._run(load_study(self.file), self.out)

    def _write_example(self, path: Path) -> int:
        from equipoise.atomic_file import write_text_atomically

        check_out(path, self.force)
        text = (resources.files("equipoise.study") / EXAMPLE_NAME).read_text("utf-8")
        write_text_atomically(path, text)
        print(f"written: {printable(str(path))}")
        return 0

    def _estimate(self, study: StudyFile) -> int:
        from equipoise.study.estimate import estimate_study

        found = estimate_study(study, on=self.on, jobs=self.jobs)
        _say(found.notice)
        _print_estimate(study, found)
        return 0

    def _run(self, study: StudyFile, out: Path) -> int:
        from equipoise.show.pages.study_report import study_report
        from equipoise.study.places import place_for
        from equipoise.study.run_study import run_study
        from equipoise.study.store import store_beside

        _say(place_for(self.on, self.jobs, study).notice)
        title = f"study {study.name}, {len(study.points)} runs"
        try:
            with progress(1.0, title) as told:
                done = run_study(
                    study,
                    out,
                    on=self.on,
                    jobs=self.jobs,
                    replace=self.force,
                    progress=told,
                    page=lambda table, summary: study_report(
                        table,
                        summary,
                        study.title or f"study {study.name}",
                        command_line(),
                    ),
                )
        except KeyboardInterrupt:
            if store_beside(out).exists():
                _say("runs that are done are kept: the same command goes on from there")
            raise
        try:
            _print(done.summary)
            print(f"written: {printable(str(out))}", flush=True)
        except BrokenPipeError:  # the study is kept, and its status
            drop_output()
        return 0 if done.summary["achieved"] else 1


def _say(notice: str | None) -> None:
    if notice is not None and sys.stderr is not None:
        print(f"equipoise: {printable(notice)}", file=sys.stderr, flush=True)


def _print_estimate(study: StudyFile, found: Estimate) -> None:
    table = make_table("study", study.name, numbers=(study.name,))
    points = "grid" if study.sampling.method == "grid" else study.sampling.method
    blocks = "" if found.blocks == found.runs else f", in {found.blocks} jobs"
    for name, words in (
        ("runs", f"{found.runs} ({points}){blocks}"),
        ("at a time", f"{found.jobs}"),
        ("first job, kernels compiled", _duration(found.first_seconds)),
        ("a job", _duration(found.block_seconds)),
        ("all of it, by estimate", _duration(found.seconds)),
        ("memory, by estimate", f"{found.memory_bytes / 1e9:.2g} GB"),
        ("disk, by estimate", f"{found.disk_bytes / 1e6:.2g} MB"),
    ):
        table.add_row(name, words)
    make_console().print(table)


def _duration(seconds: float) -> str:
    for unit, length in UNITS:
        if seconds >= 2.0 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.2g} s"


def _print(summary: Mapping[str, Any]) -> None:
    console = make_console()
    console.print(printable(summary["sentence"]), style="bold", soft_wrap=True)
    table = make_table(
        "outcome", "unit", "mean", "min", "max", numbers=("mean", "min", "max")
    )
    for name, own in summary["outcomes"].items():
        if own.get("known"):
            numbers = (f"{own[key]:.4g}" for key in ("mean", "min", "max"))
            table.add_row(printable(name), own["unit"], *numbers)
    console.print(table)
    for own in summary["sensitivity"]:
        if own["effects"]:
            sentence = own["effects"][0]["sentence"]
            console.print(printable(sentence), soft_wrap=True)
    if summary["safest_gait"] is not None:
        console.print(printable(summary["safest_gait"]["sentence"]), soft_wrap=True)
    for own in summary["errors"]:
        line = printable(f"{own['runs']} runs failed: {own['error']}")
        console.print(line, style="yellow", soft_wrap=True)
