"""Logs of robots that differ from their models, on plates and insoles, and moving.

Wrenches are those of Newton and Euler: Pinocchio's inverse dynamics of the true robot
gives what the ground must do to its base, in every row.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from identification.true_robots import random_poses, random_truth
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.arrays import Array
from equipoise.identification.consistency import new_inertials
from equipoise.identification.statics import FEET
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.stance import sole_pose
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.robot.joint_coordinates import (
    configurations,
    degree_names,
    joint_positions,
)

RATE = 100.0
# Noise of a row [N, Nm].
NOISE = np.repeat([0.5, 0.05], 3)


def true_robot(model: eq.Robot, seed: int) -> eq.Robot:
    """Return a robot whose masses and centres of mass are not those of its model."""
    truth = random_truth(model, np.random.default_rng(seed), offsets=False)
    return model.with_inertials(new_inertials(model, truth.values))


def held(model: eq.Robot, count: int, seed: int, hold_s: float = 1.5):
    """Return times and configurations of poses that are held, with gaps between."""
    poses = random_poses(model, count, np.random.default_rng(seed))
    rows = round(hold_s * RATE)
    time = np.concatenate(
        [n * (hold_s + 1.0) + np.arange(rows) / RATE for n in range(count)]
    )
    return time, np.repeat(poses, rows, axis=0)


def swaying(model: eq.Robot, seconds: float, seed: int, period_s: float = 12.0):
    """Return times and configurations of a slow smooth motion on fixed soles."""
    rng = np.random.default_rng(seed)
    knots = np.arange(0.0, seconds + 0.3, 0.25)
    names = degree_names(model)
    phase = rng.uniform(0.0, 2.0 * np.pi, len(names) + 6)
    rate = 2.0 * np.pi / period_s * rng.uniform(0.5, 1.0, len(names) + 6)
    wave = np.sin(knots[:, None] * rate + phase)
    left, right = (sole_pose(model, model.standing, side) for side in FEET)
    height = float(eq.com(model, model.standing)[2])
    middle = 0.5 * (left + right)[:2, 3]
    com = np.column_stack(
        [middle + wave[:, :2] * [0.02, 0.04], height * (0.92 + 0.04 * wave[:, 2])]
    )
    torso = Rotation.from_euler("xyz", wave[:, 3:6] * [0.2, 0.3, 0.3]).as_matrix()
    joints = joint_positions(model, np.tile(model.standing, (len(knots), 1)))
    base = np.tile(model.standing[:7], (len(knots), 1))
    posture = configurations(model, base, joints + 0.5 * wave[:, 6:])
    found = solve_com(model, com_targets(com, left, right, torso), posture=posture)
    assert found.converged.all()
    path = CubicSpline(knots, joint_positions(model, found.q))
    time = np.arange(round(seconds * RATE)) / RATE
    return time, path


def on_left_sole(model: eq.Robot, positions: Array) -> Array:
    """Return configurations whose left sole is where it is in standing, (n, nq)."""
    at_origin = np.tile([0.0] * 6 + [1.0], (len(positions), 1))
    q = configurations(model, at_origin, positions)
    base = sole_pose(model, model.standing, "left") @ np.linalg.inv(
        sole_pose(model, q, "left")
    )
    q[:, :3] = base[:, :3, 3]
    q[:, 3:7] = Rotation.from_matrix(base[:, :3, :3]).as_quat()
    return q


def ground_wrench(robot: eq.Robot, path, time: Array) -> Array:
    """Return the ground's wrench about the world's origin by inverse dynamics, (n, 6).

    Args:
        robot: The true robot.
        path: Joint positions as a function of time.
        time: Times [s], shape (n,).
    """
    step = 2e-3
    q0, q1, q2 = (on_left_sole(robot, path(time + s * step)) for s in (-1.0, 0.0, 1.0))
    found = np.zeros((len(time), 6))
    model, data = robot.model, robot.data
    for row in range(len(time)):
        back = pin.difference(model, q0[row], q1[row]) / step
        ahead = pin.difference(model, q1[row], q2[row]) / step
        torque = pin.rnea(
            model, data, q1[row], 0.5 * (back + ahead), (ahead - back) / step
        )
        placed = pin.XYZQUATToSE3(q1[row, :7])
        found[row] = placed.act(pin.Force(torque[:6])).vector
    return found


def static_wrench(robot: eq.Robot, q: Array) -> Array:
    """Return the ground's wrench about the world's origin at rest, (n, 6)."""
    centre = np.asarray(eq.com(robot, q), np.float64)
    force = np.tile([0.0, 0.0, robot.mass * 9.80665], (len(q), 1))
    return np.hstack([force, np.cross(centre, force)])


def in_frame(pose: Array, wrench: Array) -> Array:
    """Return wrenches about the world's origin in frames (n, 4, 4) there, (n, 6)."""
    force, torque = wrench[:, :3], wrench[:, 3:]
    torque = torque - np.cross(pose[:, :3, 3], force)
    back = np.swapaxes(pose[:, :3, :3], 1, 2)
    return np.hstack([np.einsum("nij,nj->ni", back, part) for part in (force, torque)])


def on_feet(model: eq.Robot, q: Array, total: Array) -> dict[str, Array]:
    """Return wrenches in the soles that sum to a wrench, by the lever rule, (n, 6)."""
    poses = {side: sole_pose(model, q, side) for side in FEET}
    left, right = (poses[side][:, :3, 3] for side in FEET)
    across = (left - right)[:, :2]
    cop = np.column_stack([-total[:, 4], total[:, 3]]) / total[:, 2:3]
    part = np.sum((cop - right[:, :2]) * across, axis=1) / np.sum(across**2, axis=1)
    part = np.clip(part, 0.1, 0.9)[:, None]
    force = {"left": part * total[:, :3], "right": (1.0 - part) * total[:, :3]}
    rest = total[:, 3:] - sum(np.cross(poses[s][:, :3, 3], force[s]) for s in FEET)
    own = {
        s: np.hstack([force[s], w * rest + np.cross(poses[s][:, :3, 3], force[s])])
        for s, w in (("left", part), ("right", 1.0 - part))
    }
    return {side: in_frame(poses[side], own[side]) for side in FEET}


def log_of(model: eq.Robot, time: Array, q: Array, wrenches, seed: int = 0, **more):
    """Return a recording of joints, and of wrenches with noise, by their frames."""
    rng = np.random.default_rng(seed)
    noisy = {
        name: MeasuredWrench(name, time, own + NOISE * rng.standard_normal(own.shape))
        for name, own in wrenches.items()
    }
    joints = dict(zip(degree_names(model), joint_positions(model, q).T, strict=True))
    log = Recording(Path("ground.csv"), time, joints, {}, {}, noisy)
    return replace(log, **more)


def com_error(found: eq.Robot, truth: eq.Robot, q: Array) -> float:
    """Return the largest error of the CoM over poses, in a plane [m]."""
    away = np.asarray(eq.com(found, q)) - np.asarray(eq.com(truth, q))
    return float(np.linalg.norm(away[:, :2], axis=1).max())
