"""Torques by placo, one solve a control tick, in an environment of its own.

Reads a ``.npz`` file of states and targets, then names of peers from standard input;
each goes through all ticks once and answers with a line of JSON: seconds by tick. The
first line says who there is, and in how many ticks it found no solution.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SIDES = ("left", "right")


class Peer(NamedTuple):
    """One way to solve the tasks.

    Attributes:
        name: With its version.
        reset: Goes to the start.
        tick: Takes the number of a tick; returns joint torques, None without solution.
    """

    name: str
    reset: Callable[[], None]
    tick: Callable[[int], Any]


def make_placo(given: dict) -> Peer:
    """Return placo: hard feet that carry, soft CoM, swing feet, torso and posture."""
    import importlib.metadata

    import placo

    robot = placo.RobotWrapper(str(given["urdf"]), placo.Flags.ignore_collisions)
    solver = placo.DynamicsSolver(robot)
    solver.dt = float(given["period"])
    solver.enable_torque_limits(True)
    solver.enable_joint_limits(True)
    tasks, contacts = {}, {}
    for side in SIDES:
        task = solver.add_frame_task(str(given[f"{side}_link"]), given[side][0])
        tasks[side] = task
        contact = solver.add_planar_contact(task)
        contact.length, contact.width = (float(size) for size in given["sole_size"])
        contact.mu = float(given["friction"])
        contacts[side] = contact
    com = solver.add_com_task(given["com"][0])
    com.configure("com", "soft", float(given["com_weight"]))
    torso = solver.add_orientation_task(str(given["torso_link"]), given["upper"][0])
    torso.configure("torso", "soft", float(given["torso_weight"]))
    posture = solver.add_joints_task()
    posture.configure("posture", "soft", float(given["posture_weight"]))
    names = given["joints"].tolist()
    carried: dict[str, bool | None] = {}
    columns = ("q", "v", "com", "com_velocity", "com_acceleration", "upper", "posture")
    qs, vs, coms, speeds, rates, torsos, postures = (list(given[c]) for c in columns)
    feet = {side: list(given[side]) for side in SIDES}
    carries = {side: given["carries"][:, i].tolist() for i, side in enumerate(SIDES)}

    def reset() -> None:
        carried.update(dict.fromkeys(SIDES))

    def tick(i: int) -> Any:
        robot.state.q, robot.state.qd = qs[i], vs[i]
        robot.update_kinematics()
        for side in SIDES:
            if carries[side][i] != carried[side]:
                carried[side] = carries[side][i]
                contacts[side].active = carried[side]
                kind = "hard" if carried[side] else "soft"
                tasks[side].configure(side, kind, 10.0, 10.0)
            tasks[side].T_world_frame = feet[side][i]
        com.target_world, com.dtarget_world = coms[i], speeds[i]
        com.ddtarget_world = rates[i]
        torso.R_world_frame = torsos[i]
        posture.set_joints(dict(zip(names, postures[i], strict=True)))
        try:
            found = solver.solve(False)
        except RuntimeError:
            return None
        return found.tau if found.success else None

    version = importlib.metadata.version("placo")
    return Peer(f"placo {version}, DynamicsSolver", reset, tick)


MAKERS = {"placo": make_placo}


def main() -> None:
    """Answer until there are no more names."""
    given = dict(np.load(sys.argv[1], allow_pickle=True))
    count = len(given["q"])
    peers, about = {}, {}
    for name, make in MAKERS.items():
        try:
            peer = make(given)
        except ImportError:
            continue
        peer.reset()
        torques = [peer.tick(i) for i in range(count)]
        missing = sum(torque is None for torque in torques)
        peers[name] = peer
        about[name] = {"name": peer.name, "missing": missing}
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        peer = peers[line.strip()]
        peer.reset()
        seconds = []
        for i in range(count):
            began = time.perf_counter()
            peer.tick(i)
            seconds.append(time.perf_counter() - began)
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
