"""What verbs that simulate a robot have in common: pushes, table, folder."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import tyro

from equipoise.cli.console import (
    drop_output,
    make_console,
    make_table,
    printable,
    progress,
)
from equipoise.cli.long_work import refuse_long_run
from equipoise.cli.world_options import WorldOptions, asked_world, command_line

if TYPE_CHECKING:
    from rich.table import Table

    from equipoise.log.run import Run
    from equipoise.simulation.actuation import Mode
    from equipoise.simulation.world import World


# Results that every table begins with, and what is not part of it.
OUTCOME = (
    "achieved",
    "steps_done",
    "fell_at_s",
    "duration_s",
    "distance_m",
    "velocity_mps",
    "yaw_rate_degps",
    "feedback",
    "law",
    "com_error_from_stance_m",
    "com_error_m",
    "theoretical_limit_ns",
    "limit_fraction",
    "wanted_force_n",
    "peak_force_n",
    "steady_force_n",
    "box_acceleration_mps2",
    "expected_acceleration_mps2",
    "box_moved_m",
    "timeline_s",
    "hand",
    "goal_m",
    "reached_m",
    "remaining_m",
    "com_margin_m",
    "com_excursion_m",
    "sole_slip_m",
    "sole_lift_m",
    "placement_error_from_stance_m",
    "placement_error_m",
    "zmp_error_m",
    "zmp_5mm_inside_fraction",
    "yaw_moment_rms_nm",
    "arms",
    "hand_error_m",
    "hand_way_m",
    "odometry_drift_m",
    "drift_over_distance_fraction",
    "estimator",
    "foot_force_n",
    "landed_at_s",
    "impact_over_weight",
    "engine",
    "terrain",
    "realtime_factor",
)
SHOWN_ELSEWHERE = (
    "sentence",
    "checks",
    "versions",
    "command",
    "robot",
    "verb",
    "notices",
    "assumptions",
    "steps_done",
    "footfalls",
    "pushes",
    "compared",
)


@dataclass(frozen=True)
class RunOptions(WorldOptions):
    """Options of verbs in which a robot may also be pushed."""

    push: Annotated[
        tuple[str, ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="NS@DEG[@S][@LINK]"),
    ] = field(default=())
    """Push from the side: impulse [N s], direction in degrees about z (0 pushes
    forward, 90 to the left), when it begins [s] (default: after a third of the run) and
    on which link's centre of mass (default: the torso's). It lasts 0.1 s; may be given
    several times."""


@dataclass(frozen=True)
class TrialOptions(RunOptions):
    """Options of verbs that last as long as one wants."""

    seconds: Annotated[float, tyro.conf.arg(metavar="S")] = 3.0
    """How long to simulate [s], a whole number of time steps."""


def run_trial(
    options: WorldOptions,
    verb: str,
    simulate: Callable[..., Run],
    *,
    seconds: float | None = None,
    mode: Mode | None = "servo",
    beside: dict[str, Run] | None = None,
) -> int:
    """Load the robot, simulate it, print the table and write the folder.

    Args:
        options: What the user asked for.
        verb: The word for it.
        simulate: Gets the world, and as keywords the robot as planner and
            feed-forward know it (model), engine, dt and progress.
        seconds: How long it takes, if that is known beforehand.
        mode: Mode of the joints; None for that of the robot's file.
        beside: Runs by name that the report shows beside this one; filled by
            ``simulate``.

    Returns:
        0 if the robot did it, 1 if not.
    """
    from equipoise.log.folder import check_folder
    from equipoise.robot.joint_coordinates import BASE_V
    from equipoise.simulation.engine import check_dt
    from equipoise.simulation.loop import whole_steps

    words = options.push if isinstance(options, RunOptions) else ()
    asked_pushes = [asked_push(word) for word in words]
    check_dt(options.dt)
    if seconds is not None:
        whole_steps(seconds, options.dt, "duration (--seconds)")
        refuse_long_run(options, seconds, BASE_V)
    if options.out is not None:
        check_folder(options.out, replace=options.force)
    asked = asked_world(options, mode)
    robot, model = asked.robot, asked.model
    # a walk whose duration is not known yet puts them where they belong itself
    world = with_pushes(asked.world, asked_pushes, seconds)
    if seconds is not None:
        refuse_long_run(options, seconds, robot.model.nv)
    with progress(seconds, f"{verb} {robot.name}") as told:
        run = simulate(
            world, model=model, engine=options.engine, dt=options.dt, progress=told
        )
    run = run.with_summary({**run.summary, **asked.results(options.seed)})
    title = f"{verb} {robot.name}"
    warnings, verbose = robot.warnings, options.verbose
    keep_and_show(
        options, run, title, lambda: _print(run.summary, warnings, verbose), beside
    )
    return 0 if run.summary["achieved"] else 1


def keep_and_show(
    options: WorldOptions,
    run: Run,
    title: str,
    show: Callable[[], None],
    beside: Mapping[str, Run] | None = None,
) -> None:
    """Write the folder that was asked for, then print; the reader may go early.

    Args:
        options: What the user asked for.
        run: The run, its summary complete.
        title: Title of the report.
        show: Prints the tables.
        beside: Runs by name that the report shows beside it.
    """
    if options.out is not None:
        from equipoise.show.pages.report import report

        page = report(run, title, command_line(), beside=beside)
        run.save(options.out, report=page, replace=options.force)
    try:
        show()
        if options.out is not None:
            print(f"written: {printable(str(options.out))}", flush=True)
    except BrokenPipeError:  # the run is kept, and its status
        drop_output()


class AskedPush(NamedTuple):
    """A push as it was asked for: impulse [N s], direction [degrees], start [s]."""

    word: str
    impulse: float
    direction: float
    start: float | None
    link: str | None


def asked_push(word: str) -> AskedPush:
    """Read NS@DEG[@S][@LINK].

    Raises:
        EquipoiseError: If it is something else.
    """
    from equipoise.errors import EquipoiseError

    impulse, direction, *rest = [*word.split("@", 3), ""]
    start: float | None = None
    try:
        numbers = float(impulse), float(direction)
    except ValueError as error:
        raise EquipoiseError(
            f"--push '{word}': NS@DEG[@S][@LINK] is needed, for example 20@90@1.5@torso"
        ) from error
    parts = [part for part in rest if part]
    if parts:
        with contextlib.suppress(ValueError):  # then it is a link
            start = float(parts[0])
            parts = parts[1:]
    return AskedPush(word, *numbers, start, "@".join(parts) or None)


def with_pushes(
    world: World, asked: Sequence[AskedPush], seconds: float | None
) -> World:
    """Return a world with pushes; those without a time come after a third of the run.

    Args:
        world: The world.
        asked: The pushes.
        seconds: How long the run takes [s], if that is known.

    Raises:
        EquipoiseError: If one is impossible, or would begin after the end.
    """
    from equipoise.errors import EquipoiseError
    from equipoise.simulation.world import horizontal_push

    last = math.inf if seconds is None else seconds
    pushes = []
    for push in asked:
        start = min(last, 1e9) / 3.0 if push.start is None else push.start
        try:
            pushes.append(
                horizontal_push(
                    world.robot,
                    push.impulse,
                    math.radians(push.direction),
                    start,
                    link=push.link,
                )
            )
        except EquipoiseError as error:
            raise EquipoiseError(f"--push '{push.word}': {error}") from error
        if not start < last:
            raise EquipoiseError(
                f"--push '{push.word}': it would begin at {start:g} s, after the end "
                f"of the run at {last:g} s"
            )
    return replace(world, pushes=tuple(pushes))


def _print(
    results: Mapping[str, Any], warnings: tuple[str, ...], verbose: bool
) -> None:
    from equipoise.show.pages.labels import value_beside_limit

    console = make_console()
    table = make_table("result", "value", numbers=("value",))
    for name, value in _rows(results, verbose):
        table.add_row(name, value)
    console.print(printable(results["sentence"]), style="bold", soft_wrap=True)
    console.print(table)
    if results.get("compared"):
        console.print(_compared_table(results["compared"]))
    checks = make_table("check", "value", "limit", "passed", numbers=("value", "limit"))
    for check in results["checks"]:
        shown = value_beside_limit(check["value"], check["limit"], check["unit"])
        checks.add_row(check["name"], *shown, "yes" if check["passed"] else "no")
    console.print(checks)
    if verbose:
        console.print(_joint_table(results["actuators"]["joints"]))
    for notice in results["notices"]:
        console.print(printable(f"note: {notice}"), soft_wrap=True)
    for warning in warnings:
        line = printable(f"warning: {warning}")
        console.print(line, style="yellow", soft_wrap=True)


def _rows(results: Mapping[str, Any], verbose: bool) -> Iterator[tuple[str, str]]:
    """Yield results as text: those that matter most, or all of them in groups."""
    from equipoise.show.pages.labels import push_rows, readable_results

    known = [key for key, value in results.items() if value is not None]
    keys = [key for key in OUTCOME if key in (*known, "fell_at_s")]
    if not results["steps_done"]:
        keys.remove("steps_done")
    if verbose:
        groups = ("gait", "contact", "solver", "actuators")
        rest = sorted(set(results) - {*OUTCOME, *SHOWN_ELSEWHERE, *groups})
        keys += [*rest, *(key for key in groups if key in results)]
    for key in keys:
        value = results[key]
        if key == "actuators":
            value = {name: part for name, part in value.items() if name != "joints"}
        yield from readable_results({key: value}, ())
    yield from push_rows(results["pushes"])


def _compared_table(compared: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return results of runs side by side, a column each."""
    from equipoise.show.pages.labels import compared_rows

    head, *rows = compared_rows(compared)
    table = make_table(*head, numbers=tuple(head[1:]))
    for row in rows:
        table.add_row(*row)
    return table


def _joint_table(joints: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return torques and speeds of all joints against their limits."""
    from equipoise.show.pages.labels import joint_use_rows

    head, *rows = joint_use_rows(joints)
    table = make_table(*head, numbers=tuple(head[1:]))
    for row in rows:
        table.add_row(*row)
    return table


@dataclass(frozen=True)
class Stand(TrialOptions):
    """Let a robot settle on its feet; report forces, centre of mass and ZMP."""

    def run(self) -> int:
        """Simulate, print, write."""
        from equipoise.simulation.trials import stand

        simulate = partial(stand, seconds=self.seconds)
        return run_trial(self, "stand", simulate, seconds=self.seconds)


@dataclass(frozen=True)
class Drop(TrialOptions):
    """Drop a robot onto its feet; report the impact and whether it stays up."""

    height: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Height of the soles above the ground [m]; default: a tenth of the legs."""

    def run(self) -> int:
        """Simulate, print, write."""
        from equipoise.simulation.trials import drop

        simulate = partial(drop, height=self.height, seconds=self.seconds)
        return run_trial(self, "drop", simulate, seconds=self.seconds)
