"""What a tick of whole-body torques costs on Unitree G1, and how fast its walk runs.

``python -m benchmarks.torque`` walks six steps in closed loop, keeps what estimator and
controller were given in each tick of 2 ms, and lets them work it through again,
measurement to torques. In turns with them, on the same core, placo's ``DynamicsSolver``
makes torques for the same states and plan with the same tasks: CoM, feet that carry
(strictly, with friction) or swing, attitude of the torso, posture, torque limits.

Ours also estimates, follows contacts as they are felt, sees whether the step must be
changed, and keeps joints off their stops and speed limits. Then twelve steps by
``eq.walk`` in both engines: times faster than real time, and where the time goes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import equipoise as eq
from benchmarks.__main__ import cpu_name, stay_on_one_core
from benchmarks.com_jacobian import g1_urdf
from benchmarks.legs import start_peers
from benchmarks.tick import (
    TICK_STEPS,
    WALK_STEPS,
    Ticks,
    print_blocks,
    quartiles,
    ticks_of,
    walk_of,
)
from equipoise.balance.skeleton import SIDES
from equipoise.kinematics.com_targets import com_targets
from equipoise.robot.joint_coordinates import degree_names
from equipoise.simulation.feedback import Feedback, whole_body_feedback
from equipoise.simulation.simulate import ENGINES
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World

GOAL_TICK, GOAL_WALK = 150.0, 3.0
SUPPORTS = {1: "single support", 2: "double support"}
TICK = "tick: measurement to torques"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torque", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=10, help="turns of each")
    parser.add_argument("--walks", type=int, default=3, help="walks in each engine")
    options = parser.parse_args()
    stay_on_one_core()
    robot = eq.load(g1_urdf())
    world = trial_world(robot, None, "torque")
    print(f"{robot.name}, {cpu_name()}, one core")
    print_ticks(world, options.rounds)
    motion = walk_of(world, WALK_STEPS)
    for engine in ENGINES:
        print_walks(world, motion, engine, options.walks)


def print_ticks(world: World, rounds: int) -> None:
    """Print what a tick costs, ours and the peers', by support."""
    motion = walk_of(world, TICK_STEPS)
    feedback = whole_body_feedback(world, plan=motion)
    controller: Any = feedback.controller

    def carries() -> list[bool]:
        return [foot.state.carries for foot in controller.feet.feet]

    ticks = ticks_of(world, feedback, motion, carries)
    works = own_works(feedback, ticks)
    peers = start_peers("torque_peers.py", world.robot, **peer_input(feedback, ticks))
    if peers is not None:
        assert peers.stdout is not None
        about = json.loads(peers.stdout.readline())
        for name, row in about.items():
            works[row["name"]] = peer_work(peers, name)
            if row["missing"]:
                print(f"  {row['name']}: no solution in {row['missing']} ticks")
    times: dict[str, list[Any]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            times[name].append(1e6 * np.array(work()))
    feet = np.sum(ticks.notes, axis=1)
    print(f"one tick [µs], {len(feet)} ticks, {rounds} rounds, goal {GOAL_TICK:g} µs")
    for count, support in SUPPORTS.items():
        rows = {
            name: np.median(np.array(values)[1:, feet == count], axis=1)
            for name, values in times.items()
        }
        print(f" {support}, {np.sum(feet == count)} ticks, median of each round")
        for name, values in rows.items():
            line = f"  {name:34s} {quartiles(values)}"
            if name not in ("estimate", "control", TICK):
                line += f"; over our control {quartiles(values / rows['control'], 2)}"
            print(line)
    if peers is not None:
        peers.communicate()


def own_works(feedback: Feedback, ticks: Ticks) -> dict[str, Callable[[], list[float]]]:
    """Return what is timed of ours; each returns the seconds of each tick."""
    estimator: Any = feedback.estimator
    controller: Any = feedback.controller

    def whole(i: int) -> None:
        known = estimator.estimate(ticks.measurements[i], ticks.commands[i])
        controller.control(known, ticks.targets[i])

    def estimate(i: int) -> None:
        estimator.estimate(ticks.measurements[i], ticks.commands[i])

    def control(i: int) -> None:
        controller.control(ticks.estimates[i], ticks.targets[i])

    def timed(work: Callable[[int], None]) -> Callable[[], list[float]]:
        def run() -> list[float]:
            estimator.reset(ticks.start)
            controller.reset(ticks.start)
            seconds = []
            for i in range(len(ticks.targets)):
                began = time.perf_counter()
                work(i)
                seconds.append(time.perf_counter() - began)
            return seconds

        return run

    return {TICK: timed(whole), "estimate": timed(estimate), "control": timed(control)}


def peer_work(process: Any, name: str) -> Callable[[], list[float]]:
    """Return a peer that goes through all ticks; returns the seconds of each."""

    def run() -> list[float]:
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        return list(json.loads(process.stdout.readline())["seconds"])

    return run


def peer_input(feedback: Feedback, ticks: Ticks) -> dict[str, Any]:
    """Return what peers are given: states, plan, and numbers of ours."""
    controller: Any = feedback.controller
    robot, gains = controller.robot, controller.gains
    feet = {foot.side: foot.contact.points_in_frame for foot in controller.feet.feet}
    soles = {side: robot.soles[side].transform_sole_to_link for side in SIDES}
    points = {
        f"{side}_points": feet[side] @ soles[side][:3, :3].T + soles[side][:3, 3]
        for side in SIDES
    }
    targets = ticks.targets
    upright = controller.torso_task.frame
    pose = controller.dynamics.update(robot.standing, np.zeros(robot.nv))
    turn = np.array(pose.pose(pose.frame(upright)).rotation)
    return {
        "targets": com_targets(
            np.array([t.com for t in targets]),
            *(np.array([t.soles[s] for t in targets]) for s in SIDES),
            np.array([t.torso for t in targets]),
        ),
        "period": feedback.control_period,
        "q": np.array([known.q for known in ticks.estimates]),
        "v": np.array([known.v for known in ticks.estimates]),
        "com_velocity": np.array([t.com_velocity for t in targets]),
        "com_acceleration": np.array([t.com_acceleration for t in targets]),
        "upper": np.array([t.torso @ turn for t in targets]),
        "posture": np.array([t.position for t in targets]),
        "carries": np.array(ticks.notes),
        "joints": list(degree_names(robot)),
        "torso_link": upright,
        "torque_limit": controller.torque_limit,
        "friction": gains.foot.friction,
        "sole_size": gains.foot.sole * np.array(robot.soles["left"].size),
        "mass": robot.mass,
        "com_weight": gains.com_weight,
        "torso_weight": gains.torso_weight,
        "posture_weight": gains.posture_weight,
        **points,
    }


def print_walks(world: World, motion: Any, engine: Any, walks: int) -> None:
    """Print how fast a walk runs as a user starts it, and where its time goes."""
    factors, busy = [], []
    for _ in range(walks + 1):
        began = time.process_time()
        run = eq.walk(world.robot, motion, actuators="torque", engine=engine)
        busy.append(time.process_time() - began)
        factors.append(run.summary["realtime_factor"])
    lasted, fell = run.summary["duration_s"], run.summary["fell_at_s"]
    whole = float(np.median(busy[1:]))
    print(
        f"closed-loop walk of {WALK_STEPS} steps by torques, {engine}: "
        f"{np.median(factors[1:]):.1f} times real time, {lasted / whole:.1f} times in "
        f"CPU time with its results, goal {GOAL_WALK:g}"
        + (f"; fell at {fell:.1f} s" if fell else "")
    )
    feedback = whole_body_feedback(world, plan=motion)
    print_blocks(world, motion, feedback, engine, walks, lasted, whole)


if __name__ == "__main__":
    main()
