"""Beside ``mujoco.sysid``: the CoM that both find in a table of standing poses.

A G1 whose torso is displaced such that the whole CoM moves by 10 mm, and 3 % of the
robot's mass heavier, stands in 15 poses that were chosen for it. Sensors have noise
only, or also the errors of ``identification_verdicts``: offsets, tilts, wrong zeros.
Both read the same table. Of ``mujoco.sysid``, which predicts sensors and has no ready
way for a robot that stands, four ways to set it up; its user must know what is wrong.

    EQUIPOISE_PEERS=python .venv/bin/python -m benchmarks.identification_sysid

The interpreter needs ``mujoco[sysid]``; without it a line says so, and only ours runs.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import equipoise as eq
from benchmarks.identification_poses import measured, robots
from benchmarks.identification_verdicts import (
    FORCE_NOISE,
    LATERAL,
    ROWS,
    TILT,
    TORQUE,
    TORQUE_NOISE,
    VERTICAL,
    measure,
    torso_row,
)
from equipoise.arrays import Array
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.design import choose_poses
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.statics import (
    FEET,
    PER_LINK,
    MeasuredPoses,
    StandingFrames,
    com_gradient,
    links_with_mass,
    standing_frames,
    total_com,
)
from equipoise.robot.formats.write import export_robot
from equipoise.robot.joint_coordinates import degree_names, joint_positions

POSES, NEW_POSES, SAMPLES = 15, 40, 100
# What is to be found: a fraction of the mass, and a displacement of the CoM [m].
HEAVIER, MOVED = 0.03, 0.01
LOGS = ("noise only", "usual errors")
AXES = [f"{kind}{axis}" for kind in "fm" for axis in "xyz"]
PEERS = Path(__file__).parent / "peers" / "sysid_peers.py"
# What a user of ours writes.
OURS = """\
import equipoise as eq
robot = eq.load(file)
found = eq.identify(robot, table, table=True)
print(found.sentence)
"""


class Found(NamedTuple):
    """What one way found.

    Attributes:
        error: RMS error of the CoM in new poses, horizontally [m].
        covered: Fraction of 95 % intervals of the CoM in new poses that hold it.
        width: Their mean half width [m].
        seconds: Duration.
        verdict: Whether it says that the result is better; None: it does not say.
    """

    error: float
    covered: float
    width: float
    seconds: float
    verdict: bool | None


def true_values(robot: eq.Robot, rng: np.random.Generator, offsets: bool) -> Array:
    """Return true masses, first moments and offsets, shape (nx,)."""
    prior = default_prior(robot)
    belief = prior_belief(robot, prior)
    values = np.array(belief.mean)
    links = values[: PER_LINK * len(belief.links)].reshape(-1, PER_LINK)
    torso = torso_row(robot, belief)
    links[torso] *= 1.0 + HEAVIER * robot.mass / links[torso, 0]
    way = rng.standard_normal(2)
    links[torso, 1:3] += MOVED * robot.mass * way / np.linalg.norm(way)
    if offsets:
        values[links.size :] = 0.5 * offset_std(robot, 2) * rng.standard_normal(12)
    return values


def offset_std(robot: eq.Robot, sensors: int) -> Array:
    """Return usual offsets of sensors [N, Nm], shape (6 sensors,)."""
    prior = default_prior(robot)
    lateral, vertical = prior.lateral_force_std, prior.vertical_force_std
    return np.tile([lateral, lateral, vertical, *[prior.torque_std] * 3], sensors)


def write_table(path: Path, poses: MeasuredPoses) -> Path:
    """Write poses as a table of joints and wrenches, a row each."""
    names = [
        *degree_names(poses.robot),
        *(f"{s[0]}_sole.{axis}" for s in FEET for axis in AXES),
    ]
    columns = [joint_positions(poses.robot, poses.q), *poses.wrenches.values()]
    rows = np.column_stack([*columns, poses.samples])
    header = ",".join([*names, "samples"])
    np.savetxt(path, rows, delimiter=",", header=header, comments="")
    return path


def found_by(
    frames: StandingFrames, truth: Array, values: Array, covariance: Array
) -> tuple[float, float, float]:
    """Return error, coverage and half width of intervals in new poses."""
    error = (total_com(frames, values) - total_com(frames, truth))[:, :2]
    gradient = com_gradient(frames.link_arms, values)[..., : len(covariance)]
    spread = np.einsum("nij,jk,nik->ni", gradient, covariance, gradient)[:, :2]
    width = 1.96 * np.sqrt(np.maximum(spread, 0.0))
    size = float(np.sqrt(np.mean(np.sum(error**2, axis=1))))
    return size, float(np.mean(np.abs(error) <= width)), float(np.mean(width))


def ours(file: Path | str, table: Path, frames: StandingFrames, truth: Array) -> Found:
    """Run what a user of ours writes."""
    names: dict[str, Any] = {"file": file, "table": table, "print": lambda text: None}
    began = time.perf_counter()
    exec(compile(OURS, "ours", "exec"), names)  # what the documentation shows
    seconds = time.perf_counter() - began
    found = names["found"]
    error, covered, width = found_by(
        frames, truth, found.parameters, found.estimate.covariance
    )
    return Found(error, covered, width, seconds, found.improved)


def peer_ways(robot: eq.Robot) -> dict[str, dict[str, Any]]:
    """Return ways to set up ``mujoco.sysid``."""
    prior = default_prior(robot)
    belief = prior_belief(robot, prior)
    torso, every = [belief.links[torso_row(robot, belief)]], list(belief.links)
    offsets = offset_std(robot, 1).tolist()
    link_std = {"mass": prior.mass_std_fraction, "com": prior.com_std}

    def way(bodies: list[str], offset_std: list, link_std: dict) -> dict[str, Any]:
        return {"bodies": bodies, "offset_std": offset_std, "link_std": link_std}

    return {
        "torso alone": way(torso, [], {}),
        "torso and offsets": way(torso, offsets, {}),
        "all links and offsets": way(every, offsets, {}),
        "the same, with a prior": way(every, offsets, link_std),
    }


def peer_values(
    robot: eq.Robot, bodies: Sequence[str], answer: dict[str, Any]
) -> tuple[Array, Array]:
    """Return masses and first moments of all links by a peer, and their covariance."""
    links = links_with_mass(robot)
    values = np.array([[own.mass, *own.com_in_link] for own in links.values()])
    count = PER_LINK * len(bodies)
    rows = [list(links).index(name) for name in bodies]
    values[rows] = np.array(answer["values"])[:count].reshape(-1, PER_LINK)
    # from mass and CoM to mass and first moment
    jacobian = np.zeros((values.size, count))
    for at, row in enumerate(rows):
        block = jacobian[PER_LINK * row :, PER_LINK * at :][:PER_LINK, :PER_LINK]
        block[0, 0], block[1:, 0] = 1.0, values[row, 1:]
        block[1:, 1:] = values[row, 0] * np.eye(3)
    covariance = np.array(answer["covariance"])[:count, :count]
    values[:, 1:] *= values[:, :1]
    offsets = np.zeros(12)
    return np.append(values.ravel(), offsets), jacobian @ covariance @ jacobian.T


def peer() -> Path | None:
    """Return the interpreter that has the peer; None, and a line, if none has."""
    python = Path(os.environ.get("EQUIPOISE_PEERS", ".venv-peers/bin/python"))
    needed = [str(python), "-c", "from mujoco.sysid import optimize"]
    if not python.is_file() or subprocess.run(needed, capture_output=True).returncode:
        print(f"mujoco.sysid is left out: {python} does not have mujoco[sysid]")
        return None
    return python


def export_for_peer(robot: eq.Robot, path: Path) -> None:
    """Write the robot as MJCF, without shapes."""
    links = tuple(
        replace(link, collisions=(), visuals=()) for link in robot.description.links
    )
    bare = replace(robot, description=replace(robot.description, links=links))
    export_robot(bare, path, actuators=())


def row_noise(robot: eq.Robot, errors: bool) -> list[float]:
    """Return standard deviations of a pose's balance, which the peer's user knows."""
    noise = np.repeat([FORCE_NOISE, TORQUE_NOISE], 3) * np.sqrt(2.0 / SAMPLES)
    if errors:
        lateral = np.hypot(LATERAL, TILT)
        tipping = np.hypot(TORQUE, TILT * 0.5 * robot.longest_limb)
        shared = [lateral, lateral, VERTICAL, tipping, tipping, TORQUE]
        noise = np.hypot(noise, 9.80665 * robot.mass * np.array(shared))
    return [float(own) for own in noise]


def by_peer(python: Path, given: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """Return the peer's answer; without values where it takes longer than a limit."""
    file = Path(given["file"]).with_suffix(".json")
    file.write_text(json.dumps(given))
    try:
        done = subprocess.run(
            [str(python), str(PEERS), str(file)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return {}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def lines_of_peer() -> int:
    """Return how many lines of code a user of the peer writes, with imports."""
    text = PEERS.read_text()
    function = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == "identify_standing"
    )
    first, last = function.body[1].lineno, function.end_lineno
    body = text.splitlines()[first - 1 : last]
    return len([line for line in body if line.strip()]) + 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each kind of log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--robot", default="G1")
    parser.add_argument("--limit", type=float, default=60.0, help="of the peer [s]")
    parser.add_argument("--ways", default="1,2,3,4", help="of the peer, by number")
    asked = parser.parse_args(arguments)
    file = robots()[asked.robot]
    robot, python = eq.load(file), peer()
    every = pose_candidates(robot, 400, seed=1)
    frames = standing_frames(robot, every[:NEW_POSES])
    chosen = choose_poses(robot, every[NEW_POSES:], POSES).q
    model = prior_belief(robot, default_prior(robot))
    every_way = list(peer_ways(robot).items())
    ways = dict(every_way[int(number) - 1] for number in asked.ways.split(","))
    soles = {
        side: [own.link, own.transform_sole_to_link.tolist()]
        for side, own in robot.soles.items()
    }
    for log in LOGS:
        errors = log == LOGS[1]
        results: dict[str, list[Found]] = {}
        with tempfile.TemporaryDirectory() as name:
            document, table = Path(name) / "robot.xml", Path(name) / "table.csv"
            export_for_peer(robot, document)
            for seed in range(asked.repetitions):
                rng = np.random.default_rng(seed)
                truth = true_values(robot, rng, errors)
                if errors:
                    poses = measure(robot, truth, chosen, rng)
                    poses = poses.take(np.arange(0, len(poses), ROWS))
                else:
                    poses = measured(robot, model, truth, chosen, SAMPLES, rng)
                write_table(table, poses)
                before = found_by(frames, truth, model.mean, np.zeros((0, 0)))
                results.setdefault("the model", []).append(Found(*before, 0.0, None))
                own = ours(file, table, frames, truth)
                results.setdefault("equipoise", []).append(own)
                for way, options in ways.items() if python else ():
                    given = {"file": str(document), "table": str(table), "soles": soles}
                    given |= {"noise": row_noise(robot, errors), **options}
                    answer = by_peer(python, given, asked.limit)
                    rows = results.setdefault(f"sysid, {way}", [])
                    if answer:
                        values = peer_values(robot, options["bodies"], answer)
                        parts = found_by(frames, truth, *values)
                        rows.append(Found(*parts, answer["seconds"], None))
        print(f"{asked.robot}, {log}: {POSES} poses, {asked.repetitions} tables")
        print(f"  {'':30} CoM error [mm]  intervals ±[mm]  cover   seconds  confirmed")
        for title, rows in results.items():
            print(f"  {title:30} {line_of(rows, asked.limit)}", flush=True)
    print(
        f"lines of code that a user writes: equipoise {len(OURS.splitlines())}, "
        f"sysid {lines_of_peer()}"
    )


def line_of(rows: Sequence[Found], limit_s: float) -> str:
    """Return what one way found, in a line."""
    if not rows:
        return f"not finished in {limit_s:g} s"
    error = 1e3 * float(np.sqrt(np.mean([own.error**2 for own in rows])))
    width, covered, seconds = (
        float(np.mean([getattr(own, part) for own in rows]))
        for part in ("width", "covered", "seconds")
    )
    yes = sum(bool(own.verdict) for own in rows)
    said = "no verdict" if rows[0].verdict is None else f"{yes} of {len(rows)}"
    return f"{error:14.2f} {1e3 * width:16.2f} {covered:6.2f} {seconds:9.2f}  {said}"


if __name__ == "__main__":
    main()
