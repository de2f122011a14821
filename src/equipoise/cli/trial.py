"""What verbs that simulate a robot have in common: options, world, table, folder."""

from __future__ import annotations

import contextlib
import math
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import tyro

from equipoise.cli.console import (
    drop_output,
    make_console,
    make_table,
    printable,
    progress,
)
from equipoise.cli.long_work import refuse_long_run

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
    "com_error_m",
    "com_error_from_stance_m",
    "placement_error_m",
    "zmp_error_m",
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
)


@dataclass(frozen=True)
class RunOptions:
    """Options of all verbs that simulate."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, for example g1_description."""

    engine: Literal["native", "mujoco"] = "native"
    """Which engine simulates: our own, or MuJoCo (needs the extra of that name)."""

    terrain: Annotated[str, tyro.conf.arg(metavar="GROUND")] = "flat"
    """flat; slope:PITCH[,ROLL] in degrees; stairs[:RISE,TREAD,COUNT,START] in metres;
    rough[:AMPLITUDE,WAVELENGTH] in metres, flat under the feet at the start;
    field:FILE[,CELL] for a grid of heights in metres, FILE being .npy or .csv."""

    dt: Annotated[float, tyro.conf.arg(metavar="S")] = 1e-3
    """Time step [s]."""

    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Seed of all random numbers, such as the shape of rough ground."""

    payload: Annotated[
        tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="LINK=KG")
    ] = field(default=())
    """Mass added at a link's centre of mass [kg], known to the planner and to the
    feed-forward torques; may be given several times."""

    unknown_payload: Annotated[
        tuple[str, ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="LINK=KG"),
    ] = field(default=())
    """The same, but known to nothing that plans or controls."""

    push: Annotated[
        tuple[str, ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="NS@DEG[@S][@LINK]"),
    ] = field(default=())
    """Push from the side: impulse [N s], direction in degrees about z (0 pushes
    forward, 90 to the left), when it begins [s] (default: after a third of the run) and
    on which link's centre of mass (default: the torso's). It lasts 0.1 s; may be given
    several times."""

    friction: Annotated[float | None, tyro.conf.arg(metavar="MU")] = None
    """Coefficient of friction at which soles begin to slip; default: 0.8. While they
    slip it is 7/8 of that."""

    bandwidth: Annotated[float | None, tyro.conf.arg(metavar="HZ")] = None
    """Bandwidth of the legs' servos in stance [Hz]; default: 3, and more where the CoM
    is lower than 0.55 m. Other joints are faster in proportion."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder for summary.json, run.mcap and report.html. It appears when all is done;
    without it nothing is kept."""

    force: bool = False
    """Replace a run that is in that folder already."""

    settings: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML to use instead of the one beside the robot file."""

    long: bool = False
    """Do it even if it takes more than ten minutes."""

    verbose: bool = False
    """Print all results, not only those that matter most."""


@dataclass(frozen=True)
class TrialOptions(RunOptions):
    """Options of verbs that last as long as one wants."""

    seconds: Annotated[float, tyro.conf.arg(metavar="S")] = 3.0
    """How long to simulate [s], a whole number of time steps."""


def run_trial(
    options: RunOptions,
    verb: str,
    simulate: Callable[..., Run],
    *,
    seconds: float | None = None,
    mode: Mode = "servo",
) -> int:
    """Load the robot, simulate it, print the table and write the folder.

    Args:
        options: What the user asked for.
        verb: The word for it.
        simulate: Gets the world, and as keywords the robot as planner and
            feed-forward know it (model), engine, dt and progress.
        seconds: How long it takes, if that is known beforehand.
        mode: Mode of the joints.

    Returns:
        0 if the robot did it, 1 if not.
    """
    from equipoise.log.folder import check_folder
    from equipoise.robot.joint_coordinates import BASE_V
    from equipoise.robot.load import load
    from equipoise.simulation.engine import check_dt
    from equipoise.simulation.loop import whole_steps
    from equipoise.simulation.terrain_names import terrain_named
    from equipoise.simulation.trials import trial_world
    from equipoise.simulation.world import with_friction, with_payload

    payload = _payload("--payload", options.payload)
    unknown = _payload("--unknown-payload", options.unknown_payload)
    asked_pushes = [asked_push(word) for word in options.push]
    check_dt(options.dt)
    if seconds is not None:
        whole_steps(seconds, options.dt, "duration (--seconds)")
        refuse_long_run(options, seconds, BASE_V)
    if options.out is not None:
        check_folder(options.out, replace=options.force)
    robot = load(options.robot, options.settings)
    ground = terrain_named(options.terrain, robot, options.seed)
    world = trial_world(robot, ground, mode, bandwidth=options.bandwidth)
    # gains and floor stay those of the robot as it is
    model = with_payload(robot, payload)
    world = replace(world, robot=with_payload(model, unknown))
    if options.friction is not None:
        world = with_friction(world, options.friction)
    # a walk whose duration is not known yet puts them where they belong itself
    world = with_pushes(world, asked_pushes, seconds)
    if seconds is not None:
        refuse_long_run(options, seconds, robot.model.nv)
    with progress(seconds, f"{verb} {robot.name}") as told:
        run = simulate(
            world, model=model, engine=options.engine, dt=options.dt, progress=told
        )
    asked = {
        "seed": options.seed,
        "payload_kg": payload,
        "unknown_payload_kg": unknown,
        "command": command_line(),
    }
    run = run.with_summary({**run.summary, **asked})
    title = f"{verb} {robot.name}"
    warnings, verbose = robot.warnings, options.verbose
    keep_and_show(options, run, title, lambda: _print(run.summary, warnings, verbose))
    return 0 if run.summary["achieved"] else 1


def keep_and_show(
    options: RunOptions, run: Run, title: str, show: Callable[[], None]
) -> None:
    """Write the folder that was asked for, then print; the reader may go early.

    Args:
        options: What the user asked for.
        run: The run, its summary complete.
        title: Title of the report.
        show: Prints the tables.
    """
    if options.out is not None:
        from equipoise.show.pages.report import report

        page = report(run, title, command_line())
        run.save(options.out, report=page, replace=options.force)
    try:
        show()
        if options.out is not None:
            print(f"written: {printable(str(options.out))}", flush=True)
    except BrokenPipeError:  # the run is kept, and its status
        drop_output()


def command_line() -> str:
    """Return the words that did this, for doing it again."""
    return shlex.join(["equipoise", *sys.argv[1:]])


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


def _payload(option: str, words: tuple[str, ...]) -> dict[str, float]:
    from equipoise.errors import EquipoiseError

    payload: dict[str, float] = {}
    for word in words:
        link, equals, mass = word.rpartition("=")
        try:
            kilograms = float(mass)
        except ValueError:
            equals = ""
        if not equals or not link:
            raise EquipoiseError(
                f"{option} '{word}': LINK=KG is needed, for example torso=2.5"
            )
        payload[link] = payload.get(link, 0.0) + kilograms
    return payload


def _print(
    results: Mapping[str, Any], warnings: tuple[str, ...], verbose: bool
) -> None:
    from equipoise.show.pages.labels import values_with_unit

    console = make_console()
    table = make_table("result", "value", numbers=("value",))
    for name, value in _rows(results, verbose):
        table.add_row(name, value)
    console.print(printable(results["sentence"]), style="bold", soft_wrap=True)
    console.print(table)
    checks = make_table("check", "value", "limit", "passed", numbers=("value", "limit"))
    for check in results["checks"]:
        shown = values_with_unit([check["value"], check["limit"]], check["unit"])
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

    keys = [key for key in OUTCOME if key in results]
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
