"""``equipoise walk``: from a robot file to a walk that was proven in simulation."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from equipoise.cli.console import make_console, make_table, printable
from equipoise.cli.long_work import refuse_long_run
from equipoise.cli.trial import (
    RunOptions,
    asked_push,
    keep_and_show,
    run_trial,
    with_pushes,
)
from equipoise.cli.walk_to_box import run_to_box
from equipoise.cli.world_options import command_line
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.gait.motion import Motion
    from equipoise.gait.velocity_command import Velocity, VelocityTable
    from equipoise.kinematics.terrain import Terrain
    from equipoise.log.run import Run
    from equipoise.robot.model import Robot
    from equipoise.simulation.actuation import Mode
    from equipoise.simulation.paper_walk import PaperWalk
    from equipoise.simulation.world import World

# What one may still say where the paper says the rest.
BESIDE_PAPER = ("robot", "engine", "dt", "out", "force", "long", "settings", "paper")


# No robot steps faster [s].
SHORTEST_STEP = 0.1
# Simulated time of all the walks of the paper's experiment [s], and its robot's size.
PAPER_SECONDS, PAPER_DEGREES = 25.0, 18
# A walk by a constant velocity takes so long unless asked for [s].
VELOCITY_SECONDS = 10.0
# What the velocity decides, or a plan ahead has no use for.
NOT_BY_VELOCITY = (
    "steps",
    "length",
    "sideways",
    "turn",
    "first",
    "method",
    "footsteps",
    "adapt",
    "terrain",
    "wave",
    "arms",
)


@dataclass(frozen=True)
class GaitOptions:
    """Options of verbs that plan a walk."""

    steps: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Number of steps; the last brings the feet together. Default: 6, or as many as
    lead over the stairs of --terrain."""

    length: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Step length, from foot to foot [m]; negative walks backward. Default: a fraction
    of the legs, and what joints allow."""

    sideways: Annotated[float, tyro.conf.arg(metavar="M")] = 0.0
    """Lateral step of the leading foot, to the left [m]."""

    turn: Annotated[float, tyro.conf.arg(metavar="DEG")] = 0.0
    """Turn to the left with each step [degrees]."""

    step_time: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """Step time, from one touch-down to the next [s]."""

    double_support: Annotated[float | None, tyro.conf.arg(metavar="FRACTION")] = None
    """Fraction of a step with both feet on the ground."""

    clearance: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Clearance of the swing foot above the ground [m]."""

    com_height: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Height of the centre of mass above the ground [m]."""

    first: Literal["left", "right"] = "right"
    """The foot that swings first."""

    method: Literal["lipm", "preview"] = "lipm"
    """How the centre of mass is planned: in closed form, or by preview control."""

    footsteps: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """CSV or TOML file of footsteps, instead of a steady walk."""

    unfiltered: bool = False
    """Do not correct the centre of mass for what the pendulum leaves out."""

    adapt: bool = False
    """Take the nearest CoM height that can be followed, if the one wanted cannot."""

    wave: Literal["left", "right"] | None = None
    """Wave this hand meanwhile."""

    def plan(self, robot: Robot, ground: Terrain) -> Motion:
        """Plan the walk that was asked for and solve its joints."""
        from equipoise.gait.fit import fit_walk
        from equipoise.gait.motion import solve
        from equipoise.gait.waving import waving

        asked = self._asked(robot, ground)
        gait = fit_walk(robot, self.steps, adapt=self.adapt, **asked)
        arms = waving(robot, self.wave, gait.duration) if self.wave else None
        return solve(robot, gait, arms=arms, dynamics_filter=not self.unfiltered)

    def _asked(self, robot: Robot, ground: Terrain) -> dict[str, Any]:
        """Return the options of the plan, by the planner's names."""
        asked: dict[str, Any] = {
            "length": self.length,
            "sideways": self.sideways,
            "turn": math.radians(self.turn),
            "step_time": self.step_time,
            "double_support": self.double_support,
            "clearance": self.clearance,
            "com_height": self.com_height,
            "first": self.first,
            "method": self.method,
            "ground": ground,
        }
        if self.footsteps is not None:
            from equipoise.gait.footsteps import read_footsteps
            from equipoise.gait.walks import standing_feet

            feet = standing_feet(robot)
            asked["footsteps"] = read_footsteps(self.footsteps, feet)
        return asked


