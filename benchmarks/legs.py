"""Joints for CoM and feet at the points of a G1 gait, against placo and pink.

Both need another version of Pinocchio, so they run in an environment of their own:
``make bench`` makes ``.venv-peers``; another interpreter is named by EQUIPOISE_PEERS.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

import equipoise as eq
from benchmarks.com_jacobian import g1_urdf
from benchmarks.measure import Comparison, Contender
from equipoise.gait.motion import targets_of
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import ComTargets
from equipoise.robot.formats.export import to_urdf

TOLERANCE = 1e-6
SPACING = 0.005
HERE = Path(__file__).parent
PEERS = ("placo", "pink")


def comparisons(device: str, seed: int) -> list[Comparison]:
    """Return the comparison, on the CPU alone; without peers if they are not there."""
    if device != "cpu":
        return []
    robot = eq.load(g1_urdf())
    gait = eq.fit_walk(robot)
    time = np.arange(0.0, gait.duration, SPACING)
    targets = targets_of(gait, time)
    process = start_peers("leg_peers.py", robot, targets, tolerance=TOLERANCE)
    if process is None:
        return []
    assert process.stdout is not None
    process.stdout.readline()

    def peer(name: str) -> Contender:
        def follow() -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{name}\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            if answer["worst"] > TOLERANCE:
                raise RuntimeError(f"{name} is {answer['worst']:.1e} m off")

        return Contender(follow, len(time))

    def ours() -> object:
        return solve_com(robot, targets, tolerance=TOLERANCE)

    def difference() -> float:
        found = solve_com(robot, targets, tolerance=TOLERANCE)
        return float(np.abs(eq.com(robot, found.q) - targets.com).max())

    return [
        Comparison(
            f"CoM and feet at {len(time)} points of a G1 gait, to 1e-6 m, one core",
            Contender(ours, len(time)),
            {name: peer(name) for name in PEERS},
            difference,
            TOLERANCE,
        )
    ]


def start_peers(
    script: str, robot: eq.Robot, targets: ComTargets, **more: object
) -> subprocess.Popen | None:
    """Start the other environment with the same robot, without shapes, and targets.

    Args:
        script: In the folder ``peers``; reads a file, prints a line when it is ready.
        robot: The robot.
        targets: What is wanted.
        more: Further arrays for the file.

    Returns:
        The process; None, and a line on standard error, where there is no such
        environment.
    """
    python = Path(os.environ.get("EQUIPOISE_PEERS", ".venv-peers/bin/python"))
    if not python.is_file():
        print(f"benchmarks: placo and pink are left out: no {python}", file=sys.stderr)
        return None
    folder = Path(tempfile.mkdtemp(prefix="equipoise-peers-"))
    links = tuple(
        replace(link, collisions=(), visuals=()) for link in robot.description.links
    )
    bare = replace(robot.description, links=links)
    (folder / "robot.urdf").write_text(to_urdf(bare))
    upright = pin.Quaternion(robot.standing[3:7]).toRotationMatrix()
    feet = {
        side: getattr(targets, side)
        @ np.linalg.inv(robot.soles[side].transform_sole_to_link)
        for side in ("left", "right")
    }
    np.savez(
        folder / "targets.npz",
        urdf=str(folder / "robot.urdf"),
        com=targets.com,
        torso=targets.torso @ upright,
        start=solve_com(robot, targets).q[0],
        left_link=robot.soles["left"].link,
        right_link=robot.soles["right"].link,
        base_link=robot.description.root,
        **feet,
        **more,
    )
    return subprocess.Popen(
        [str(python), str(HERE / "peers" / script), str(folder / "targets.npz")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
