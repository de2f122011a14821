"""A reference, a controller and a robot in, a run out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.control.blocks import Controller, Estimator, OpenLoop, Plant, Reference
from equipoise.control.signals import State
from equipoise.errors import EquipoiseError
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.actuator_use import actuator_use
from equipoise.simulation.engine import Engine
from equipoise.simulation.falling import fall_test, time_of_fall
from equipoise.simulation.loop import WHOLE, ControlLoop, Periods, whole_steps
from equipoise.simulation.recorder import make_run
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.start import check_soles
from equipoise.simulation.summary import RunSummary, com_error, margins, versions
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
    seconds: float | None = None,
    *,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    controller: Controller[Any] | None = None,
    sensors: SensorSuite | None = None,
    estimator: Estimator | None = None,
    engine: EngineName | Plant = "native",
    dt: float = 1e-3,
    control_period: float | None = None,
    reference_period: float | None = None,
    sensor_period: float | None = None,
    record_period: float = RECORD_PERIOD,
    on_feet: bool = True,
    upright: ArrayLike | None = None,
    until: Callable[[State], bool] | None = None,
    keep_failed: bool = False,
    assess: Callable[[Run, RunSummary], RunSummary] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Let a robot follow a reference in a world, and return what happened.

    All blocks are reset first: the same call twice gives the same run.

    Args:
        world: The robot and all that it meets; a robot alone stands on flat ground.
        reference: What is wanted over time.
        seconds: How long; as long as the reference lasts unless given.
        start: Configuration to begin with, shape (nq,); where the reference begins (its
            ``q[0]``, if it has one), or standing, unless given.
        velocity: Velocity to begin with, shape (nv,); at rest unless given.
        controller: What is done about the reference; servos alone unless given.
        sensors: What the controller is shown instead of the state.
        estimator: Makes a state of what the sensors measure, for the controller.
        engine: Its name, or one that was made before (of the same world), or a plant.
        dt: Time step of an engine given by name [s].
        control_period: For which a command holds [s]; one time step unless given.
        reference_period: How often the reference is asked [s]; in each control period
            unless given.
        sensor_period: How often the sensors measure and the estimator estimates [s];
            in each control period unless given.
        record_period: How often a state is kept [s]; less often in very long runs.
        on_feet: Whether to refuse to begin with soles that do not touch the ground.
        upright: Configuration whose height and tilt a fall is measured against, shape
            (nq,); that at the start unless given.
        until: Is shown the state whenever a block is asked; ends the run by True.
        keep_failed: Whether a controller that fails, or a simulation that diverges,
            ends the run instead of raising: the run until then is returned, the reason
            in ``summary["error"]`` and among its events.
        assess: Makes the run's summary of the run, still without one, and of what is
            known of any simulation: :class:`~equipoise.simulation.summary.RunSummary`.
        progress: Is told the simulated time [s] now and then.

    Raises:
        EquipoiseError: If soles float or are deep in the ground, a period is no
            multiple of the time step, or the controller misbehaves.
        DivergedError: If the simulation diverges.
    """
    began = time.perf_counter()
    if isinstance(world, Robot):
        world = make_world(world)
    robot = world.robot
    begins = getattr(reference, "q", None)
    usual = robot.standing if begins is None else begins[0]
    q = np.array(robot.check_q(usual if start is None else start))
    stood = q if upright is None else robot.check_q(upright)
    if on_feet:
        check_soles(world, q)
    if isinstance(engine, str):
        engine = make_engine(engine, world, dt)
    elif getattr(engine, "world", world) is not world:
        raise EquipoiseError("the engine was made for another world")
    dt = engine.dt
    if seconds is None:
        lasts = getattr(reference, "duration", None)
        if lasts is None:
            raise EquipoiseError(
                f"{type(reference).__name__} has no duration: say how long to "
                "simulate, seconds=…"
            )
        seconds = dt * int(lasts / dt + WHOLE)
    steps = whole_steps(seconds, dt, "duration")
    control = whole_steps(control_period or dt, dt, "control period")
    record_period = max(record_period, seconds / MOST_RECORDS)
    periods = Periods(
        control,
        whole_steps(reference_period or control * dt, dt, "reference period"),
        whole_steps(sensor_period or control * dt, dt, "sensor period"),
        max(round(record_period / dt), 1),
    )
    engine.reset(q, velocity)
    loop = ControlLoop(
        reference,
        controller or OpenLoop(),
        engine,
        periods,
        sensors=sensors,
        estimator=estimator,
    )
    watch = _Watch(world, stood, progress, until)
    failed: EquipoiseError | None = None
    try:
        loop.run(steps, watch)
    except EquipoiseError as error:
        if not keep_failed:
            raise
        failed = error
    records = loop.records()
    trace = records.trace
    run = make_run(world, records, sensors)
    wall = time.perf_counter() - began
    summary = RunSummary(
        robot=robot.name,
        engine=getattr(engine, "name", type(engine).__name__),
        fell_at_s=time_of_fall(world, stood, trace.time, trace.q),
        duration_s=float(trace.time[-1]),
        dt_s=dt,
        wall_s=wall,
        realtime_factor=float(trace.time[-1]) / wall,
        com_error_m=com_error(run),
        zmp_margin_m=margins(run),
        actuators=actuator_use(world, run),
        notices=tuple(getattr(engine, "notices", ())),
        versions=versions(),
        error=None if failed is None else str(failed),
    )
    if assess is not None:
        summary = assess(run, summary)
    return run.with_summary(summary.as_dict(), summary.events())


class _Watch:
    """Looks now and then whether the robot lies, and stops the loop some time after."""

    def __init__(
        self,
        world: World,
        upright: Array,
        progress: Callable[[float], None] | None,
        until: Callable[[State], bool] | None,
    ) -> None:
        self._lies, self._progress = fall_test(world, upright), progress
        self._until = until
        self._next_look = WATCH_PERIOD
        self._fell_at: float | None = None

    def __call__(self, state: State) -> bool:
        """Return whether it is time to stop."""
        if self._until is not None and self._until(state):
            return True
        if state.time < self._next_look:
            return False
        self._next_look = state.time + WATCH_PERIOD
        if self._progress is not None:
            self._progress(state.time)
        if self._fell_at is None and self._lies(state.q):
            self._fell_at = state.time
        return self._fell_at is not None and state.time >= self._fell_at + AFTER_FALL
