"""``equipoise walk --to-box``: walk to a box and push it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from equipoise.cli.long_work import refuse_long_run
from equipoise.cli.trial import run_trial
from equipoise.cli.world_options import WorldOptions
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.cli.walk import Walk
    from equipoise.log.run import Run
    from equipoise.robot.model import Robot
    from equipoise.simulation.world import World

# What one may still say of such a walk.
BESIDE_BOX = (
    *(option.name for option in fields(WorldOptions) if option.name != "terrain"),
    "torque",
    "actuators",
    "to_box",
    "push_force",
    "box_mass",
)
# Its simulated time, at least [s].
SECONDS = 10.0


def run_to_box(
    options: Walk, distance: float, force: float | None, mass: float | None
) -> int:
    """Walk to a box and push it; return the exit status.

    Args:
        options: What the user asked for.
        distance: How far ahead the box stands [m].
        force: With which force it is pushed [N].
        mass: Its mass [kg].

    Raises:
        EquipoiseError: If options do not go together.
    """
    from equipoise.simulation.box_push import walk_to_box

    for option in fields(options):
        value = getattr(options, option.name)
        asked = value != option.default and value not in (None, ())
        if option.name not in BESIDE_BOX and asked:
            word = option.name.replace("_", "-")
            raise EquipoiseError(f"--{word} cannot be chosen with --to-box")
    if not options.torque and options.actuators != "torque":
        raise EquipoiseError(
            "--to-box is for joints that are told torques: give --torque"
        )
    if force is None:
        raise EquipoiseError("--to-box needs a force to push with: --push-force N")

    def simulate(world: World, model: Robot, **how: Any) -> Run:
        refuse_long_run(options, SECONDS, model.model.nv)
        return walk_to_box(
            world,
            distance,
            force,
            box_mass=mass,
            seed=options.seed,
            model=model,
            **how,
        )

    return run_trial(options, "walk", simulate, mode="torque")
