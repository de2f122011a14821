"""What a control tick of Unitree G1 costs, and how fast a closed-loop walk runs.

``python -m benchmarks.tick`` walks six steps in closed loop, keeps what estimator and
stabiliser were given in each tick of 2 ms, and lets them work it through again,
measurement to command. In turns with them, on the same core, placo and pink follow the
same plan with the same tasks: CoM, both soles, attitude of the torso, posture of the
other joints, joint limits, one solve a tick, joint positions and velocities out.

Ours estimates base, CoM and ground forces and feeds back DCM, ZMP and contacts before
its solve, and makes feed-forward torques after it. The peers do none of that: they
solve for the plan as it is.

At the end twelve steps in both engines: how many times faster than real time, and
where the time goes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

import equipoise as eq
from benchmarks.__main__ import cpu_name, stay_on_one_core
from benchmarks.com_jacobian import g1_urdf
from benchmarks.legs import PEERS, start_peers
from equipoise.balance.estimator import Estimate
from equipoise.balance.skeleton import SIDES
from equipoise.control.signals import Command, Measurement, State, Target
from equipoise.kernels.stabiliser import types as kernels
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_names
from equipoise.simulation.feedback import Feedback, balance_feedback
from equipoise.simulation.loop import ControlLoop, Periods
from equipoise.simulation.simulate import ENGINES, make_engine, simulate
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World

DT, RECORD = 1e-3, 5e-3
TICK_STEPS, WALK_STEPS = 6, 12
# Peers solve the same tasks if CoM and soles are this near after each solve [m].
TOLERANCE = 1e-4
GOAL_TICK, GOAL_WALK = 40.0, 8.0
STEP = "engine, mj_step alone"


class Ticks(NamedTuple):
    """What went through estimator and controller in a walk, tick by tick."""

    start: State
    measurements: list[Measurement]
    commands: list[Command]
    estimates: list[Estimate]
    targets: list[Target]
    notes: list[Any]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tick", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=25, help="turns of each")
    parser.add_argument("--walks", type=int, default=5, help="walks in each engine")
    options = parser.parse_args()
    stay_on_one_core()
    robot = eq.load(g1_urdf())
    world = trial_world(robot, None, "servo")
    print(f"{robot.name}, {cpu_name()}, one core")
    print_ticks(world, options.rounds)
    for engine in ENGINES:
        print_walks(world, engine, options.walks)


def print_ticks(world: World, rounds: int) -> None:
    """Print what a tick costs, ours and the peers'."""
    feedback = balance_feedback(world)
    robot = world.robot
    ticks = ticks_of(world, feedback, walk_of(world, TICK_STEPS))
    works = own_works(feedback, ticks)
    peers = start_peers(
        "tick_peers.py",
        robot,
        com_targets(
            np.array([t.com for t in ticks.targets]),
            *(np.array([t.soles[s] for t in ticks.targets]) for s in SIDES),
            np.array([t.torso for t in ticks.targets]),
        ),
        period=feedback.control_period,
        tolerance=TOLERANCE,
        rest=[name for name in degree_names(robot) if name not in robot.leg_joints],
    )
    about: dict[str, dict[str, Any]] = {}
    if peers is not None:
        assert peers.stdout is not None
        about = json.loads(peers.stdout.readline())
        for name in PEERS:
            works[about[name]["name"]] = peer_work(peers, name)
    count = len(ticks.targets)
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            times[name].append(1e6 * work() / count)
    rows = {name: np.array(values[1:]) for name, values in times.items()}
    tick = rows["tick: measurement to command"]
    print(f"one tick [µs], {count} ticks, {rounds} rounds, goal {GOAL_TICK:g} µs")
    for name, values in rows.items():
        line = f"  {name:34s} {quartiles(values)}"
        if name in (row["name"] for row in about.values()):
            line += f"; over our tick {quartiles(values / tick, 2)}"
            line += f"; over our control {quartiles(values / rows['control'], 2)}"
        print(line)
    print(
        f"CoM and soles after one solve a tick, largest error, at most {TOLERANCE:g} m"
    )
    for row in about.values():
        verdict = "" if row["worst"] <= TOLERANCE else "  NOT REACHED"
        print(f"  {row['name']:34s} {row['worst']:.1e} m{verdict}")
    worst = largest_error(robot, feedback, ticks)
    print(f"  {'ours, to the plan with feedback':34s} {worst:.1e} m")
    if peers is not None:
        peers.communicate()


