from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.ccg import CcgParameters, solve_ccg, solve_constant_pelvis
from equipoise.kinematics.com import com
from equipoise.kinematics.com_targets import (
    ComSolution,
    ComTargets,
    Outcome,
    com_targets,
)
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.leg_geometry import NoClosedFormError
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.load import load
from equipoise.robot.model import Robot

EXACT = CcgParameters(step="proportional", tolerance=1e-9)
QUALIFIED = ["humanoid", "itu-biped", "mahru-1", "talos", "romeo"]


def sway_and_step(robot: Robot, count: int = 60, lowered: float = 0.06) -> ComTargets:
    """Return a path: the CoM sways over both feet, then the right one is swung.

    The CoM is lower than standing by 6 cm, for some robots stand with straight knees.
    """
    phase = np.linspace(0.0, 1.0, count)
    left, right = (
        np.tile(sole_pose(robot, robot.standing, side), (count, 1, 1))
        for side in ("left", "right")
    )
    width = left[0, 1, 3] - right[0, 1, 3]
    points = np.tile(com(robot, robot.standing), (count, 1))
    points[:, 2] -= lowered
    points[:, 1] += 0.5 * width * np.sin(1.5 * np.pi * phase)
    points[:, 0] += 0.03 * np.sin(2.0 * np.pi * phase)
    swing = np.clip(2.0 * phase - 1.0, 0.0, 1.0)
    right[:, 0, 3] += 0.1 * swing**2 * (3.0 - 2.0 * swing)
    right[:, 2, 3] += 0.05 * np.sin(np.pi * swing) ** 2
    return com_targets(points, left, right)


