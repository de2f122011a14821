from __future__ import annotations

import itertools

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import ComTargets, Outcome, com_targets
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.catalogue import catalogue_names

TOLERANCE = 1e-9


def stepping(robot: eq.Robot, points: int = 200, size: float = 1.0) -> ComTargets:
    """Return a path: the right foot is lifted and put forward, the CoM sways."""
    q = robot.standing
    leg = max(limb.length for limb in robot.legs.values())
    share = np.linspace(0.0, 1.0, points)
    left, right = (
        np.tile(sole_pose(robot, q, side), (points, 1, 1)) for side in ("left", "right")
    )
    right[:, 0, 3] += 0.05 * size * leg * share
    right[:, 2, 3] += 0.03 * size * leg * np.sin(np.pi * share) ** 2
    sway = np.stack(
        [
            0.02 * leg * np.sin(2 * np.pi * share),
            0.03 * leg * np.sin(np.pi * share),
            -0.06 * leg + 0.01 * leg * np.cos(2 * np.pi * share),
        ],
        axis=1,
    )
    return com_targets(eq.com(robot, q) + size * sway, left, right)


def errors(robot: eq.Robot, q: np.ndarray, targets: ComTargets) -> tuple[float, float]:
    """Return largest errors of CoM and soles, by other code than the solver's."""
    com = np.abs(eq.com(robot, q) - targets.com).max()
    soles = max(
        np.abs(sole_pose(robot, q, "left") - targets.left).max(),
        np.abs(sole_pose(robot, q, "right") - targets.right).max(),
    )
    return float(com), float(soles)


@pytest.mark.parametrize("name", ["humanoid", "itu-biped", "mahru-1", "g1", "talos"])
def test_com_and_soles_are_exact(name: str, request: pytest.FixtureRequest) -> None:
    """At every point CoM and soles are where they should be, to a nanometre."""
    known = name in catalogue_names()
    robot = eq.load(name if known else request.getfixturevalue(f"{name}_urdf"))
    targets = stepping(robot)
    found = solve_com(robot, targets)
    assert found.converged.all()
    com, soles = errors(robot, found.q, targets)
    print(f"{robot.name}: CoM {com:.1e} m, soles {soles:.1e}")
    assert com < TOLERANCE
    assert soles < TOLERANCE
    robot.check_q(found.q)


def test_errors_fall_quadratically() -> None:
    """From one step to the next the error is squared, up to a factor."""
    robot = eq.load("humanoid")
    path = stepping(robot, 2)
    lone = com_targets(path.com[1], path.left[1], path.right[1])
    off = [
        max(found.com_error[0], found.foot_gap[0])
        for found in (
            solve_com(robot, lone, tolerance=1e-15, max_iterations=steps)
            for steps in range(1, 6)
        )
    ]
    fast = [b / a**2 for a, b in itertools.pairwise(off) if b > 1e-12]
    assert off[-1] < 1e-12
    assert max(fast) < 50.0


def test_warm_start_needs_two_steps() -> None:
    """Along a path each point begins where the one before ended."""
    robot = eq.load("humanoid")
    found = solve_com(robot, stepping(robot, 1000))
    assert np.median(found.iterations) <= 2


def test_other_joints_and_torso_are_kept() -> None:
    """Arms are as the posture says at each point, the torso as the target says."""
    robot = eq.load("humanoid")
    path = stepping(robot, 50)
    yaw = np.linspace(0.0, 0.1, 50)
    turn = np.zeros((50, 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(yaw)
    turn[:, 1, 0], turn[:, 0, 1] = np.sin(yaw), -np.sin(yaw)
    turn[:, 2, 2] = 1.0
    targets = com_targets(path.com, path.left, path.right, turn)
    arm = robot.model.joints[robot.joint_id(robot.arms["left"].joints[0])].idx_q
    posture = np.tile(robot.standing, (50, 1))
    posture[:, arm] += np.linspace(0.0, 1.0, 50)
    found = solve_com(robot, targets, posture=posture)
    assert found.converged.all()
    assert np.array_equal(found.q[:, arm], posture[:, arm])
    assert max(errors(robot, found.q, targets)) < TOLERANCE
    assert np.allclose(found.q[:, 5], np.sin(yaw / 2), atol=1e-12)


def test_joint_limits_are_kept(g1_urdf: object) -> None:
    """No joint is beyond its limits, and what cannot be reached is said."""
    robot = eq.load(g1_urdf)
    targets = stepping(robot, 100, 6.0)
    found = solve_com(robot, targets)
    lower, upper = robot.model.lowerPositionLimit, robot.model.upperPositionLimit
    assert (found.q[:, 7:] >= lower[7:] - 1e-12).all()
    assert (found.q[:, 7:] <= upper[7:] + 1e-12).all()
    bad = ~found.converged
    assert np.isfinite(found.q).all()
    off = np.maximum(found.com_error, found.foot_gap)
    assert (off[bad] > 1e-10).all()


def test_far_away_is_unreachable() -> None:
    """A foot a metre off is answered with how far off it stays."""
    robot = eq.load("humanoid")
    path = stepping(robot, 5)
    away = np.array(path.right)
    away[:, 0, 3] += 3.0
    found = solve_com(robot, com_targets(path.com, path.left, away))
    assert (found.outcome == Outcome.UNREACHABLE).all()
    assert (found.foot_gap > 0.5).all()


def test_short_legs_are_refused() -> None:
    """Legs of less than five joints cannot lay a sole flat anywhere."""
    robot = eq.load("muscolo-biped")
    path = com_targets(
        eq.com(robot, robot.standing),
        sole_pose(robot, robot.standing, "left"),
        sole_pose(robot, robot.standing, "right"),
    )
    with pytest.raises(EquipoiseError, match="at least five"):
        solve_com(robot, path)


@pytest.mark.filterwarnings("error")
def test_joints_without_limits_are_no_trouble() -> None:
    """Legs whose joints have no limits are solved, and nothing is warned of."""
    robot = eq.load("humanoid")
    model = robot.model.copy()
    model.lowerPositionLimit = np.full(model.nq, -np.inf)
    model.upperPositionLimit = np.full(model.nq, np.inf)
    free = eq.Robot(
        robot.name,
        model,
        robot.description,
        robot.limbs,
        robot.soles,
        robot.actuators,
        robot.postures,
    )
    assert solve_com(free, stepping(robot, 20)).converged.all()