@dataclass(frozen=True)
class Walk(GaitOptions, RunOptions):
    """Plan a walk, solve the joints for an exact centre of mass, and prove it."""

    torque: bool = False
    """Whole-body torque control: joints are told torques within the limits of the
    robot's file; short for --actuators torque."""

    actuators: Literal["servo", "torque", "ideal"] | None = None
    """servo: servos with feed-forward torques and the torque and speed limits of the
    robot's file; torque: joints that are told torques, with the same limits;
    ideal: open loop, joints follow exactly, whatever torque it takes. Default: torque
    if the robot's file says that its joints are told torques (MJCF motors, effort
    interfaces of URDF, command = "torque" in TOML), else servo."""

    arms: Literal["still", "yaw"] | None = None
    """What the arms do with --torque: still holds them; yaw lets them swing so that
    they suppress the yaw moment at the stance foot. Default: they keep to their posture
    loosely."""

    open_loop: bool = False
    """No feedback: servos with feed-forward torques follow the plan."""

    true_state: bool = False
    """Feedback of the true state instead of sensors with noise and delay."""

    unknown_terrain: Annotated[str | None, tyro.conf.arg(metavar="GROUND")] = None
    """What the robot truly walks on, known to nothing that plans or controls, in the
    words of --terrain; the walk is planned on --terrain."""

    velocity: Annotated[str | None, tyro.conf.arg(metavar="VX,VY,YAW or FILE")] = None
    """Walk by a commanded velocity, planned online, instead of a number of steps:
    forward and to the left [m/s] and the turn to the left [degrees/s], in the frame of
    the heading; or a CSV file of them over time, with the columns time, vx, vy and
    yaw_rate [rad/s]."""

    seconds: Annotated[float | None, tyro.conf.arg(metavar="S")] = None
    """How long to walk by velocity [s], at rest again at the end; default: 10 s, or
    as long as the file."""

    to_box: Annotated[float | None, tyro.conf.arg(metavar="M")] = None
    """Walk to a box that stands so far ahead of the feet [m], touch it with both hands
    and push it with --push-force; with --torque."""

    push_force: Annotated[float | None, tyro.conf.arg(metavar="N")] = None
    """Force with which the box of --to-box is pushed, of both hands together [N]."""

    box_mass: Annotated[float | None, tyro.conf.arg(metavar="KG")] = None
    """Mass of the box of --to-box [kg]; default: one that the force moves."""

    paper: bool = False
    """The experiment of [Sanliturk2024] instead, itu-biped only: its gait by its own
    method, by what it compares with, and by ours, in one table."""

    def run(self) -> int:
        """Plan, solve, simulate, print, write."""
        if self.paper:
            return self._run_paper()
        if self.to_box is not None:
            return run_to_box(self, self.to_box, self.push_force, self.box_mass)
        if self.push_force is not None or self.box_mass is not None:
            raise EquipoiseError("--push-force and --box-mass are for --to-box")
        if self.true_state and (self.open_loop or self.actuators == "ideal"):
            other = "--open-loop" if self.open_loop else "--actuators ideal"
            raise EquipoiseError(f"--true-state is for feedback: not with {other}")
        if self.velocity is not None:
            return self._run_velocity(self.velocity)
        if self.seconds is not None:
            raise EquipoiseError("--seconds is for --velocity; --steps says how far")
        from equipoise.simulation.needed_friction import friction_warning
        from equipoise.simulation.walk import walk

        def simulate(world: World, model: Robot, **how: Any) -> Run:
            if self.arms is not None and not world.actuation.by_torque:
                raise EquipoiseError(f"--arms {self.arms} is for --torque")
            # at least so long: to plan many steps takes long itself
            refuse_long_run(self, SHORTEST_STEP * (self.steps or 0), model.model.nv)
            motion = self.plan(model, world.terrain)
            asked_pushes = [asked_push(word) for word in self.push]
            world = with_pushes(world, asked_pushes, motion.duration)
            refuse_long_run(self, motion.duration, model.model.nv)
            warning = friction_warning(world, motion)
            if warning is not None:
                line = printable(f"warning: {warning}")
                print(line, file=sys.stderr, flush=True)
            asked = {"arms": self.arms, **self._how(model)}
            return walk(world, motion, model=model, **asked, **how)

        return run_trial(self, "walk", simulate, mode=self._mode())

    def _how(self, robot: Robot) -> dict[str, Any]:
        """Return how the walk is controlled, and on what ground it truly goes."""
        from equipoise.simulation.terrain_names import terrain_named

        unknown = None
        if self.unknown_terrain is not None:
            unknown = terrain_named(self.unknown_terrain, robot, self.seed)
        return {
            "unknown_terrain": unknown,
            "feedback": not self.open_loop,
            "true_state": self.true_state,
            "seed": self.seed,
        }

    def _run_velocity(self, words: str) -> int:
        """Walk by a commanded velocity."""
        from equipoise.gait.velocity_command import VelocityTable
        from equipoise.simulation.commanded_walk import walk_by_velocity

        for option in fields(self):
            asked = getattr(self, option.name) != option.default
            if option.name in NOT_BY_VELOCITY and asked:
                word = option.name.replace("_", "-")
                raise EquipoiseError(f"--{word} cannot be chosen with --velocity")
        command = asked_velocity(words)
        seconds = self.seconds
        if seconds is None:
            seconds = VELOCITY_SECONDS
            if isinstance(command, VelocityTable) and command.times[-1] > 0.0:
                seconds = command.times[-1]

        def simulate(world: World, model: Robot, **how: Any) -> Run:
            return walk_by_velocity(
                world,
                command,
                seconds,
                model=model,
                dynamics_filter=not self.unfiltered,
                step_time=self.step_time,
                double_support=self.double_support,
                clearance=self.clearance,
                com_height=self.com_height,
                **self._how(model),
                **how,
            )

        return run_trial(self, "walk", simulate, seconds=seconds, mode=self._mode())

    def _mode(self) -> Mode | None:
        """Return the mode of the joints, None for that of the robot's file."""
        if not self.torque and self.actuators is None:
            return "servo" if self.open_loop else None
        if not self.torque and self.actuators != "torque":
            return "position" if self.actuators == "ideal" else "servo"
        if self.actuators == "ideal" or self.open_loop:
            other = "--open-loop" if self.open_loop else "--actuators ideal"
            raise EquipoiseError(f"--torque is for feedback: not with {other}")
        return "torque"

    def _run_paper(self) -> int:
        """Repeat the paper's experiment; 0 if its method walks."""
        from equipoise.log.folder import check_folder
        from equipoise.robot.load import load
        from equipoise.simulation.engine import check_dt
        from equipoise.simulation.paper_walk import paper_walk

        for option in fields(self):
            asked = getattr(self, option.name) != option.default
            if option.name not in BESIDE_PAPER and asked and self._given(option.name):
                word = option.name.replace("_", "-")
                raise EquipoiseError(f"--{word} cannot be changed with --paper")
        check_dt(self.dt)
        refuse_long_run(self, PAPER_SECONDS, PAPER_DEGREES)
        if self.out is not None:
            check_folder(self.out, replace=self.force)
        done = paper_walk(
            load(self.robot, self.settings), engine=self.engine, dt=self.dt
        )
        summary = {**done.run.summary, "command": command_line()}
        run = done.run.with_summary(summary)
        title = f"walk {self.robot} --paper"
        keep_and_show(self, run, title, lambda: print_paper(done))
        return 0 if done.walks else 1

    def _given(self, name: str) -> bool:
        return getattr(self, name) not in (None, ())


