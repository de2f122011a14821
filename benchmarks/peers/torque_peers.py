"""Torques by placo and TSID, one solve a control tick, in an environment of their own.

Reads a ``.npz`` file of states and targets, then names of peers from standard input;
each goes through all ticks once and answers with a line of JSON: seconds by tick. The
first line says who there is, and in how many ticks they found no solution.
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


def make_tsid(given: dict) -> Peer:
    """Return TSID: strict feet that carry, weighted CoM, swing feet, torso, posture."""
    import importlib.metadata

    import pinocchio as pin
    import tsid

    urdf = str(given["urdf"])
    robot = tsid.RobotWrapper(urdf, [""], pin.JointModelFreeFlyer(), False)
    start, nv = given["q"][0], robot.nv
    problem = tsid.InverseDynamicsFormulationAccForce("tsid", robot, False)
    data = problem.computeProblemData(0.0, start, np.zeros(nv))
    data = problem.data()
    contacts, feet = {}, {}
    weight = float(given["mass"]) * 9.81
    for side in SIDES:
        link = str(given[f"{side}_link"])
        contact = tsid.Contact6d(
            f"contact {side}",
            robot,
            link,
            np.asfortranarray(given[f"{side}_points"].T),
            np.array([0.0, 0.0, 1.0]),
            float(given["friction"]),
            0.0,
            2.0 * weight,
        )
        contact.setKp(np.zeros(6))
        contact.setKd(np.full(6, 50.0))
        contact.setReference(robot.framePosition(data, robot.model().getFrameId(link)))
        contacts[side] = contact
        foot = tsid.TaskSE3Equality(f"foot {side}", robot, link)
        foot.setKp(np.full(6, 400.0))
        foot.setKd(np.full(6, 40.0))
        feet[side] = foot, tsid.TrajectorySE3Constant(side, pin.SE3.Identity())
    com = tsid.TaskComEquality("com", robot)
    com.setKp(np.full(3, 10.0))
    com.setKd(np.full(3, 7.0))
    problem.addMotionTask(com, float(given["com_weight"]), 1, 0.0)
    torso = tsid.TaskSE3Equality("torso", robot, str(given["torso_link"]))
    torso.setKp(np.full(6, 100.0))
    torso.setKd(np.full(6, 20.0))
    torso.setMask(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
    problem.addMotionTask(torso, float(given["torso_weight"]), 1, 0.0)
    posture = tsid.TaskJointPosture("posture", robot)
    posture.setKp(np.full(nv - 6, 50.0))
    posture.setKd(np.full(nv - 6, 14.0))
    problem.addMotionTask(posture, float(given["posture_weight"]), 1, 0.0)
    actuation = tsid.TaskActuationBounds("torques", robot)
    limits = given["torque_limit"]
    actuation.setBounds(-limits, limits)
    problem.addActuationTask(actuation, 1.0, 0, 0.0)
    solver = tsid.SolverHQuadProgFast("qp")
    com_sample = tsid.TrajectorySample(3)
    posture_sample = tsid.TrajectorySample(nv - 6)
    torso_path = tsid.TrajectorySE3Constant("torso", pin.SE3.Identity())
    carried: dict[str, bool | None] = dict.fromkeys(SIDES)
    columns = ("q", "v", "com", "com_velocity", "com_acceleration", "posture")
    qs, vs, coms, speeds, rates, postures = (list(given[c]) for c in columns)
    torsos = [pin.SE3(rotation, np.zeros(3)) for rotation in given["upper"]]
    poses = {side: [pin.SE3(pose) for pose in given[side]] for side in SIDES}
    carries = {side: given["carries"][:, i].tolist() for i, side in enumerate(SIDES)}

    def change(side: str, carry: bool) -> None:
        if carry:
            if carried[side] is False:
                problem.removeTask(f"foot {side}", 0.0)
            problem.addRigidContact(contacts[side], 1e-5)
        else:
            if carried[side]:
                problem.removeRigidContact(f"contact {side}", 0.0)
            problem.addMotionTask(feet[side][0], 10.0, 1, 0.0)
        carried[side] = carry
        solver.resize(problem.nVar, problem.nEq, problem.nIn)

    def reset() -> None:
        for side in SIDES:
            if carried[side] is not True:
                change(side, True)

    def tick(i: int) -> Any:
        for side in SIDES:
            if carries[side][i] != carried[side]:
                change(side, carries[side][i])
            if not carried[side]:
                task, path = feet[side]
                path.setReference(poses[side][i])
                task.setReference(path.computeNext())
        com_sample.value(coms[i])
        com_sample.derivative(speeds[i])
        com_sample.second_derivative(rates[i])
        com.setReference(com_sample)
        posture_sample.value(postures[i])
        posture.setReference(posture_sample)
        torso_path.setReference(torsos[i])
        torso.setReference(torso_path.computeNext())
        found = solver.solve(problem.computeProblemData(0.0, qs[i], vs[i]))
        return problem.getActuatorForces(found) if found.status == 0 else None

    return Peer(f"TSID {importlib.metadata.version('tsid')}", reset, tick)


MAKERS = {"placo": make_placo, "tsid": make_tsid}


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