def own_works(feedback: Feedback, ticks: Ticks) -> dict[str, Callable[[], float]]:
    """Return what is timed of ours; each returns the seconds that all ticks took."""
    estimator: Any = feedback.estimator
    controller: Any = feedback.controller

    def whole() -> None:
        for measurement, command, target in zip(
            ticks.measurements, ticks.commands, ticks.targets, strict=True
        ):
            controller.control(estimator.estimate(measurement, command), target)

    def estimate() -> None:
        for measurement, command in zip(
            ticks.measurements, ticks.commands, strict=True
        ):
            estimator.estimate(measurement, command)

    def control() -> None:
        for known, target in zip(ticks.estimates, ticks.targets, strict=True):
            controller.control(known, target)

    def kernel(block: Any) -> Callable[[], None]:
        def work() -> None:
            run = block._tick.run
            for _ in ticks.targets:
                run()

        return work

    def timed(work: Callable[[], None]) -> Callable[[], float]:
        def run() -> float:
            estimator.reset(ticks.start)
            controller.reset(ticks.start)
            began = time.perf_counter()
            work()
            return time.perf_counter() - began

        return run

    return {
        "tick: measurement to command": timed(whole),
        "estimate": timed(estimate),
        "estimate, kernel alone": timed(kernel(estimator)),
        "control": timed(control),
        "control, kernel alone": timed(kernel(controller)),
    }


def peer_work(process: subprocess.Popen, name: str) -> Callable[[], float]:
    """Return a peer that follows all targets; returns the seconds that took."""

    def run() -> float:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        return float(json.loads(process.stdout.readline())["seconds"])

    return run


def ticks_of(
    world: World,
    feedback: Feedback,
    motion: Any,
    note: Callable[[], Any] = lambda: None,
) -> Ticks:
    """Walk in closed loop, and keep what each tick was given, and a note after it."""
    estimator: Any = feedback.estimator
    kept: list[tuple[Any, ...]] = []
    starts: list[State] = []

    class Keeping:
        """Estimator and controller in one, which keep what they are given."""

        def reset(self, start: State) -> None:
            starts.append(start)
            estimator.reset(start)
            feedback.controller.reset(start)

        def estimate(self, measurement: Measurement, command: Command) -> State:
            kept.append((measurement, command))
            return estimator.estimate(measurement, command)

        def control(self, known: Estimate, target: Target) -> Command:
            command = feedback.controller.control(known, target)
            kept[-1] += (known, target, note())
            return command

    block: Any = Keeping()
    simulate(
        world,
        motion,
        controller=block,
        sensors=feedback.sensors,
        estimator=block,
        control_period=feedback.control_period,
        dt=DT,
    )
    columns = [list(column) for column in zip(*kept, strict=True)]
    return Ticks(starts[-1], *columns)


def walk_of(world: World, steps: int) -> Any:
    """Return a walk that fits the robot."""
    return eq.solve(world.robot, eq.fit_walk(world.robot, steps))


def largest_error(robot: eq.Robot, feedback: Feedback, ticks: Ticks) -> float:
    """Return how far CoM and soles are off what ours solves for, after each solve [m].

    That is the plan as feedback has changed it.
    """
    controller: Any = feedback.controller
    controller.reset(ticks.start)
    coms, feet, configurations = [], [], []
    for known, target in zip(ticks.estimates, ticks.targets, strict=True):
        controller.control(known, target)
        vectors = controller._vectors
        offset = np.append(known.com_offset, 0.0)
        coms.append(controller.said[kernels.SAID_COM] - offset)
        feet.append(
            [
                target.soles[side][:3, 3] + vectors[kernels.SHIFTS + foot]
                for foot, side in enumerate(SIDES)
            ]
        )
        quaternion = pin.Quaternion(controller._base[0]).coeffs()
        base = vectors[kernels.BASE_POSITION], quaternion
        configurations.append(np.concatenate([*base, controller._joints]))
    q = np.array(configurations)
    wanted = np.array(feet)
    off = [
        eq.com(robot, q) - coms,
        *(
            sole_pose(robot, q, side)[:, :3, 3] - wanted[:, foot]
            for foot, side in enumerate(SIDES)
        ),
    ]
    return float(np.abs(off).max())


