"""Placo and pink, one solve a control tick, in an environment of their own.

Reads a ``.npz`` file of targets, then names of peers from standard input; each follows
all targets once, one solve a tick, and answers with a line of JSON: seconds. The first
line says who they are, and how far CoM and soles are off after the one solve of each
tick.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

DAMPING = 1e-9
# Weight of the posture beside CoM, soles and torso, whose weights are 1.
POSTURE = 1e-3
# Solves of the first target before the clock starts; ticks to choose a QP solver by.
SETTLING, TRIED = 20, 200


class Peer(NamedTuple):
    """One way to solve the tasks.

    Attributes:
        name: With version and QP solver.
        reset: Goes to the start.
        tick: Takes the number of a target; returns joint positions and velocities.
        places: Returns the CoM and the positions of both feet now, shape (3, 3).
    """

    name: str
    reset: Callable[[], None]
    tick: Callable[[int], tuple[Any, Any]]
    places: Callable[[], Any]


def make_placo(given: dict) -> Peer:
    """Return placo with CoM, frame, orientation and joints tasks, and joint limits."""
    import importlib.metadata

    import placo

    robot = placo.RobotWrapper(str(given["urdf"]), placo.Flags.ignore_collisions)
    period, start = float(given["period"]), given["start"]
    solver = placo.KinematicsSolver(robot)
    solver.dt = period
    solver.enable_joint_limits(True)
    names = str(given["left_link"]), str(given["right_link"])
    left, right = (
        solver.add_frame_task(name, given[side][0])
        for name, side in zip(names, ("left", "right"), strict=True)
    )
    left.configure("left", "soft", 1.0, 1.0)
    right.configure("right", "soft", 1.0, 1.0)
    com = solver.add_com_task(given["com"][0])
    com.configure("com", "soft", 1.0)
    torso = solver.add_orientation_task(str(given["base_link"]), given["torso"][0])
    torso.configure("torso", "soft", 1.0)
    posture = solver.add_joints_task()
    posture.set_joints(
        {
            name: float(start[robot.get_joint_offset(name)])
            for name in given["rest"].tolist()
        }
    )
    posture.configure("posture", "soft", POSTURE)
    solver.add_regularization_task(DAMPING)
    coms, lefts, rights, torsos = (
        list(given[name]) for name in ("com", "left", "right", "torso")
    )

    def reset() -> None:
        robot.state.q = start.copy()
        robot.update_kinematics()

    def tick(i: int) -> tuple[Any, Any]:
        com.target_world = coms[i]
        left.T_world_frame, right.T_world_frame = lefts[i], rights[i]
        torso.R_world_frame = torsos[i]
        moved = solver.solve(True)
        robot.update_kinematics()
        return robot.state.q[7:].copy(), moved[6:] / period

    def places() -> Any:
        feet = [robot.get_T_world_frame(name)[:3, 3] for name in names]
        return np.array([robot.com_world(), *feet])

    version = importlib.metadata.version("placo")
    return Peer(f"placo {version}", reset, tick, places)


def make_pink(given: dict, qp_solver: str) -> Peer:
    """Return pink with CoM, frame, orientation and posture tasks, and joint limits."""
    import pink
    import pinocchio as pin
    from pink.limits import ConfigurationLimit
    from pink.tasks import ComTask, FrameTask, PostureTask

    model = pin.buildModelFromUrdf(str(given["urdf"]), pin.JointModelFreeFlyer())
    period, start = float(given["period"]), given["start"]
    names = str(given["left_link"]), str(given["right_link"])
    configuration = pink.Configuration(model, model.createData(), start)
    left, right = (FrameTask(name, 1.0, 1.0) for name in names)
    com, torso = ComTask(1.0), FrameTask(str(given["base_link"]), 0.0, 1.0)
    posture = PostureTask(POSTURE)
    posture.set_target(start)
    tasks = [com, left, right, torso, posture]
    limits = [ConfigurationLimit(model)]
    coms = list(given["com"])
    lefts, rights = ([pin.SE3(pose) for pose in given[s]] for s in ("left", "right"))
    torsos = [pin.SE3(rotation, np.zeros(3)) for rotation in given["torso"]]

    def reset() -> None:
        configuration.update(start)

    def tick(i: int) -> tuple[Any, Any]:
        com.set_target(coms[i])
        left.set_target(lefts[i])
        right.set_target(rights[i])
        torso.set_target(torsos[i])
        velocity = pink.solve_ik(
            configuration,
            tasks,
            period,
            solver=qp_solver,
            damping=DAMPING,
            limits=limits,
        )
        configuration.integrate_inplace(velocity, period)
        return configuration.q[7:].copy(), velocity[6:].copy()

    def places() -> Any:
        where = [configuration.get_transform_frame_to_world(n) for n in names]
        centre = pin.centerOfMass(model, configuration.data, configuration.q)
        return np.array([centre, *(pose.translation for pose in where)])

    return Peer(f"pink {pink.__version__}, {qp_solver}", reset, tick, places)


def fastest_pink(given: dict) -> Peer:
    """Return pink with the QP solver that is fastest here, of those that solve it."""
    import qpsolvers

    found = []
    for qp_solver in qpsolvers.available_solvers:
        peer = make_pink(given, qp_solver)
        try:
            if largest_error(peer, given, 2 * TRIED) < float(given["tolerance"]):
                found.append((timed(peer, TRIED), qp_solver))
        except Exception as error:  # whatever a solver cannot do
            print(f"pink with {qp_solver}: {error}", file=sys.stderr)
    return make_pink(given, min(found)[1])


def largest_error(peer: Peer, given: dict, count: int) -> float:
    """Follow targets, one solve each; return how far CoM and soles are off [m]."""
    peer.reset()
    for _ in range(SETTLING):
        peer.tick(0)
    worst = 0.0
    for i in range(min(count, len(given["com"]))):
        peer.tick(i)
        wanted = [given["com"][i], given["left"][i][:3, 3], given["right"][i][:3, 3]]
        worst = max(worst, float(np.abs(peer.places() - wanted).max()))
    return worst


def timed(peer: Peer, count: int) -> float:
    """Return how long as many ticks take [s]."""
    peer.reset()
    for _ in range(SETTLING):
        peer.tick(0)
    begin = time.perf_counter()
    for i in range(count):
        peer.tick(i)
    return time.perf_counter() - begin


def main() -> None:
    """Answer names of peers with seconds."""
    given = dict(np.load(sys.argv[1]))
    count = len(given["com"])
    peers = {"placo": make_placo(given), "pink": fastest_pink(given)}
    about = {
        name: {"name": peer.name, "worst": largest_error(peer, given, count)}
        for name, peer in peers.items()
    }
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        print(json.dumps({"seconds": timed(peers[line.strip()], count)}), flush=True)


if __name__ == "__main__":
    main()