def check_against_kinematics(
    robot: Robot, targets: ComTargets, found: ComSolution
) -> None:
    """What the solution says of itself is what the robot's own kinematics say."""
    error = np.linalg.norm(com(robot, found.q) - targets.com, axis=1)
    np.testing.assert_allclose(error, found.com_error, rtol=0, atol=1e-12)
    for side, wanted in (("left", targets.left), ("right", targets.right)):
        reached = sole_pose(robot, found.q, side)
        there = found.foot_gap == 0.0
        np.testing.assert_allclose(reached[there], wanted[there], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", QUALIFIED)
@pytest.mark.parametrize("step", ["published", "proportional"])
def test_every_point_is_reached(name, step, request):
    """Along the path CoM errors are below ε, and soles exact; the baseline is worse."""
    real = name in ("talos", "romeo")
    robot = load(request.getfixturevalue(f"{name}_urdf") if real else name)
    targets = sway_and_step(robot)
    found = solve_ccg(robot, targets, CcgParameters(step=step))
    assert found.converged.all()
    assert found.com_error.max() < 0.001
    assert (found.foot_gap == 0.0).all()
    check_against_kinematics(robot, targets, found)
    baseline = solve_constant_pelvis(robot, targets)
    assert baseline.com_error.mean() > 2.0 * found.com_error.mean()
    assert baseline.com_error.max() > 0.003


def test_nothing_else_moves():
    """Attitude and joints that are not the legs' stay as given."""
    robot = load("humanoid")
    targets = sway_and_step(robot, 10)
    posture = np.array(robot.standing)
    arm = robot.model.joints[robot.joint_id(robot.arms["left"].joints[0])].idx_q
    posture[arm] = -0.7
    found = solve_ccg(robot, targets, EXACT, posture=posture)
    legs = [
        robot.model.joints[robot.joint_id(joint)].idx_q
        for leg in robot.legs.values()
        for joint in leg.joints
    ]
    others = np.setdiff1d(np.arange(3, robot.nq), legs)
    held = np.tile(posture[others], (10, 1))
    np.testing.assert_allclose(found.q[:, others], held, rtol=0, atol=1e-15)
    assert found.com_error.max() < 1e-9
    rows = solve_ccg(robot, targets, EXACT, posture=np.tile(posture, (10, 1)))
    np.testing.assert_array_equal(rows.q, found.q)


@pytest.mark.parametrize("name", ["humanoid", "itu-biped"])
def test_the_world_may_be_turned(name):
    """Turned targets give the turned robot: the same joints, to rounding."""
    robot = load(name)
    targets = sway_and_step(robot, 30)
    turn = np.eye(4)
    turn[:3, :3] = pin.exp3(np.array([0.0, 0.0, 2.0]))
    turn[:3, 3] = [0.5, -1.0, 0.2]
    turned = com_targets(
        targets.com @ turn[:3, :3].T + turn[:3, 3],
        turn @ targets.left,
        turn @ targets.right,
        turn[:3, :3],
    )
    one, other = (solve_ccg(robot, each, EXACT) for each in (targets, turned))
    np.testing.assert_allclose(other.q[:, 7:], one.q[:, 7:], rtol=0, atol=1e-9)
    root = robot.description.root
    np.testing.assert_allclose(
        frame_pose(robot, other.q, root),
        turn @ frame_pose(robot, one.q, root),
        rtol=0,
        atol=1e-9,
    )


@given(
    roll=st.floats(-0.1, 0.1),
    pitch=st.floats(-0.2, 0.2),
    shift=st.tuples(*3 * [st.floats(-0.03, 0.03)]),
)
def test_attitude_of_the_torso(roll, pitch, shift):
    """Leaning torsos keep their attitude, and the CoM comes to its place."""
    robot = load("itu-biped")
    lean = pin.exp3(np.array([roll, pitch, 0.0]))
    targets = sway_and_step(robot, 4)
    targets = com_targets(
        targets.com + np.array(shift), targets.left, targets.right, lean
    )
    found = solve_ccg(robot, targets, EXACT)
    assert found.converged.all()
    attitude = frame_pose(robot, found.q, robot.description.root)[:, :3, :3]
    upright = frame_pose(robot, robot.standing, robot.description.root)[:3, :3]
    wanted = np.tile(lean @ upright, (4, 1, 1))
    np.testing.assert_allclose(attitude, wanted, rtol=0, atol=1e-12)
    check_against_kinematics(robot, targets, found)


def test_warm_start():
    """The pelvis stays for the next point: the same target again takes no step."""
    robot = load("itu-biped")
    targets = sway_and_step(robot, 2)
    again = com_targets(
        targets.com[[1, 1, 1]], targets.left[[1, 1, 1]], targets.right[[1, 1, 1]]
    )
    found = solve_ccg(robot, again)
    assert found.iterations[0] > 5
    assert found.iterations[1:].tolist() == [0, 0]
    np.testing.assert_array_equal(found.q[1:], found.q[[0, 0]])


def test_published_step_has_its_length():
    """A published step moves the pelvis by β along the error, Eq. (22)."""
    robot = load("itu-biped")
    path = sway_and_step(robot, 3)
    targets = com_targets(path.com[1], path.left[1], path.right[1])
    start = solve_constant_pelvis(robot, targets)
    for steps in (1, 2, 3):  # the second with the right hip fixed
        found = solve_ccg(robot, targets, CcgParameters(max_iterations=steps))
        moved = found.q[0, :3] - start.q[0, :3]
        assert found.outcome[0] == Outcome.NOT_CONVERGED
        assert np.linalg.norm(moved) == pytest.approx(0.001 * steps, rel=1e-2)
        error = targets.com[0] - com(robot, start.q[0])
        assert moved @ error > 0.99 * np.linalg.norm(moved) * np.linalg.norm(error)


def test_too_long_steps_orbit():
    """Steps of ten times ε go round the target: noticed, and said."""
    robot = load("itu-biped")
    targets = sway_and_step(robot)
    found = solve_ccg(robot, targets, CcgParameters(step_length=0.01))
    orbits = found.outcome == Outcome.ORBITING
    assert orbits.any()
    assert not found.converged[orbits].any()
    # Docstring of the module: they come no nearer than about β j / 2, j below 1.
    assert (found.com_error[orbits] >= 0.001).all()
    assert (found.com_error[orbits] < 0.005).all()
    assert found.iterations.max() < 200
    check_against_kinematics(robot, targets, found)
    slow = dataclasses.replace(EXACT, step="published", tolerance=1e-3, patience=10**6)
    short = dataclasses.replace(slow, max_iterations=3)
    assert (solve_ccg(robot, targets, short).outcome != Outcome.ORBITING).all()


def test_too_high_is_unreachable():
    """A CoM 10 cm above standing cannot be had; the gap is what the legs lack."""
    robot = load("itu-biped")
    targets = sway_and_step(robot, 5, lowered=-0.1)
    for step in ("published", "proportional"):
        found = solve_ccg(robot, targets, CcgParameters(step=step))
        assert (found.outcome == Outcome.UNREACHABLE).all()
        assert ((found.foot_gap > 0.03) & (found.foot_gap < 0.1)).all()
        off = [
            np.linalg.norm((sole_pose(robot, found.q, side) - wanted)[:, :3, 3], axis=1)
            for side, wanted in (("left", targets.left), ("right", targets.right))
        ]
        np.testing.assert_allclose(np.maximum(*off), found.foot_gap, atol=1e-12)


def test_same_again():
    """The same targets give the same bytes."""
    robot = load("itu-biped")
    targets = sway_and_step(robot, 20)
    one, other = (solve_ccg(robot, targets) for _ in range(2))
    for item in dataclasses.fields(one):
        left, right = (getattr(found, item.name) for found in (one, other))
        np.testing.assert_array_equal(left, right)


def test_no_points():
    """A path without points has a solution without points."""
    robot = load("itu-biped")
    found = solve_ccg(robot, com_targets(np.empty((0, 3)), np.eye(4), np.eye(4)))
    assert found.q.shape == (0, robot.nq)
    assert found.converged.shape == (0,)


def test_bad_arguments(g1_urdf):
    """Messages name the argument, the leg or the parameter."""
    pose = np.eye(4)
    with pytest.raises(ShapeError, match=r"com has shape \(2,\); \(3,\) or \(n, 3\)"):
        com_targets([0.0, 1.0], pose, pose)
    with pytest.raises(ShapeError, match="right has 3 rows but com has 2"):
        com_targets(np.zeros((2, 3)), pose, np.tile(pose, (3, 1, 1)))
    with pytest.raises(ShapeError, match="torso holds a matrix that is not a rotation"):
        com_targets(np.zeros(3), pose, pose, -np.eye(3))
    with pytest.raises(ShapeError, match="com holds values that are not finite"):
        com_targets([0.0, 0.0, np.nan], pose, pose)
    with pytest.raises(EquipoiseError, match="tolerance must be positive, it is 0"):
        CcgParameters(tolerance=0.0)
    with pytest.raises(EquipoiseError, match="step_length must be positive, it is nan"):
        CcgParameters(step_length=np.nan)
    with pytest.raises(NameNotFoundError, match="published, proportional"):
        CcgParameters(step="newton")
    robot = load("itu-biped")
    targets = sway_and_step(robot, 4)
    with pytest.raises(ShapeError, match="posture has 3 rows but there are 4 targets"):
        solve_ccg(robot, targets, posture=np.tile(robot.standing, (3, 1)))
    with pytest.raises(NoClosedFormError, match="hip axes miss a common point"):
        solve_ccg(load(g1_urdf), targets)
