"""Placo and pink on the points of a gait, in an environment of their own.

Reads a ``.npz`` file of targets, then names of peers from standard input; for each one
goes through all points, until CoM and feet are within the tolerance, and prints a line
of JSON: seconds, iterations a point, worst CoM error.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MOST = 50
DAMPING = 1e-9


class Pass(NamedTuple):
    """One way along the path: iterations a point, and the worst CoM error [m]."""

    iterations: float
    worst: float


def make_placo(given: dict) -> Callable[[], Pass]:
    """Return a function that lets placo follow the path."""
    import placo

    robot = placo.RobotWrapper(str(given["urdf"]), placo.Flags.ignore_collisions)
    robot.state.q = given["start"].copy()
    robot.update_kinematics()
    solver = placo.KinematicsSolver(robot)
    left, right = str(given["left_link"]), str(given["right_link"])
    feet = {
        name: solver.add_frame_task(name, given[key][0])
        for name, key in ((left, "left"), (right, "right"))
    }
    for name, task in feet.items():
        task.configure(name, "soft", 1.0, 1.0)
    com = solver.add_com_task(given["com"][0])
    com.configure("com", "soft", 1.0)
    torso = solver.add_orientation_task(str(given["base_link"]), given["torso"][0])
    torso.configure("torso", "soft", 1.0)
    solver.add_regularization_task(DAMPING)

    def follow() -> Pass:
        robot.state.q = given["start"].copy()
        robot.update_kinematics()
        steps, worst = 0, 0.0
        for i, wanted in enumerate(given["com"]):
            feet[left].T_world_frame = given["left"][i]
            feet[right].T_world_frame = given["right"][i]
            com.target_world = wanted
            torso.R_world_frame = given["torso"][i]
            for _ in range(MOST):
                solver.solve(True)
                robot.update_kinematics()
                steps += 1
                error = np.abs(robot.com_world() - wanted).max()
                places = [robot.get_T_world_frame(k)[:3, 3] for k in (left, right)]
                if arrived(given, i, error, places):
                    break
            worst = max(worst, float(error))
        return Pass(steps / len(given["com"]), worst)

    return follow


def make_pink(given: dict) -> Callable[[], Pass]:
    """Return a function that lets pink follow the path."""
    import pink
    import pinocchio as pin
    from pink.tasks import ComTask, FrameTask

    model = pin.buildModelFromUrdf(str(given["urdf"]), pin.JointModelFreeFlyer())
    data = model.createData()
    names = str(given["left_link"]), str(given["right_link"])

    def follow() -> Pass:
        configuration = pink.Configuration(model, data, given["start"].copy())
        feet = [FrameTask(name, 1.0, 1.0) for name in names]
        com, torso = ComTask(1.0), FrameTask(str(given["base_link"]), 0.0, 1.0)
        steps, worst = 0, 0.0
        for i, wanted in enumerate(given["com"]):
            for task, key in zip(feet, ("left", "right"), strict=True):
                task.set_target(pin.SE3(given[key][i]))
            com.set_target(wanted)
            torso.set_target(pin.SE3(given["torso"][i], np.zeros(3)))
            for _ in range(MOST):
                velocity = pink.solve_ik(
                    configuration,
                    [*feet, com, torso],
                    1.0,
                    solver="daqp",
                    damping=DAMPING,
                    limits=(),
                )
                configuration.integrate_inplace(velocity, 1.0)
                steps += 1
                found = pin.centerOfMass(model, data, configuration.q)
                error = np.abs(found - wanted).max()
                places = [
                    configuration.get_transform_frame_to_world(name).translation
                    for name in names
                ]
                if arrived(given, i, error, places):
                    break
            worst = max(worst, float(error))
        return Pass(steps / len(given["com"]), worst)

    return follow


def arrived(given: dict, i: int, error: float, places: list) -> bool:
    """Return whether CoM and feet are within the tolerance."""
    tolerance = float(given["tolerance"])
    off = [
        np.abs(place - given[key][i][:3, 3]).max()
        for place, key in zip(places, ("left", "right"), strict=True)
    ]
    return max(error, *off) < tolerance


def main() -> None:
    """Answer names of peers with figures."""
    given = dict(np.load(sys.argv[1]))
    peers = {"placo": make_placo(given), "pink": make_pink(given)}
    print(json.dumps(list(peers)), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        done = peers[line.strip()]()
        answer = {"seconds": time.perf_counter() - begin, **done._asdict()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
