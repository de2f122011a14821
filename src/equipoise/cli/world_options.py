"""Options of verbs that simulate a robot, and the world that they ask for."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import tyro

if TYPE_CHECKING:
    from equipoise.robot.model import Robot
    from equipoise.simulation.actuation import Mode
    from equipoise.simulation.world import World


@dataclass(frozen=True)
class WorldOptions:
    """Options of all verbs that simulate: the robot, its world, and what is kept."""

    robot: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ROBOT")]
    """Catalogue name, path to a URDF, MJCF or DH (TOML) file, or a name of the package
    robot_descriptions, for example g1_description."""

    engine: Literal["native", "mujoco"] = "native"
    """Which engine simulates: our own, or MuJoCo (needs the extra of that name)."""

    terrain: Annotated[str, tyro.conf.arg(metavar="GROUND")] = "flat"
    """flat; slope:PITCH[,ROLL] in degrees; stairs[:RISE,TREAD,COUNT,START] in metres;
    rough[:AMPLITUDE,WAVELENGTH] in metres, flat under the feet at the start;
    blocks[:STEP,SLOPE,SIZE] in metres, degrees and metres, the same;
    field:FILE[,CELL] for a grid of heights in metres, FILE being .npy or .csv."""

    dt: Annotated[float, tyro.conf.arg(metavar="S")] = 1e-3
    """Time step [s]."""

    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Seed of all random numbers, such as the shape of rough ground and of blocks."""

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


class AskedWorld(NamedTuple):
    """A robot in its world, as options ask for it.

    Attributes:
        robot: The robot as its file describes it.
        world: The world, with the robot as it is.
        model: The robot as planner, feed-forward and feedback know it.
        payload: Known payload by link [kg].
        unknown: Unknown payload by link [kg].
    """

    robot: Robot
    world: World
    model: Robot
    payload: dict[str, float]
    unknown: dict[str, float]

    def results(self, seed: int) -> dict[str, Any]:
        """Return what was asked for, for ``summary.json``."""
        return {
            "seed": seed,
            "payload_kg": self.payload,
            "unknown_payload_kg": self.unknown,
            "command": command_line(),
        }


def asked_world(options: WorldOptions, mode: Mode | None = "servo") -> AskedWorld:
    """Load the robot and put it into the world that options ask for.

    Args:
        options: What the user asked for.
        mode: Mode of the joints; None for that of the robot's file.

    Raises:
        EquipoiseError: If something of it is impossible.
    """
    from equipoise.robot.load import load
    from equipoise.simulation.terrain_names import terrain_named
    from equipoise.simulation.trials import trial_world
    from equipoise.simulation.world import with_friction, with_payload

    payload = _payload("--payload", options.payload)
    unknown = _payload("--unknown-payload", options.unknown_payload)
    robot = load(options.robot, options.settings)
    ground = terrain_named(options.terrain, robot, options.seed)
    world = trial_world(robot, ground, mode, bandwidth=options.bandwidth)
    # gains and floor stay those of the robot as it is
    model = with_payload(robot, payload)
    world = replace(world, robot=with_payload(model, unknown))
    if options.friction is not None:
        world = with_friction(world, options.friction)
    return AskedWorld(robot, world, model, payload, unknown)


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


def command_line() -> str:
    """Return the words that did this, for doing it again."""
    return shlex.join(["equipoise", *sys.argv[1:]])
