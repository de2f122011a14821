"""``equipoise push``: how hard a robot can be pushed."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
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
from equipoise.cli.long_work import refuse_long_run
from equipoise.cli.push_map import MapOptions, run_map
from equipoise.cli.trial import run_trial
from equipoise.cli.world_options import AskedWorld, asked_world, command_line

if TYPE_CHECKING:
    from equipoise.simulation.actuation import Mode
    from equipoise.simulation.feedback import Law

CSV_NAME, PICTURE_NAME = "pushes.csv", "pushes.svg"
# Simulations that a limit takes, and how long they last on average [s].
TRIES, MEAN_SECONDS = 9, 4.0
# What a map decides itself.
NOT_IN_MAP = ("impulse", "direction", "pull", "steps", "find_limit", "seconds")


@dataclass(frozen=True)
class Push(MapOptions):
    """Push a standing robot, and see whether it stands afterwards.

    With --map, draw what it survives by steps, standing and walking.
    """

    impulse: Annotated[float | None, tyro.conf.arg(metavar="NS")] = None
    """Impulse of the push [N s]: its force times the 0.1 s that it lasts."""

    direction: Annotated[
        tuple[float, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="DEG")
    ] = field(default=())
    """Direction about z [degrees]: 0 pushes forward, 90 to the left. May be given
    several times; default: 0, or eight directions with --find-limit."""

    directions: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Number of directions, equally spaced from 0 degrees; default with --map: 8."""

    at: Annotated[str | None, tyro.conf.arg(metavar="LINK")] = None
    """Link whose centre of mass is pushed; default: the torso."""

    pull: bool = False
    """Pull instead: the opposite direction."""

    steps: bool = False
    """The robot may step where it would fall otherwise; with whole-body torques."""

    find_limit: bool = False
    """Find the largest impulse survived in each direction, by bisection."""

    seconds: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """How long to simulate [s], a whole number of time steps; default: 4, and 8 if the
    robot is not at rest by then. The push begins after 0.5 s."""

    def run(self) -> int:
        """Push, print, write; 0 if the robot stands, and for limits above zero."""
        from equipoise.simulation.push import push

        self._check()
        if self.map:
            return run_map(self, self.directions, self.at)
        directions = self._directions()
        if self.find_limit or len(directions) > 1:
            return self._run_around(directions)
        assert self.impulse is not None
        simulate = partial(
            push, impulse=self.impulse, direction=directions[0], **self._how()
        )
        return run_trial(
            self, "push", simulate, seconds=self.seconds, mode=self._mode()
        )

    def _mode(self) -> Mode:
        """Return the mode of the joints, by the law."""
        from equipoise.simulation.feedback import mode_for

        return mode_for(self._law(), not self.open_loop)

    def _law(self) -> Law:
        return self.law or ("whole-body" if self.steps else "stabiliser")

    def _check(self) -> None:
        from equipoise.errors import EquipoiseError

        if self.map:
            self._check_map()
            return
        self.refuse_map_options()
        if self.find_limit and self.impulse is not None:
            raise EquipoiseError("--find-limit finds the impulse: give no --impulse")
        if not self.find_limit and self.impulse is None:
            raise EquipoiseError(
                "--impulse NS is missing: how hard to push [N s]; or --find-limit, "
                "or --map"
            )
        if self.steps and (self.open_loop or self._law() != "whole-body"):
            raise EquipoiseError("--steps is for whole-body torques: --law whole-body")
        if self.direction and self.directions is not None:
            raise EquipoiseError("give --direction or --directions, not both")
        if any(not math.isfinite(direction) for direction in self.direction):
            raise EquipoiseError("--direction must be finite")

    def _check_map(self) -> None:
        from equipoise.errors import EquipoiseError

        for name in NOT_IN_MAP:
            if getattr(self, name) not in (None, (), False):
                word = name.replace("_", "-")
                raise EquipoiseError(f"--{word} cannot be chosen with --map")

    def _directions(self) -> tuple[float, ...]:
        """Return where to push, before --pull [rad]."""
        from equipoise.simulation.push_limits import DIRECTIONS, equal_directions

        if self.direction:
            return tuple(math.radians(direction) for direction in self.direction)
        count = self.directions
        if count is None:
            count = DIRECTIONS if self.find_limit else 1
        return equal_directions(count)

    def _how(self) -> dict[str, Any]:
        return {
            "link": self.at,
            "pull": self.pull,
            **self.asked_feedback(self._law(), self.seed),
            **({"steps": True} if self.steps else {}),
            "seconds": self.seconds,
        }

    def _run_around(self, directions: tuple[float, ...]) -> int:
        """Push in several directions, or find limits; print, write."""
        from equipoise.log.folder import check_folder
        from equipoise.simulation.engine import check_dt
        from equipoise.simulation.loop import whole_steps

        check_dt(self.dt)
        if self.seconds is not None:
            whole_steps(self.seconds, self.dt, "duration (--seconds)")
        if self.out is not None:
            check_folder(self.out, files=_files(), replace=self.force)
        asked = asked_world(self, self._mode())
        lasts = self.seconds or MEAN_SECONDS
        count = len(directions) * (TRIES if self.find_limit else 1)
        refuse_long_run(self, lasts * count, asked.robot.model.nv)
        results = self._results(asked, directions)
        if self.out is not None:
            self._write(results, asked.robot.name)
        try:
            _print(results, asked.robot.warnings)
            if self.out is not None:
                print(f"written: {printable(str(self.out))}", flush=True)
        except BrokenPipeError:  # what was found is kept, and its status
            drop_output()
        return 0 if results["achieved"] else 1

    def _results(
        self, asked: AskedWorld, directions: tuple[float, ...]
    ) -> dict[str, Any]:
        from equipoise.simulation.push_limits import (
            find_push_limits,
            push_around,
            pushes_summary,
        )
        from equipoise.simulation.world import pushed_link

        world = asked.world
        how = {
            **self._how(),
            "engine": self.engine,
            "dt": self.dt,
            "model": asked.model,
        }
        # joints that are told torques hold nothing without feedback
        servos_too = self._mode() == "servo" and not self.open_loop
        both = self.find_limit and servos_too
        total = len(directions) * (2 if both else 1)
        with progress(total, f"push {asked.robot.name}") as told:
            if self.find_limit:
                limits = find_push_limits(world, directions, progress=told, **how)
                servos = None
                if both:
                    servos = find_push_limits(
                        world,
                        directions,
                        progress=lambda done: told(len(directions) + done),
                        **_without_feedback(how),
                    )
                results = pushes_summary(world, limits, servos, stepping=self.steps)
            else:
                assert self.impulse is not None
                runs = push_around(
                    world, self.impulse, directions, progress=told, **how
                )
                results = pushes_summary(world, runs, stepping=self.steps)
        known = "true state" if self.true_state else "sensors"
        return {
            **results,
            "engine": self.engine,
            "dt_s": self.dt,
            "feedback": "none" if self.open_loop else known,
            "law": how.get("law", "servos"),
            "link": pushed_link(asked.robot, self.at),
            "pull": self.pull,
            **asked.results(self.seed),
        }

    def _write(self, results: Mapping[str, Any], name: str) -> None:
        """Write the folder of the results."""
        from equipoise.atomic_file import write_text_atomically
        from equipoise.log.folder import (
            REPORT_NAME,
            SUMMARY_NAME,
            summary_as_json,
            write_folder,
        )
        from equipoise.show.charts.push_polar import write_push_polar
        from equipoise.show.pages.push_report import push_report

        assert self.out is not None
        page = push_report(results, f"push {name}", command_line())

        def write(part: Path) -> None:
            write_text_atomically(part / SUMMARY_NAME, summary_as_json(results))
            write_text_atomically(part / REPORT_NAME, page)
            write_text_atomically(part / CSV_NAME, _csv(results))
            write_push_polar(part / PICTURE_NAME, results)

        write_folder(self.out, write, files=_files(), replace=self.force)


