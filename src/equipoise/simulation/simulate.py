"""A reference, a controller and a robot in, a run out."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from equipoise.errors import EquipoiseError
from equipoise.log.run import Event, Run
from equipoise.robot.model import Robot
from equipoise.simulation.engine import Engine, State
from equipoise.simulation.loop import (
    Controller,
    EnginePlant,
    OpenLoop,
    Reference,
    run_loop,
)
from equipoise.simulation.recorder import has_fallen, make_run, time_of_fall
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.start import check_soles
from equipoise.simulation.world import World, make_world

EngineName = Literal["native", "mujoco"]
ENGINES: tuple[EngineName, ...] = ("native", "mujoco")
RECORD_PERIOD = 0.01
# Long runs are recorded less often.
MOST_RECORDS = 20_000
# A fall is watched for this long before the simulation stops [s].
AFTER_FALL = 0.5
# How often to look [s].
WATCH_PERIOD = 0.02
PACKAGES = ("equipoise", "numpy", "pin", "warp-lang", "mujoco")


def make_engine(name: str, world: World, dt: float = 1e-3) -> Engine:
    """Return an engine by its name: ``"native"`` or ``"mujoco"``.

    Raises:
        EquipoiseError: If there is no such engine, or the time step is out of range.
    """
    if name == "native":
        from equipoise.simulation.native import NativeEngine

        return NativeEngine(world, dt)
    if name == "mujoco":
        from equipoise.simulation.mujoco_engine import MujocoEngine

        return MujocoEngine(world, dt)
    raise EquipoiseError(
        f"there is no engine '{name}'; the engines are: {', '.join(ENGINES)}"
    )


def simulate(
    world: World | Robot,
    reference: Reference,
    seconds: float,
    *,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    controller: Controller | None = None,
    sensors: SensorSuite | None = None,
    engine: EngineName | Engine = "native",
    dt: float = 1e-3,
    control_period: float | None = None,
    reference_period: float | None = None,
    record_period: float = RECORD_PERIOD,
    on_feet: bool = True,
    upright: ArrayLike | None = None,
    summary: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot follow a reference in a world, and return what happened.

    Args:
        world: The robot and all that it meets; a robot alone stands on flat ground.
        reference: What is wanted over time.
        seconds: How long.
        start: Configuration to begin with, shape (nq,); standing unless given.
        velocity: Velocity to begin with, shape (nv,); at rest unless given.
        controller: What is done about the reference; servos alone unless given.
        sensors: What the controller is shown instead of the state.
        engine: Its name, or one that was made before (of the same world).
        dt: Time step of an engine given by name [s].
        control_period: For which a command holds [s]; one time step unless given.
        reference_period: How often the reference is asked [s]; in each control period
            unless given.
        record_period: How often a state is kept [s]; less often in very long runs.
        on_feet: Whether to refuse to begin with soles that do not touch the ground.
        upright: Configuration whose height and tilt a fall is measured against, shape
            (nq,); that at the start unless given.
        summary: Figures to add to the run's.
        progress: Is told the simulated time [s] now and then.

    Raises:
        EquipoiseError: If soles float or are deep in the ground, a time is no multiple
            of the time step, or the controller misbehaves.
        DivergedError: If the simulation leaves all bounds.
    """
    began = time.perf_counter()
    if isinstance(world, Robot):
        world = make_world(world)
    robot = world.robot
    q = np.array(robot.standing if start is None else robot.check_q(start))
    stood = q if upright is None else robot.check_q(upright)
    if on_feet:
        check_soles(world, q)
    if isinstance(engine, str):
        engine = make_engine(engine, world, dt)
    elif engine.world is not world:
        raise EquipoiseError("the engine was made for another world")
    engine.reset(q, velocity)
    period = control_period or engine.dt
    record_period = max(record_period, seconds / MOST_RECORDS)
    every = max(round(record_period / engine.dt), 1)
    plant = EnginePlant(engine, period, every)
    fallen: list[float] = []
    next_look = [WATCH_PERIOD]

    def watch(state: State) -> bool:
        if state.time < next_look[0]:
            return False
        next_look[0] = state.time + WATCH_PERIOD
        if progress is not None:
            progress(state.time)
        if not fallen and has_fallen(world, stood, state.q):
            fallen.append(state.time)
        return bool(fallen) and state.time >= fallen[0] + AFTER_FALL

    run_loop(
        reference,
        controller or OpenLoop(),
        plant,
        seconds,
        reference_period=reference_period,
        sensors=sensors,
        watch=watch,
    )
    trace = plant.trace
    wanted = [reference.sample(at) for at in trace.time]
    references = {"joint_position": np.array([target.position for target in wanted])}
    if wanted[0].com is not None:
        references["com"] = np.array([target.com for target in wanted])
    fell_at = time_of_fall(world, stood, trace.time, trace.q)
    events = [] if fell_at is None else [Event(fell_at, "fell")]
    run = make_run(world, trace, references=references, events=events, summary={})
    wall = time.perf_counter() - began
    figures = {
        "robot": robot.name,
        "engine": engine.name,
        "fell_at_s": fell_at,
        "duration_s": float(trace.time[-1]),
        "dt_s": engine.dt,
        "wall_s": wall,
        "realtime_factor": float(trace.time[-1]) / wall,
        "com_error_m": com_error(run),
        "zmp_margin_m": margins(run),
        "notices": list(engine.notices),
        "versions": versions(),
        **(summary or {}),
    }
    return replace(run, summary=figures)


def com_error(run: Run) -> dict[str, float] | None:
    """Return mean and largest distance of the CoM from its reference [m]."""
    if "com" not in run.references:
        return None
    distance = np.linalg.norm(run.com - run.references["com"], axis=1)
    return {"mean": float(distance.mean()), "max": float(distance.max())}


def margins(run: Run) -> dict[str, float] | None:
    """Return smallest and mean margin of the ZMP [m], None if nothing touched."""
    margin = run.zmp_margin[run.supported]
    if len(margin) == 0:
        return None
    return {"min": float(margin.min()), "mean": float(margin.mean())}


def versions() -> dict[str, str]:
    """Return versions of what computed a run."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