def asked_velocity(words: str) -> Velocity | VelocityTable:
    """Read VX,VY,YAW in m/s and degrees/s, or the CSV file of that name.

    Raises:
        EquipoiseError: If it is something else.
    """
    from equipoise.gait.velocity_command import Velocity, read_velocities

    parts = words.split(",")
    try:
        x, y, yaw = (float(part) for part in parts)
    except ValueError:
        if Path(words).suffix.lower() == ".csv" or Path(words).exists():
            return read_velocities(words)
        raise EquipoiseError(
            f"--velocity '{words}': VX,VY,YAW is needed in m/s and degrees/s, for "
            "example 0.2,0,10, or a CSV file"
        ) from None
    if not all(map(math.isfinite, (x, y, yaw))):
        raise EquipoiseError(f"--velocity '{words}': it must be finite")
    return Velocity(x, y, math.radians(yaw))


def print_paper(done: PaperWalk) -> None:
    """Print the table of the paper's experiment, and what had to be assumed."""
    from equipoise.simulation.paper_walk import Printed

    printed = Printed()
    numbers = ("mean [m]", "max [m]", "min [m]", "ZMP inside", "ms a point")
    table = make_table("CoM error", *numbers, "outcome", numbers=numbers)
    table.add_row(
        "CCG, as printed in the paper",
        f"{printed.mean:.4f}",
        f"{printed.largest:.4f}",
        f"{printed.smallest:.5f}",
        "–",
        f"{1e3 * printed.time_a_point:.3f}",
        "walks 6 steps",
    )
    table.add_row("constant vector, as printed", *"–––––", "falls in step 4")
    for row in done.rows:
        outcome = f"stays up, {row.steps} steps"
        if row.fell_at is not None:
            outcome = f"falls at {row.fell_at:.2f} s, after {row.steps} steps"
        table.add_row(
            row.method,
            f"{row.mean:.4f}",
            f"{row.largest:.4f}",
            f"{row.smallest:.5f}",
            f"{100 * row.zmp_inside:.0f} %",
            f"{1e3 * row.time_a_point:.3f}",
            outcome,
        )
    console = make_console()
    engine = done.run.summary["engine"]
    title = f"The walk of [Sanliturk2024], open loop, engine {engine}"
    console.print(title, style="bold", soft_wrap=True)
    console.print(table)
    for line in done.assumptions:
        console.print(printable(f"assumed: {line}"), soft_wrap=True)
    baseline = next(row for row in done.rows if row.key == "constant")
    if baseline.fell_at is None:
        console.print(
            "note: the constant vector does not fall here, unlike in the paper; its "
            f"CoM is up to {baseline.largest:.2f} m off, its ZMP at an edge "
            f"{100 * (1 - baseline.zmp_inside):.0f} % of the time",
            soft_wrap=True,
        )
    if not done.walks:
        console.print("note: CCG falls here, unlike in the paper", soft_wrap=True)
