"""What a control period costs around the controller: Unitree G1, dt and period 1 ms.

``python -m benchmarks.loop`` prints, for both engines, with and without sensors, the
time of a period of the loop (state out, controller, check, command in, step, record)
less the time of the controller and the reference by themselves; for MuJoCo also less
``mj_step``. Loops take turns. At the end a run of ten seconds with a trivial
controller, as a user calls it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import equipoise as eq
from benchmarks.__main__ import cpu_name, stay_on_one_core
from benchmarks.com_jacobian import g1_urdf
from equipoise.control.signals import Command, Target
from equipoise.simulation.loop import ControlLoop, Periods
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, FootSensors, Imu
from equipoise.simulation.simulate import make_engine, simulate
from equipoise.simulation.world import World

DT = 1e-3
PERIODS = 500
NOISE = {
    "encoder": Noise(deviation=1e-4, delay=2e-3),
    "velocity": Noise(deviation=1e-2, delay=2e-3),
    "force": Noise(deviation=3.0, delay=2e-3),
    "torque": Noise(deviation=0.3, delay=2e-3),
    "gyroscope": Noise(deviation=1e-2, delay=2e-3),
    "accelerometer": Noise(deviation=0.1, delay=2e-3),
    "attitude": Noise(deviation=1e-3, delay=2e-3),
}


class Trivial:
    """A controller that hands on what is wanted, one period at a time."""

    def control(self, known: Any, target: Target) -> Command:
        """Return what is wanted."""
        return Command(target.position, target.velocity, target.torque)


def sensors_of(world: World) -> eq.SensorSuite:
    """Return all sensors, all noisy and late by 2 ms."""
    return eq.SensorSuite(
        world,
        Encoders(NOISE["encoder"], NOISE["velocity"]),
        FootSensors(NOISE["force"], NOISE["torque"]),
        Imu(
            angular_velocity=NOISE["gyroscope"],
            specific_force=NOISE["accelerometer"],
            orientation=NOISE["attitude"],
        ),
        seed=1,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.loop", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=25, help="turns of each")
    rounds = parser.parse_args().rounds
    stay_on_one_core()
    robot = eq.load(g1_urdf())
    world = eq.make_world(robot)
    reference = eq.Hold(
        eq.joint_positions(robot, robot.standing), eq.com(robot, robot.standing)
    )
    works: dict[str, Callable[[], None]] = {}
    for engine in ("native", "mujoco"):
        for name, sensors in (("", None), (", sensors", sensors_of(world))):
            works[f"{engine}{name}"] = _loop(world, reference, engine, sensors)
    works["controller and reference"] = _blocks(reference)
    works["mj_step"] = _mj_step(world)
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append(1e6 * (time.perf_counter() - began) / PERIODS)
    rows = {name: np.array(values[1:]) for name, values in times.items()}
    blocks, step = rows["controller and reference"], rows["mj_step"]
    native, mujoco = rows["native"], rows["mujoco"]
    within = _mj_step_within(world, reference, rounds)
    table = {
        "native: loop and step": native - blocks,
        "native: sensors add": rows["native, sensors"] - native,
        "mujoco: loop and step": mujoco - blocks,
        "mujoco: mj_step within the loop": within,
        "mujoco: loop around it": mujoco - blocks - within,
        "mujoco: mj_step by itself, hot": step,
        "mujoco: sensors add": rows["mujoco, sensors"] - mujoco,
        "controller and reference": blocks,
    }
    print(f"one control period of {robot.name} [µs], {rounds} rounds, {cpu_name()}")
    for name, values in table.items():
        low, middle, high = np.percentile(values, [25, 50, 75])
        print(f"  {name:32s} {middle:6.1f}   quartiles {low:.1f} to {high:.1f}")
    for engine in ("native", "mujoco"):
        print(f"  ten seconds, {engine}, Python controller at 1 kHz: ", end="")
        factors = []
        for _ in range(5):
            run = simulate(
                world,
                reference,
                10.0,
                controller=Trivial(),
                engine=engine,  # type: ignore[arg-type]
            )
            factors.append(run.summary["realtime_factor"])
        print(f"{np.median(factors):.1f} times real time")


def _loop(
    world: World, reference: Any, name: str, sensors: eq.SensorSuite | None
) -> Callable[[], None]:
    engine = make_engine(name, world, DT)
    engine.reset(world.robot.standing)
    loop = ControlLoop(
        reference, Trivial(), engine, Periods(record=10), sensors=sensors
    )
    return lambda: loop.run(PERIODS)


def _blocks(reference: Any) -> Callable[[], None]:
    controller = Trivial()

    def work() -> None:
        for number in range(PERIODS):
            controller.control(None, reference.sample(number * DT))

    return work


def _mj_step(world: World) -> Callable[[], None]:
    """MuJoCo's step of the engine's own model over and over, from one state."""
    import mujoco

    engine: Any = make_engine("mujoco", world, DT)
    position = eq.joint_positions(world.robot, world.robot.standing)
    still = np.zeros_like(position)
    for _ in range(200):
        engine.step(Command(position, still, still))
    model, data = engine._model, engine._data
    copy = mujoco.MjData(model)
    mujoco.mj_copyData(copy, model, data)

    def work() -> None:
        for _ in range(PERIODS):
            copy.qpos[:], copy.qvel[:] = data.qpos, data.qvel
            mujoco.mj_step(model, copy)

    return work


def _mj_step_within(world: World, reference: Any, rounds: int) -> Any:
    """Return times of ``mj_step`` where the loop calls it [µs], shape (rounds,).

    Between two calls there is Python, so that its caches are not as hot as in a loop
    of its own.
    """
    engine: Any = make_engine("mujoco", world, DT)
    engine.reset(world.robot.standing)
    loop = ControlLoop(reference, Trivial(), engine, Periods(record=10))
    step, spent = engine._drives._step, [0.0]

    def timed(*arguments: Any) -> None:
        began = time.perf_counter()
        step(*arguments)
        spent[0] += time.perf_counter() - began

    engine._drives._step = timed
    loop.run(PERIODS)
    found = []
    for _ in range(rounds):
        spent[0] = 0.0
        loop.run(PERIODS)
        found.append(1e6 * spent[0] / PERIODS)
    return np.array(found)


if __name__ == "__main__":
    main()