def print_walks(world: World, engine: Any, walks: int) -> None:
    """Print how fast a walk in closed loop runs, and where its time goes."""
    motion = walk_of(world, WALK_STEPS)
    feedback = balance_feedback(world)
    period = feedback.control_period
    factors, busy = [], []
    for _ in range(walks + 1):
        began = time.process_time()
        summary = simulate(
            world,
            motion,
            controller=feedback.controller,
            sensors=feedback.sensors,
            estimator=feedback.estimator,
            control_period=period,
            engine=engine,
            dt=DT,
            record_period=RECORD,
        ).summary
        busy.append(time.process_time() - began)
        factors.append(summary["realtime_factor"])
    lasted = summary["duration_s"]
    whole = float(np.median(busy[1:]))
    print(
        f"closed-loop walk of {WALK_STEPS} steps, {engine}: "
        f"{np.median(factors[1:]):.1f} times real time, {lasted / whole:.1f} times in "
        f"CPU time, goal {GOAL_WALK:g}"
        + (f"; fell at {summary['fell_at_s']:.1f} s" if summary["fell_at_s"] else "")
    )
    print_blocks(world, motion, feedback, engine, walks, lasted, whole)


def print_blocks(
    world: World,
    motion: Any,
    feedback: Feedback,
    engine: Any,
    walks: int,
    lasted: float,
    whole: float,
) -> None:
    """Print what the blocks of the loop take of the CPU time of a walk [s]."""
    blocks = block_times(world, motion, feedback, engine, lasted, walks)
    blocks["start and results of the run"] = whole - sum(blocks.values())
    for name, seconds in blocks.items():
        print(
            f"  {name:34s} {1e6 * seconds * feedback.control_period / lasted:6.1f} "
            f"µs a tick, {100 * seconds / whole:3.0f} %"
        )


def block_times(
    world: World, motion: Any, feedback: Feedback, engine: str, lasts: float, walks: int
) -> dict[str, float]:
    """Return the CPU time of each block of the loop in a walk [s], medians."""
    plant: Any = make_engine(engine, world, DT)
    spent: dict[str, float] = {}
    blocks = (
        (motion, "sample", "reference"),
        (feedback.sensors, "measure", "sensors"),
        (feedback.estimator, "estimate", "estimator"),
        (feedback.controller, "control", "controller"),
        (plant, "step", "engine"),
    )
    for block, method, name in blocks:
        watch(block, method, name, spent)
    if engine == "mujoco":
        watch(plant._drives, "_step", STEP, spent)
    control = round(feedback.control_period / DT)
    periods = Periods(control, control, control, round(RECORD / DT))
    found = []
    for _ in range(walks):
        spent.update(dict.fromkeys(spent, 0.0))
        plant.reset(motion.q[0])
        loop = ControlLoop(
            motion,
            feedback.controller,
            plant,
            periods,
            sensors=feedback.sensors,
            estimator=feedback.estimator,
        )
        began = time.thread_time()
        loop.run(round(lasts / DT))
        whole = time.thread_time() - began
        spent["engine"] -= spent.get(STEP, 0.0)
        found.append({**spent, "loop": whole - sum(spent.values())})
    return {name: float(np.median([row[name] for row in found])) for name in found[0]}


def watch(block: Any, method: str, name: str, spent: dict[str, float]) -> None:
    """Add up the CPU time that a method of an object takes [s]."""
    call = getattr(block, method)
    spent[name] = 0.0

    def timed(*given: Any) -> Any:
        began = time.thread_time()
        answer = call(*given)
        spent[name] += time.thread_time() - began
        return answer

    object.__setattr__(block, method, timed)  # motions are frozen


def quartiles(values: Any, digits: int = 1) -> str:
    """Return median and quartiles in words."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    main()