def _without_feedback(how: Mapping[str, Any]) -> dict[str, Any]:
    from equipoise.simulation.push_limits import OF_FEEDBACK

    kept = {name: value for name, value in how.items() if name not in OF_FEEDBACK}
    return {**kept, "feedback": False}


def _files() -> tuple[str, ...]:
    from equipoise.log.folder import REPORT_NAME, SUMMARY_NAME

    return (SUMMARY_NAME, REPORT_NAME, CSV_NAME, PICTURE_NAME)


def _csv(results: Mapping[str, Any]) -> str:
    """Return a row for each direction; keys of ``summary.json`` are the head."""
    rows = results["directions"]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _print(results: Mapping[str, Any], warnings: tuple[str, ...]) -> None:
    rows = results["directions"]
    limits, beside = results["find_limit"], "open_loop_ns" in rows[0]
    heads = ["direction [°]", "impulse [N s]", "[N s/kg]", "J* [N s]", "of J*"]
    if beside:
        heads += ["without feedback [N s]", "of its J*"]
    table = make_table(*heads, *(() if limits else ("stands",)), numbers=tuple(heads))
    for row in rows:
        cells = [
            f"{row['direction_deg']:.0f}",
            f"{row['impulse_ns']:.1f}",
            f"{row['impulse_nspkg']:.3f}",
            f"{row['theoretical_limit_ns']:.1f}",
            f"{100 * row['limit_fraction']:.0f} %",
        ]
        if beside:
            cells.append(f"{row['open_loop_ns']:.1f}")
            cells.append(f"{100 * row['open_loop_fraction']:.0f} %")
        if not limits:
            cells.append("yes" if row["stands"] else "no")
        table.add_row(*cells)
    console = make_console()
    console.print(printable(results["sentence"]), style="bold", soft_wrap=True)
    console.print(table)
    for row in rows:
        if not row["stands"]:
            console.print(printable(f"note: {row['sentence']}"), soft_wrap=True)
    for warning in warnings:
        line = printable(f"warning: {warning}")
        console.print(line, style="yellow", soft_wrap=True)
