"""The true ZMP against Pinocchio's inverse dynamics, and its limit cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.arrays import Array
from equipoise.gait.motion import solve
from equipoise.gait.plan import plan_walk
from equipoise.gait.zmp import true_zmp
from equipoise.kinematics.frames import velocities
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.simulation.world import with_payload

DT = 1e-3
# Differences at the ends of a motion are one-sided: left out.
INNER = slice(2, -2)


class Path(NamedTuple):
    """A motion with its exact derivatives: q (n, nq), v and a (n, nv)."""

    q: Array
    v: Array
    a: Array


def smooth_motion(robot: eq.Robot, seed: int, dt: float = DT, n: int = 101) -> Path:
    """Return a motion of base and all joints whose derivatives are known.

    The base moves along one twist, so its velocity and acceleration in its own axes
    are derivatives of a number; joints swing, each at its own pace.
    """
    rng = np.random.default_rng(seed)
    time = dt * np.arange(n)[:, None]
    size = np.concatenate(
        [rng.normal(0.0, 0.1, 3), rng.normal(0.0, 0.3, 3), np.full(robot.nv - 6, 0.1)]
    )
    pace = np.concatenate([np.full(6, 5.0), rng.uniform(2.0, 8.0, robot.nv - 6)])
    phase = np.concatenate([np.full(6, 0.3), rng.uniform(0.0, 6.0, robot.nv - 6)])
    moved = size * np.sin(pace * time + phase)
    q = np.array([pin.integrate(robot.model, robot.standing, row) for row in moved])
    v = size * pace * np.cos(pace * time + phase)
    return Path(q, v, -(pace**2) * moved)


def zmp_by_rnea(robot: eq.Robot, path: Path, height: float) -> Array:
    """Return the ZMP from the wrench that Pinocchio's RNEA finds on the base."""
    found = []
    for q, v, a in zip(*path, strict=True):
        wrench = pin.Force(pin.rnea(robot.model, robot.data, q, v, a)[:6])
        pin.forwardKinematics(robot.model, robot.data, q)
        on_ground = robot.data.oMi[1].act(wrench)
        (fx, fy, fz), (tx, ty, _) = on_ground.linear, on_ground.angular
        found.append([(height * fx - ty) / fz, (tx + height * fy) / fz])
    return np.array(found)


@pytest.mark.parametrize("height", [0.0, 0.2])
def test_it_is_that_of_inverse_dynamics(robot: eq.Robot, height: float) -> None:
    """Every robot, all joints moving: the base's wrench has its ZMP in the same place.

    They differ by the square of the time between points.
    """
    off = []
    for dt in (DT, DT / 2.0):
        path = smooth_motion(robot, 5, dt, round(0.1 / dt) + 1)
        level = np.full(len(path.q), height)
        found = true_zmp(robot, path.q, dt, level)
        off.append(np.abs(found - zmp_by_rnea(robot, path, height))[INNER].max())
    assert off[0] < 1e-4
    assert off[1] < 0.3 * off[0] + 1e-9


def test_velocities_are_pinocchios(robot: eq.Robot) -> None:
    """Central differences equal the exact velocities of base and joints."""
    path = smooth_motion(robot, 6)
    assert np.abs(velocities(robot, path.q, DT) - path.v)[INNER].max() < 1e-4


def test_at_rest_it_is_below_the_com(robot: eq.Robot) -> None:
    """A robot that stands still has its ZMP below its centre of mass."""
    q = np.tile(robot.standing, (5, 1))
    zmp = true_zmp(robot, q, DT, np.zeros(5))
    assert np.allclose(zmp, eq.com(robot, robot.standing)[:2], atol=1e-12)


def test_a_body_that_only_shifts_is_a_pendulum(robot: eq.Robot) -> None:
    """Without rotation all of it is the CoM: p = c - (c_z - z) c̈ / (c̈_z + g)."""
    time = DT * np.arange(101)
    q = np.tile(robot.standing, (len(time), 1))
    wave = np.stack([np.sin(5 * time), np.cos(4 * time), np.sin(3 * time)], axis=1)
    q[:, :3] += 0.05 * wave
    push = -0.05 * wave * np.array([25.0, 16.0, 9.0])
    level = np.full(len(time), 0.1)
    centre = eq.com(robot, q)
    per_push = (centre[:, 2] - level) / (push[:, 2] + STANDARD_GRAVITY)
    expected = centre[:, :2] - per_push[:, None] * push[:, :2]
    found = true_zmp(robot, q, DT, level)
    assert np.abs(found - expected)[INNER].max() < 1e-6


def test_a_robot_like_a_point_has_the_pendulums_zmp() -> None:
    """The heavier the torso, the nearer is the true ZMP of an unfiltered gait."""
    off = []
    for mass in (0.0, 1e3, 1e5):
        robot = eq.load("itu-biped")
        if mass:
            robot = with_payload(robot, {"torso": mass})
        gait = plan_walk(robot, 2)
        motion = solve(robot, gait, dynamics_filter=False)
        off.append(np.abs(motion.zmp - motion.zmp_planned).max())
    assert off[0] > 0.05
    assert off[1] < 0.1 * off[0]
    assert off[2] < 1e-3
