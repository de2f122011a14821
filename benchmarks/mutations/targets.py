"""What is done with a broken file: from Python, and on the command line."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import equipoise as eq
from benchmarks.mutations.examples import ROBOT
from equipoise.cli.main import run
from equipoise.gait.footsteps import read_footsteps
from equipoise.gait.plan import plan_walk
from equipoise.gait.walks import standing_feet
from equipoise.identification.posing.pose_file import pose_of_table
from equipoise.log.open_run import log_contents, open_run, read_recording
from equipoise.robot.mesh import coarser, creased, read_mesh, weld
from equipoise.robot.model import Robot
from equipoise.simulation.terrain_names import terrain_named

LOADED, REFUSED = "loaded", "refused"
MESH_URDF = """<robot name="m"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="{name}"/></geometry></collision>
<visual><geometry><mesh filename="{name}" scale="2 1 -1"/></geometry></visual></link>
</robot>"""
MESH_MJCF = """<mujoco><asset><mesh name="m" file="{name}"/></asset><worldbody>
<body name="a"><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


@cache
def sound_robot() -> Robot:
    """Return a robot that nothing is wrong with."""
    return eq.load(ROBOT)


def attempt(target: Callable[[], object]) -> str:
    """Return what a target does with a broken file: loaded, refused, or the fault."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            target()
            result = LOADED
        except eq.EquipoiseError as error:
            result = REFUSED if "\n" not in str(error) else f"two lines: {error}"
        except SystemExit as stop:
            result = f"exit {stop.code}"
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    said = [
        str(item.message)
        for item in caught
        if issubclass(item.category, RuntimeWarning)
    ]
    return f"warning: {said[0]}" if said and result in (LOADED, REFUSED) else result


def from_python(kind: str, file: Path) -> str:
    """Return what becomes of a broken file of a format."""
    robot = sound_robot()
    targets: dict[str, list[Callable[[], object]]] = {
        "toml": [lambda: eq.load(ROBOT, file)],
        "csv": [
            lambda: open_run(file, robot),
            lambda: pose_of_table(robot, file, 1),
        ],
        "mcap": [
            lambda: open_run(file, robot),
            lambda: log_contents(file),
            lambda: read_recording(file),
        ],
        "footsteps": [lambda: _planned(robot, file)],
        "terrain": [lambda: _surface(robot, file)],
    }
    if kind in ("urdf", "mjcf", "dh"):
        return attempt(lambda: eq.load(file))
    if kind in ("stl", "dae", "obj"):
        return _mesh(kind, file)
    results = [attempt(target) for target in targets[kind]]
    faults = [result for result in results if result not in (LOADED, REFUSED)]
    return faults[0] if faults else LOADED if LOADED in results else REFUSED


def _planned(robot: Robot, file: Path) -> object:
    return plan_walk(robot, footsteps=read_footsteps(file, standing_feet(robot)))


def _surface(robot: Robot, file: Path) -> object:
    ground = terrain_named(str(file), robot)
    return ground.surface(
        np.array([[0.0, 0.0, 0.0], [0.1, -0.1, 0.0], [9.0, 9.0, 0.0]])
    )


def _mesh(kind: str, file: Path) -> str:
    """Return what becomes of a mesh: read for itself, and as part of robots."""

    def read() -> None:
        found = read_mesh(file)
        if found is None:
            raise eq.EquipoiseError("no mesh")
        creased(coarser(weld(found), 4))

    urdf, mjcf = (file.with_suffix(f".{kind}{ending}") for ending in (".urdf", ".xml"))
    urdf.write_text(MESH_URDF.format(name=file.name), encoding="utf-8")
    mjcf.write_text(MESH_MJCF.format(name=file.name), encoding="utf-8")
    results = [attempt(read), attempt(lambda: eq.load(urdf))]
    if kind != "dae":
        results.append(attempt(lambda: eq.load(mjcf)))
    faults = [result for result in results if result not in (LOADED, REFUSED)]
    return faults[0] if faults else results[0]


def words(kind: str, file: Path, turn: int) -> list[str]:
    """Return a command that reads a broken file; which one goes by turns."""
    out = file.parent / "out"
    picture = ["--what", "com", "--out", f"{out}.svg", "--force"]
    if kind in ("stl", "dae", "obj"):
        robot = file.with_suffix(f".{kind}.urdf")
        robot.write_text(MESH_URDF.format(name=file.name), encoding="utf-8")
        return _of_robot(robot, out, turn)
    if kind in ("urdf", "mjcf", "dh"):
        return _of_robot(file, out, turn)
    choices: dict[str, list[list[str]]] = {
        "toml": [["info", ROBOT, "--settings", str(file)]],
        "csv": [
            ["log", str(file)],
            ["identify", ROBOT, str(file)],
            ["pose", ROBOT, str(file), "1"],
            ["plot", str(file), "--robot", ROBOT, *picture],
        ],
        "mcap": [
            ["log", str(file)],
            ["identify", ROBOT, str(file)],
            ["trajectory", str(file), "--out", f"{out}.csv", "--force"],
            ["plot", str(file), *picture],
        ],
        "footsteps": [["walk", ROBOT, "--footsteps", str(file)]],
        "terrain": [
            ["stand", ROBOT, "--seconds", "0.5", "--terrain", f"field:{file},0.1"]
        ],
    }
    return choices[kind][turn % len(choices[kind])]


def _of_robot(robot: Path, out: Path, turn: int) -> list[str]:
    ending = (".urdf", ".xml")[turn % 2]
    choices = [
        ["info", str(robot)],
        ["export", str(robot), "--out", f"{out}{ending}", "--force"],
        ["info", str(robot), "--json"],
        ["stand", str(robot), "--seconds", "0.5", "--dt", "0.005"],
    ]
    return choices[turn % len(choices)]


def on_the_command_line(kind: str, file: Path, turn: int) -> str:
    """Return what a command does with a broken file: loaded, refused, or the fault."""
    command = words(kind, file, turn)
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        warnings.resetwarnings()
        status = run(command)
    said = errors.getvalue()
    aside = ("note: ", "compiling kernels")
    lines = [line for line in said.splitlines() if not line.startswith(aside)]
    if status not in (0, 1, 2):
        return f"{command[0]}: exit {status}: {said.strip()}"
    if "Traceback" in said or "Warning" in said:
        return f"{command[0]}: {said.strip()}"
    if status == 2 and len(lines) != 1:
        return f"{command[0]}: {len(lines)} lines: {said.strip()}"
    return REFUSED if status == 2 else LOADED
